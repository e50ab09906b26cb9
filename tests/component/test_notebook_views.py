"""Results as people who work in Python see them: data frames, notebooks, the prompt."""

import sys
import types
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

import skipline
from skipline.runs import result
from skipline.runs.run_command import RESULT_FILE
from skipline.text import terminal
from skipline.traces.replay import STANDARD_MACHINE

MARKUP = "<script>alert('1')</script> & \"more\""
LINE_BYTES = 64


class Cells(HTMLParser):
    """The rows of a table; markup that is not closed, or in the wrong order, fails."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def cells(markup: str) -> Cells:
    parser = Cells()
    parser.feed(markup)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture
def stored(short_run: Path) -> result.Result:
    return result.parse((short_run / RESULT_FILE).read_text(), RESULT_FILE)


@pytest.fixture(scope="module")
def traced() -> skipline.TraceResult:
    return skipline.trace(range(0, 1 << 20, LINE_BYTES), STANDARD_MACHINE, explain=True)


def test_a_frame_has_every_number_once_with_what_it_is(stored: result.Result) -> None:
    frame = stored.to_frame()
    assert frame.columns == ["metric", "component", "value", "ci95", "unit", "group", "label"]
    assert frame.height == len(list(stored.entries()))
    assert frame.select("metric", "component").is_unique().all()
    (row,) = frame.filter(metric="latency_ns", component="p99").rows(named=True)
    metric = stored["latency_ns.p99"]
    assert row == {
        "metric": "latency_ns",
        "component": "p99",
        "value": metric.value,
        "ci95": metric.ci95,
        "unit": "ns",
        "group": "Latency",
        "label": metric.label,
    }


def test_what_has_no_value_or_component_is_null_in_a_frame(stored: result.Result) -> None:
    frame = stored.to_frame()
    assert frame.filter(metric="ipc")["value"].to_list() == [None]
    assert frame.filter(metric="throughput_gbps")["component"].to_list() == [None]


def test_frames_of_several_runs_fit_below_each_other(stored: result.Result) -> None:
    other = replace(stored, metrics={"ipc": stored.metrics["ipc"]})
    whole = [stored.to_frame(), other.to_frame()]
    assert pl.concat(whole).height == whole[0].height + 1
    assert replace(stored, metrics={}).to_frame().schema == whole[0].schema


def test_a_notebook_shows_the_headline_metrics_and_how_to_see_the_others(
    stored: result.Result,
) -> None:
    shown = cells(stored._repr_html_())
    header, *rows = shown.rows
    assert header == ["", "metric", "value", "95 %"]
    metrics = {row[1].partition(".")[0] for row in rows}
    assert metrics == set(stored.headlines())
    rate = next(row for row in rows if row[1] == "pcie_write_hit_rate")
    assert (
        rate[0] == "Device writes that hit the cache"
        and rate[2].endswith(" %")
        and rate[3].startswith("±")
    )
    assert any(".to_frame()" in text for text in shown.texts)


def test_a_notebook_shows_of_a_long_breakdown_the_first_rows(stored: result.Result) -> None:
    agents = {f"core{core}": 1.0 for core in range(56)}
    name = "llc_occupancy_bytes"
    metric = replace(stored.metrics[name], value=dict(agents), ci95=None)
    stored.metrics[name] = metric
    rows = [row for row in cells(stored._repr_html_()).rows if name in row[1]]
    assert rows[-1][1] == f"{name}: 44 more" and len(rows) == 13


def test_a_notebook_says_what_a_run_has_to_say(stored: result.Result) -> None:
    noted = replace(stored, settled=False, notes=["a key has no effect"])
    texts = cells(noted._repr_html_()).texts
    assert "a key has no effect." in texts
    assert any(text.startswith("It has not settled") for text in texts)


def test_texts_of_files_are_no_markup_in_a_notebook(
    stored: result.Result, traced: skipline.TraceResult
) -> None:
    scenario = {**stored.scenario, "title": MARKUP}
    odd = replace(stored, scenario=scenario, platform=MARKUP, notes=[MARKUP])
    odd.metrics["pcie_write_hit_rate"] = replace(
        stored.metrics["pcie_write_hit_rate"],
        label=MARKUP,
        unit=MARKUP,
        headline=True,
        value={MARKUP: 1.0},
    )
    shown = cells(odd._repr_html_())
    assert sum(MARKUP in text for text in shown.texts) >= 6
    level = replace(traced.levels[0], name=MARKUP)
    odd_trace = replace(traced, trace=MARKUP, levels=[level])
    assert cells(odd_trace._repr_html_()).rows[1][0] == MARKUP


def test_the_prompt_shows_a_run_in_one_line(stored: result.Result) -> None:
    for text in (repr(stored), str(stored)):
        assert text.startswith("<skipline.Result 'L2 forwarder")
        assert "pcie_write_hit_rate" in text and "skylake-gold-6140" in text
        assert len(text) < 300 and "\n" not in text


def test_a_replay_is_a_frame_of_levels(traced: skipline.TraceResult) -> None:
    frame = traced.to_frame()
    kinds = ["compulsory", "capacity", "conflict", "invalidated"]
    assert frame.columns == ["level", "hits", "misses", "writebacks", "miss_rate", *kinds]
    assert frame["level"].to_list() == [level.name for level in traced.levels]
    assert frame["misses"].to_list() == [level.misses for level in traced.levels]
    assert frame["compulsory"].to_list() == [1 << 14] * 3
    plain = replace(traced.levels[0], miss_kinds=None, hits=0, misses=0)
    unused = replace(traced, levels=[plain]).to_frame()
    assert unused.columns == frame.columns[:5]
    assert unused["miss_rate"].to_list() == [None] and unused.schema["miss_rate"] == pl.Float64


def test_a_replay_is_a_table_in_a_notebook_and_a_line_at_the_prompt(
    traced: skipline.TraceResult,
) -> None:
    header, *rows = cells(traced._repr_html_()).rows
    assert header == ["level", "hits", "misses", "miss rate", "write-backs"]
    assert rows[0] == ["L1", "0", "16,384", "100.00 %", "0"]
    for text in (repr(traced), str(traced)):
        assert text.startswith("<skipline.TraceResult 'array' on three-level-lru: 16,384 ref")
        assert "L1 100.00 %" in text and len(text) < 300


def test_a_notebook_shows_progress_in_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, markup: str) -> None:
            shown.append(markup)

    def display(markup: str, display_id: bool) -> Handle:
        assert display_id
        shown.append(markup)
        return Handle()

    module = types.ModuleType("IPython.display")
    monkeypatch.setattr(module, "HTML", str, raising=False)
    monkeypatch.setattr(module, "display", display, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    with terminal.progress_bar("sweep") as bar:
        bar.update(0.5, "5 of 10 <points>")
        bar.update(1.0, "10 of 10")
    assert 'value="0.500"' in shown[0] and "5 of 10 &lt;points&gt;" in shown[0]
    assert 'value="1.000"' in shown[1]
    assert shown[-1] == ""
