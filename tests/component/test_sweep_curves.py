"""Curves of a sweep: what the model may be off by, where rings fill the ways, and their words."""

from typing import Any

import pytest

from skipline.model_error import view
from skipline.report import curve_words, curves, model_bands, ring_rules, setting_axis
from skipline.report.curves import Along, Curve
from skipline.report.ring_rules import Rule, Rules
from skipline.store.curves import CurvePoint

RINGS = (128, 256, 512, 1024)
HITS = (99.9, 80.0, 40.0, 5.0)
UNITS = {"pcie_write_hit_rate": "percent", "latency_ns.p99": "ns", "throughput_gbps": "Gbit/s"}


def points_of(values: tuple[float, ...], half: float = 0.5) -> list[CurvePoint]:
    return [
        CurvePoint({"rx_descriptors": ring}, value, half, 1, False)
        for ring, value in zip(RINGS, values, strict=True)
    ]


def every() -> dict[str, list[CurvePoint]]:
    return {
        "pcie_write_hit_rate": points_of(HITS),
        "latency_ns.p99": points_of((5_000.0, 5_100.0, 5_200.0, 5_300.0)),
        "dram_write_gbytes_per_s": points_of((1.0, 2.0, 4.0, 8.0)),
        "throughput_gbps": points_of((80.0, 80.0, 80.0, 79.0)),
        "offered_gbps": points_of((80.0,) * 4),
    }


def curve(name: str) -> Curve:
    known = every()
    return Curve(name, UNITS.get(name, "GB/s"), known[name], model_bands.along(name, known))


