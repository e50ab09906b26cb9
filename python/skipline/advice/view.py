"""Advice as tables, and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from skipline.advice import commands
from skipline.advice.advice import Advice
from skipline.advice.finals import LEAST_GAIN, Part
from skipline.diff.change import Change
from skipline.model_error import view as model_error_view
from skipline.text.table import Column, TextTable, texts

# Changes that are shown before anything is asked for.
_MOST_PARTS = 3


def sentence(advice: Advice) -> str:
    """Return the outcome in a few short sentences."""
    return f"{_outcome(advice)} {_effort(advice)}"


def _outcome(advice: Advice) -> str:
    goal = advice.target.goal.value
    if advice.gain is None and not advice.effort.tried:
        return f"The time did not suffice to try one setting for {goal}: give it more."
    if advice.gain is None:
        least = f"{100 * LEAST_GAIN:g} %"
        short = "The time did not suffice to tell. " if advice.effort.undone else ""
        return (
            f"{short}No setting that was tried is better than the present ones for {goal} by more "
            f"than chance and {least}, and keeps all bounds."
        )
    before, now = advice.target.shown(advice.gain.before), advice.target.shown(advice.gain.now)
    half = f" ± {advice.gain.ci95:,.4g}" if advice.gain.ci95 else ""
    changes = len(advice.candidate)
    how = "one change" if changes == 1 else f"{changes} changes"
    return f"{advice.target.label}: {before:,.5g} now, {now:,.5g}{half} with {how}."


def _effort(advice: Advice) -> str:
    effort = advice.effort
    told = f"{effort.tried:,} of {effort.combinations:,} settings were tried in short runs"
    if effort.for_guidelines:
        told += f", and {effort.for_guidelines} for published guidelines"
    if not effort.settled:
        return f"{told}."
    return (
        f"{told}. {effort.settled} were compared in {effort.runs} with {effort.seeds} seeds each."
    )


def overview(advice: Advice, *, everything: bool = False) -> list[RenderableType]:
    """Show settings with the gain from each, commands for them, costs, bounds; or all there is."""
    parts: list[RenderableType] = [Text(sentence(advice))]
    if advice.effort.undone:
        parts += ["", Text(_undone(advice))]
    shown = advice.parts if everything else advice.parts[:_MOST_PARTS]
    if shown:
        parts += ["", parts_table(shown)]
        if rest := len(advice.parts) - len(shown):
            parts.append(Text(f"{rest} more with smaller gains: --all"))
        parts += ["", _commands(advice, shown)]
        parts += ["", *(Text(burst.text) for burst in advice.bursts)] if advice.bursts else []
        parts += ["", _tenants(advice)]
    if len(shown) > 1 and len(advice.steps) > 1:
        parts += ["", _steps(advice, len(shown))]
    if everything and advice.evidence:
        parts += ["", _evidence(advice)]
    kept = ", ".join(bound.text for bound in advice.target.bounds)
    if kept and shown:
        parts += ["", Text(f"Bounds that hold with their whole 95 % interval: {kept}.")]
    if known := model_error(advice):
        parts += ["", Text(known)]
    if advice.evidence and not everything:
        parts += ["", Text(_guidelines_in_short(advice))]
    return parts


def _undone(advice: Advice) -> str:
    """Return what the time did not suffice for, and how there is more."""
    return (
        f"Left undone for lack of time: {'; '.join(advice.effort.undone)}. For more: a longer "
        "--budget, with --store FILE, which keeps what has been simulated."
    )


def _guidelines_in_short(advice: Advice) -> str:
    confirmed = sum(one.verdict == "confirmed here" for one in advice.evidence)
    return (
        f"{confirmed} of {len(advice.evidence)} published guidelines that are about these settings "
        "are confirmed here: --all."
    )


def model_error(advice: Advice) -> str:
    """Return what is known of the model's own error, of what the main tenant gets then."""
    return model_error_view.of_numbers((change.name, change.now) for _, change in advice.tenants)


def parts_table(parts: Sequence[Part]) -> TextTable:
    """Return a row per changed setting."""
    columns = (
        Column("setting", "key"),
        Column("now", "now"),
        Column("then", "then"),
        *texts("gain from it", "± 95 %"),
        *(Column(None, key) for key in Change._fields),
    )
    table = TextTable(columns)
    for part in parts:
        numbers = part.gain or (None,) * len(Change._fields)
        table.add(part.key, part.now, part.value, *_gain(part.gain), *numbers)
    return table


def _gain(change: Change | None) -> tuple[str, str]:
    """Return what the goal gains by a change, in percent of the goal without it."""
    if change is None:
        return "not known yet", ""
    percent = change.percent or 0.0
    text = f"{-percent:.2f} % better" if percent <= 0 else f"{percent:.2f} % worse"
    return text, f"{_half_width_percent(change):.2f} %"


def _half_width_percent(change: Change) -> float:
    return 100 * (change.ci95 or 0.0) / abs(change.before) if change.before else 0.0


def _commands(advice: Advice, parts: Sequence[Part]) -> TextTable:
    table = TextTable(texts("setting", "how"))
    changes = [(part.key, part.value) for part in parts]
    for key, lines in commands.for_changes(changes, advice.target.tenants):
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


def _steps(advice: Advice, most: int) -> TextTable:
    """Show what the first change brings, the first two, and so on."""
    columns = (
        *texts("changes", "settings"),
        Column(advice.target.label, form=",.5g"),
        *texts("gain", "± 95 %"),
    )
    table = TextTable(columns)
    for step in advice.steps:
        if len(step.candidate) > most:
            break
        settings = ", ".join(
            f"{part.key}={part.value}"
            for part in advice.parts
            if (part.key, part.value) in step.candidate
        )
        goal = advice.target.shown(step.gain.now)
        table.add(len(step.candidate), settings, goal, *_gain(step.gain))
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
            {
                "key": part.key,
                "now": part.now,
                "then": part.value,
                **dict.fromkeys(Change._fields),
                **(part.gain._asdict() if part.gain else {}),
            }
            for part in advice.parts
        ],
        "commands": dict(commands.for_changes(advice.candidate, advice.target.tenants)),
        "tenants": [{"tenant": name, **change._asdict()} for name, change in advice.tenants],
        "trade_off": [
            {
                "settings": dict(one.candidate),
                "cost": one.gain.now,
                "better_percent": -(one.gain.percent or 0.0),
            }
            for one in advice.steps
        ],
        "bursts": [one._asdict() for one in advice.bursts],
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
        "tried": advice.effort.tried,
        "tried_for_guidelines": advice.effort.for_guidelines,
        "combinations": advice.effort.combinations,
        "settled": advice.effort.settled,
        "seeds": advice.effort.seeds,
        "runs": advice.effort.runs,
        "undone": advice.effort.undone,
    }
