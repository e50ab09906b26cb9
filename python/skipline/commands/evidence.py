"""`skipline evidence`: every claim of the sources, and what the model says about it."""

import json
from pathlib import Path

import click

from skipline import atomic
from skipline._core import InputError
from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal

PAGE = "evidence.html"


@click.command(
    cls=Command,
    extra="reports",
    examples=[
        "skipline evidence --source blog",
        "skipline evidence --source atc20 --source ispass20 --jobs 8",
        "skipline evidence --format csv > claims.csv",
        "skipline evidence --register",
    ],
)
@click.option(
    "--source",
    metavar="S",
    multiple=True,
    help="Only this source: blog, atc20, ispass20, eurosys19, asplos24; repeatable.",
    shell_complete=suggestions.sources,
)
@options.output
@options.out("Results and evidence.html; default: reports.", "DIR")
@options.jobs
@click.option(
    "--experiments",
    "folder",
    metavar="DIR",
    default="experiments",
    type=click.Path(),
    help="Claims, experiments, tests.toml; default: experiments.",
)
@click.option("--register", is_flag=True, help="Only print the predictions that are registered.")
@click.option("--verbose", is_flag=True, help="Also show the time of each experiment.")
def evidence(
    source: tuple[str, ...],
    output: Format,
    out: Path | None,
    jobs: int | None,
    folder: str,
    register: bool,
    verbose: bool,
) -> None:
    """Judge every claim of the sources: expected, got, verdict, fitted or predicted."""
    if register:
        if source or out or jobs:
            raise InputError(
                "--register: prints what is registered; leave --source, --out, --jobs out"
            )
        _show_register(f"{folder.rstrip('/')}/predictions", output)
        return
    from skipline.experiment import claims_table

    sources = list(source)
    folder = folder.rstrip("/") or "/"
    # Refused before anything is loaded that only a run needs.
    claims_table.of_sources(claims_table.read(f"{folder}/{claims_table.FILE}"), sources)
    from skipline.claims import call, collection
    from skipline.experiment import preparation
    from skipline.experiment.files import POINTS_FILE
    from skipline.report import experiment_directory
    from skipline.report.evidence_page import page

    collected = collection.collect(folder, sources)
    out = preparation.DEFAULT_FOLDER if out is None else out
    try:
        with terminal.progress_bar("evidence", lines=True) as bar:
            conclude = experiment_directory.conclude
            found = call.judge(collected, folder, sources, out, jobs, bar, conclude)
    except KeyboardInterrupt:
        raise terminal.Interrupted(
            f"finished points are kept in {out / '*' / POINTS_FILE}; "
            "the next run goes on from there"
        ) from None
    # The page of some sources does not replace the page of all.
    shown = out / (f"evidence-{'-'.join(sources)}.html" if sources else PAGE)
    atomic.write(shown, page(found))
    match output:
        case Format.JSON:
            terminal.emit_json(json.dumps(found.as_json(), indent=1))
        case Format.CSV:
            from skipline.claims import view

            terminal.emit(view.claims_table(found).as_csv())
        case Format.TABLE:
            from skipline.claims import view

            terminal.show(view.overview(found, shown, verbose=verbose))


def _show_register(folder: str, output: Format) -> None:
    """Print the predictions below a folder; nothing is simulated."""
    from skipline.experiment import register

    found = register.lines(folder)
    match output:
        case Format.JSON:
            terminal.emit_json(json.dumps(register.as_json(found), indent=1))
        case Format.CSV:
            terminal.emit(register.table(found).as_csv())
        case Format.TABLE:
            terminal.show(register.table(found))
