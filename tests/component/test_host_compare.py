"""What the simulator says beside a recorded measurement of a host."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skipline import _core
from skipline._core import InputError
from skipline.host import comparison, measurement, page, view
from skipline.host.comparison import Comparison

_RECORDED = Path(__file__).parents[2] / "crates" / "host" / "host" / "tests" / "all" / "calibrate"
_PLATFORM = _RECORDED / "epyc.toml"
_MEASURED = _RECORDED / "epyc.measured.json"
_GOLDEN = _RECORDED / "epyc.compare.csv"


@pytest.fixture(scope="module")
def compared() -> Comparison:
    return comparison.compare(_PLATFORM, _MEASURED, measurement.read(_MEASURED))


def test_the_platform_of_a_host_is_accepted_by_the_simulator() -> None:
    facts = json.loads(_core.platform(str(_PLATFORM)))
    assert facts["cpu"]["core_ghz"]["confidence"] == "derived"
    assert facts["llc"]["inclusion"]["value"] == "exclusive-victim"
    settings = [("platform", str(_PLATFORM)), ("ddio_ways", "2"), ("core_way_mask", "0xffff")]
    _core.check_scenario("experiments/ddio-bench/l2fwd.toml", settings)


def test_a_recorded_measurement_is_compared_as_recorded(compared: Comparison) -> None:
    # If a change of model or fit was wanted: skipline host compare epyc.toml --format csv
    assert view.sizes_table(compared).as_csv() == _GOLDEN.read_text(encoding="utf-8")


def test_sizes_kept_aside_are_met_off_the_edges(compared: Comparison) -> None:
    assert len(compared.judged) > 10
    assert compared.within == len(compared.judged), view.verdict(compared)


def test_no_size_both_fits_and_judges_and_none_near_an_edge_judges(compared: Comparison) -> None:
    for size in compared.sizes:
        near = any(edge.is_near(size.working_set_bytes) for edge in compared.edges)
        assert size.is_judged == (size.role == "kept" and not near)
    assert {view.use_text(size) for size in compared.sizes} >= {
        "fitted",
        "judged",
        "edge of L1D",
        "edge of L2",
        "edge of LLC",
    }


def test_the_last_level_of_a_victim_cache_ends_beyond_l2() -> None:
    level = {"sets": {"value": 64}, "ways": {"value": 8}}
    llc = {name: {"value": 8} for name in ("slices", "sets_per_slice", "ways")}
    for inclusion, expected in (("exclusive-victim", 64 * 1024), ("inclusive", 32 * 1024)):
        platform = {"l1d": level, "l2": level, "llc": {**llc, "inclusion": {"value": inclusion}}}
        last = comparison._edges(platform)[-1]
        assert (last.cache, last.capacity_bytes) == ("LLC", expected)


def test_the_page_and_the_json_say_what_was_fitted(compared: Comparison) -> None:
    told = compared.as_json()
    assert told["summary"]["judged"] == len(compared.judged)
    assert {size["role"] for size in told["sizes"]} == {"fit", "kept"}
    html = page.page(compared)
    for text in ("fitted", "judged", "edge of LLC", view.verdict(compared)):
        assert text in html


def _break_format(document: dict[str, Any]) -> None:
    document["format"] = 2


def _empty_size(document: dict[str, Any]) -> None:
    document["chase"][0]["latency_ns"] = []


def _negative(document: dict[str, Any]) -> None:
    document["bandwidth"][0]["read_gbytes_per_s"][0] = -1


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_break_format, "format 2; this version reads 1"),
        (_empty_size, "key 'chase.0.latency_ns'"),
        (_negative, "key 'bandwidth.0.read_gbytes_per_s.0'"),
    ],
)
def test_a_damaged_measurement_is_refused_by_its_key(
    tmp_path: Path, damage: Callable[[dict[str, Any]], None], told: str
) -> None:
    document = json.loads(_MEASURED.read_text(encoding="utf-8"))
    damage(document)
    path = tmp_path / "host.measured.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        measurement.read(path)
    assert told in str(refused.value)


def test_a_missing_measurement_says_who_writes_it(tmp_path: Path) -> None:
    platform = tmp_path / "host.toml"
    shutil.copy(_PLATFORM, platform)
    with pytest.raises(InputError, match="skipline-host calibrate"):
        measurement.read(measurement.path_beside(platform, measurement.MEASURED))


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("n/node.toml", "n/node.measured.json"),
        ("n/node.1", "n/node.1.measured.json"),
        ("n/node.1.toml", "n/node.1.measured.json"),
        ("node", "node.measured.json"),
        (".toml", ".toml.measured.json"),
    ],
)
def test_a_measurement_lies_where_the_host_tool_puts_it(platform: str, expected: str) -> None:
    assert measurement.path_beside(Path(platform), measurement.MEASURED) == Path(expected)


def test_kernels_out_of_range_are_refused() -> None:
    kernels = {
        "working_set_bytes": [64],
        "pair_lines": 2,
        "page_bytes": 4096,
        "window_pages": 32,
        "translation_bytes": 4096,
        "array_bytes": [],
        "core_to_core": False,
    }
    for change in ({}, {"pair_lines": 3}, {"page_bytes": 1}, {"unknown": 1}):
        with pytest.raises(InputError):
            _core.host_kernels(str(_PLATFORM), json.dumps(kernels | change))
