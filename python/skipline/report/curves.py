"""Curves of a sweep: metric over setting, one for each value of a second setting."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt

from skipline.report import ring_rules, setting_axis
from skipline.report.chart_style import CATEGORIES, EDGE, INK, MEASURED, PAPER, PREDICTED, SOFT
from skipline.report.charts import chart, specification
from skipline.report.document import Panel
from skipline.report.measured_points import Measured
from skipline.report.model_bands import Band
from skipline.report.ring_rules import Rules
from skipline.scenarios import metrics
from skipline.store.curves import CurvePoint, curve_name
from skipline.text import quantity

HEIGHT_PX, _LEGEND_PX = 300, 50
# Up to here words that begin at a place along the axis have room; logarithms are not exact.
_MIDDLE = 0.501
# With more curves colours can no longer be told apart.
MOST_CURVES = len(CATEGORIES)
# Letters of a title along the height of a panel.
_MOST_DOWN = 40
# A pale band that is so much higher than the curves is cut, or these were lines.
_MOST_TIMES = 4.0
# Of curves that hardly change: what they are taken to change by, as a share of the largest value.
_LEAST_CHANGE = 0.05
MODEL_OPACITY, INTERVAL_OPACITY, BEYOND_OPACITY = 0.13, 0.3, 0.1


class Curve(NamedTuple):
    """A metric along a setting: its name, unit and points, with what the model may be off by."""

    name: str
    unit: str
    points: Sequence[CurvePoint]
    bands: Sequence[Band]

    @property
    def scale(self) -> tuple[float, str]:
        """By what values are divided, and the unit that they have then.

        It is that of the pale band, if the values are not less than one of it.
        """
        largest = max((abs(point.value) for point in self.points), default=0.0)
        highest = max((band.high or 0.0 for band in self.bands), default=0.0)
        factor, unit = quantity.scale(max(highest, largest), self.unit)
        if largest < factor:
            factor, unit = quantity.scale(largest, self.unit)
        return factor, "" if unit == "1" else unit

    @property
    def title(self) -> str:
        """The label of the metric, with its unit."""
        unit = self.scale[1]
        return f"{metrics.label(self.name)}, {unit}" if unit else metrics.label(self.name)

    @property
    def is_nothing(self) -> bool:
        """Whether it is zero everywhere, for certain."""
        return all(point.value == 0 and not point.half for point in self.points)


class Along(NamedTuple):
    """Settings, measured points and rings that the panels of a figure share.

    `is_choice` tells that people choose the setting on their server; load and sizes they do not.
    `loss` is the share of packets that are lost, whether it is drawn or not.
    """

    x: str
    by: str | None = None
    measured: Measured | None = None
    rings: Rules = ring_rules.NONE
    is_choice: bool = False
    loss: Curve | None = None


def panel(curve: Curve, along: Along) -> Panel:
    """Draw a metric over a setting; hollow marks are points that are unsettled.

    The dark band is the interval of the means, the pale one what the model may be off by; small
    dots are single seeds.
    """
    records = _records(curve, along)
    numeric = all(isinstance(record["x"], int | float) for record in records)
    axis = setting_axis.drawn(records, along.x, numeric=numeric)
    measured = _measured_records(curve, along)
    singles = _singles(curve, along)
    domain, cut = _domain(records, [*measured, *singles], metrics.ends(curve.name, curve.unit)[0])
    _cut(records, domain)
    scale = alt.Scale(zero=False) if domain is None else alt.Scale(zero=False, domain=domain)
    value = alt.Y("value:Q", title=textwrap.wrap(curve.title, _MOST_DOWN), scale=scale)
    colour = _colour(records, along.by)
    base = chart(records)
    layers = [
        *(_beyond(along.rings, axis) if numeric else []),
        *_bands(records, axis, scale, colour, numeric=numeric),
        *(_rules(along, axis, colour, records) if numeric else []),
        *([_dots(singles, axis, value, colour)] if singles else []),
        base.mark_line(strokeWidth=2).encode(axis, value, color=colour),
        base.mark_point(size=55, opacity=1, strokeWidth=1.8).encode(
            axis,
            value,
            color=colour,
            fill=alt.condition("datum.unsettled", alt.value(PAPER), colour),
            tooltip=_tooltip(curve, along),
        ),
        *_measured(measured, along.x, axis, scale),
        *([_told(f"pale band: {_range(cut)} {curve.scale[1]}")] if cut else []),
    ]
    title = f"{curve.title} ({curve.name})"
    height = HEIGHT_PX + (_LEGEND_PX if along.by else 0)
    return title, specification(alt.layer(*layers), height=height)


def values(curve: Curve, along: Along) -> list[dict[str, Any]]:
    """Return layers that write its value above each point, for people far from the figure."""
    factor = curve.scale[0]
    written = [{"x": point.axes[along.x], "value": point.value / factor} for point in curve.points]
    numeric = all(isinstance(one["x"], int | float) for one in written)
    if numeric:
        written.sort(key=lambda one: float(one["x"]))
    encoding = {
        "x": {"field": "x", "type": "quantitative" if numeric else "nominal"},
        "y": {"field": "value", "type": "quantitative"},
        "text": {"field": "text"},
    }
    layers: list[dict[str, Any]] = []
    for at, one in enumerate(written):
        # The first and the last one stay within the plot.
        align = "left" if at == 0 else "right" if at == len(written) - 1 else "center"
        mark = {"type": "text", "dy": -12, "dx": {"left": -6, "right": 6}.get(align, 0)}
        mark |= {"align": align, "fontWeight": "bold"}
        data = {"values": [{**one, "text": _short(one["value"])}]}
        # An edge around the letters covers marks below them.
        layers += [
            {"data": data, "mark": {**mark, **look}, "encoding": encoding}
            for look in ({"stroke": PAPER, "strokeWidth": 4}, {"color": INK})
        ]
    return layers


def _colour(records: list[dict[str, Any]], by: str | None) -> Any:
    if by is None:
        return alt.value(PREDICTED)
    names = list(dict.fromkeys(record["curve"] for record in records))
    return alt.Color(
        "curve:N",
        sort=names,
        scale=alt.Scale(domain=names, range=CATEGORIES[: len(names)]),
        legend=alt.Legend(
            orient="top",
            title=setting_axis.titled(by),
            titleLimit=0,
            titleColor=SOFT,
            titleFontWeight="normal",
            symbolOpacity=1,
            symbolType="stroke",
        ),
    )


def _records(curve: Curve, along: Along) -> list[dict[str, Any]]:
    factor, unit = curve.scale
    ends = [end if unit == "%" else end / factor for end in metrics.ends(curve.name, curve.unit)]
    records = [
        _record(point, band, along, factor, ends)
        for point, band in zip(curve.points, curve.bands, strict=True)
    ]
    for name in dict.fromkeys(record["curve"] for record in records):
        own = [record for record in records if record["curve"] == name]
        if all(isinstance(record["x"], int | float) for record in own):
            own.sort(key=lambda record: float(record["x"]))
        known = [False, *(record["model_low"] is not None for record in own), False]
        for at, record in enumerate(own, start=1):
            record["alone"] = known[at] and not (known[at - 1] or known[at + 1])
    return records


def _record(
    point: CurvePoint, band: Band, along: Along, factor: float, possible: Sequence[float]
) -> dict[str, Any]:
    """Return a point with the ends of its interval, as far as they are possible."""
    half, value = (point.half or 0.0) / factor, point.value / factor
    low, high = max(value - half, possible[0]), min(value + half, possible[1])
    ends = [None if end is None else end / factor for end in (band.low, band.high)]
    return {
        "x": point.axes[along.x],
        "curve": None if along.by is None else curve_name(point.axes[along.by]),
        "value": value,
        "low": min(low, value),
        "high": max(high, value),
        "half": None if point.half is None else half / factor,
        "model_low": ends[0],
        "model_high": ends[1],
        "model": "not known" if ends[0] is None or ends[1] is None else _range((ends[0], ends[1])),
        "seeds": point.seeds,
        "unsettled": point.unsettled,
        "state": "not settled" if point.unsettled else "settled",
    }


def _range(ends: Sequence[float]) -> str:
    low, high = (_short(end) for end in ends)
    return f"{low} to {high}"


def _short(value: float) -> str:
    """Write a number with three digits, none as a power of ten."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"  # noqa: PLR2004 - three digits


