"""The page of a sweep: what is best, how it depends on the axes, how to reproduce a point.

Over one or two settings it draws the curves that everybody expects; lines over parallel axes, heat
maps and the front are for more.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from skipline._core import InputError
from skipline.model_error import view as model_error_view
from skipline.report import (
    curve_words,
    curves,
    losses,
    measured_points,
    model_bands,
    ring_rules,
    sweep_answer,
    sweep_scenario,
)
from skipline.report import sweep_figures as figures
from skipline.report.curves import Along, Curve
from skipline.report.document import Document, Markup, Panel, cards, escape
from skipline.report.measured_points import Measured
from skipline.scenarios import metrics, scenario_keys
from skipline.store import curves as curve_points
from skipline.store import summary
from skipline.store.curves import CurvePoint
from skipline.store.store import Store
from skipline.store.summary import Summary
from skipline.text.nearest import did_you_mean

_MOST_ROWS = 50
_TWO = 2


class Choice(NamedTuple):
    """Content of the page: the sweep, its metrics, the axes of its figures, measured points.

    The title is that of the sweep if there is none here.
    """

    sweep: int | None = None
    metrics: tuple[str, ...] = ()
    x: str | None = None
    y: str | None = None
    measured: str | None = None
    title: str | None = None


class Drawn(NamedTuple):
    """A figure with its name as a file and its caption.

    Of curves each panel has a name. A picture has `notes` on its marks, a page of curves a `key`.
    """

    name: str
    panels: list[Panel]
    caption: str
    panel_names: Sequence[str] = ()
    notes: str = ""
    key: str = ""


class Swept(NamedTuple):
    """A sweep of a store as its figures need it: one row a point, its metrics as curves.

    `conditions` are what is offered, and what serves it; `along` is what curves share, None of a
    sweep that is not drawn so. `lost` has the share of packets that each point loses, where known.
    """

    path: str
    choice: Choice
    summary: Summary
    curves: list[Curve]
    measured: Measured | None
    title: str
    conditions: str
    along: Along | None
    lost: Sequence[CurvePoint] = ()

    @property
    def answer(self) -> str:
        """The sentences that page and pictures begin with."""
        return sweep_answer.sentence(self.summary, self.curves, self.along)


def read(path: str, choice: Choice) -> Swept:
    """Read what a page or pictures are made of; InputError if nothing is done yet."""
    with Store(path) as store:
        found = summary.summarise(store, choice.sweep, choice.metrics)
        _require(path, found, choice)
        known = store.units(found.number)
        beside = [name for name in (*model_bands.BESIDE, losses.METRIC) if name in known]
        names = list(dict.fromkeys([*found.metrics, *beside]))
        every = curve_points.points(store, found.number, names)
        curves = [
            Curve(name, found.units.get(name, ""), every[name], model_bands.along(name, every))
            for name in found.metrics
            if every[name]
        ]
        measured = None
        if choice.measured is not None:
            measured = measured_points.read(choice.measured, found.axes, found.metrics)
        along = _along(store, found, choice, measured) if is_curved(found) else None
        lost = every.get(losses.METRIC, [])
        if along is not None and lost:
            bands = model_bands.along(losses.METRIC, every)
            along = along._replace(loss=Curve(losses.METRIC, known[losses.METRIC], lost, bands))
        title = choice.title or sweep_scenario.title(store, found.number)
        offered = sweep_scenario.conditions(store, found.number, found.axes)
        conditions = "\n".join(filter(None, (_missing(store, found.number), offered)))
    return Swept(path, choice, found, curves, measured, title, conditions, along, lost)


def _missing(store: Store, number: int) -> str:
    """Say how many runs of a sweep are drawn, if not all: no figure shows it."""
    points = store.points(number)
    done = len(points.filter(pl.col("status") == "done", ~pl.col("stale")))
    told = f"{done} of {len(points)} runs: the others are missing, stale or have failed."
    return "" if done == len(points) else told


def _require(path: str, found: Summary, choice: Choice) -> None:
    if not len(found.frame):
        raise InputError(f"{path}: sweep {found.number}: no point is done yet")
    for name in (choice.x, choice.y):
        if name is not None and name not in found.axes:
            near = did_you_mean(name, found.axes)
            raise InputError(
                f"{path}: '{name}' is not an axis of sweep {found.number}{near}; axes: "
                f"{', '.join(found.axes)}"
            )


def page(swept: Swept) -> str:
    """Return the HTML page of a sweep."""
    found = swept.summary
    front = summary.pareto(found.frame, found.metrics)
    document = Document(swept.title, "sweep")
    points = f"{len(found.frame):,} points, each one setting of {', '.join(found.axes)}"
    beside = f"measured: {swept.measured.name}" if swept.measured else "nothing here is measured"
    conditions = f"{swept.conditions}. " if swept.conditions else ""
    of = f"{conditions}Sweep {found.number} of {swept.path}: {points}; simulated, {beside}."
    document.head("", swept.answer, of)
    tiles = cards(sweep_answer.cards(found, swept.curves, swept.along))
    if swept.along is None:
        document.add(tiles)
    for one in draw(swept, front):
        document.figure(one.panels, one.caption, one.key, columns=3)
    if swept.along is not None:
        document.add(tiles)
    _add_points(document, swept, front)
    _add_failed(document, found)
    document.add(f"<p>{escape(model_error_view.general(found.metrics))}</p>")
    return document.render()


def is_curved(found: Summary) -> bool:
    """Return whether a sweep is drawn as curves: it has at most two settings that vary."""
    varied = _varied(found)
    if not 0 < len(varied) <= _TWO:
        return False
    fewest = min(found.frame[axis].n_unique() for axis in varied)
    return len(varied) == 1 or fewest <= curves.MOST_CURVES


def _varied(found: Summary) -> list[str]:
    return [axis for axis in found.axes if found.frame[axis].n_unique() > 1]


def _along(store: Store, found: Summary, choice: Choice, measured: Measured | None) -> Along:
    """Return what curves share: along the axis with most values, or the one that was asked for."""
    varied = _varied(found)
    by_values = sorted(varied, key=lambda axis: -found.frame[axis].n_unique())
    x = choice.x if choice.x in varied else next(one for one in by_values if one != choice.y)
    by = next((axis for axis in varied if axis != x), None)
    is_choice = x in sweep_scenario.choices(store, found.number)
    return Along(x, by, measured, ring_rules.read(store, found.number, x, by), is_choice)


def _draw_curves(swept: Swept, along: Along) -> Drawn:
    """Draw each metric along a setting; what is nothing everywhere is said in words instead."""
    drawn = [curve for curve in swept.curves if not curve.is_nothing] or swept.curves
    return Drawn(
        "curve",
        [curves.panel(curve, along) for curve in drawn],
        curve_words.caption(drawn, along),
        [curve.name for curve in drawn],
        curve_words.notes(drawn, along),
        curve_words.key(drawn, along),
    )


def draw(swept: Swept, front: list[bool]) -> list[Drawn]:
    """Return the figures of a sweep."""
    found = swept.summary
    if swept.along is not None:
        return [_draw_curves(swept, swept.along)]
    frame = figures.choose_points(found, front)
    of_all = "" if len(frame) == len(found.frame) else f" of {len(found.frame):,}"
    drawn = [_draw_points(found, frame, of_all)]
    axes = _two_axes(found, swept.choice)
    if axes is not None:
        x, y = axes
        means = f"Mean over all points with these values of {x} (horizontal) and {y} (vertical)"
        caption = f"{means}; the tooltip has the least and the most of them."
        panels = figures.heat_maps(found, x, y)
        drawn.append(Drawn("heat-map", panels, caption, notes=f"Simulated. {means}."))
    if len(found.metrics) >= _TWO:
        x, y = found.metrics[:_TWO]
        caption = (
            f"{metrics.label(y)} against {metrics.label(x)}, {len(frame):,} points{of_all}. Best "
            "trade-offs (the Pareto front): no other point is at least as good in all of "
            f"{', '.join(found.metrics)}, and better in one. Dashed: those of these two metrics."
        )
        panel = figures.front(found, frame, x, y)
        drawn.append(Drawn("front", [panel], caption, notes=f"Simulated. {caption}"))
    return drawn


def _draw_points(found: Summary, frame: pl.DataFrame, of_all: str) -> Drawn:
    """Draw a line for each point, over all axes and metrics."""
    what = (
        f"{len(frame):,} points{of_all}, each a line from the least to the most of each axis and "
        "metric (means over the seeds)"
    )
    meanings = f"{_meanings(found)}."
    tip = "Point at a line for its settings and the command for it."
    panel = figures.parallel(found, frame)
    return Drawn(
        "points", [panel], f"{what}. {tip} {meanings}", notes=f"Simulated. {what}. {meanings}"
    )


def _meanings(found: Summary) -> str:
    """Say what the names below the lines are."""
    labels = [(axis, scenario_keys.label(axis).text) for axis in found.axes]
    labels += [(name, metrics.label(name)) for name in found.metrics]
    return "; ".join(f"{name}: {label}" for name, label in labels)


def _two_axes(found: Summary, choice: Choice) -> tuple[str, str] | None:
    """Return the axes that were asked for, else the two with most values."""
    several = [axis for axis in found.axes if found.frame[axis].n_unique() > 1]
    by_values = sorted(several, key=lambda axis: -found.frame[axis].n_unique())
    x = choice.x or next((axis for axis in by_values if axis != choice.y), None)
    y = choice.y or next((axis for axis in by_values if axis != x), None)
    return None if x is None or y is None or x == y else (x, y)


def _add_points(document: Document, swept: Swept, front: list[bool]) -> None:
    """List the front, but all points where curves say what is best, or nothing is."""
    found = swept.summary
    known = [name for name in found.metrics if summary.more_is_better(name) is not None]
    is_ranked = swept.along is None and bool(known)
    rows = found.frame.filter(pl.Series(front)) if is_ranked else found.frame
    if not len(rows):
        return
    caption = "Means over the seeds; the command gives the first of them."
    if not is_ranked:
        document.heading("The points")
    elif len(known) < _TWO:
        document.heading("Best configuration")
    else:
        document.heading(
            "Best trade-offs (Pareto front)",
            f"No other point is at least as good in all of {', '.join(known)} and better in one.",
        )
        caption += " Means are compared: intervals may not tell a point from one that is missing."
    _add_rows(document, swept, rows, caption)


def _add_rows(document: Document, swept: Swept, rows: pl.DataFrame, caption: str) -> None:
    found = swept.summary
    lost = {_settings_of(found, point.axes): point.value for point in swept.lost}
    header = [*found.axes, *(figures.title(found, name) for name in found.metrics)]
    # A sweep that is drawn as curves has few points, and no figure has their commands.
    shown = rows if swept.along is not None else rows.head(_MOST_ROWS)
    losses_are_apart = bool(lost) and losses.METRIC not in found.metrics
    header += ["packets lost, %"] if losses_are_apart else []
    body = [
        [
            *(row[axis] for axis in found.axes),
            *(figures.number(row[name]) for name in found.metrics),
            *([figures.number(lost.get(_settings_of(found, row)))] if losses_are_apart else []),
            Markup(f'<code style="white-space:nowrap">{escape(row["command"])}</code>'),
        ]
        for row in shown.iter_rows(named=True)
    ]
    more = len(rows) - len(body)
    rest = f" {more:,} more: skipline store export." if more > 0 else ""
    document.add(
        document.table([*header, "command"], body, f"{caption}{rest}", list(range(len(header))))
    )


def _settings_of(found: Summary, values: Mapping[str, object]) -> tuple[str, ...]:
    """Return what a point is found by: numbers beside texts are texts in a frame."""
    return tuple(curve_points.curve_name(values[axis]) for axis in found.axes)


def _add_failed(document: Document, found: Summary) -> None:
    if not len(found.failed):
        return
    document.heading("Points that failed")
    rows = [list(row) for row in found.failed.head(_MOST_ROWS).iter_rows()]
    header = list(found.failed.columns)
    document.add(document.table(header, rows, f"{len(found.failed):,} points.", stacked=True))
