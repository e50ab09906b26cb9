"""The page of a sweep: what is best, how it depends on the axes, how to reproduce a point.

Over one or two settings it draws the curves that everybody expects; lines over parallel axes, heat
maps and the front are for more.
"""

import json
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from skipline import _core, resources
from skipline._core import InputError
from skipline.model_error import view as model_error_view
from skipline.report import curves, measured_points
from skipline.report import sweep_figures as figures
from skipline.report.document import Document, Markup, Panel, card, cards, escape
from skipline.report.measured_points import Measured
from skipline.store import curves as curve_points
from skipline.store import summary
from skipline.store.curves import CurvePoint
from skipline.store.store import Store
from skipline.store.summary import Summary
from skipline.text import quantity, toml_model
from skipline.text.nearest import did_you_mean

_MOST_ROWS = 50
_TWO = 2
_PICTURE_COLUMNS = 110


class Choice(NamedTuple):
    """Content of the page: the sweep, its metrics, the axes of its figures, measured points."""

    sweep: int | None = None
    metrics: tuple[str, ...] = ()
    x: str | None = None
    y: str | None = None
    measured: str | None = None


class Drawn(NamedTuple):
    """A figure with its name as a file and its caption; a picture of it alone has its legend."""

    name: str
    panels: list[Panel]
    caption: str
    legend: str = ""


class Swept(NamedTuple):
    """A sweep as its figures need it: one row a point, numbers with intervals, measured points."""

    summary: Summary
    curves: dict[str, list[CurvePoint]]
    measured: Measured | None
    title: str
    load: str


def read(path: str, choice: Choice) -> Swept:
    """Read what a page or pictures are made of; InputError if nothing is done yet."""
    with Store(path) as store:
        found = summary.summarise(store, choice.sweep, choice.metrics)
        lines = curve_points.points(store, found.number, found.metrics)
        title, load = _title(store, found.number), _load(store, found.number, found.axes)
    if not len(found.frame):
        raise InputError(f"{path}: sweep {found.number}: no point is done yet")
    for name in (choice.x, choice.y):
        if name is not None and name not in found.axes:
            near = did_you_mean(name, found.axes)
            raise InputError(
                f"{path}: '{name}' is not an axis of sweep {found.number}{near}; axes: "
                f"{', '.join(found.axes)}"
            )
    measured = None
    if choice.measured is not None:
        measured = measured_points.read(choice.measured, found.axes, found.metrics)
    return Swept(found, lines, measured, title, load)


def _title(store: Store, number: int) -> str:
    """Return the title of a sweep, else that of its scenario, else the name of its file."""
    row = store.connection.row("SELECT title, scenario FROM sweeps WHERE sweep = ?", [number])
    title, scenario = row or ("", "")
    if title:
        return str(title)
    if scenario and resources.exists(scenario):
        stated = toml_model.top_level(resources.read_keys(scenario), scenario).get("title")
        if isinstance(stated, str) and stated:
            return stated
    return Path(scenario or "").stem or f"Sweep {number}"


def _load(store: Store, number: int, axes: Sequence[str]) -> str:
    """Return what is offered and where, as far as the scenario is still there and says so."""
    row = store.connection.row("SELECT scenario FROM sweeps WHERE sweep = ?", [number])
    scenario = row[0] if row else None
    if not scenario or not resources.exists(scenario):
        return ""
    try:
        keys = json.loads(_core.check_scenario(scenario, _settings(store, number)))
    except InputError:
        return ""
    size, rate, ports, cores = (
        None if name in axes else keys.get(name)
        for name in ("packet_bytes", "offered_gbps", "ports", "cores")
    )
    packets = f" of packets of {size:g} B" if size else ""
    at_each = f" at each of {ports} ports" if ports and ports > 1 else ""
    offered = f"{rate:g} Gbit/s{packets} offered{at_each}" if rate else ""
    served = f"{cores} core{'s' if cores > 1 else ''}" if cores else ""
    told = ", ".join(filter(None, (offered, served)))
    return f"{told} on {keys['platform']}" if told else str(keys["platform"])


def _settings(store: Store, number: int) -> list[tuple[str, str]]:
    """Return the settings of the first point that is done: those of all points, and its axes."""
    done = store.points(number)["settings"].drop_nulls()
    return [(key, value) for key, value in json.loads(done[0])] if len(done) else []