def _singles(curve: Curve, along: Along) -> list[dict[str, Any]]:
    """Return the numbers of the single seeds."""
    factor = curve.scale[0]
    return [
        {
            "x": point.axes[along.x],
            "curve": None if along.by is None else curve_name(point.axes[along.by]),
            "value": single / factor,
        }
        for point in curve.points
        for single in point.singles
    ]


def _dots(singles: list[dict[str, Any]], axis: alt.X, value: alt.Y, colour: Any) -> alt.Chart:
    tip = alt.Tooltip("value:Q", title="a single seed", format=",.5g")
    dots = chart(singles).mark_circle(size=14, opacity=0.75)
    drawn: alt.Chart = dots.encode(axis, value, color=colour, tooltip=tip)
    return drawn


def _tooltip(curve: Curve, along: Along) -> list[alt.Tooltip]:
    curves = [alt.Tooltip("curve:N", title=along.by)] if along.by else []
    return [
        alt.Tooltip("x:N", title=along.x),
        *curves,
        alt.Tooltip("value:Q", title=f"{curve.name}, {curve.scale[1]}", format=",.5g"),
        alt.Tooltip("half:Q", title="± 95 %", format=",.3g"),
        alt.Tooltip("model:N", title="by the model's own error"),
        alt.Tooltip("seeds:Q"),
        alt.Tooltip("state:N", title="run"),
    ]


