"""Charts of Altair, as figures of experiments and sweeps begin and end."""

from typing import Any

import altair as alt

from skipline.report.chart_style import HEIGHT_PX


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
    whole: dict[str, Any] = sized.to_dict(validate=False)
    # Altair's own defaults, which CONFIG replaces.
    del whole["config"]
    return whole
