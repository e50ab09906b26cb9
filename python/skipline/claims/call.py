"""`skipline.evidence`: judges the claims of publications, for the command and for Python."""

import os
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from skipline import _core, atomic, extras
from skipline.experiment import claims_table
from skipline.text import terminal

if TYPE_CHECKING:
    from skipline.claims.collection import Collection
    from skipline.claims.evidence import Evidence
    from skipline.experiment.outcome import Outcome
    from skipline.experiment.preparation import Prepared
    from skipline.experiment.runner import Ran

    Conclude = Callable[[Prepared, Ran, int | None], Outcome]

Progress = Callable[[float, str], None]
FOLDER = "experiments"


def evidence(
    sources: Sequence[str] = (),
    *,
    folder: str | PathLike[str] = FOLDER,
    out: str | PathLike[str] = "reports",
    jobs: int | None = None,
    progress: Progress | None = None,
) -> "Evidence":
    """Judge every claim of the sources: expected, got, verdict, fitted or predicted.

    `sources` are short names (blog, atc20, ispass20, eurosys19, asplos24), all of them if none is
    named; `folder` has claims and experiments. Tables and the points that are simulated are kept
    below `out`, where the next call finds them. Raises InputError for a source that is not known.

    >>> import skipline
    >>> found = skipline.evidence(folder="evidence")  # claims and experiments of one's own
    >>> [(judgement.row.id, judgement.verdict) for judgement in found.judgements][:2]
    [('x-01', 'weak'), ('x-02', 'fails')]
    >>> found.counts["all"]["claims"], found.judgements[1].basis
    (4, 'fitted')
    """
    extras.require("sweeps", "evidence")
    named = fspath(folder).rstrip("/") or "/"
    chosen = [sources] if isinstance(sources, str) else list(sources)
    claims_table.of_sources(claims_table.read(f"{named}/{claims_table.FILE}"), chosen)
    from skipline.claims import collection

    collected = collection.collect(named, chosen)
    with terminal.progress_bar("evidence") as bar:
        shown = _Shown(progress) if progress else bar
        return judge(collected, named, chosen, Path(out), jobs, shown, _tables_only)


class _Shown(terminal.Bar):
    """Progress that a function is called with."""

    def __init__(self, progress: Progress) -> None:
        super().__init__("evidence")
        self._call = progress

    def update(self, fraction: float, description: str | None = None) -> None:
        """Pass it on."""
        self._call(fraction, description or "")


def judge(
    collected: "Collection",
    folder: str,
    sources: Sequence[str],
    out: Path,
    jobs: int | None,
    bar: terminal.Bar,
    conclude: "Conclude",
) -> "Evidence":
    """Simulate what is missing and judge; `conclude` writes the directory of each experiment."""
    from skipline.claims import failing_claims, verdicts
    from skipline.claims.evidence import Evidence, ExperimentRun
    from skipline.experiment import preparation, rounds

    atomic.prepare_directory(out)
    prepared = [
        preparation.prepare(entry, None, out / entry.identifier) for entry in collected.entries
    ]
    if former := preparation.former_points(Path(one.batch.store) for one in prepared):
        terminal.note(former)
    experiments = [
        ExperimentRun(
            outcome=conclude(one, ran, None),
            path=one.entry.path,
            directory=one.directory,
            reused=ran.reused,
            wall_s=ran.simulated_wall_s,
        )
        for one, ran in zip(
            prepared, rounds.run(prepared, jobs or os.cpu_count() or 1, bar), strict=True
        )
    ]
    return Evidence(
        judgements=verdicts.judge_all(collected, [run.outcome.summary for run in experiments]),
        experiments=experiments,
        explained=failing_claims.read(folder),
        tests_are_here=collected.tests_are_here,
        command="skipline evidence" + "".join(f" --source {name}" for name in sources),
        version=_core.version(),
    )


def _tables_only(prepared: "Prepared", ran: "Ran", seed: int | None) -> "Outcome":
    """Judge what ran, and write its tables and its summary, no page."""
    from skipline.experiment import outcome

    concluded = outcome.conclude(prepared.entry, ran.finished, seed)
    outcome.write(concluded, prepared.directory)
    return concluded
