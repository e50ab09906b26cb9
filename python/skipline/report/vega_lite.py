"""Specifications of Vega-Lite as plain mappings, for figures that need no library.

Figures of a run are few and simple; those of experiments and sweeps are made by Altair, which
checks what they state.
"""

from typing import Any

from skipline.report.chart_style import HEIGHT_PX

Mark = dict[str, Any]
Channel = dict[str, Any]
Layer = dict[str, Any]
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def quantitative(field: str, **properties: Any) -> Channel:
    """Return the channel of a field of numbers; `properties` are Vega-Lite's."""
    return {"field": field, "type": "quantitative", **properties}


def nominal(field: str, **properties: Any) -> Channel:
    """Return the channel of a field of names; `properties` are Vega-Lite's."""
    return {"field": field, "type": "nominal", **properties}


def layer(mark: Mark, **encoding: Any) -> Layer:
    """Return one mark for each record, or one for all, and how it shows their fields."""
    return {"mark": mark, "encoding": encoding}


def specification(
    records: list[dict[str, Any]], *layers: Layer, height: int = HEIGHT_PX
) -> dict[str, Any]:
    """Return layers of the same records as a chart that fills the width that it is given."""
    drawn = layers[0] if len(layers) == 1 else {"layer": list(layers)}
    return {
        "$schema": _SCHEMA,
        "data": {"values": records},
        **drawn,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
    }
