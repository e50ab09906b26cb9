"""Figures of a sweep as pictures: for papers, slides, and people who see nothing else of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from skipline.report import (
    curve_words,
    curves,
    differences,
    pictures,
    sweep_answer,
    sweep_page,
)
from skipline.report.curves import Along, Curve
from skipline.report.pictures import Frame
from skipline.report.sweep_page import Drawn, Swept
from skipline.store import summary


def write(
    swept: Swept, directory: Path, kind: pictures.Kind, *, slide: bool = False
) -> Iterator[Path]:
    """Write the figures of a sweep as SVG or PNG, and one as a slide; yield each file."""
    found = swept.summary
    for drawn in sweep_page.draw(swept, summary.pareto(found.frame, found.metrics)):
        for at, (_, spec) in enumerate(drawn.panels):
            file = directory / f"{drawn.name}{_suffix(drawn, at)}.{kind}"
            pictures.write([spec], frame_of(swept, drawn, at), file, kind)
            yield file
        if len(drawn.panel_names) > 1:
            file = directory / f"{drawn.name}s.{kind}"
            specs, notes = _whole(swept, drawn)
            whole = Frame(swept.title, swept.answer, swept.conditions, notes)
            pictures.write(specs, whole, file, kind)
            yield file
        if slide and swept.along is not None:
            file = directory / f"slide.{kind}"
            _write_slide(swept, swept.along, drawn, file, kind)
            yield file


def _whole(swept: Swept, drawn: Drawn) -> tuple[list[dict[str, Any]], str]:
    """Return the figures of the picture that tells the whole, and its notes.

    What the setting cannot be seen to change has none: the answer says so. Metrics that were asked
    for are drawn, and all if there is nothing else to draw.
    """
    specs = {name: spec for name, (_, spec) in zip(drawn.panel_names, drawn.panels, strict=True)}
    told = telling(swept, drawn)
    if swept.along is None or swept.choice.metrics or len(told) == len(specs):
        return list(specs.values()), drawn.notes
    return [specs[curve.name] for curve in told], curve_words.notes(told, swept.along)


def telling(swept: Swept, drawn: Drawn) -> list[Curve]:
    """Return the curves that are seen to change along the setting, of those drawn; else all."""
    own = [curve for curve in swept.curves if curve.name in drawn.panel_names]
    return [one for one in own if differences.why_alike(one, swept.along) is None] or own


def _write_slide(swept: Swept, along: Along, drawn: Drawn, path: Path, kind: pictures.Kind) -> None:
    curve = of_slide(swept, drawn)
    # All metrics: what the others cost, and what stays as it is, is a part of the answer.
    best, *others = sweep_answer.statements(swept.summary, swept.curves, along)
    answer = "\n".join(filter(None, (best, " ".join(others))))
    words = Frame(swept.title, answer, swept.conditions, curve_words.short_key(curve, along))
    at = list(drawn.panel_names).index(curve.name)
    spec = drawn.panels[at][1]
    if along.by is None:
        spec = {**spec, "layer": [*spec["layer"], *curves.values(curve, along)]}
    pictures.write_slide(spec, words, path, kind)


def of_slide(swept: Swept, drawn: Drawn) -> Curve:
    """Return the first metric that was asked for, else the one that changes most.

    Those come first of which it is known what the model may be off by.
    """
    own = [curve for curve in swept.curves if curve.name in drawn.panel_names]
    return own[0] if swept.choice.metrics else max(telling(swept, drawn), key=_rank)


def _rank(curve: Curve) -> tuple[bool, float]:
    return any(band.low is not None for band in curve.bands), _change(curve)


def _change(curve: Curve) -> float:
    """Return by which share of its largest value a metric changes."""
    values = [point.value for point in curve.points]
    largest = max(map(abs, values))
    return (max(values) - min(values)) / largest if largest else 0.0


def frame_of(swept: Swept, drawn: Drawn, at: int) -> Frame:
    """Return the words around the picture of one panel: its answer, what is offered, its marks."""
    if swept.along is None:
        facts = "\n".join(filter(None, (swept.conditions, drawn.panels[at][0])))
        return Frame(swept.title, swept.answer, facts, drawn.notes)
    # The axis says what the panel shows. What is nothing everywhere has no picture.
    own = [curve for curve in swept.curves if curve.name == drawn.panel_names[at]]
    nothing = [curve for curve in swept.curves if curve.is_nothing and curve not in own]
    answer = sweep_answer.sentence(swept.summary, [*own, *nothing], swept.along)
    return Frame(swept.title, answer, swept.conditions, curve_words.notes(own, swept.along))


def _suffix(drawn: Drawn, at: int) -> str:
    """Name a picture by its metric, by which people look for it, else by its number."""
    if drawn.panel_names:
        return f"-{drawn.panel_names[at].replace(':', '-')}"
    return f"-{at + 1}" if len(drawn.panels) > 1 else ""
