"""Advice as tables for people, and as JSON."""

from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from skipline.advise import commands
from skipline.advise.advice import Advice
from skipline.diff.change import Change
from skipline.text import csv_text


def sentence(advice: Advice) -> str:
    """Return the outcome in one sentence."""
    effort = (
        f"{len(advice.tried)} of {advice.combinations:,} settings tried in short runs; "
        f"{advice.settled} simulated to the end with {advice.seeds} seeds: finalists, and the best "
        "one without single changes"
        + (f"; {advice.for_guidelines} more tried for guidelines" if advice.for_guidelines else "")
    )
    if advice.gain is None:
        return (
            f"No setting that was tried is better than the present ones for "
            f"{advice.target.goal.value} and keeps all bounds ({effort})."
        )
    before, now = advice.target.shown(advice.gain.before), advice.target.shown(advice.gain.now)
    half = f" ± {advice.gain.ci95:,.4g}" if advice.gain.ci95 else ""
    return f"{advice.target.label}: {before:,.5g} now, {now:,.5g}{half} then ({effort})."


def overview(advice: Advice) -> list[RenderableType]:
    """Show settings with the gain from each, commands for them, costs, guidelines, bounds."""
    parts: list[RenderableType] = [Text(sentence(advice))]
    if advice.parts:
        parts += ["", _parts(advice)]
        parts += ["", _commands(advice)]
        parts += ["", _tenants(advice)]
    if len(advice.trade_off) > 1:
        parts += ["", _trade_off(advice)]
    if advice.evidence:
        parts += ["", _evidence(advice)]
    kept = ", ".join(bound.text for bound in advice.target.bounds)
    if kept:
        parts += ["", Text(f"Bounds that hold with their whole 95 % interval: {kept}.")]
    return parts


def _parts(advice: Advice) -> Table:
    table = _table("setting", "now", "then", "gain from it", "± 95 %")
    for part in advice.parts:
        table.add_row(part.key, part.now, part.value, *_gain(part.gain))
    return table


def _gain(change: Change) -> tuple[str, str]:
    """Return what the goal gains by a part, in percent of the goal without it."""
    percent = change.percent or 0.0
    half = 100 * (change.ci95 or 0.0) / abs(change.before) if change.before else 0.0
    if abs(percent) <= half:
        return f"not significant ({-percent:+.2f} %)", f"{half:.2f} %"
    text = f"{-percent:+.2f} % better" if percent <= 0 else f"{percent:.2f} % worse"
    return text, f"{half:.2f} %"


def _commands(advice: Advice) -> Table:
    table = _table("setting", "how")
    for key, lines in commands.for_changes(advice.candidate, advice.target.tenants):
        for at, line in enumerate(lines):
            table.add_row(key if at == 0 else "", Text(line))
    return table


def _tenants(advice: Advice) -> Table:
    table = _table("tenant", "number", "now", "then", "change", "± 95 %")
    for tenant, change in advice.tenants:
        name = change.name.rpartition(":")[2]
        percent = "" if change.percent is None else f"{change.percent:+.2f} %"
        half = 100 * (change.ci95 or 0.0) / abs(change.before) if change.before else 0.0
        numbers = [f"{change.before:,.5g}", f"{change.now:,.5g}"]
        table.add_row(tenant, name, *numbers, percent, f"{half:.2f} %")
    return table


def _trade_off(advice: Advice) -> Table:
    table = _table("changes", "settings", "goal, in short runs")
    for one in advice.trade_off:
        settings = ", ".join(f"{key}={value}" for key, value in one.candidate) or "as now"
        shown = f"{advice.target.shown(one.cost or 0.0):,.5g}"
        table.add_row(str(len(one.candidate)), settings, shown)
    return table


def _evidence(advice: Advice) -> Table:
    table = _table("guideline", "source", "here", "alone, in short runs")
    for one in advice.evidence:
        source = f"{one.guideline.source} ({one.guideline.claim})"
        table.add_row(one.guideline.text, source, one.verdict, one.effect)
    return table


def as_csv(advice: Advice) -> str:
    """Write a row per changed setting."""
    columns = ["key", "now", "then", *Change._fields]
    rows = [(part.key, part.now, part.value, *part.gain) for part in advice.parts]
    return csv_text.from_rows(columns, rows)


def as_json(advice: Advice) -> dict[str, Any]:
    """Return everything for programs."""
    return {
        "goal": advice.target.goal.value,
        "answer": sentence(advice),
        "helps": advice.gain is not None,
        "settings": dict(advice.candidate),
        "cost": None if advice.gain is None else advice.gain._asdict(),
        "bounds": [bound.text for bound in advice.target.bounds],
        "parts": [
            {"key": part.key, "now": part.now, "then": part.value, **part.gain._asdict()}
            for part in advice.parts
        ],
        "commands": dict(commands.for_changes(advice.candidate, advice.target.tenants)),
        "tenants": [{"tenant": name, **change._asdict()} for name, change in advice.tenants],
        "trade_off": [
            {"settings": dict(one.candidate), "cost": one.cost} for one in advice.trade_off
        ],
        "guidelines": [
            {
                "claim": one.guideline.claim,
                "text": one.guideline.text,
                "source": one.guideline.source,
                "key": one.key,
                "value": one.value,
                "better_percent": None if one.number else one.percent,
                "points": {one.number: one.percent} if one.number else {},
                "verdict": one.verdict,
            }
            for one in advice.evidence
        ],
        "tried": len(advice.tried),
        "tried_for_guidelines": advice.for_guidelines,
        "combinations": advice.combinations,
        "settled": advice.settled,
        "seeds": advice.seeds,
    }


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name)
    return table
