"""Look of all figures: colours, axes, sizes."""

from typing import Any

from skipline.report.palette import variable

PAPER = variable("paper")
INK = variable("ink")
SOFT = variable("soft")
EDGE = variable("edge")
MEASURED = variable("measured")
PREDICTED = variable("predicted")
FAILS = variable("fails")
CATEGORIES = [variable(f"category-{number}") for number in range(1, 8)]
HEIGHT_PX = 230

# The same for all figures: pages hold it once.
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "view": {"stroke": None},
    "font": "system-ui, sans-serif",
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "labelFontSize": 11,
        "gridColor": variable("grid"),
        "domainColor": EDGE,
        "tickColor": EDGE,
        "labelOverlap": True,
    },
    "legend": {"titleFontSize": 12, "labelFontSize": 12, "labelColor": SOFT},
}
