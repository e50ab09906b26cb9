"""Everything that `skipline evidence` found, and its JSON."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from skipline.claims import failing_claims, recorded_tests, verdicts
from skipline.claims.failing_claims import Section
from skipline.claims.verdicts import Judgement
from skipline.experiment.files import REPORT_FILE
from skipline.experiment.intervals import FEWEST_RUNS
from skipline.experiment.outcome import Outcome


@dataclass(frozen=True)
class ExperimentRun:
    """An experiment that judged claims; `wall_s` is the time of what was simulated now."""

    outcome: Outcome
    path: str
    directory: Path
    reused: int
    wall_s: float

    @property
    def identifier(self) -> str:
        """The experiment."""
        return self.outcome.summary.identifier

    @property
    def page(self) -> str:
        """The page of the experiment, relative to the folder of all reports."""
        return f"{self.directory.name}/{REPORT_FILE}"


@dataclass(frozen=True)
class Evidence:
    """Verdicts, the experiments behind them, and what is written about failing ones."""

    judgements: list[Judgement]
    experiments: list[ExperimentRun]
    explained: dict[str, Section]
    tests_are_here: bool
    command: str
    version: str

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """Verdicts and bases by source."""
        return verdicts.counts(self.judgements)

    @property
    def failing(self) -> list[Judgement]:
        """The claims that fail."""
        return [judgement for judgement in self.judgements if judgement.verdict == "fails"]

    @property
    def undecided(self) -> list[Judgement]:
        """The claims of which the seeds decide."""
        return [judgement for judgement in self.judgements if judgement.verdict == "undecided"]

    @property
    def undocumented(self) -> list[str]:
        """Failing claims without a section in docs/evidence/failing-claims.md."""
        return failing_claims.without_section(self.explained, [j.row.id for j in self.failing])

    @property
    def without_interval(self) -> str:
        """A sentence on the claims with too few seeds for an interval; empty if there are none."""
        runs = {run.identifier: run.outcome.summary.repeats for run in self.experiments}
        simulated = [judgement for judgement in self.judgements if judgement.checks]
        few = [
            judgement.row.id
            for judgement in simulated
            if any(runs[name] < FEWEST_RUNS for name in judgement.experiments)
        ]
        if not few:
            return ""
        return (
            f"{len(few)} of {len(simulated)} simulated claims have no interval: points that take "
            f"long have fewer than {FEWEST_RUNS} seeds: {', '.join(few)}."
        )

    @property
    def not_run(self) -> str:
        """A sentence on the claims whose tests did not run; empty if there are none."""
        count = self.counts["all"]["not run here"]
        if count == 0:
            return ""
        claims = "1 claim is" if count == 1 else f"{count} claims are"
        if not self.tests_are_here:
            return f"{claims} shown by tests of the repository, which is not here."
        how = recorded_tests.HOW
        return f"{claims} shown by tests that did not run on what is here: `{how}` runs them."

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        return {
            "claims": [self._claim(judgement) for judgement in self.judgements],
            "counts": self.counts,
            "failing_without_paragraph": self.undocumented,
            "experiments": [
                {
                    "id": run.identifier,
                    "path": run.path,
                    "points": run.outcome.summary.points,
                    "reused": run.reused,
                    "simulated_wall_s": run.wall_s,
                    "wall_s": run.outcome.summary.wall_s,
                }
                for run in self.experiments
            ],
        }

    def _claim(self, judgement: Judgement) -> dict[str, Any]:
        row = judgement.row
        return {
            "id": row.id,
            "source": row.source_key,
            "kind": row.kind,
            "statement": row.statement,
            "expected": row.expectation,
            "got": judgement.got,
            "verdict": judgement.verdict,
            "basis": judgement.basis,
            "experiment": ", ".join(judgement.experiments) or None,
            "tests": judgement.tests,
            "tests_said": judgement.test_outcomes,
            "refuted_by": judgement.refuted_by,
            "notes": judgement.notes,
            "checks": [check.model_dump(mode="json") for check in judgement.checks],
        }
