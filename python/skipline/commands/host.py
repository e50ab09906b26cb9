"""`skipline host ...`: the commands of the binary `skipline-host`, and `compare`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from skipline import atomic, terminal
from skipline._core import InputError
from skipline.commands.options import Format, Output, Seed

app = typer.Typer(help="The real machine (skipline-host).", no_args_is_help=True)


@app.callback()
def default(
    context: typer.Context,
    root: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Tree that stands in for the machine.")
    ] = None,
) -> None:
    """See, set, measure and restore the real machine's I/O cache controls."""
    context.obj = [] if root is None else ["--root", str(root)]


def _pass_on(name: str, summary: str) -> None:
    """Register a command of the binary, which has its own options and help."""

    def run(context: typer.Context) -> None:
        from skipline.host import binary

        binary.replace_process([*context.obj, name, *context.args])

    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(name, help=summary, add_help_option=False, context_settings=settings)(run)


_pass_on("status", "Show how I/O data reaches the cache of this machine.")
_pass_on("tune", "Change a control; a dry run without --apply.")
_pass_on("restore", "Put back every value that tune changed.")
_pass_on("monitor", "Show hits and misses of devices, bandwidth, occupancy.")
_pass_on("calibrate", "Measure caches and memory; write a platform file.")
_pass_on("slices", "Learn which cache slice each line is in, and how far slices are.")


@app.command("compare")
def compare(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Platform file of `skipline host calibrate`.")
    ],
    measured: Annotated[
        Path | None, typer.Option(help="What was measured; default: FILE as .measured.json.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="HTML page; default: FILE as .compare.html.")
    ] = None,
    seed: Seed = None,
    output: Output = Format.TABLE,
) -> None:
    """Simulate what `skipline host calibrate` measured: latency over working sets, with errors."""
    from skipline.host import comparison, measurement, page, view

    measured = measured or measurement.beside(file, measurement.MEASURED)
    out = out or measurement.beside(file, measurement.COMPARED)
    if not file.is_file():
        raise InputError(f"{file}: no such file; `skipline-host calibrate --out {file}` writes it")
    if out.is_dir() or not out.parent.is_dir():
        raise InputError(f"--out {out}: not a file in a directory that exists")
    read = measurement.read(measured)
    with terminal.progress_bar("simulating") as bar:
        compared = comparison.compare(file, measured, read, seed, bar.update)
    atomic.write(out, page.page(compared))
    match output:
        case Format.JSON:
            terminal.emit(json.dumps(compared.as_json(), indent=1))
        case Format.CSV:
            terminal.emit(view.as_csv(compared))
        case Format.TABLE:
            terminal.show(view.overview(compared))
    terminal.note(f"wrote {out}")
