"""Advice as tables, and as JSON."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from skipline.advice import commands
from skipline.advice.advice import Advice
from skipline.diff.change import Change
from skipline.model_error import view as model_error_view
from skipline.text.table import Column, TextTable, texts


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
        parts += ["", parts_table(advice)]
        parts += ["", _commands(advice)]
        parts += ["", _tenants(advice)]
    if len(advice.trade_off) > 1:
        parts += ["", _trade_off(advice)]
    if advice.evidence:
        parts += ["", _evidence(advice)]
    kept = ", ".join(bound.text for bound in advice.target.bounds)
    if kept:
        parts += ["", Text(f"Bounds that hold with their whole 95 % interval: {kept}.")]
    if known := model_error(advice):
        parts += ["", Text(known)]
    return parts


def model_error(advice: Advice) -> str:
    """Return what is known of the model's own error, of what the main tenant gets then."""
    return model_error_view.of_numbers((change.name, change.now) for _, change in advice.tenants)


def parts_table(advice: Advice) -> TextTable:
    """Return a row per changed setting."""
    columns = (
        Column("setting", "key"),
        Column("now", "now"),
        Column("then", "then"),
        *texts("gain from it", "± 95 %"),
        *(Column(None, key) for key in Change._fields),
    )
    table = TextTable(columns)
    for part in advice.parts:
        table.add(part.key, part.now, part.value, *_gain(part.gain), *part.gain)
    return table


def _gain(change: Change) -> tuple[str, str]:
    """Return what the goal gains by a part, in percent of the goal without it."""
    percent = change.percent or 0.0
    half = _half_width_percent(change)
    if abs(percent) <= half:
        return f"not significant ({-percent:+.2f} %)", f"{half:.2f} %"
    text = f"{-percent:+.2f} % better" if percent <= 0 else f"{percent:.2f} % worse"
    return text, f"{half:.2f} %"


def _half_width_percent(change: Change) -> float:
    return 100 * (change.ci95 or 0.0) / abs(change.before) if change.before else 0.0


def _commands(advice: Advice) -> TextTable:
    table = TextTable(texts("setting", "how"))
    for key, lines in commands.for_changes(advice.candidate, advice.target.tenants):
        for at, line in enumerate(lines):
            table.add(key if at == 0 else "", line)
    return table


def _tenants(advice: Advice) -> TextTable:
    columns = (
        *texts("tenant", "number"),
        Column("now", form=",.5g"),
        Column("then", form=",.5g"),
        Column("change", form="{:+.2f} %".format),
        Column("± 95 %", form="{:.2f} %".format),
    )
    table = TextTable(columns)
    for tenant, change in advice.tenants:
        name = change.name.rpartition(":")[2]
        numbers = (change.before, change.now, change.percent, _half_width_percent(change))
        table.add(tenant, name, *numbers)
    return table


def _trade_off(advice: Advice) -> TextTable:
    columns = (*texts("changes", "settings"), Column("goal, in short runs", form=",.5g"))
    table = TextTable(columns)
    for one in advice.trade_off:
        settings = ", ".join(f"{key}={value}" for key, value in one.candidate) or "as now"
        table.add(len(one.candidate), settings, advice.target.shown(one.cost or 0.0))
    return table


def _evidence(advice: Advice) -> TextTable:
    table = TextTable(texts("guideline", "source", "here", "alone, in short runs"))
    for one in advice.evidence:
        source = f"{one.guideline.source} ({one.guideline.claim})"
        table.add(one.guideline.text, source, one.verdict, one.effect)
    return table


def as_json(advice: Advice) -> dict[str, Any]:
    """Return everything for programs."""
    return {
        "goal": advice.target.goal.value,
        "answer": sentence(advice),
        "helps": advice.gain is not None,
        "settings": dict(advice.candidate),
        "cost": None if advice.gain is None else advice.gain._asdict(),
        "bounds": [bound.text for bound in advice.target.bounds],
        "model_error": model_error(advice),
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
