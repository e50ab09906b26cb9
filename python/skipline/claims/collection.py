"""Collects the experiments and tests that judge each claim; refuses missing or unknown ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skipline._core import InputError
from skipline.claims import pointers, recorded_tests
from skipline.claims.pointers import Pointer
from skipline.claims.recorded_tests import TestOutcome
from skipline.experiment import catalogue, claims_table
from skipline.experiment.catalogue import Entry
from skipline.experiment.claims_table import ClaimRow


@dataclass(frozen=True)
class Collection:
    """The claims of the chosen sources and what judges them.

    `said` is what the tests said that have run on what is here, by FILE::FUNCTION.
    """

    rows: list[ClaimRow]
    entries: list[Entry]
    pointers: dict[str, Pointer]
    tests_are_here: bool
    test_outcomes: Mapping[str, TestOutcome]


def collect(folder: str, sources: list[str]) -> Collection:
    """Gather claims, experiments and tests below `folder`; refuse what does not fit together."""
    table = f"{folder}/{claims_table.FILE}"
    rows = claims_table.read(table)
    chosen = claims_table.of_sources(rows, sources)
    entries = [catalogue.load(path) for path in catalogue.paths(folder)]
    pointing = pointers.read(folder)
    for entry in entries:
        judged = [claim.id for claim in entry.experiment.claim]
        _require_purpose(entry, rows, table)
        claims_table.require(judged, rows, entry.path, table)
    pointed = [pointer.id for pointer in pointing]
    claims_table.require(pointed, rows, f"{folder}/{pointers.FILE}", table)
    _require_all(chosen, entries, pointing, folder)
    wanted = {row.id for row in chosen}
    keys = {row.source_key for row in chosen}
    tests_are_here = pointers.tests_are_here(folder)
    return Collection(
        rows=chosen,
        entries=[
            entry
            for entry in entries
            if wanted & {claim.id for claim in entry.experiment.claim}
            or entry.experiment.beyond in keys
        ],
        pointers={pointer.id: pointer for pointer in pointing if pointer.id in wanted},
        tests_are_here=tests_are_here,
        test_outcomes=recorded_tests.read(Path(folder).parent) if tests_are_here else {},
    )


def _require_purpose(entry: Entry, rows: list[ClaimRow], table: str) -> None:
    """Refuse an experiment that judges no claim, registers nothing, and goes beyond no source."""
    if entry.experiment.claim or entry.experiment.prediction:
        return
    if entry.experiment.beyond is None:
        raise InputError(
            f"{entry.path}: no [[claim]]: an experiment judges a claim of {table}, "
            "or names the source that it goes beyond: beyond"
        )
    try:
        claims_table.of_sources(rows, [entry.experiment.beyond])
    except InputError as error:
        message = str(error).removeprefix("--source ")
        raise InputError(f"{entry.path}: beyond = {message}") from error


def _require_all(
    rows: list[ClaimRow], entries: list[Entry], pointing: list[Pointer], folder: str
) -> None:
    judged = {claim.id for entry in entries for claim in entry.experiment.claim}
    judged |= {pointer.id for pointer in pointing}
    missing = [row.id for row in rows if row.id not in judged]
    if missing:
        raise InputError(
            f"{folder}/{claims_table.FILE}: no experiment and no test for {len(missing)} of "
            f"{len(rows)} claims: {', '.join(missing)}; add a [[claim]] to an experiment, "
            f"or to {folder}/{pointers.FILE}"
        )