def records(spec: dict[str, Any], layer: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the records of a layer, else of the first one."""
    data = {**spec, **(layer or spec["layer"][0])}["data"]
    found: list[dict[str, Any]] = (
        data["values"] if "values" in data else spec["datasets"][data["name"]]
    )
    return found


def dashed(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the layer of the rule."""
    (rule,) = [layer for layer in spec["layer"] if "strokeDash" in layer["mark"]]
    found: dict[str, Any] = rule
    return found


@pytest.mark.parametrize("name", UNITS)
def test_the_pale_band_is_what_a_run_tells_of_the_same_number(name: str) -> None:
    known = every()
    short = {"pcie_write_hit_rate": "write hits", "latency_ns.p99": "p99"}.get(name, "throughput")
    for at, band in enumerate(model_bands.along(name, known)):
        line = view.line({metric: points[at].value for metric, points in known.items()})
        told = f"{short} {view._number(band.low or 0.0)} to " if band.low is not None else ""
        if name == "latency_ns.p99":
            assert band.high is not None and f"{short} 0 to {band.high / 1e3:,.0f} us" in line
        elif told:
            assert told in line and band.high is not None
        else:
            assert f"{short} from 99.5 %" in line or f"{short} (nothing measured near it)" in line
            assert band.why_none


def test_no_band_is_drawn_where_none_is_known_and_the_words_say_why() -> None:
    own = curve("pcie_write_hit_rate")
    along = Along("rx_descriptors")
    _, spec = curves.panel(own, along)
    known = [record["model_low"] is not None for record in records(spec)]
    assert known == [False, True, True, False]
    assert not any(record["alone"] for record in records(spec))
    text = curve_words.notes([own, curve("dram_write_gbytes_per_s")], along)
    assert "at rx_descriptors 128 (from 99.5 % on: " in text
    assert "at rx_descriptors 1024 (nothing measured near it)" in text
    assert "DRAM writes (five measured numbers are too few)" in text
    assert text.count("Pale band: what the model itself may be off by") == 1
    dram = curve_words.notes([curve("dram_write_gbytes_per_s")], along)
    assert "Pale" not in dram and "is not known for DRAM writes" in dram
    assert "pale" in curve_words.key([own], along)
    assert "pale" not in curve_words.key([curve("dram_write_gbytes_per_s")], along)


def test_a_known_point_between_unknown_ones_has_a_mark_of_its_own() -> None:
    known = every()
    known["pcie_write_hit_rate"] = points_of((99.9, 80.0, 5.0, 5.0))
    own = Curve(
        "pcie_write_hit_rate",
        "percent",
        known["pcie_write_hit_rate"],
        model_bands.along("pcie_write_hit_rate", known),
    )
    _, spec = curves.panel(own, Along("rx_descriptors"))
    first, second, *_ = spec["layer"]
    # An area between it and none would have no width.
    assert first["mark"]["type"] == "rule"
    assert [record["x"] for record in records(spec, first)] == [256]
    assert second["encoding"]["y"]["field"] == "low"


def test_a_band_that_would_flatten_the_curve_is_cut_and_its_ends_are_written() -> None:
    own = curve("latency_ns.p99")
    title, spec = curves.panel(own, Along("rx_descriptors"))
    assert title == "Latency, 99th percentile, µs (latency_ns.p99)"
    ends = next(
        layer["encoding"]["y"]["scale"]["domain"]
        for layer in spec["layer"]
        if "domain" in layer.get("encoding", {}).get("y", {}).get("scale", {})
    )
    assert ends[1] < 6
    highest = max(band.high or 0.0 for band in own.bands)
    # In the unit of the axis, and as a run tells it.
    assert f"pale band: 0 to {highest / 1e3:,.0f} µs" in str(spec)
    # One that fits is not cut, and says nothing.
    _, fits = curves.panel(curve("pcie_write_hit_rate"), Along("rx_descriptors"))
    assert "pale band" not in str(fits) and "domain" not in str(fits["layer"][0]["encoding"]["y"])


def test_numbers_are_drawn_in_the_unit_in_which_people_read_them() -> None:
    long = Curve(
        "latency_ns.p99",
        "ns",
        points_of((50_000.0,) * 4),
        [model_bands.Band(0.0, 1e6, "")] * 4,
    )
    title, spec = curves.panel(long, Along("rx_descriptors"))
    assert title == "Latency, 99th percentile, µs (latency_ns.p99)"
    first = records(spec)[0]
    assert (first["value"], first["model_high"]) == (50.0, 1_000.0)


def test_axes_are_titled_in_words_with_unit_and_key() -> None:
    _, spec = curves.panel(curve("pcie_write_hit_rate"), Along("rx_descriptors"))
    encoding = spec["layer"][0]["encoding"]
    across = " ".join(encoding["x"]["title"])
    assert across == "Receive descriptors per queue (rx_descriptors, log scale)"
    line = next(layer for layer in spec["layer"] if layer["mark"].get("type") == "line")
    assert " ".join(line["encoding"]["y"]["title"]) == "Device writes that hit the cache, %"


@pytest.mark.parametrize(
    ("values", "is_log"),
    [
        ((256, 512, 1024), True),
        ((1, 8), True),
        ((10, 14, 20), False),
        ((2, 4), False),
        ((0, 8, 64), False),
        ((500, 707, 1000), True),
    ],
)
def test_values_far_apart_or_in_a_series_of_factors_have_a_log_scale(
    values: tuple[int, ...], is_log: bool
) -> None:
    records = [{"x": value} for value in values]
    axis: Any = setting_axis.drawn(records, "rx_descriptors", numeric=True)
    scale = axis.to_dict()["scale"]
    assert (scale.get("type") == "log") is is_log


def test_a_rule_says_where_rings_fill_the_ways() -> None:
    alike = Along("rx_descriptors", rings=Rules([Rule(256.0, None)], ""))
    own = curve("pcie_write_hit_rate")
    _, spec = curves.panel(own, alike)
    assert records(spec, dashed(spec)) == [{"x": 256.0, "curve": None}]
    assert ring_rules.WORDS in str(spec)
    assert "beyond it rings exceed the DDIO ways (rx_descriptors 256)." in curve_words.notes(
        [own], alike
    )
    assert "a limit, not advice" in curve_words.notes([own], alike)
    # Grey on its right, behind all bands.
    shade = spec["layer"][0]
    assert shade["mark"]["type"] == "rect" and records(spec, shade) == [{"x": 256.0}]
    assert shade["encoding"]["x2"] == {"value": "width"}
    of_ways = alike._replace(rings=Rules([Rule(256.0, None)], "", is_below=True))
    _, spec = curves.panel(own, of_ways)
    assert spec["layer"][0]["encoding"]["x2"] == {"value": 0}
    assert "below it rings exceed" in curve_words.notes([own], of_ways)
    apart = Along("rx_descriptors", "cores", rings=Rules([Rule(256.0, "6"), Rule(512.0, "3")], ""))
    two = own._replace(points=[p._replace(axes={**p.axes, "cores": 6}) for p in own.points])
    _, spec = curves.panel(two, apart)
    assert "rect" not in {layer["mark"]["type"] for layer in spec["layer"]}
    # Each in the colour of its curve.
    assert dashed(spec)["encoding"]["color"]["field"] == "curve"
    assert [line["curve"] for line in records(spec, dashed(spec))] == ["6", "3"]
    assert "(rx_descriptors 256 with cores 6, 512 with cores 3)" in curve_words.notes([two], apart)


def singles_of(*seeds: float) -> CurvePoint:
    return CurvePoint({"rx_descriptors": 128}, 1.0633, 1.191, len(seeds), False, seeds)


def drawn(name: str, unit: str, point: CurvePoint) -> dict[str, Any]:
    own = Curve(name, unit, [point], [model_bands.Band(None, None, "")])
    return curves.panel(own, Along("rx_descriptors"))[1]


def test_no_interval_goes_beyond_what_a_number_can_be() -> None:
    point = singles_of(0.2, 0.4, 2.6)
    (record,) = records(drawn("dram_write_gbytes_per_s", "GB/s", point))
    assert record["low"] == 0 and record["high"] == pytest.approx(1.0633 + 1.191)
    (record,) = records(drawn("rx_loss_rate", "percent", point._replace(value=99.5)))
    assert record["high"] == 100 and record["low"] == pytest.approx(99.5 - 1.191)
    # A metric that is not declared may be negative.
    (record,) = records(drawn("somebody_s", "GB/s", point))
    assert record["low"] == pytest.approx(1.0633 - 1.191)


def test_an_axis_whose_pale_band_is_cut_begins_at_nothing() -> None:
    own = Curve(
        "latency_ns.p99",
        "ns",
        [CurvePoint({"rx_descriptors": 128}, 20_000.0, 19_000.0, 3, False)],
        [model_bands.Band(0.0, 1e6, "")],
    )
    _, spec = curves.panel(own, Along("rx_descriptors"))
    scale = spec["layer"][-2]["encoding"]["y"]["scale"]
    assert scale["domain"][0] == 0


def test_each_seed_is_a_small_dot_beside_the_mean() -> None:
    point = singles_of(0.2, 0.4, 2.6)
    spec = drawn("dram_write_gbytes_per_s", "GB/s", point)
    (dots,) = [layer for layer in spec["layer"] if layer["mark"]["type"] == "circle"]
    assert [record["value"] for record in records(spec, dots)] == [0.2, 0.4, 2.6]
    own = Curve("dram_write_gbytes_per_s", "GB/s", [point], [model_bands.Band(None, None, "")])
    notes = curve_words.notes([own], Along("rx_descriptors"))
    assert "Dark band: 95 % interval of the mean over 3 seeds." in notes
    assert "Small dots: single seeds; one server is one of them." in notes
    key = curve_words.key([own], Along("rx_descriptors"))
    assert "95 % interval of the mean" in key and "small dots: single seeds" in key
    single = point._replace(singles=(), seeds=1)
    spec = drawn("dram_write_gbytes_per_s", "GB/s", single)
    assert "circle" not in {layer["mark"]["type"] for layer in spec["layer"]}
    alone = own._replace(points=[single])
    assert "mall dots" not in curve_words.notes([alone], Along("rx_descriptors"))