def page(path: str, choice: Choice) -> str:
    """Return the HTML page of a sweep."""
    swept = read(path, choice)
    found = swept.summary
    front = summary.pareto(found.frame, found.metrics)
    document = Document(swept.title, "sweep")
    points = f"{len(found.frame):,} points, each one setting of {', '.join(found.axes)}"
    beside = f"measured: {swept.measured.name}" if swept.measured else "nothing here is measured"
    of = f"Sweep {found.number} of {path}: {points}; simulated, {beside}."
    document.head("", _answer(swept), of)
    drawn = draw(swept, choice, front)
    if is_curved(found):
        for one in drawn:
            document.figure(one.panels, one.caption, columns=3)
        document.add(cards(_bests(swept)))
    else:
        document.add(cards(_bests(swept)))
        for one in drawn:
            document.figure(one.panels, one.caption, columns=3)
    _add_front(document, found, front)
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


def _draw_curves(swept: Swept, choice: Choice) -> Drawn:
    """Draw each metric over the axis with most values, or over the one that was asked for."""
    found, varied = swept.summary, _varied(swept.summary)
    by_values = sorted(varied, key=lambda axis: -found.frame[axis].n_unique())
    x = choice.x if choice.x in varied else next(one for one in by_values if one != choice.y)
    by = next((axis for axis in varied if axis != x), None)
    panels = [
        curves.panel(
            curves.title(name, found.units.get(name, "")), swept.curves[name], x, by, swept.measured
        )
        for name in found.metrics
        if swept.curves[name]
    ]
    text = curves.caption(found.metrics, swept.curves, x, by, swept.measured)
    every = [point for name in found.metrics for point in swept.curves[name]]
    return Drawn("curve", panels, text, curves.legend(every, swept.measured))


def draw(swept: Swept, choice: Choice, front: list[bool]) -> list[Drawn]:
    """Return the figures of a sweep."""
    found = swept.summary
    if is_curved(found):
        return [_draw_curves(swept, choice)]
    frame = figures.choose_points(found, front)
    more = (
        ""
        if len(frame) == len(found.frame)
        else f" Of {len(found.frame):,} points, {len(frame):,}."
    )
    all_of = "One line per point, from the least to the most of each axis and metric (means over "
    result = [
        Drawn(
            "points",
            [figures.parallel(found, frame)],
            f"{all_of}the seeds). Point at a line for its settings and the command for it.{more}",
        )
    ]
    axes = _two_axes(found, choice)
    if axes is not None:
        x, y = axes
        caption = (
            f"Mean over all points with these values of {x} (horizontal) and {y} (vertical); the "
            "tooltip has the least and the most of them."
        )
        result.append(Drawn("heat-map", figures.heat_maps(found, x, y), caption))
    if len(found.metrics) >= _TWO:
        x, y = found.metrics[:_TWO]
        caption = (
            f"{y} against {x}. Best trade-offs (the Pareto front): no other point is at least as "
            "good in all metrics of this page and better in one. Dashed: those of these two "
            f"metrics.{more}"
        )
        result.append(Drawn("front", [figures.front(found, frame, x, y)], caption))
    return result


def _two_axes(found: Summary, choice: Choice) -> tuple[str, str] | None:
    """Return the axes that were asked for, else the two with most values."""
    several = [axis for axis in found.axes if found.frame[axis].n_unique() > 1]
    by_values = sorted(several, key=lambda axis: -found.frame[axis].n_unique())
    x = choice.x or next((axis for axis in by_values if axis != choice.y), None)
    y = choice.y or next((axis for axis in by_values if axis != x), None)
    return None if x is None or y is None or x == y else (x, y)


def _best(found: Summary, metric: str) -> dict[str, Any] | None:
    better = summary.more_is_better(metric)
    if better is None or found.frame[metric].null_count() == len(found.frame):
        return None
    ordered = found.frame.sort(metric, descending=better, nulls_last=True)
    return ordered.row(0, named=True)


def _answer(swept: Swept) -> str:
    """Say where the first metric that the settings change is best, and which they do not change."""
    found, unchanged = swept.summary, []
    for metric in found.metrics:
        best = _best(found, metric)
        if best is None:
            continue
        shown = quantity.text(best[metric], None, found.units.get(metric, ""))
        value = f"{shown.value} {shown.unit}"
        alike, points = _as_good(swept, metric), len(swept.curves[metric])
        if alike == points > 1:
            unchanged.append(f"{metric}, {value}, is the same everywhere within its intervals.")
            continue
        word = "highest" if summary.more_is_better(metric) else "lowest"
        settings = ", ".join(f"{axis} {best[axis]}" for axis in found.axes)
        others = f", and no worse at {alike - 1} of the others" if alike > 1 else ""
        return " ".join([f"{metric} is {word}, {value}, at {settings}{others}.", *unchanged])
    return " ".join(unchanged) or f"{len(found.frame):,} points of {', '.join(found.axes)}."


