"""`skipline.plot`: the figure of a sweep in Python, the same as on its page."""

import json
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skipline import extras
from skipline._core import InputError
from skipline.diff import bound

if TYPE_CHECKING:
    from skipline.report.pictures import Frame

_WIDTH_PX = 640
_MIME = "application/vnd.vegalite.v6+json"


class Plot:
    """A figure: a notebook draws it, `save` writes it, `spec` is its Vega-Lite specification."""

    def __init__(self, spec: dict[str, Any], frame: "Frame") -> None:
        from skipline.report import palette, pictures
        from skipline.report.chart_style import CONFIG

        self.title = frame.title
        self._drawn, self._frame = spec, frame
        whole = {**pictures.framed([spec], frame, _WIDTH_PX), "config": CONFIG}
        self.spec: dict[str, Any] = json.loads(palette.in_light(json.dumps(whole)))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a picture, PNG or SVG by the ending of `path`; InputError for another one."""
        from skipline.report import pictures

        kind = Path(path).suffix.removeprefix(".").lower()
        if kind not in {"png", "svg"}:
            raise InputError(f"{fspath(path)}: a picture ends with .png or .svg")
        of_kind: pictures.Kind = "svg" if kind == "svg" else "png"
        pictures.write([self._drawn], self._frame, Path(path), of_kind)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {_MIME: self.spec, "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<skipline.Plot {self.title!r}; .save('figure.png') writes it>"


def plot(
    store: str | PathLike[str],
    metric: str | None = None,
    *,
    x: str | None = None,
    y: str | None = None,
    sweep: int | None = None,
    measured: str | PathLike[str] | None = None,
) -> Plot:
    """Draw a metric of a sweep over its setting, with intervals, as `skipline report` does.

    `store` is its file; of two settings `x` names the one along the figure; without `sweep` it is
    the last one. Without a metric it is the first that tells most. Of more than two settings the
    figure has a line per point. `measured` is a CSV file with a column for the setting and one for
    the metric. Raises InputError for what the sweep does not have.
    """
    extras.require("reports", "a figure")
    from skipline.report import sweep_page, sweep_pictures
    from skipline.store import summary

    chosen: Sequence[str] = () if metric is None else (bound.full_name(metric),)
    beside = None if measured is None else fspath(measured)
    choice = sweep_page.Choice(sweep, tuple(chosen), x, y, beside)
    swept = sweep_page.read(fspath(store), choice)
    found = swept.summary
    first = sweep_page.draw(swept, summary.pareto(found.frame, found.metrics))[0]
    return Plot(first.panels[0][1], sweep_pictures.frame_of(swept, first, 0))
