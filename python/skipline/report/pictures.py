"""Writes figures as pictures for papers and slides: SVG or PNG, in the colours of light pages."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from altair import SCHEMA_VERSION

from skipline import atomic
from skipline.report import palette
from skipline.report.chart_style import CONFIG
from skipline.text import foreign

_WIDTH_PX = 720
_PNG_SCALE = 2.0
Kind = Literal["svg", "png"]


def one_above_another(specs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return figures over the same axis as one, for a single picture."""
    schema = {"$schema": specs[0]["$schema"]}
    # A part of a figure may name data sets, the figure alone may have them.
    outer = ("$schema", "autosize", "datasets")
    inner = [{key: part for key, part in one.items() if key not in outer} for one in specs]
    named = {name: data for one in specs for name, data in one.get("datasets", {}).items()}
    datasets = {"datasets": named} if named else {}
    return {**schema, **datasets, "vconcat": [{**one, "width": _WIDTH_PX} for one in inner]}


def write(spec: dict[str, Any], title: str, path: Path, kind: Kind, *, legend: str = "") -> None:
    """Write the picture of a figure, with a legend below its title; RunError if it cannot be."""
    import vl_convert

    head = {"text": title, "subtitle": legend.splitlines()} if legend else title
    size = {} if "vconcat" in spec else {"width": _WIDTH_PX}
    drawing = foreign.in_tree({**spec, **size, "title": head})
    whole = palette.in_light(json.dumps(drawing))
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
