"""Writes figures as pictures for papers and slides: SVG or PNG, in the colours of light pages."""

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from altair import SCHEMA_VERSION

from skipline import atomic
from skipline.report import palette
from skipline.report.chart_style import CONFIG, INK, SOFT
from skipline.text import foreign

WIDTH_PX = 720
_PNG_SCALE = 2.0
# Letters of a line below the title, and of one below the figure, for each pixel of its width.
_ANSWER_LETTERS, _NOTE_LETTERS = 0.16, 0.19
# A part of a figure may name data sets, the figure alone may have them.
_OF_THE_WHOLE = ("$schema", "autosize", "datasets")
Kind = Literal["svg", "png"]


class Frame(NamedTuple):
    """The words around a picture: title, answer and lines of facts above it, notes below it."""

    title: str
    answer: str = ""
    facts: str = ""
    notes: str = ""


def framed(specs: Sequence[dict[str, Any]], frame: Frame, width_px: int) -> dict[str, Any]:
    """Return figures over the same axis as one, with words around it."""
    datasets = {name: data for one in specs for name, data in one.get("datasets", {}).items()}
    parts = [
        {**{key: part for key, part in one.items() if key not in _OF_THE_WHOLE}, "width": width_px}
        for one in specs
    ]
    if frame.notes:
        notes = _lines(frame.notes, round(_NOTE_LETTERS * width_px))
        style = {"anchor": "start", "frame": "group", "fontWeight": "normal", "fontSize": 11}
        below = {"text": notes, "orient": "bottom", "offset": 10, "color": SOFT, **style}
        parts[-1] = {**parts[-1], "title": below}
    texts = (frame.answer, *frame.facts.splitlines())
    above = [line for text in texts for line in _lines(text, round(_ANSWER_LETTERS * width_px))]
    title = {"text": frame.title, "anchor": "start", "fontSize": 16, "offset": 14, "color": INK}
    if above:
        of_answer = {"subtitleFontSize": 13, "subtitleColor": INK, "subtitlePadding": 6}
        title = {**title, "subtitle": above, **of_answer}
    named = {"datasets": datasets} if datasets else {}
    whole = {"$schema": specs[0]["$schema"], **named, "title": title, "vconcat": parts}
    shown: dict[str, Any] = foreign.in_tree(whole)
    return shown


def _lines(text: str, letters: int) -> list[str]:
    # A number and its unit stay together.
    lines = textwrap.wrap(text.replace(" %", "\u00a0%"), letters, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]


def write(specs: Sequence[dict[str, Any]], frame: Frame, path: Path, kind: Kind) -> None:
    """Write the picture of figures above each other; RunError if it cannot be."""
    import vl_convert

    whole = palette.in_light(json.dumps(framed(specs, frame, WIDTH_PX)))
    config = json.loads(palette.in_light(json.dumps({**CONFIG, "background": "white"})))
    version = ".".join(SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    if kind == "svg":
        drawn = vl_convert.vegalite_to_svg(json.loads(whole), vl_version=version, config=config)
        atomic.write(path, drawn)
        return
    data = vl_convert.vegalite_to_png(
        json.loads(whole), vl_version=version, config=config, scale=_PNG_SCALE
    )
    atomic.write(path, data)
