"""`skipline evidence`: every claim of the sources, and what the model says about it."""

import csv
import io
import json
import os
from pathlib import Path
from typing import NamedTuple

from skipline import _core, atomic, terminal
from skipline.evidence import collection, failing_claims, verdicts, view
from skipline.evidence.report import Ran, Report
from skipline.experiment import outcome, plan
from skipline.experiment.plan import Plan
from skipline.experiment.runner import Runner

PAGE = "evidence.html"
_COLUMNS = ["id", "source", "expected", "got", "verdict", "basis", "experiment"]


class Request(NamedTuple):
    """What to judge, from which folder of experiments, and where the results go."""

    sources: list[str]
    folder: str
    out: Path | None
    jobs: int | None
    verbose: bool


def execute(request: Request, output: str) -> None:
    """Simulate what is missing, judge all claims, write the pages, print the verdicts."""
    from skipline.report.evidence_page import page

    collected = collection.collect(request.folder, request.sources)
    out = plan.DEFAULT_FOLDER if request.out is None else request.out
    atomic.prepare_directory(out)
    plans = [plan.make(entry, None, out / entry.identifier) for entry in collected.entries]
    experiments = _run(plans, request.jobs or os.cpu_count() or 1, out)
    summaries = [ran.outcome.summary for ran in experiments]
    sources = "".join(f" --source {source}" for source in request.sources)
    report = Report(
        judgements=verdicts.judge(collected, summaries),
        experiments=experiments,
        explained=failing_claims.read(request.folder),
        command=f"skipline evidence{sources}",
        version=_core.version(),
    )
    # What shows a part does not take the place of what shows all.
    shown = out / (f"evidence-{'-'.join(request.sources)}.html" if request.sources else PAGE)
    atomic.write(shown, page(report))
    if output == "json":
        terminal.emit(json.dumps(report.as_json(), indent=1))
    elif output == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, _COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(report.as_json()["claims"])
        terminal.emit(text.getvalue())
    else:
        terminal.show(view.overview(report, shown, verbose=request.verbose))


def _run(plans: list[Plan], jobs: int, out: Path) -> list[Ran]:
    try:
        with terminal.progress_bar("evidence") as bar:
            finished = Runner([planned.batch for planned in plans]).run(jobs, bar)
    except KeyboardInterrupt:
        raise terminal.Interrupted(
            f"finished points are kept in {out / '*' / outcome.POINTS_FOLDER}; "
            "the next run goes on from there"
        ) from None
    return [
        Ran(
            outcome=plan.conclude(planned, ran, None),
            path=planned.entry.path,
            directory=planned.directory,
            reused=ran.reused,
            wall_s=ran.simulated_wall_s,
        )
        for planned, ran in zip(plans, finished, strict=True)
    ]
