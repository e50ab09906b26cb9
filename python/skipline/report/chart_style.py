"""Look of all figures: colour-blind-safe colours (Okabe and Ito), axes, sizes."""

from typing import Any

import altair as alt

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
    return sized.configure(**_CONFIG).to_dict()  # type: ignore[no-any-return]


def legend() -> str:
    """Return the key to measured and predicted marks, as HTML."""
    measured = (
        f'<svg width="14" height="22" aria-hidden="true"><path d="M7 1V21M3 1H11M3 21H11" '
        f'stroke="{MEASURED}" stroke-width="1.5"/><circle cx="7" cy="11" r="4" fill="{MEASURED}"/>'
        "</svg>"
    )
    predicted = (
        f'<svg width="30" height="22" aria-hidden="true"><rect width="30" height="12" y="5" '
        f'fill="{PREDICTED}" opacity=".2"/><path d="M0 11H30" stroke="{PREDICTED}" '
        'stroke-width="2"/></svg>'
    )
    return (
        f'<div class="legend"><span>{measured}measured: mean, lowest and highest run</span>'
        f"<span>{predicted}simulated: value and 95 % interval</span></div>"
    )
