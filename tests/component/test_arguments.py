"""The functions of the module take paths and numbers as Python and numpy have them."""

import json
from pathlib import Path
from typing import Any

import pytest

import skipline
from command_line import REPOSITORY, SHORT_BATCH
from skipline import _core
from skipline.scenarios.settings import toml_literal
from skipline.slices import Latencies
from skipline.traces.replay import STANDARD_MACHINE

L2FWD = REPOSITORY / "experiments/ddio-bench/l2fwd.toml"
PLATFORM = REPOSITORY / "platforms/skylake-gold-6140.toml"
SHORT = {"run.batch_packets": SHORT_BATCH, "run.max_batches": 10}


def scenario_with(settings: dict[str, Any]) -> dict[str, Any]:
    """The built-in forwarder with settings as `skipline.run` takes them."""
    overrides = [(key, toml_literal(value)) for key, value in settings.items()]
    resolved = json.loads(_core.check_scenario(L2FWD, overrides))
    assert isinstance(resolved, dict)
    return resolved


def test_files_may_be_named_by_paths(tmp_path: Path) -> None:
    result = skipline.run(L2FWD, {**SHORT, "platform": PLATFORM})
    assert result.scenario["platform"] == str(PLATFORM)
    trace = tmp_path / "t.raw64"
    trace.write_bytes(bytes(64))
    machine = REPOSITORY / f"platforms/{STANDARD_MACHINE}.toml"
    assert skipline.trace(trace, machine).references == 8
    assert _core.platform(PLATFORM) == _core.platform("skylake-gold-6140")
    assert Latencies.modelled(PLATFORM).cores == 18


def test_an_option_of_the_command_is_told_from_a_key() -> None:
    with pytest.raises(skipline.InputError, match="`explain` is an option of the command"):
        skipline.run(L2FWD, explain=True)


def test_names_of_the_module_are_listed_before_they_are_loaded() -> None:
    assert dir(skipline) == sorted(skipline.__all__)


@pytest.mark.parametrize("number", [-1, 1 << 64])
def test_numbers_that_need_more_than_64_bits_are_bad_input(tmp_path: Path, number: int) -> None:
    refusal = rf"`seed` = {number}: allowed: whole numbers from 0 to 2\^64 - 1"
    with pytest.raises(skipline.InputError, match=refusal):
        skipline.run(L2FWD, seed=number)
    with pytest.raises(skipline.InputError, match=refusal):
        skipline.trace(tmp_path / "t.raw64", STANDARD_MACHINE, seed=number)
    with pytest.raises(skipline.InputError, match="`trace_packet` = "):
        skipline.run(L2FWD, trace_packet=number)
    with pytest.raises(skipline.InputError, match="`trace_descriptor` = "):
        skipline.run(L2FWD, trace_descriptor=number)


@pytest.mark.parametrize("value", [None, b"x", [1, {2}]])
def test_what_no_scenario_can_have_is_bad_input(value: object) -> None:
    with pytest.raises(skipline.InputError, match=r"overrides: `title`: .* is of type .*allowed"):
        skipline.run(L2FWD, {"title": value})


@pytest.mark.parametrize(
    "title", ["5", "true", "[1]", "", 'a "quoted" \\ one', "über \U0001f600", "line\nline", "\x7f"]
)
def test_a_text_is_a_text_whatever_it_says(title: str) -> None:
    assert scenario_with({"title": title})["title"] == title


def test_numbers_of_numpy_are_those_of_python() -> None:
    numpy = pytest.importorskip("numpy")
    settings = {
        "rx_descriptors": numpy.int64(1024),
        "cores": numpy.float64(2),
        "offered_gbps": numpy.float32(0.5),
        "evict_on_dma_read": numpy.bool_(False),
        "co_runner": [{"working_set_bytes": numpy.uint32(65536)}],
    }
    resolved = scenario_with(settings)
    plain = {key: resolved[key] for key in list(settings)[:4]}
    assert plain == {
        "rx_descriptors": 1024,
        "cores": 2,
        "offered_gbps": 0.5,
        "evict_on_dma_read": False,
    }
    assert resolved["co_runner"][0]["working_set_bytes"] == 65536


def test_arrays_of_numpy_are_lists() -> None:
    numpy = pytest.importorskip("numpy")
    slices = numpy.arange(4, dtype="uint16")
    co_runner = {"working_set_bytes": 65536, "slices": slices}
    resolved = scenario_with({"co_runner": [co_runner]})
    assert resolved["co_runner"][0]["slices"] == [0, 1, 2, 3]