def _domain(
    records: list[dict[str, Any]], marks: list[dict[str, Any]], least: float
) -> tuple[list[float] | None, tuple[float, float] | None]:
    """Return the ends of the axis and those of the pale band, if it is much too high to be seen.

    The axis begins at the `least` that is possible, or above it.
    """
    seen = [record[key] for record in records for key in ("low", "high")]
    seen += [one[key] for one in marks for key in ("value", "least", "most") if one.get(key)]
    known = [
        record[key]
        for record in records
        for key in ("model_low", "model_high")
        if record[key] is not None
    ]
    low, high = min(seen), max(seen)
    change = max(high - low, _LEAST_CHANGE * abs(high))
    if not known or max(*known, high) - min(*known, low) <= _MOST_TIMES * change:
        return None, None
    ends = [max(min(*known, low), low - change, least), min(max(*known, high), high + change)]
    return ends, (min(known), max(known))


def _cut(records: list[dict[str, Any]], domain: Sequence[float] | None) -> None:
    """Add the ends of the pale band as they are drawn: within the panel.

    A clip would do the same, and takes seconds in a picture.
    """
    low, high = domain or (-math.inf, math.inf)
    for record in records:
        for end in ("low", "high"):
            known = record[f"model_{end}"]
            record[f"pale_{end}"] = None if known is None else min(max(known, low), high)


def _bands(
    records: list[dict[str, Any]], axis: alt.X, scale: alt.Scale, colour: Any, *, numeric: bool
) -> list[alt.Chart]:
    """Draw what the model may be off by, where it is known, and on it the intervals."""
    base = chart(records)
    pale = (axis, alt.Y("pale_low:Q", scale=scale), alt.Y2("pale_high:Q"))
    dark = (axis, alt.Y("low:Q", scale=scale), alt.Y2("high:Q"))
    area = base.mark_area(opacity=1, fillOpacity=MODEL_OPACITY)
    # A layer without any record has no extent, which Vega warns of. An area between a point and
    # none has no width.
    known = [record for record in records if record["pale_low"] is not None]
    alone = [record for record in known if not numeric or record["alone"]]
    wide = chart(alone).mark_rule(strokeWidth=14, strokeOpacity=MODEL_OPACITY)
    layers = [
        *([area.encode(*pale, color=colour)] if numeric and len(known) > len(alone) else []),
        *([wide.encode(*pale, color=colour)] if alone else []),
    ]
    if numeric:
        interval = base.mark_area(opacity=1, fillOpacity=INTERVAL_OPACITY)
    else:
        interval = base.mark_rule(strokeWidth=6, strokeOpacity=INTERVAL_OPACITY)
    return [*layers, interval.encode(*dark, color=colour)]


