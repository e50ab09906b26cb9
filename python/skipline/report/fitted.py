"""The table of fitted parameters, the same on every page."""

from collections.abc import Sequence

from skipline.report.document import table
from skipline.result import FittedParameter


def fitted_table(parameters: Sequence[FittedParameter]) -> str:
    """Return the fitted parameters of a platform with the data that each was fitted on."""
    if not parameters:
        return "<p>No parameter of the platform was fitted.</p>"
    rows = [[entry.key, entry.value_text, entry.fitted_on] for entry in parameters]
    return table(["fitted parameter", "value", "fitted on"], rows, [1])
