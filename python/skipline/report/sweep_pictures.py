"""Figures of a sweep as pictures: for papers, slides, and people who see nothing else of it."""

from pathlib import Path

from skipline.report import curve_words, pictures, sweep_answer, sweep_page
from skipline.report.pictures import Frame
from skipline.report.sweep_page import Drawn, Swept
from skipline.store import summary


def write(swept: Swept, directory: Path, kind: pictures.Kind) -> list[Path]:
    """Write the figures of a sweep as SVG or PNG; return the files."""
    found = swept.summary
    files = []
    for drawn in sweep_page.draw(swept, summary.pareto(found.frame, found.metrics)):
        for at, (_, spec) in enumerate(drawn.panels):
            files.append(directory / f"{drawn.name}{_suffix(drawn, at)}.{kind}")
            pictures.write([spec], frame_of(swept, drawn, at), files[-1], kind)
        if len(drawn.panel_names) > 1:
            # One picture that tells the whole.
            files.append(directory / f"{drawn.name}s.{kind}")
            whole = Frame(swept.title, swept.answer, swept.load, drawn.notes)
            pictures.write([spec for _, spec in drawn.panels], whole, files[-1], kind)
    return files


def frame_of(swept: Swept, drawn: Drawn, at: int) -> Frame:
    """Return the words around the picture of one panel: its answer, what is offered, its marks."""
    if swept.along is None:
        facts = "\n".join(filter(None, (swept.load, drawn.panels[at][0])))
        return Frame(swept.title, swept.answer, facts, drawn.notes)
    # The axis says what the panel shows. What is nothing everywhere has no picture.
    own = [curve for curve in swept.curves if curve.name == drawn.panel_names[at]]
    nothing = [curve for curve in swept.curves if curve.is_nothing and curve not in own]
    answer = sweep_answer.sentence(swept.summary, [*own, *nothing], swept.along)
    return Frame(swept.title, answer, swept.load, curve_words.notes(own, swept.along))


def _suffix(drawn: Drawn, at: int) -> str:
    """Name a picture by its metric, by which people look for it, else by its number."""
    if drawn.panel_names:
        return f"-{drawn.panel_names[at].replace(':', '-')}"
    return f"-{at + 1}" if len(drawn.panels) > 1 else ""
