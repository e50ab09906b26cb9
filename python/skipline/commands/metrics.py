"""`skipline metrics`."""

from skipline import terminal
from skipline.commands.options import Format, Output


def metrics(output: Output = Format.TABLE) -> None:
    """List every metric of results: unit, what its numbers are by, meaning."""
    from skipline import metrics as work

    match output:
        case Format.TABLE:
            terminal.show(work.overview())
        case Format.JSON:
            terminal.emit(work.as_json())
        case Format.CSV:
            terminal.emit(work.as_csv())