def _beyond(rings: Rules, axis: alt.X) -> list[alt.Chart]:
    """Shade where the rings of all curves exceed the DDIO ways: in grey, no band is."""
    if not rings.rules or any(rule.curve is not None for rule in rings.rules):
        return []
    end: Any = {"value": 0 if rings.is_below else "width"}
    shade = chart([{"x": rings.rules[0].value}]).mark_rect(color=EDGE, opacity=BEYOND_OPACITY)
    return [shade.encode(axis, x2=end, y=alt.value(0), y2=alt.value("height"))]


def _rules(
    along: Along, axis: alt.X, colour: Any, records: list[dict[str, Any]]
) -> list[alt.Chart]:
    """Draw where rings fill the DDIO ways: in the colours of the curves if these differ."""
    if not along.rings.rules:
        return []
    lines = [{"x": rule.value, "curve": rule.curve} for rule in along.rings.rules]
    of_all = any(rule.curve is None for rule in along.rings.rules)
    drawn = chart(lines).mark_rule(strokeDash=[6, 4], strokeWidth=1.5)
    first = min(along.rings.rules)
    is_left = setting_axis.share(first.value, [float(record["x"]) for record in records]) <= _MIDDLE
    # Above the plot, where no curve is; towards its middle, where there is room.
    words = chart([{"x": first.value}]).mark_text(
        align="left" if is_left else "right",
        baseline="bottom",
        dx=-3 if is_left else 3,
        dy=-4,
        color=SOFT,
    )
    told = f"\u2190 {ring_rules.WORDS}" if along.rings.is_below else f"{ring_rules.WORDS} \u2192"
    return [
        drawn.encode(axis, color=alt.value(EDGE) if of_all else colour),
        words.encode(axis, y=alt.value(0), text=alt.value(told)),
    ]


def _told(words: str) -> alt.Chart:
    """Write words into the upper right corner of a panel."""
    mark = chart([{}]).mark_text(align="right", baseline="top", dx=-4, dy=4, color=SOFT)
    told: alt.Chart = mark.encode(x=alt.value("width"), y=alt.value(0), text=alt.value(words))
    return told


def _measured_records(curve: Curve, along: Along) -> list[dict[str, Any]]:
    if along.measured is None:
        return []
    factor = curve.scale[0]
    return [
        {
            "x": axes[along.x],
            "value": value / factor,
            "least": None if least is None else least / factor,
            "most": None if most is None else most / factor,
        }
        for axes, value, least, most in along.measured.of(curve.name)
        if along.x in axes
    ]


def _measured(
    records: list[dict[str, Any]], x: str, axis: alt.X, scale: alt.Scale
) -> list[alt.Chart]:
    if not records:
        return []
    dots = (
        chart(records)
        .mark_point(shape="diamond", filled=True, color=MEASURED, size=80, opacity=1)
        .encode(
            axis,
            alt.Y("value:Q", scale=scale),
            tooltip=[alt.Tooltip("x:N", title=x), alt.Tooltip("value:Q", title="measured")],
        )
    )
    # A layer without any record has no extent, which Vega warns of.
    runs = [one for one in records if one["least"] is not None and one["most"] is not None]
    if not runs:
        return [dots]
    spread = (
        chart(runs)
        .mark_rule(color=MEASURED, strokeWidth=1.5)
        .encode(axis, alt.Y("least:Q", scale=scale), alt.Y2("most:Q"))
    )
    return [spread, dots]
