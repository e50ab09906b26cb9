"""A finished run as a store keeps it: its numbers, and the facts that verdicts depend on.

A kept result whose numbers were changed afterwards does not match its digest, and is left out.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import TYPE_CHECKING

from pydantic import BaseModel

from skipline._core import InputError
from skipline.platforms import testbeds
from skipline.platforms.testbeds import FittedParameter, Testbed
from skipline.runs import identity
from skipline.runs.result import Entry, Result
from skipline.text.nearest import did_you_mean
from skipline.text.quantity import Number

if TYPE_CHECKING:
    from skipline.store.connection import Connection

_MOST_SUGGESTED = 3
_AT_A_TIME = 1000


@dataclass(frozen=True)
class KeptResult:
    """The numbers of a run, and what they are of.

    `provenance` has slice function, testbed and fitted parameters as JSON.
    """

    seed: int
    platform: str
    version: str
    settled: bool
    line_ops: int
    wall_s: float
    provenance: str
    numbers: Sequence[Entry]

    def entries(self) -> Sequence[Entry]:
        """Return every number of every metric, in the order of the result."""
        return self.numbers

    def number(self, name: str) -> Number:
        """Return METRIC or METRIC.COMPONENT, None if it has no value; InputError if unknown."""
        known = {_address(entry): entry.value for entry in self.numbers}
        if name not in known:
            close = did_you_mean(name, known, _MOST_SUGGESTED)
            raise InputError(f"metric '{name}': not in the results{close}")
        return known[name]

    @property
    def slice_function(self) -> str:
        """The slice function of the platform."""
        return _provenance(self.provenance).slice_function

    @property
    def testbed(self) -> Testbed | None:
        """The testbed that the scenario names."""
        return _provenance(self.provenance).testbed

    @property
    def fitted_parameters(self) -> list[FittedParameter]:
        """The parameters of platform and testbed that were fitted."""
        return _provenance(self.provenance).fitted_parameters

    @property
    def chosen_here(self) -> list[FittedParameter]:
        """The fitted parameters that measurements of the scenario's own testbed chose."""
        return testbeds.chosen_here(self.testbed, self.fitted_parameters)

    @property
    def digest(self) -> str:
        """The digest of numbers and facts, whatever the order of the numbers."""
        numbers = sorted(
            (entry.metric, entry.component or "", _sortable(entry.value), _sortable(entry.ci95))
            for entry in self.numbers
        )
        facts = (self.platform, self.version, self.settled, self.line_ops, self.provenance)
        return identity.digest(facts, numbers)


class _Provenance(BaseModel):
    slice_function: str
    testbed: Testbed | None
    fitted_parameters: list[FittedParameter]


def from_result(result: Result) -> KeptResult:
    """Return what is kept of a result."""
    provenance = _Provenance(
        slice_function=result.slice_function,
        testbed=result.testbed,
        fitted_parameters=result.fitted_parameters,
    )
    return KeptResult(
        seed=result.seed,
        platform=result.platform,
        version=result.version,
        settled=result.settled,
        line_ops=result.line_ops,
        wall_s=result.wall_s,
        provenance=provenance.model_dump_json(),
        numbers=tuple(result.entries()),
    )


def read(
    connection: "Connection", questions: Iterable[str], simulator: str
) -> dict[str, KeptResult]:
    """Return the valid results of a simulator by their question, where there are some."""
    rows = connection.rows(
        "SELECT point, question, digest, seed, platform, version, settled, line_ops, wall_s, "
        "provenance FROM points WHERE simulator = ? AND status = 'done' AND provenance IS NOT NULL "
        "AND question IN (SELECT unnest(?::VARCHAR[]))",
        [simulator, list(dict.fromkeys(questions))],
    )
    numbers = _numbers(connection, [row[0] for row in rows])
    found = {}
    for point, question, digest, *facts in rows:
        kept = KeptResult(*facts, numbers=numbers.get(point, []))  # type: ignore[misc]
        if kept.digest == digest:
            found[question] = kept
    return found


def mismatched(connection: "Connection") -> set[int]:
    """Return the points whose numbers or facts are not those that their digest was made of."""
    rows = connection.rows(
        "SELECT point, digest, seed, platform, version, settled, line_ops, wall_s, provenance "
        "FROM points WHERE status = 'done' AND digest IS NOT NULL ORDER BY point"
    )
    found = set()
    for first in range(0, len(rows), _AT_A_TIME):
        some = rows[first : first + _AT_A_TIME]
        numbers = _numbers(connection, [row[0] for row in some])
        for point, digest, *facts in some:
            kept = KeptResult(*facts, numbers=numbers.get(point, []))  # type: ignore[misc]
            if kept.digest != digest:
                found.add(point)
    return found


def _numbers(connection: "Connection", points: list[int]) -> dict[int, list[Entry]]:
    """Return the numbers of each point, in the order in which they were added."""
    found: dict[int, list[Entry]] = {}
    rows = connection.rows(
        "SELECT point, metric, component, value, ci95, unit FROM numbers "
        "WHERE point IN (SELECT unnest(?::BIGINT[])) ORDER BY rowid",
        [points],
    )
    for point, metric, component, value, ci95, unit in rows:
        # Names are the same texts in all points: a thousand copies of each would fill memory.
        name, part = intern(metric), None if component is None else intern(component)
        found.setdefault(point, []).append(Entry(name, part, value, ci95, intern(unit)))
    return found


@lru_cache(maxsize=64)
def _provenance(text: str) -> _Provenance:
    return _Provenance.model_validate_json(text)


def _address(entry: Entry) -> str:
    return entry.metric if entry.component is None else f"{entry.metric}.{entry.component}"


def _sortable(value: Number) -> tuple[bool, float]:
    """Return what sorts also where there is no value; a store has fractions only."""
    return (False, 0.0) if value is None else (True, float(value))
