"""Which metrics the pictures of a sweep show: that of all curves, and the slide."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from skipline.report import curve_words, curves, pictures, sweep_page, sweep_pictures
from skipline.report.curves import Along, Curve
from skipline.report.model_bands import Band
from skipline.report.pictures import Frame
from skipline.report.sweep_page import Choice, Drawn, Swept
from skipline.store.curves import CurvePoint
from skipline.store.summary import Summary

RINGS = (128, 256, 1024)
VALUES = {
    "throughput_gbps": (80.0, 80.0, 80.0),
    "latency_ns.p99": (5_349.0, 5_360.0, 5_367.0),
    "pcie_write_hit_rate": (95.0, 60.0, 23.0),
    "dram_write_gbytes_per_s": (0.3, 4.0, 8.0),
}
UNITS = dict(zip(VALUES, ("Gbit/s", "ns", "percent", "GB/s"), strict=True))
HITS, WRITES = "pcie_write_hit_rate", "dram_write_gbytes_per_s"


def swept(*names: str, chosen: Sequence[str] = ()) -> Swept:
    frame = pl.DataFrame({"rx_descriptors": RINGS, **{name: VALUES[name] for name in names}})
    band = {"latency_ns.p99": Band(0.0, 1e6, "")}
    curves = [
        Curve(
            name,
            UNITS[name],
            [
                CurvePoint({"rx_descriptors": ring}, value, 0.01, 3, False)
                for ring, value in zip(RINGS, VALUES[name], strict=True)
            ],
            [band.get(name, Band(None, None, ""))] * len(RINGS),
        )
        for name in names
    ]
    found = Summary(1, ["rx_descriptors"], list(names), UNITS, frame, pl.DataFrame())
    choice = Choice(metrics=tuple(chosen))
    return Swept("r.duckdb", choice, found, curves, None, "Rings", "", Along("rx_descriptors"))


def drawn(of: Swept) -> Drawn:
    (one,) = sweep_page.draw(of, [])
    return one


def axes(specs: Sequence[dict[str, Any]]) -> list[str]:
    """Return the titles of the vertical axes."""
    lines = [layer for spec in specs for layer in spec["layer"] if layer["mark"]["type"] == "line"]
    return [" ".join(line["encoding"]["y"]["title"]) for line in lines]


def test_what_the_setting_is_not_seen_to_change_has_no_panel_but_a_sentence() -> None:
    every = swept(*VALUES)
    specs, notes = sweep_pictures._whole(every, drawn(every))
    assert axes(specs) == ["Device writes that hit the cache, %", "DRAM writes, GB/s"]
    assert "Pale band" not in notes
    assert "5.349 to 5.367 µs everywhere; the model cannot tell these apart." in every.answer
    assert "80.00 Gbit/s at all points, within the intervals." in every.answer
    # It still has a picture of its own.
    assert list(drawn(every).panel_names) == list(VALUES)


def test_metrics_that_were_asked_for_are_drawn_and_all_where_nothing_changes() -> None:
    chosen = swept(*VALUES, chosen=list(VALUES))
    assert len(sweep_pictures._whole(chosen, drawn(chosen))[0]) == len(VALUES)
    flat = swept("throughput_gbps", "latency_ns.p99")
    assert len(sweep_pictures._whole(flat, drawn(flat))[0]) == 2


@pytest.mark.parametrize(
    ("names", "chosen", "shown"),
    [
        (tuple(VALUES), (), WRITES),
        (("throughput_gbps", HITS), (), HITS),
        ((HITS, WRITES), (HITS, WRITES), HITS),
        (("throughput_gbps", HITS), ("throughput_gbps", HITS), "throughput_gbps"),
    ],
)
def test_a_slide_shows_the_first_chosen_metric_else_the_one_that_changes_most(
    names: tuple[str, ...], chosen: tuple[str, ...], shown: str
) -> None:
    of = swept(*names, chosen=chosen)
    assert sweep_pictures.of_slide(of, drawn(of)).name == shown


def test_a_slide_is_16_to_9_and_has_its_words_around_the_figure() -> None:
    of = swept(*VALUES)
    own = sweep_pictures.of_slide(of, drawn(of))
    key = curve_words.short_key(own, Along("rx_descriptors"))
    assert key == (
        "Simulated. Line: mean of 3 seeds; dark: 95 % interval of the mean; what the model may be "
        "off by is not known here."
    )
    spec = pictures.slide(drawn(of).panels[0][1], Frame("Rings", "Small ones.", "40 Gbit/s", key))
    assert spec["width"] * 9 == spec["height"] * 16
    assert spec["autosize"] == {"type": "fit", "contains": "padding"}
    assert (spec["title"]["text"], spec["title"]["subtitle"]) == ("Rings", ["Small ones."])
    assert spec["layer"][-1]["encoding"]["text"]["value"] == ["40 Gbit/s", key]


def test_a_slide_writes_values_and_keeps_a_statement_on_a_line_of_its_own() -> None:
    of = swept(*VALUES)
    own = sweep_pictures.of_slide(of, drawn(of))
    layers = curves.values(own, Along("rx_descriptors"))
    # Each over an edge of its own.
    written = [one["text"] for layer in layers for one in layer["data"]["values"]]
    assert written == ["0.3", "0.3", "4", "4", "8", "8"]
    words = Frame("Rings", "Choose 128. With 4096: 9.8 GB/s higher.\nSent: 80.00 Gbit/s.")
    shown = pictures.slide(drawn(of).panels[0][1], words)
    assert shown["title"]["subtitle"] == words.answer.splitlines()


@pytest.mark.parametrize("band", [Band(10.0, 99.0, ""), Band(None, None, "far")])
def test_a_slide_prefers_what_the_model_error_is_known_of_and_says_where_not(band: Band) -> None:
    of = swept(HITS, WRITES)
    hits, writes = of.curves
    of = of._replace(curves=[hits._replace(bands=[*hits.bands[:2], band]), writes])
    own = sweep_pictures.of_slide(of, drawn(of))
    assert own.name == (HITS if band.low else WRITES)
    key = curve_words.short_key(own, Along("rx_descriptors"))
    is_told = "(90 %, not known at rx_descriptors 128, 256)" in key
    assert is_told is (band.low is not None)


@pytest.mark.parametrize("unit", ["%", "pp", "GB/s", "Gbit/s", "µs", "B", "KiB"])
def test_no_line_ends_between_a_number_and_its_unit(unit: str) -> None:
    lines = pictures._lines(f"it is 9.8 {unit} then", 10)
    assert any(f"9.8 {unit}" in line for line in lines)
