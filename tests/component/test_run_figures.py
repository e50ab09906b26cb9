"""Figures of a run stay readable whatever the machine: few rows, in an order that people expect."""

from pathlib import Path
from typing import Any

import pytest

from skipline.report import run_figures
from skipline.runs import agents, result
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
    first = "core0 (built the pool)"
    assert rows_of(rows, "component") == [first, "core1", "core2", "core10", "core11", "nic0"]


def two_tenants(stored: result.Result) -> result.Result:
    """A result as it would be with a second tenant, a packet sink, on the same card's socket."""
    keys = {**stored.scenario, "name": "second", "application": "packet-sink"}
    stored.scenario["tenant"] = [keys]
    for name in ("offered_gbps", "received_gbps", "throughput_gbps", "latency_ns"):
        stored.metrics[f"second:{name}"] = stored.metrics[name]
    stored.metrics["second:pcie_write_hit_rate"] = stored.metrics["pcie_write_hit_rate"]
    return stored


def test_of_several_tenants_loads_and_latencies_say_whose_they_are(stored: result.Result) -> None:
    both = two_tenants(stored)
    _, rows, _ = figure(both, "Load on the wire")
    assert rows_of(rows, "load") == [
        *(f"main: {load}" for load in ("offered", "received", "sent")),
        *(f"second: {load}" for load in ("offered", "received")),
    ]
    titles = [one.panel[0] for one in run_figures.first_figures(both)]
    assert {"Latency of main", "Latency of second"} <= set(titles)


def test_of_several_tenants_agents_are_named_with_theirs(stored: result.Result) -> None:
    stored.scenario["cores"] = 2
    stored.limits.append(
        result.Limit(
            kind="wire-in", resource="the wire into nic1", tenant="second", utilisation_percent=1.0
        )
    )
    named = agents.labels(two_tenants(stored))
    assert named["core0"] == "core0 (main, built the pool)"
    assert named["core1"] == "core1 (main)"
    assert named["core2"] == "core2 (second, built the pool)"
    assert named["nic1"] == "nic1 (second)"
    stored.scenario["initial_content"] = "empty"
    assert agents.labels(stored)["core0"] == "core0 (main)"


def test_what_is_shown_first_of_a_sink_is_what_it_receives(stored: result.Result) -> None:
    both = two_tenants(stored)
    shown = list(both.all_headlines())
    assert "throughput_gbps" in shown and "received_gbps" not in shown
    assert "second:received_gbps" in shown and "second:throughput_gbps" not in shown
    first = {entry.metric for entry in both.key_numbers("second")}
    assert "second:received_gbps" in first and "second:throughput_gbps" not in first
    owners = [both.tenant_of(name) for name in shown]
    assert owners == sorted(owners, key=("", "main", "second").index)
    assert both.tenant_of("pcie_write_hit_rate") == ""
