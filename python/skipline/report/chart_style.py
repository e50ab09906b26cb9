"""Look of all figures: colour-blind-safe colours (Okabe and Ito), axes, sizes."""

from collections.abc import Collection, Iterable
from typing import Any

import altair as alt

from skipline.experiment.definition import Basis
from skipline.experiment.table import Comparison, Simulated

MEASURED = "#1b1f24"
PREDICTED = "#0072b2"
CATEGORIES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
HEIGHT_PX = 230

_CONFIG: dict[str, Any] = {
    "view": {"stroke": None},
    "font": "system-ui, sans-serif",
    "axis": {
        "labelColor": "#57606a",
        "titleColor": "#57606a",
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "gridColor": "#eaeef2",
        "domainColor": "#8c959f",
        "tickColor": "#8c959f",
        "labelOverlap": True,
    },
    "legend": {"labelFontSize": 12, "labelColor": "#57606a"},
}


def chart(records: list[dict[str, Any]]) -> alt.Chart:
    """Start a chart of inline records."""
    return alt.Chart(alt.InlineData(values=records))


def specification(chart: Any, height: int = HEIGHT_PX) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart that fills the width it is given."""
    sized = chart.properties(
        width="container",
        height=height,
        autosize=alt.AutoSizeParams(type="fit", contains="padding"),
    )
    # The parts were validated as they were made; the whole again would take most of a page's time.
    return sized.configure(**_CONFIG).to_dict(validate=False)  # type: ignore[no-any-return]


def legend(rows: Collection[Simulated], repeats: int) -> str:
    """Return the key to those marks of published and simulated numbers that occur, as HTML."""
    band = "95 % interval" if repeats == 1 else f"lowest and highest of {repeats} runs"
    published = {row.measured_runs > 0 for row in rows if isinstance(row, Comparison)}
    bases = {row.basis for row in rows}
    entries = []
    if True in published:
        spread = f'<path d="M7 1V21M3 1H11M3 21H11" stroke="{MEASURED}" stroke-width="1.5"/>'
        entries.append((_dot(MEASURED, spread), "measured: mean, lowest and highest run"))
    if False in published:
        entries.append((_dot(MEASURED), "stated by the source"))
    if "predicted" in bases:
        entries.append((_simulated_mark(PREDICTED), f"simulated, predicted (band: {band})"))
    if "fitted" in bases:
        text = "simulated, fitted (its measured value chose a parameter)"
        entries.append((_simulated_mark("#fff"), text))
    return key(entries)


def key(entries: Iterable[tuple[str, str]]) -> str:
    """Return marks and what they mean side by side, as HTML."""
    spans = "".join(f"<span>{mark}{text}</span>" for mark, text in entries)
    return f'<div class="legend">{spans}</div>'


def _dot(colour: str, more: str = "") -> str:
    return (
        f'<svg width="14" height="22" aria-hidden="true">{more}'
        f'<circle cx="7" cy="11" r="4" fill="{colour}"/></svg>'
    )


def _simulated_mark(fill: str) -> str:
    return (
        f'<svg width="30" height="22" aria-hidden="true"><rect width="30" height="12" y="5" '
        f'fill="{PREDICTED}" opacity=".2"/><path d="M0 11H30" stroke="{PREDICTED}" '
        f'stroke-width="2"/><circle cx="15" cy="11" r="4" fill="{fill}" stroke="{PREDICTED}" '
        'stroke-width="1.5"/></svg>'
    )


def basis_legend(bases: Collection[Basis]) -> str:
    """Return the key to filled and hollow points of a scatter plot, as HTML."""
    texts = {"predicted": ("#57606a", "predicted"), "fitted": ("none", "fitted")}
    spans = "".join(
        f'<span><svg width="14" height="14" aria-hidden="true"><circle cx="7" cy="7" r="4.5" '
        f'fill="{texts[basis][0]}" stroke="#57606a" stroke-width="1.5"/></svg>'
        f"{texts[basis][1]}</span>"
        for basis in ("predicted", "fitted")
        if basis in bases
    )
    return f'<div class="legend">{spans}</div>'
