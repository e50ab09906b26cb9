"""The table of fitted parameters, the same on every page."""

from collections.abc import Sequence

from skipline.report.document import Document
from skipline.result import FittedParameter


def fitted_table(document: Document, parameters: Sequence[FittedParameter]) -> str:
    """Return the fitted parameters of a platform with the data that each was fitted on."""
    if not parameters:
        return "<p>No parameter of the platform was fitted.</p>"
    rows = [[entry.key, entry.value_text, entry.fitted_on] for entry in parameters]
    caption = "Parameters of the platform that were chosen to match measured data."
    return document.table(
        ["fitted parameter", "value", "fitted on"], rows, caption, [1], stacked=True
    )
