"""Writes figures as pictures for papers and slides: SVG or PNG, in the colours of light pages."""

import json
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


def write(spec: dict[str, Any], title: str, path: Path, kind: Kind) -> None:
    """Write the picture of a figure; RunError if it cannot be written."""
    import vl_convert

    drawing = foreign.in_tree({**spec, "width": _WIDTH_PX, "title": title})
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
