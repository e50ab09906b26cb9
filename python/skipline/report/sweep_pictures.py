"""Figures of a sweep as pictures: for papers, slides, and people who see nothing else of it."""

from pathlib import Path
from typing import Any

from skipline.report import curve_words, differences, pictures, sweep_answer, sweep_page
from skipline.report.curves import Along, Curve
from skipline.report.pictures import Frame
from skipline.report.sweep_page import Drawn, Swept
from skipline.store import summary


def write(swept: Swept, directory: Path, kind: pictures.Kind, *, slide: bool = False) -> list[Path]:
    """Write the figures of a sweep as SVG or PNG, and one as a slide; return the files."""
    found = swept.summary
    files = []
    for drawn in sweep_page.draw(swept, summary.pareto(found.frame, found.metrics)):
        for at, (_, spec) in enumerate(drawn.panels):
            files.append(directory / f"{drawn.name}{_suffix(drawn, at)}.{kind}")
            pictures.write([spec], frame_of(swept, drawn, at), files[-1], kind)
        if len(drawn.panel_names) > 1:
            files.append(directory / f"{drawn.name}s.{kind}")
            specs, notes = _whole(swept, drawn)
            whole = Frame(swept.title, swept.answer, swept.conditions, notes)
            pictures.write(specs, whole, files[-1], kind)
        if slide and swept.along is not None:
            files.append(directory / f"slide.{kind}")
            _write_slide(swept, swept.along, drawn, files[-1], kind)
    return files


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
    answer = sweep_answer.sentence(swept.summary, [curve], along)
    words = Frame(swept.title, answer, swept.conditions, curve_words.short_key(curve, along))
    at = list(drawn.panel_names).index(curve.name)
    pictures.write_slide(drawn.panels[at][1], words, path, kind)


def of_slide(swept: Swept, drawn: Drawn) -> Curve:
    """Return the first metric that was asked for, else the one that changes most."""
    own = [curve for curve in swept.curves if curve.name in drawn.panel_names]
    return own[0] if swept.choice.metrics else max(telling(swept, drawn), key=_change)


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
