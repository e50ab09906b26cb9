"""Writes figures as pictures for papers and slides: SVG or PNG, in the colours of light pages."""

import json
import re
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
# A slide in CSS pixels; its picture has 2560 x 1440.
SLIDE_PX = (960, 540)
_SLIDE_PNG_SCALE, _SLIDE_EDGE_PX = 8 / 3, 28
# From the end of the plot to the lines below its axis, and their height.
_SLIDE_BELOW_PX, _SLIDE_LINE_PX = 78, 19
# Letters of a line above it, and of one below it, for each pixel of its width.
_SLIDE_ANSWER, _SLIDE_NOTE = 0.125, 0.155
# Letters of a line below the title, and of one below the figure, for each pixel of its width.
_ANSWER_LETTERS, _NOTE_LETTERS = 0.16, 0.19
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|pp|[kKMG]?i?(?:B|bit)(?:/s)?|[nµm]?s)(?![\w/]))")
# Of the title of a vertical axis.
_SLIDE_DOWN = 24
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
    joined = _BEFORE_UNIT.sub("\u00a0", text)
    lines = textwrap.wrap(joined, letters, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]


def slide(spec: dict[str, Any], words: Frame) -> dict[str, Any]:
    """Return a figure as a slide of 16:9: title and answer above it, conditions and marks below."""
    inner = SLIDE_PX[0] - 2 * _SLIDE_EDGE_PX
    above = [
        line
        for statement in words.answer.splitlines()
        for line in _lines(statement, round(inner * _SLIDE_ANSWER))
    ]
    texts = (words.facts, words.notes)
    below = [line for text in texts for line in _lines(text, round(inner * _SLIDE_NOTE))]
    style = {"anchor": "start", "frame": "bounds", "fontSize": 26, "offset": 22, "color": INK}
    of_answer = {"subtitleFontSize": 17, "subtitleColor": INK, "subtitlePadding": 8}
    key = {
        "data": {"values": [{}]},
        "mark": {
            "type": "text",
            "align": "left",
            "baseline": "top",
            "dx": -40,
            "dy": _SLIDE_BELOW_PX,
            "lineHeight": _SLIDE_LINE_PX,
            "color": SOFT,
        },
        "encoding": {
            "x": {"value": 0},
            "y": {"value": "height"},
            "text": {"value": below},
        },
    }
    padding = {"left": _SLIDE_EDGE_PX, "right": _SLIDE_EDGE_PX, "top": 20, "bottom": 20}
    whole = {
        **spec,
        "title": {**style, **of_answer, "text": words.title, "subtitle": above},
        "width": SLIDE_PX[0],
        "height": SLIDE_PX[1],
        "padding": padding,
        "layer": [*map(_lower, spec["layer"]), key],
    }
    shown: dict[str, Any] = foreign.in_tree(whole)
    return shown


def _lower(layer: dict[str, Any]) -> dict[str, Any]:
    """Return a layer whose vertical axis has a title for the height of a slide."""
    vertical = layer.get("encoding", {}).get("y", {})
    if not vertical.get("title"):
        return layer
    title = textwrap.wrap(" ".join(vertical["title"]), _SLIDE_DOWN)
    return {**layer, "encoding": {**layer["encoding"], "y": {**vertical, "title": title}}}


def write_slide(spec: dict[str, Any], words: Frame, path: Path, kind: Kind) -> None:
    """Write a figure as a slide, for people at the other end of a room."""
    axis = {**CONFIG["axis"], "titleFontSize": 16, "labelFontSize": 15}
    legend = {**CONFIG["legend"], "titleFontSize": 15, "labelFontSize": 15}
    config = {**CONFIG, "axis": axis, "legend": legend, "text": {"fontSize": 14}}
    _write(slide(spec, words), config, path, kind, _SLIDE_PNG_SCALE)


def write(specs: Sequence[dict[str, Any]], frame: Frame, path: Path, kind: Kind) -> None:
    """Write the picture of figures above each other; RunError if it cannot be."""
    _write(framed(specs, frame, WIDTH_PX), CONFIG, path, kind, _PNG_SCALE)


def _write(
    spec: dict[str, Any], look: dict[str, Any], path: Path, kind: Kind, png_scale: float
) -> None:
    import vl_convert

    whole = palette.in_light(json.dumps(spec))
    config = json.loads(palette.in_light(json.dumps({**look, "background": "white"})))
    version = ".".join(SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    if kind == "svg":
        drawn = vl_convert.vegalite_to_svg(json.loads(whole), vl_version=version, config=config)
        atomic.write(path, drawn)
        return
    data = vl_convert.vegalite_to_png(
        json.loads(whole), vl_version=version, config=config, scale=png_scale
    )
    atomic.write(path, data)
