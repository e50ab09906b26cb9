"""`skipline report`: the page of an experiment's directory, of a single run, or of a sweep."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from skipline import _core, atomic, extras, resources
from skipline._core import InputError
from skipline.commands import options
from skipline.commands.command import Command
from skipline.text import terminal

if TYPE_CHECKING:
    from skipline.report.pictures import Kind
    from skipline.report.sweep_page import Choice


@click.command(
    cls=Command,
    examples=[
        "skipline report reports/pktsize-desc",
        "skipline report baseline --out baseline.html",
        "skipline report results.duckdb --metric p99 --measured host.csv --png figures",
        "skipline report results.duckdb --title 'Rings, new box' --slide --png figures",
    ],
)
@click.argument(
    "path",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Directory of results, a file in it, or a store.",
)
@options.out("HTML file; default: beside the data; of a pipe: report.html.", "FILE")
@click.option("--sweep", metavar="N", type=int, help="Sweep of a store; default: the last one.")
@click.option(
    "--metric", "metrics", metavar="NAME", multiple=True, help="Metric of a sweep; repeatable."
)
@click.option("--x", metavar="KEY", help="Setting along the figures of a sweep.")
@click.option("--y", metavar="KEY", help="The other one.")
@click.option(
    "--measured", metavar="FILE", help="CSV of measured points: a column for each key and metric."
)
@click.option(
    "--svg", metavar="DIR", type=click.Path(path_type=Path), help="Also figures of a sweep as SVG."
)
@click.option(
    "--png", metavar="DIR", type=click.Path(path_type=Path), help="Also figures of a sweep as PNG."
)
@click.option(
    "--title", metavar="TEXT", help="Title of page and figures; default: the sweep's own."
)
@click.option(
    "--slide", is_flag=True, help="With --svg, --png: also one figure of a sweep as a slide, 16:9."
)
def report(  # noqa: PLR0913, PLR0917 - one argument for each option
    path: Path,
    out: Path | None,
    sweep: int | None,
    metrics: tuple[str, ...],
    x: str | None,
    y: str | None,
    measured: str | None,
    svg: Path | None,
    png: Path | None,
    title: str | None,
    slide: bool,
) -> None:
    """Write the HTML report of an experiment, of a single run, or of a sweep."""
    from skipline.store import parts

    if slide and svg is None and png is None:
        raise InputError("--slide is a picture; add --png DIR or --svg DIR")
    if title is not None and not title.strip():
        raise InputError("--title: a title has a word at least")
    if path.is_file() and parts.is_store(str(path)):
        extras.require("reports", "the page of a sweep")
        from skipline.diff import bound
        from skipline.report.sweep_page import Choice

        choice = Choice(sweep, tuple(map(bound.full_name, metrics)), x, y, measured, title)
        _write_sweep(path, out, choice, {"svg": svg, "png": png}, slide=slide)
        return
    of_sweep = (sweep, metrics or None, x, y, measured, svg, png, title)
    if path.exists() and any(one is not None for one in of_sweep):
        raise InputError(
            f"{path} is not a store; --sweep, --metric, --x, --y, --measured, --title, --svg, "
            "--png need one"
        )
    terminal.emit_for_people(str(_write(path, out)))


def _write_sweep(
    path: Path,
    out: Path | None,
    choice: "Choice",
    pictures: "dict[Kind, Path | None]",
    *,
    slide: bool,
) -> None:
    """Write the page of a sweep, and its figures as pictures."""
    target = out or path.with_suffix(".html")
    _require_file(target)
    wanted = {kind: folder for kind, folder in pictures.items() if folder is not None}
    for folder in wanted.values():
        atomic.prepare_directory(folder)
    from skipline.report import sweep_page, sweep_pictures

    swept = sweep_page.read(str(path), choice)
    if slide and swept.along is None:
        raise InputError(f"{path}: --slide needs a sweep over one or two settings")
    atomic.write(target, sweep_page.page(swept))
    terminal.emit_for_people(str(target.resolve()))
    for kind, folder in wanted.items():
        for file in sweep_pictures.write(swept, folder, kind, slide=slide):
            terminal.emit_for_people(str(file.resolve()))


def _write(path: Path, out: Path | None) -> Path:
    """Write the report of the results at `path` and return where it is."""
    if not path.exists():
        raise InputError(
            f"{path}: no such file or directory; name a directory with results (of `skipline run "
            "--out DIR` or `skipline experiment run ID --out DIR`), a file in it, or a store (of "
            "`skipline sweep`)"
        )
    from skipline.experiment.files import REPORT_FILE

    directory = path if path.is_dir() else path.parent
    if _core.is_pipe(path):
        directory = Path()
    target = out or directory / REPORT_FILE
    _require_file(target)
    atomic.write(target, _page(path))
    return target.resolve()


def _require_file(target: Path) -> None:
    if not target.parent.is_dir():
        raise InputError(f"--out {target}: the directory {target.parent} does not exist")
    if target.is_dir():
        raise InputError(f"--out {target}: this is a directory; name the HTML file")


def _page(path: Path) -> str:
    from skipline.experiment import files
    from skipline.runs.run_command import RESULT_FILE

    directory = path if path.is_dir() else path.parent
    of_experiment = path.is_dir() or path.name in (files.OUTCOME_FILE, files.TABLE_FILE)
    if of_experiment and (directory / files.OUTCOME_FILE).is_file():
        extras.require("reports", "the page of an experiment")
        from skipline.experiment import outcome
        from skipline.report import experiment_page

        return experiment_page.page(outcome.read(directory))
    single = directory / RESULT_FILE if path.is_dir() else path
    if not resources.exists(str(single)):
        raise InputError(
            f"{path}: no results here; expected {RESULT_FILE} (of `skipline run --out DIR`) or "
            f"{files.OUTCOME_FILE} (of `skipline experiment run ID --out DIR`)"
        )
    from skipline.report import run_page
    from skipline.runs import result

    return run_page.page(result.parse(resources.read_text(str(single)), str(single)))
