"""Results are read back as they were written."""

import csv
import dataclasses
import io
from pathlib import Path

import pytest

from skipline import InputError
from skipline.runs import result, result_view
from skipline.runs.run_command import RESULT_FILE
from skipline.text.table import TextTable


@pytest.fixture
def stored(short_run: Path) -> result.Result:
    return result.parse((short_run / RESULT_FILE).read_text(), RESULT_FILE)


def test_a_breakdown_gives_one_entry_per_component() -> None:
    metric = result.Metric(value={"up": 1.0, "down": 2.0}, ci95={"up": 0.1}, unit="percent")
    assert list(metric.entries("pcie")) == [
        ("pcie", "up", 1.0, 0.1, "percent"),
        ("pcie", "down", 2.0, None, "percent"),
    ]


def test_a_number_that_is_none_is_told_from_a_breakdown(stored: result.Result) -> None:
    assert stored.metrics["ipc"].value is None
    with pytest.raises(KeyError, match="ipc has no value"):
        stored.scalar("ipc")
    with pytest.raises(KeyError, match="latency_ns is not a single number"):
        stored.scalar("latency_ns")


def test_evictions_are_sorted_into_evictor_owner_read_and_unread(stored: result.Result) -> None:
    counts = {"nic0>core0:unread": 1, "nic0>nic0:read": 5, "nic0>nic0:unread": 2}
    stored.metrics["evictions"] = result.Metric(value=dict(counts), unit="lines")
    assert result_view.evictions(stored) == [("nic0", "nic0", 5, 2), ("nic0", "core0", 0, 1)]


def test_evictions_of_as_many_lines_come_in_the_order_of_their_cores(stored: result.Result) -> None:
    counts = {f"nic0>core{core}:unread": 1 for core in ("10", "2", "0")}
    stored.metrics["evictions"] = result.Metric(value=dict(counts), unit="lines")
    owners = [owner for _, owner, _, _ in result_view.evictions(stored)]
    assert owners == ["core0", "core2", "core10"]


def test_the_smallest_of_many_pairs_share_a_row(stored: result.Result) -> None:
    counts = {f"core{core}>nic0:read": 100 + core for core in range(14)}
    stored.metrics["evictions"] = result.Metric(value=dict(counts), unit="lines")
    shown = result_view.evictions_table(stored)
    assert isinstance(shown, TextTable)
    rows = list(shown.texts())
    assert [row[0] for row in rows] == [*(f"core{core}" for core in range(13, 3, -1)), "4 others"]
    assert sum(float(row[2].replace(",", "")) for row in rows) == sum(counts.values())


def test_a_result_that_has_not_settled_says_so_where_it_is_printed(stored: result.Result) -> None:
    for settled in (True, False):
        printed = repr(dataclasses.replace(stored, settled=settled))
        assert ("NOT SETTLED" in printed) == (not settled)


def test_the_numbers_of_cores_come_in_the_order_of_the_cores(stored: result.Result) -> None:
    value = {f"core{core}": 1.0 for core in (0, 1, 10, 2)}
    stored.metrics["llc_misses_per_s"] = result.Metric(value=dict(value), unit="1/s")
    entries = dict(result_view.groups(stored))["Cache"]
    cores = [entry.component for entry in entries if entry.metric == "llc_misses_per_s"]
    assert cores == ["core0", "core1", "core2", "core10"]


def test_every_number_is_in_the_csv(stored: result.Result) -> None:
    rows = list(csv.DictReader(io.StringIO(result_view.numbers_table(stored).as_csv())))
    assert len(rows) == len(list(stored.entries()))
    assert {row["metric"] for row in rows} == set(stored.metrics)


def test_every_metric_is_shown_by_a_group_or_a_table_of_its_own(stored: result.Result) -> None:
    stored.metrics["brand_new"] = result.Metric(value=1.0, unit="lines")
    shown = {entry.metric for _, entries in result_view.groups(stored) for entry in entries}
    apart = {n for n in stored.metrics if stored.description(n).group in result_view.APART}
    # Of a tenant that is alone, the machine's numbers say the same.
    alone = {name for name in stored.metrics if name.startswith("main:")}
    assert alone == {"main:pcie_write_hit_rate", "main:pcie_read_hit_rate"}
    assert shown | apart | alone == set(stored.metrics)


@pytest.mark.parametrize("text", ["", "[]", '{"seed": 1}', '{"metrics": "none"}'])
def test_something_else_is_not_taken_for_a_result(text: str) -> None:
    with pytest.raises(InputError, match=r"some\.json: not a result"):
        result.parse(text, "some.json")
