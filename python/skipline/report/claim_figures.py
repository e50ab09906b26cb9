"""Figures of claims: what each check expects beside what the model gives."""

import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt

from skipline.experiment.claim import ClaimCheckVerdict, ClaimVerdict, got_text
from skipline.report.chart_style import FAILS, MEASURED, PAPER, PREDICTED
from skipline.report.charts import chart, specification
from skipline.report.document import Panel
from skipline.report.figures import unit_text
from skipline.report.legends import key

_ROW_PX = 62
_LABEL_COLUMNS, _LABEL_LINES = 52, 2
_AXIS_PX = 60
# Numbers that differ by more than this factor are drawn on a logarithmic axis.
_WIDE_RANGE = 50.0


def legend() -> str:
    """Return the key to the marks, as HTML."""
    band = f'<rect x="1" y="5" width="28" height="12" fill="{MEASURED}" opacity=".18"/>'
    dot = f'<circle cx="15" cy="11" r="5" fill="{PREDICTED}"/>'
    hollow = (
        f'<circle cx="15" cy="11" r="4.5" fill="{PAPER}" stroke="{PREDICTED}" stroke-width="2"/>'
    )
    diamond = f'<path d="M15 5l6 6-6 6-6-6z" fill="{FAILS}"/>'
    tick = f'<path d="M15 3V19" stroke="{MEASURED}" stroke-width="2"/>'
    marks = [
        (band + tick, "stated, and what holds"),
        (dot, "simulated, predicted"),
        (hollow, "simulated, fitted"),
        (diamond, "simulated, outside"),
    ]
    return key(
        (f'<svg width="30" height="22" aria-hidden="true">{mark}</svg>', text)
        for mark, text in marks
    )


def against_expected(claims: Sequence[ClaimVerdict]) -> list[Panel]:
    """Draw the checks that compare numbers, one panel per unit and order of magnitude."""
    checks = [
        (f"{claim.id}: {check.text}", check)
        for claim in claims
        for check in claim.checks
        if check.value is not None
    ]
    units = list(dict.fromkeys(check.unit for _, check in checks))
    return [
        (_title(unit), _panel([(text, check) for text, check in checks if check.unit == unit]))
        for unit in units
    ]


def _title(unit: str) -> str:
    return f"Expected and simulated, {unit_text(unit)}" if unit else "Expected and simulated"


def _panel(checks: list[tuple[str, ClaimCheckVerdict]]) -> dict[str, Any]:
    low, high, kind = _domain([check for _, check in checks])
    records = [
        {"row": str(index), **_record(text, check, low, high)}
        for index, (text, check) in enumerate(checks)
    ]
    base = chart(records)
    rows = [str(index) for index in range(len(checks))]
    scale = alt.Scale(type="log" if kind == "log" else "linear", domain=[low, high], nice=False)
    unit = unit_text(checks[0][1].unit)
    x_axis = alt.Axis(tickCount=5)

    def x(field: str) -> alt.X:
        return alt.X(field, scale=scale, axis=x_axis, title=unit or None)

    y = alt.Y("row:N", sort=rows, axis=None)
    labels = [_label(base, y, lines) for lines in range(1, _LABEL_LINES + 1)]
    band = base.mark_bar(color=MEASURED, opacity=0.18, height=12).encode(
        x("low:Q"), y, alt.X2("high:Q")
    )
    target = (
        base.transform_filter("datum.target != null")
        .mark_tick(color=MEASURED, thickness=2, size=18)
        .encode(x("target:Q"), y)
    )
    fitted = alt.condition("datum.basis == 'fitted'", alt.value(PAPER), alt.value(PREDICTED))
    tooltip = [
        alt.Tooltip(f"{name}:N", title=name)
        for name in ("check", "expected", "got", "basis", "verdict")
    ]
    dots = base.mark_point(size=75, opacity=1, strokeWidth=2).encode(
        x("value:Q"), y, tooltip=tooltip
    )
    holds = dots.transform_filter("datum.holds").encode(stroke=alt.value(PREDICTED), fill=fitted)
    fails = dots.transform_filter("!datum.holds").encode(
        stroke=alt.value(FAILS), fill=alt.value(FAILS), shape=alt.value("diamond")
    )
    height = _ROW_PX * len(checks) + _AXIS_PX
    return specification(alt.layer(band, target, *labels, holds, fails), height=height)


def _label(base: alt.Chart, y: alt.Y, lines: int) -> alt.Chart:
    """Write labels above their rows, where long ones do not narrow the plot."""
    chosen = base.transform_filter(f"datum.label.length == {lines}")
    text = chosen.mark_text(
        align="left", baseline="bottom", dy=-12 * lines, lineHeight=12, color=MEASURED
    )
    labels: alt.Chart = text.encode(alt.X(value=2), y, text="label:N")
    return labels


def _record(text: str, check: ClaimCheckVerdict, low: float, high: float) -> dict[str, Any]:
    return {
        "check": text,
        "label": _lines(text),
        "expected": check.expected,
        "got": got_text(check),
        "value": check.value,
        "target": check.target,
        "low": low if check.low is None else max(check.low, low),
        "high": high if check.high is None else min(check.high, high),
        "basis": check.basis,
        "holds": check.holds,
        "verdict": check.word,
    }


def _lines(text: str) -> list[str]:
    return textwrap.wrap(text, _LABEL_COLUMNS, max_lines=_LABEL_LINES, placeholder=" …")


def _domain(checks: list[ClaimCheckVerdict]) -> tuple[float, float, str]:
    """Return the ends of the axis and its kind."""
    known = [
        number
        for check in checks
        for number in (check.value, check.target, check.low, check.high)
        if number is not None
    ]
    low, high = min(known), max(known)
    bounded_above_only = any(check.low is None for check in checks)
    if low > 0 and high / low > _WIDE_RANGE and not bounded_above_only:
        return low / 1.3, high * 1.3, "log"
    margin = (high - low) / 12 or abs(high) / 4 or 1.0
    if low >= 0:
        return 0.0 if bounded_above_only else max(low - margin, 0.0), high + margin, "linear"
    return low - margin, high + margin, "linear"
