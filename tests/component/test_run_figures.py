"""Figures of a run stay readable whatever the machine: few rows, in an order that people expect."""

from pathlib import Path
from typing import Any

import pytest

from skipline.report import run_figures
from skipline.runs import result
from skipline.runs.run_command import RESULT_FILE

CORES = 18


@pytest.fixture
def stored(short_run: Path) -> result.Result:
    return result.parse((short_run / RESULT_FILE).read_text(), RESULT_FILE)


def figure(of: result.Result, title: str) -> tuple[str, list[dict[str, Any]], int]:
    """Title, rows and height of the figure whose title begins with `title`."""
    drawn = [*run_figures.first_figures(of), *run_figures.more_figures(of)]
    name, spec = next(figure.panel for figure in drawn if figure.panel[0].startswith(title))
    return name, spec["data"]["values"], spec["height"]


def rows_of(rows: list[dict[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))


def test_of_many_evictions_the_ten_largest_pairs_and_the_others_together_are_drawn(
    stored: result.Result,
) -> None:
    pairs = [(a, b) for a in range(CORES) for b in range(CORES)]
    counts = {f"core{a}>core{b}:unread": CORES * a + b for a, b in pairs}
    stored.metrics["evictions"] = result.Metric(value=dict(counts), unit="lines")
    caption, rows, height = figure(stored, "LLC evictions")
    assert "10 largest of 324 pairs" in caption
    drawn = rows_of(rows, "pair")
    assert (len(drawn), drawn[0], drawn[-1]) == (11, "core17 → core17", "others")
    assert sum(row["lines"] for row in rows) == sum(counts.values())
    assert height < 500


def test_few_evictions_are_drawn_whole(stored: result.Result) -> None:
    counts = {f"nic0>core{core}:read": 100 - core for core in range(10)}
    stored.metrics["evictions"] = result.Metric(value=dict(counts), unit="lines")
    caption, rows, _ = figure(stored, "LLC evictions")
    assert caption == "LLC evictions: evictor → owner"
    assert rows_of(rows, "pair") == [f"nic0 → core{core}" for core in range(10)]


def test_owners_are_in_the_order_of_their_numbers(stored: result.Result) -> None:
    value = {f"core{core}": 1.0 for core in (0, 1, 10, 11, 2)} | {"nic0": 1.0}
    stored.metrics["llc_occupancy_bytes"] = result.Metric(value=dict(value), unit="bytes")
    _, rows, _ = figure(stored, "LLC occupancy")
    assert rows_of(rows, "component") == ["core0", "core1", "core2", "core10", "core11", "nic0"]
