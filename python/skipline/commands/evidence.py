"""`skipline evidence`: every claim of the sources, and what the model says about it."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skipline import _core, atomic
from skipline._core import InputError
from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal

if TYPE_CHECKING:
    from skipline.evidence.evidence import ExperimentRun
    from skipline.experiment.preparation import Prepared

PAGE = "evidence.html"


@click.command(
    cls=Command,
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
    from skipline.evidence import collection, failing_claims, verdicts
    from skipline.evidence.evidence import Evidence
    from skipline.experiment import preparation
    from skipline.report.evidence_page import page

    collected = collection.collect(folder, sources)
    out = preparation.DEFAULT_FOLDER if out is None else out
    atomic.prepare_directory(out)
    prepared = [
        preparation.prepare(entry, None, out / entry.identifier) for entry in collected.entries
    ]
    if former := preparation.former_points(Path(one.batch.store) for one in prepared):
        terminal.note(former)
    experiments = _run(prepared, jobs or os.cpu_count() or 1, out)
    summaries = [run.outcome.summary for run in experiments]
    found = Evidence(
        judgements=verdicts.judge_all(collected, summaries),
        experiments=experiments,
        explained=failing_claims.read(folder),
        tests_are_here=collected.tests_are_here,
        command="skipline evidence" + "".join(f" --source {name}" for name in sources),
        version=_core.version(),
    )
    # The page of some sources does not replace the page of all.
    shown = out / (f"evidence-{'-'.join(sources)}.html" if sources else PAGE)
    atomic.write(shown, page(found))
    match output:
        case Format.JSON:
            terminal.emit_json(json.dumps(found.as_json(), indent=1))
        case Format.CSV:
            from skipline.evidence import view

            terminal.emit(view.claims_table(found).as_csv())
        case Format.TABLE:
            from skipline.evidence import view

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


def _run(prepared: list["Prepared"], jobs: int, out: Path) -> list["ExperimentRun"]:
    """Simulate what is missing and write the directory of every experiment."""
    from skipline.evidence.evidence import ExperimentRun
    from skipline.experiment import rounds
    from skipline.experiment.outcome import POINTS_FILE
    from skipline.report import experiment_directory

    try:
        with terminal.progress_bar("evidence") as bar:
            finished = rounds.run(prepared, jobs, bar)
    except KeyboardInterrupt:
        raise terminal.Interrupted(
            f"finished points are kept in {out / '*' / POINTS_FILE}; "
            "the next run goes on from there"
        ) from None
    return [
        ExperimentRun(
            outcome=experiment_directory.conclude(one, ran, None),
            path=one.entry.path,
            directory=one.directory,
            reused=ran.reused,
            wall_s=ran.simulated_wall_s,
        )
        for one, ran in zip(prepared, finished, strict=True)
    ]
