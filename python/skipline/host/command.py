"""`skipline host compare`: the kernels of a measurement, simulated."""

import json
from dataclasses import dataclass
from pathlib import Path

from skipline import atomic, terminal
from skipline._core import InputError
from skipline.host import comparison, measurement, view


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    platform: Path
    measured: Path | None
    out: Path | None
    seed: int | None


def compare(request: Request, output: str) -> None:
    """Simulate, write the page, and print as `output` (table, json or csv)."""
    measured = request.measured or measurement.beside(request.platform, measurement.MEASURED)
    page = request.out or measurement.beside(request.platform, measurement.COMPARED)
    if not request.platform.is_file():
        raise InputError(
            f"{request.platform}: no such file; `skipline-host calibrate --out {request.platform}` "
            "writes it"
        )
    if page.is_dir() or not page.parent.is_dir():
        raise InputError(f"--out {page}: not a file in a directory that exists")
    read = measurement.read(measured)
    with terminal.progress_bar("simulating") as bar:
        compared = comparison.compare(request.platform, measured, read, request.seed, bar.update)
    from skipline.host.page import page as html

    atomic.write(page, html(compared))
    match output:
        case "json":
            terminal.emit(json.dumps(compared.as_json(), indent=1))
        case "csv":
            terminal.emit(view.as_csv(compared))
        case _:
            terminal.show(view.overview(compared))
    terminal.note(f"wrote {page}")
