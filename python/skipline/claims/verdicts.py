"""The verdict on each claim, over all experiments and tests."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from skipline.claims.collection import Collection
from skipline.claims.pointers import Pointer
from skipline.claims.recorded_tests import TestOutcome
from skipline.experiment.claim import ClaimCheckVerdict, join_bases, join_verdicts
from skipline.experiment.claims_table import ClaimRow
from skipline.experiment.outcome import Summary

Judged = Literal["holds", "weak", "undecided", "fails", "not judged", "not run here"]
Shown = Literal["predicted", "fitted elsewhere", "fitted", "test", "test, in part"]
# A claim that holds in each null model too is weak. One that only tests show is not run here if
# they have not run on the present sources.
VERDICTS: tuple[Judged, ...] = (
    "holds",
    "weak",
    "undecided",
    "fails",
    "not judged",
    "not run here",
)
BASES: tuple[Shown, ...] = ("predicted", "fitted elsewhere", "fitted", "test", "test, in part")
# In cells of tables more checks than these are counted, not listed.
_FEW_CHECKS = 2


class JudgedCheck(ClaimCheckVerdict):
    """A check and the experiment that it is part of."""

    experiment: str


class Judgement(BaseModel):
    """The verdict on one claim: it holds when all checks in all experiments do, and all tests.

    Tests that did not run are not in `said`. Without a null model in which the claim fails it is
    weak.
    """

    model_config = ConfigDict(frozen=True)

    row: ClaimRow
    verdict: Judged
    basis: Shown | None
    checks: list[JudgedCheck]
    experiments: list[str]
    tests: list[str]
    test_outcomes: dict[str, TestOutcome]
    refuted_by: list[str]
    notes: list[str]

    @property
    def got(self) -> str:
        """The result of the model, in full."""
        if self.checks:
            return "; ".join(f"{check.text}: {check.got}" for check in self.checks)
        tests = _count(len(self.tests), "test")
        if self.verdict == "not run here":
            return f"shown by {tests} of the repository"
        if self.failed_tests:
            return f"{len(self.failed_tests)} of {tests} failed: {', '.join(self.failed_tests)}"
        return f"shown by {tests}" if self.tests and self.basis else ""

    @property
    def failed_tests(self) -> list[str]:
        """The tests that ran and failed."""
        return [test for test in self.tests if self.test_outcomes.get(test) == "failed"]

    @property
    def short(self) -> str:
        """The result of the model, for a cell of a table."""
        if len(self.checks) > _FEW_CHECKS:
            good = sum(check.word == "holds" for check in self.checks)
            return f"{good} of {len(self.checks)} checks"
        if self.checks:
            return ", ".join(check.got for check in self.checks)
        return self.got


def judge_all(collection: Collection, summaries: Sequence[Summary]) -> list[Judgement]:
    """Return the verdicts in the order of the claims table."""
    return [_judgement(row, collection, summaries) for row in collection.rows]


def _judgement(row: ClaimRow, collection: Collection, summaries: Sequence[Summary]) -> Judgement:
    pointer = collection.pointers.get(row.id)
    found = [(s.identifier, claim) for s in summaries for claim in s.claims if claim.id == row.id]
    checks = [
        JudgedCheck(**check.model_dump(), experiment=identifier)
        for identifier, claim in found
        for check in claim.checks
    ]
    notes = [claim.note for _, claim in found if claim.note]
    if pointer is not None:
        notes += [text for text in (pointer.note, pointer.reason) if text]
        if pointer.missing:
            notes.append(f"The tests do not show: {pointer.missing}")
        if pointer.fitted_on:
            notes.append(f"Fitted on {pointer.fitted_on}")
    tests = pointer.test if pointer else []
    test_outcomes = {
        test: collection.test_outcomes[test] for test in tests if test in collection.test_outcomes
    }
    verdict, basis = _verdict(checks, pointer, test_outcomes)
    refuted_by = [claim.refuted_by for _, claim in found if claim.refuted_by]
    if checks and verdict == "holds" and not refuted_by:
        verdict = "weak"
    if pointer is not None and pointer.judged is not None:
        verdict, basis = "not judged", None
    return Judgement(
        row=row,
        verdict=verdict,
        basis=basis,
        checks=checks,
        experiments=list(dict.fromkeys(identifier for identifier, _ in found)),
        tests=tests,
        test_outcomes=test_outcomes,
        refuted_by=list(dict.fromkeys(refuted_by)),
        notes=notes,
    )


def _verdict(
    checks: Sequence[JudgedCheck],
    pointer: Pointer | None,
    test_outcomes: Mapping[str, TestOutcome],
) -> tuple[Judged, Shown | None]:
    """Judge a claim by its checks and by its tests that ran; without checks all need to run."""
    failed = any(word == "failed" for word in test_outcomes.values())
    if checks:
        basis = join_bases([check.basis for check in checks])
        return "fails" if failed else join_verdicts(checks), basis
    if not failed and pointer is not None and len(test_outcomes) < len(pointer.test):
        return "not run here", None
    return "fails" if failed else "holds", _basis_of_tests(pointer)


def _basis_of_tests(pointer: Pointer | None) -> Shown:
    if pointer is not None and pointer.fitted_on:
        return "fitted"
    return "test, in part" if pointer is not None and pointer.missing else "test"


def counts(judgements: Sequence[Judgement]) -> dict[str, dict[str, int]]:
    """Count verdicts and bases, by source and over all; a basis counts what holds or fails.

    `simulated` claims are those that experiments judge; tests are counted apart. So are the claims
    that no source's list has (`others`): "all" leaves them out.
    """
    groups = {"all": [one for one in judgements if not one.row.is_counted_apart]}
    for judgement in judgements:
        groups.setdefault(judgement.row.source_key, []).append(judgement)
    return {
        name: {
            "claims": len(group),
            **{verdict: sum(j.verdict == verdict for j in group) for verdict in VERDICTS},
            **{basis: sum(j.basis == basis for j in group) for basis in BASES},
            "simulated": sum(bool(j.checks) for j in group),
            "simulated hold": sum(bool(j.checks) and j.verdict == "holds" for j in group),
            "checks": sum(len(j.checks) for j in group),
            "checks weak alone": sum(check.is_weak for j in group for check in j.checks),
            "checks held": sum(check.word == "holds" for j in group for check in j.checks),
        }
        for name, group in groups.items()
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
