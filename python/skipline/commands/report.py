"""`skipline report`: the page of an experiment's directory or of a single run."""

from pathlib import Path

import click

from skipline import atomic, terminal
from skipline._core import InputError
from skipline.commands import options
from skipline.commands.command import Command


@click.command(
    cls=Command,
    examples=[
        "skipline report reports/pktsize-desc",
        "skipline report baseline --out baseline.html",
    ],
)
@click.argument(
    "path",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Directory of results, or a file in it.",
)
@options.out("HTML file; default: beside the data.", "FILE")
def report(path: Path, out: Path | None) -> None:
    """Write the HTML report of an experiment or of a single run."""
    terminal.emit_for_people(str(_write(path, out)))


def _write(path: Path, out: Path | None) -> Path:
    """Write the report of the results at `path` and return where it is."""
    if not path.exists():
        raise InputError(f"{path}: no such file or directory")
    from skipline.experiment.outcome import REPORT_FILE

    directory = path if path.is_dir() else path.parent
    target = out or directory / REPORT_FILE
    if not target.parent.is_dir():
        raise InputError(f"--out {target}: the directory {target.parent} does not exist")
    if target.is_dir():
        raise InputError(f"--out {target}: this is a directory; name the HTML file")
    atomic.write(target, _page(path))
    return target.resolve()


def _page(path: Path) -> str:
    from skipline.experiment import outcome
    from skipline.run_command import RESULT_FILE

    directory = path if path.is_dir() else path.parent
    of_experiment = path.is_dir() or path.name in (outcome.OUTCOME_FILE, outcome.TABLE_FILE)
    if of_experiment and (directory / outcome.OUTCOME_FILE).is_file():
        from skipline.report import experiment_page

        return experiment_page.page(outcome.read(directory))
    single = directory / RESULT_FILE if path.is_dir() else path
    if not single.is_file():
        raise InputError(
            f"{path}: no results here; expected {RESULT_FILE} (of `skipline run --out DIR`) or "
            f"{outcome.OUTCOME_FILE} (of `skipline experiment run ID --out DIR`)"
        )
    from skipline import result
    from skipline.report import run_page

    return run_page.page(result.parse(_text(single), str(single)))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a result of `skipline run`: not UTF-8 text") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