def _as_good(swept: Swept, metric: str) -> int:
    """Return how many points the intervals do not tell from the best, itself among them."""
    points = swept.curves[metric]
    choose = max if summary.more_is_better(metric) else min
    best = choose(points, key=lambda point: point.value)
    return sum(
        abs(point.value - best.value) <= math.hypot(point.half or 0.0, best.half or 0.0)
        for point in points
    )


def _bests(swept: Swept) -> list[str]:
    found, result = swept.summary, []
    for metric in found.metrics:
        if (best := _best(found, metric)) is not None:
            values: list[float] = found.frame[metric].drop_nulls().to_list()
            settings = ", ".join(f"{axis} {best[axis]}" for axis in found.axes)
            unit = found.units.get(metric, "")
            shown = quantity.text(best[metric], None, unit)
            factor, _ = quantity.scale(best[metric], unit)
            ends = [figures.number(end / factor) for end in (min(values), max(values))]
            differs = _as_good(swept, metric) < len(swept.curves[metric])
            where = f"at {settings}" if differs else "no clear difference"
            name = f"best {metric}" if differs else metric
            result.append(
                card(name, f"{shown.value} {shown.unit}", f"of {ends[0]} to {ends[1]}; {where}")
            )
    return result


def _add_front(document: Document, found: Summary, front: list[bool]) -> None:
    known = [name for name in found.metrics if summary.more_is_better(name) is not None]
    rows = found.frame.filter(pl.Series(front))
    if not known or not len(rows):
        return
    if len(known) < _TWO:
        document.heading("Best configuration")
    else:
        document.heading(
            "Best trade-offs (Pareto front)",
            f"No other point is at least as good in all of {', '.join(known)} and better in one.",
        )
    header = [*found.axes, *(figures.title(found, name) for name in found.metrics), "command"]
    body = [
        [
            *(row[axis] for axis in found.axes),
            *(figures.number(row[name]) for name in found.metrics),
            Markup(f'<code style="white-space:nowrap">{escape(row["command"])}</code>'),
        ]
        for row in rows.head(_MOST_ROWS).iter_rows(named=True)
    ]
    more = len(rows) - len(body)
    rest = f" {more:,} more: skipline store export." if more > 0 else ""
    numeric = range(len(header) - 1)
    caption = f"Means over the seeds; the command gives the first of them.{rest}"
    document.add(document.table(header, body, caption, list(numeric)))


def _add_failed(document: Document, found: Summary) -> None:
    if not len(found.failed):
        return
    document.heading("Points that failed")
    rows = [list(row) for row in found.failed.head(_MOST_ROWS).iter_rows()]
    header = list(found.failed.columns)
    document.add(document.table(header, rows, f"{len(found.failed):,} points.", stacked=True))


def write_pictures(path: str, choice: Choice, directory: Path, kind: str) -> list[Path]:
    """Write the figures of a sweep as SVG or PNG; return the files."""
    from skipline.report import pictures

    swept = read(path, choice)
    found = swept.summary
    files = []
    for one in draw(swept, choice, summary.pareto(found.frame, found.metrics)):
        for number, (title, spec) in enumerate(one.panels, start=1):
            several = f"-{number}" if len(one.panels) > 1 else ""
            if one.name == "curve":
                # People look for the picture of a metric by its name.
                several = f"-{title.partition(',')[0].replace(':', '-')}"
            files.append(directory / f"{one.name}{several}.{kind}")
            head = swept.title if one.name == "curve" else title
            of_kind: pictures.Kind = "svg" if kind == "svg" else "png"
            pictures.write(spec, head, files[-1], of_kind, legend=one.legend)
        if one.name == "curve" and len(one.panels) > 1:
            # One picture that tells the whole: what is offered, each metric, how far it may be off.
            files.append(directory / f"curves.{kind}")
            whole = pictures.one_above_another([spec for _, spec in one.panels])
            told = "\n".join(filter(None, (swept.load, one.legend, *_model_error(found.metrics))))
            pictures.write(whole, swept.title, files[-1], of_kind, legend=told)
    return files


def _model_error(metrics: Sequence[str]) -> list[str]:
    told = model_error_view.general(metrics)
    # A number and its unit stay together.
    lines = textwrap.wrap(told.replace(" %", "\u00a0%"), _PICTURE_COLUMNS, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]
