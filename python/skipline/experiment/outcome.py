"""Everything that an experiment found, in memory and in its directory.

Files of the directory: points.duckdb (the store of its points, for `skipline store`),
results.parquet and results.csv (the table), outcome.json (definition, verdicts, provenance),
report.html.
"""

import io
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from skipline import atomic
from skipline._core import InputError
from skipline.experiment import checks, claim_verdicts, table, trivial
from skipline.experiment.catalogue import Entry
from skipline.experiment.claim import ClaimVerdict
from skipline.experiment.definition import Experiment
from skipline.experiment.files import CSV_FILE, OUTCOME_FILE, TABLE_FILE
from skipline.experiment.prediction import PredictionNow
from skipline.experiment.runner import Finished
from skipline.experiment.table import Comparison, Simulated
from skipline.platforms.testbeds import FittedParameter, Testbed
from skipline.text import csv_text, foreign
from skipline.text.nearest import did_you_mean


class Summary(BaseModel):
    """The outcome of an experiment beside its table: definition, verdicts, provenance."""

    model_config = ConfigDict(frozen=True)

    identifier: str
    scenario: str
    experiment: Experiment
    platform: str
    slice_function: str
    seed: int
    repeats: int
    version: str
    command: str
    testbeds: list[Testbed]
    fitted_parameters: list[FittedParameter]
    verdicts: list[checks.ErrorVerdict]
    claims: list[ClaimVerdict]
    predictions: list[PredictionNow] = []
    way_bytes: float | None
    trivial: list[trivial.TrivialScore]
    points: int
    runs: int
    unsettled_runs: int
    line_ops: int
    wall_s: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """Summary and result table of an experiment; one equals itself only."""

    summary: Summary
    table: pl.DataFrame

    @property
    def seeds(self) -> str:
        """The seeds of the repeats, for people."""
        first, repeats = self.summary.seed, self.summary.repeats
        return f"seed {first}" if repeats == 1 else f"seeds {first} to {first + repeats - 1}"

    @property
    def unsettled(self) -> str:
        """A sentence on the runs that have not settled; empty if there are none."""
        count = self.summary.unsettled_runs
        if not count:
            return ""
        return f"{count} of {self.summary.runs} runs have not settled: raise run.max_batches"

    @cached_property
    def simulated(self) -> list[Simulated]:
        """Every predicted number of the experiment's metrics."""
        return table.simulated(self.summary.experiment, self.table)

    @cached_property
    def rows(self) -> list[Comparison]:
        """Every predicted number that has a published one beside it."""
        return table.comparisons(self.simulated)

    def as_json(self) -> dict[str, Any]:
        """Return the summary with all points, as `--format json` prints it."""
        return {
            **self.summary.model_dump(mode="json"),
            "results": self.table.to_dicts(),
        }


def conclude(entry: Entry, finished: list[Finished], seed_given: int | None) -> Outcome:
    """Judge the finished points of an experiment."""
    experiment = entry.experiment
    everything = finished
    finished = [done for done in everything if not done.point.null]
    results = [result for done in finished for result in done.results]
    whole = table.build(entry.identifier, experiment, finished)
    _require_metrics(entry, whole)
    rows = table.comparisons(table.simulated(experiment, whole))
    way_bytes = _way_bytes(experiment, finished[0])
    aims = trivial.targets(experiment, rows, way_bytes)
    backlogs = experiment.trivial.backlog_buffers if experiment.trivial else []
    name = entry.identifier if entry.path.startswith("experiments/") else entry.path
    summary = Summary(
        identifier=entry.identifier,
        scenario=entry.scenario_path,
        experiment=experiment,
        platform=results[0].platform,
        slice_function=results[0].slice_function,
        seed=results[0].seed,
        repeats=len(finished[0].results),
        version=results[0].version,
        command=f"skipline experiment run {name}"
        + (f" --seed {seed_given}" if seed_given is not None else ""),
        testbeds=_testbeds([result.testbed for result in results if result.testbed]),
        fitted_parameters=_union([result.fitted_parameters for result in results]),
        verdicts=checks.error_verdicts(experiment.check, rows),
        claims=claim_verdicts.of_experiment(entry, everything, rows),
        predictions=claim_verdicts.of_predictions(entry, everything, rows),
        way_bytes=way_bytes,
        trivial=trivial.scores(aims, backlogs),
        points=len(finished),
        runs=len(results),
        unsettled_runs=sum(not result.settled for result in results),
        line_ops=sum(result.line_ops for result in results),
        wall_s=sum(result.wall_s for done in everything for result in done.results),
    )
    return Outcome(summary, whole)


def _way_bytes(experiment: Experiment, first: Finished) -> float | None:
    """Return what a way of the first point's platform holds, if something is judged by it."""
    if experiment.trivial is None:
        return None
    platform = first.results[0].platform
    return trivial.capacity_of_a_way(experiment.trivial, platform, first.point.scenario)


def _require_metrics(entry: Entry, whole: pl.DataFrame) -> None:
    """Refuse a metric that no point has, a mistyped one, and one without a number at any point."""
    known = _addresses(whole)
    numbers = _addresses(whole.filter(pl.col("predicted").is_not_null()))
    for metric in entry.experiment.metric:
        where = f"{entry.path}: metric '{metric.name}'"
        if metric.name not in known:
            raise InputError(f"{where}: not in the results{did_you_mean(metric.name, known)}")
        if metric.name not in numbers:
            raise InputError(f"{where}: has no value at any point; leave it out")


def _addresses(rows: pl.DataFrame) -> list[str]:
    names = rows.select("metric", "component").unique(maintain_order=True).iter_rows()
    return [table.address(*name) for name in names]


def write(outcome: Outcome, directory: Path) -> None:
    """Write table and summary; the summary comes last, so that it stands for a whole set."""
    parquet = io.BytesIO()
    outcome.table.write_parquet(parquet)
    atomic.write(directory / TABLE_FILE, parquet.getvalue())
    atomic.write(directory / CSV_FILE, csv_text.from_frame(outcome.table))
    atomic.write(
        directory / OUTCOME_FILE, foreign.in_json(outcome.summary.model_dump_json(indent=1)) + "\n"
    )


def read(directory: Path) -> Outcome:
    """Read what `write` wrote."""
    try:
        summary = Summary.model_validate_json((directory / OUTCOME_FILE).read_bytes())
    except ValidationError as error:
        raise InputError(
            f"{directory / OUTCOME_FILE}: damaged; run the experiment again: "
            f"{error.errors()[0]['msg']}"
        ) from error
    try:
        return Outcome(summary, pl.read_parquet(io.BytesIO((directory / TABLE_FILE).read_bytes())))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"{directory / TABLE_FILE}: missing or damaged; run the experiment again"
        ) from error


def _union(lists: list[list[FittedParameter]]) -> list[FittedParameter]:
    return list({entry.key: entry for entries in lists for entry in entries}.values())


def _testbeds(used: list[Testbed]) -> list[Testbed]:
    """Return each testbed once, with all settings that some point takes from it."""
    found: dict[str, Testbed] = {}
    for testbed in used:
        before = found.get(testbed.name, testbed).settings
        known = {setting.key for setting in before}
        more = [setting for setting in testbed.settings if setting.key not in known]
        found[testbed.name] = replace(testbed, settings=[*before, *more])
    return list(found.values())
