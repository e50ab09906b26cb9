"""`skipline evidence`: every claim of the sources, and what the model says about it."""

import csv
import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skipline import _core, atomic, terminal
from skipline.commands.options import Format, Jobs, Output

if TYPE_CHECKING:
    from skipline.evidence.evidence import ExperimentRun
    from skipline.experiment.preparation import Prepared

PAGE = "evidence.html"
_COLUMNS = ["id", "source", "expected", "got", "verdict", "basis", "experiment"]


def evidence(
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="S", help="Only this source: blog, atc20, ispass20, eurosys19; repeatable."
        ),
    ] = None,
    output: Output = Format.TABLE,
    out: Annotated[
        Path | None, typer.Option(help="Results and evidence.html; default: reports.")
    ] = None,
    jobs: Jobs = None,
    experiments_folder: Annotated[
        str, typer.Option("--experiments", metavar="DIR", help="Claims, experiments, tests.toml.")
    ] = "experiments",
    verbose: Annotated[bool, typer.Option(help="Also show the time of each experiment.")] = False,
) -> None:
    """Judge every claim of the sources: expected, got, verdict, fitted or predicted."""
    from skipline.evidence import collection, failing_claims, verdicts
    from skipline.evidence.evidence import Evidence
    from skipline.experiment import preparation
    from skipline.report.evidence_page import page

    sources = source or []
    folder = experiments_folder.rstrip("/") or "/"
    collected = collection.collect(folder, sources)
    out = preparation.DEFAULT_FOLDER if out is None else out
    atomic.prepare_directory(out)
    prepared = [
        preparation.prepare(entry, None, out / entry.identifier) for entry in collected.entries
    ]
    experiments = _run(prepared, jobs or os.cpu_count() or 1, out)
    summaries = [run.outcome.summary for run in experiments]
    found = Evidence(
        judgements=verdicts.over_all(collected, summaries),
        experiments=experiments,
        explained=failing_claims.read(folder),
        command="skipline evidence" + "".join(f" --source {name}" for name in sources),
        version=_core.version(),
    )
    # The page of some sources does not replace the page of all.
    shown = out / (f"evidence-{'-'.join(sources)}.html" if sources else PAGE)
    atomic.write(shown, page(found))
    match output:
        case Format.JSON:
            terminal.emit(json.dumps(found.as_json(), indent=1))
        case Format.CSV:
            text = io.StringIO()
            writer = csv.DictWriter(text, _COLUMNS, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(found.as_json()["claims"])
            terminal.emit(text.getvalue())
        case Format.TABLE:
            from skipline.evidence import view

            terminal.show(view.overview(found, shown, verbose=verbose))


def _run(prepared: list["Prepared"], jobs: int, out: Path) -> list["ExperimentRun"]:
    """Simulate what is missing and write the directory of every experiment."""
    from skipline.evidence.evidence import ExperimentRun
    from skipline.experiment.outcome import POINTS_FOLDER
    from skipline.experiment.runner import Runner
    from skipline.report import experiment_directory

    try:
        with terminal.progress_bar("evidence") as bar:
            finished = Runner([one.batch for one in prepared]).run(jobs, bar)
    except KeyboardInterrupt:
        raise terminal.Interrupted(
            f"finished points are kept in {out / '*' / POINTS_FOLDER}; "
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
