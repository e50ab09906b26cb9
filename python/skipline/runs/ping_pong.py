"""`skipline demo ping-pong`: DDIO off and on, as sockperf and perf stat would report it."""

import json
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from skipline.platforms import budget
from skipline.platforms.budget_view import budget_table
from skipline.runs import simulation
from skipline.runs.result import Result
from skipline.text import terminal
from skipline.text.table import Column, TextTable, numbers

SCENARIO = "experiments/blog/echo.toml"
PERCENTILES = ("p25", "p50", "p75", "p90", "p99", "p99.9", "p99.99", "p99.999")
BATCHES = 40
# The time for which counters are given, as perf stat would.
_COUNTED_S = 10
_CORE = "core0"


@dataclass(frozen=True)
class Side:
    """One of the two runs: latencies in us, counters in events per 10 s of the polling core."""

    latency_us: dict[str, float]
    messages: int
    messages_per_s: float
    counters: dict[str, float]


@dataclass(frozen=True)
class PingPong:
    """The outcome: the runs with DDIO off and on, and the platform's time budgets."""

    platform: str
    seed: int
    off: Side
    on: Side
    budget: list[budget.Item]


def measure(messages: int, seed: int | None) -> PingPong:
    """Simulate `messages` round trips, rounded up to whole batches, without and with DDIO."""
    with terminal.progress_bar("DDIO off") as bar:
        off, on = (_run(messages, seed, ddio, bar) for ddio in ("off", "on"))
    return PingPong(on.platform, on.seed, _side(off), _side(on), budget.items(on.platform))


def _run(messages: int, seed: int | None, ddio: str, bar: terminal.Bar) -> Result:
    before = 0.5 if ddio == "on" else 0.0

    def show(state: dict[str, float]) -> None:
        bar.update(before + state["fraction"] / 2, f"DDIO {ddio}")

    return simulation.run(SCENARIO, _settings(messages, ddio), seed=seed, progress=show)


def _settings(messages: int, ddio: str) -> dict[str, object]:
    settings: dict[str, object] = {
        "run.batch_packets": -(-messages // BATCHES),
        "run.min_batches": BATCHES,
        "run.max_batches": BATCHES,
    }
    return settings if ddio == "on" else {**settings, "ddio_ways": 0}


def _side(result: Result) -> Side:
    latency = _parts(result, "one_way_latency_ns")
    rate = result.scalar("work_per_s")
    misses = [
        ("L2 misses of loads", "l2_load_misses_per_s"),
        ("L3 misses of loads", "llc_misses_per_s"),
    ]
    clock_ghz = float(result.scenario["core_ghz"])
    instructions = _parts(result, "instructions_per_s")[_CORE] * _COUNTED_S
    counters = {"cycles": clock_ghz * 1e9 * _COUNTED_S, "instructions": instructions}
    counters |= {name: _parts(result, metric)[_CORE] * _COUNTED_S for name, metric in misses}
    counters |= {"instructions per cycle": result.scalar("ipc")}
    counters |= {"L3 miss ratio, percent": result.scalar("llc_load_miss_ratio")}
    in_us = {name: value / 1e3 for name, value in latency.items()}
    return Side(in_us, result.packets, rate, counters)


def _parts(result: Result, metric: str) -> dict[str, float]:
    value = result.metrics[metric].value
    if not isinstance(value, dict):
        raise TypeError(f"{metric} is a single number, without components")
    return {part: float(number) for part, number in value.items() if number is not None}


def views(measured: PingPong) -> list[RenderableType]:
    """Show the report to people."""
    title = f"Ping-pong of 256-byte messages on {measured.platform}: latency is half a round trip"
    return [
        Text(title, style="bold"),
        "",
        *[_summary(name, side) for name, side in _named(measured)],
        "",
        _latencies(measured),
        "",
        _counters(measured),
        "",
        budget_table(measured.budget, measured.platform),
    ]


def _named(measured: PingPong) -> list[tuple[str, Side]]:
    return [("DDIO off", measured.off), ("DDIO on", measured.on)]


def _summary(name: str, side: Side) -> str:
    latency = side.latency_us
    return (
        f"{name}: {side.messages} messages, {side.messages_per_s:.0f} per second; "
        f"latency {latency['mean']:.3f} us on average, standard deviation {latency['sd']:.3f}, "
        f"99 % confidence interval of the average ±{latency['mean_ci99']:.4f}"
    )


def _latencies(measured: PingPong) -> TextTable:
    us, ns = numbers("DDIO off", "DDIO on", form=".3f"), numbers("off - on, ns", form=".0f")
    table = TextTable((Column("one-way latency, us"), *us, *ns), has_edges=True)
    for name in ("max", *reversed(PERCENTILES), "min", "mean"):
        off, on = measured.off.latency_us[name], measured.on.latency_us[name]
        table.add(name, off, on, (off - on) * 1e3)
    return table


def _counters(measured: PingPong) -> TextTable:
    columns = (Column(f"polling core in {_COUNTED_S} s"), *numbers("DDIO off", "DDIO on"))
    table = TextTable((*columns, *numbers("off / on", form=".2f")), has_edges=True)
    for name, off in measured.off.counters.items():
        on = measured.on.counters[name]
        digits = 2 if name.startswith(("instructions per", "L3 miss ratio")) else 0
        table.add(name, f"{off:,.{digits}f}", f"{on:,.{digits}f}", off / on if on else None)
    return table


def as_json(measured: PingPong) -> str:
    """Write the report for programs; latencies in us, counters per 10 s."""
    sides: dict[str, Any] = {
        name.lower().replace(" ", "_"): {
            "messages": side.messages,
            "messages_per_s": side.messages_per_s,
            "one_way_latency_us": side.latency_us,
            "counters_per_10_s": side.counters,
        }
        for name, side in _named(measured)
    }
    gaps = {
        name: (measured.off.latency_us[name] - measured.on.latency_us[name]) * 1e3
        for name in ("min", *PERCENTILES, "max", "mean")
    }
    return json.dumps(
        {
            "platform": measured.platform,
            "seed": measured.seed,
            **sides,
            "off_minus_on_ns": gaps,
            "budget_ns": {item.name: item.value_ns for item in measured.budget},
        },
        indent=2,
    )


def numbers_table(measured: PingPong) -> TextTable:
    """Return a row per number, for programs."""
    keys = ("number", "unit", "ddio_off", "ddio_on")
    table = TextTable(Column(None, key) for key in keys)
    for name, off in measured.off.latency_us.items():
        table.add(f"one-way latency {name}", "us", off, measured.on.latency_us[name])
    for name, off in measured.off.counters.items():
        table.add(name, "per 10 s", off, measured.on.counters[name])
    return table
