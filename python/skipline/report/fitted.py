"""The tables of testbed settings and of fitted parameters, the same on every page."""

from collections.abc import Sequence

from skipline.platforms.platforms_view import plain
from skipline.platforms.testbeds import FittedParameter, Testbed
from skipline.report.document import Document


def fitted_table(
    document: Document, parameters: Sequence[FittedParameter], testbeds: Sequence[Testbed] = ()
) -> str:
    """Return the fitted parameters with the data that each was fitted on.

    Where there are testbeds a column says whether measurements of them chose it, those of another
    machine, or other ones.
    """
    if not parameters:
        return "<p>No parameter was fitted.</p>"
    rows: list[list[object]] = [
        [entry.key, entry.value_text, entry.fitted_on, *_own(entry, testbeds)]
        for entry in parameters
    ]
    caption = "Parameters of platform and testbed that were chosen to match measured data."
    header = ["fitted parameter", "value", "fitted on", *(["testbed"] if testbeds else [])]
    return document.table(header, rows, caption, [1], stacked=True)


def _own(parameter: FittedParameter, testbeds: Sequence[Testbed]) -> list[str]:
    if not testbeds:
        return []
    if parameter.is_elsewhere:
        return ["another machine"]
    chosen = any(testbed.tuned(parameter) for testbed in testbeds)
    return ["its own" if chosen else "other"]


def testbed_table(document: Document, testbed: Testbed) -> str:
    """Return what the experiments of a testbed share."""
    rows: list[list[object]] = [
        [entry.key, plain(entry.value), entry.confidence, entry.whole_source]
        for entry in testbed.settings
    ]
    caption = f"Settings of testbed {testbed.name}, which its experiments share: {testbed.title}."
    header = ["setting", "value", "confidence", "source"]
    return document.table(header, rows, caption, [1], stacked=True)
