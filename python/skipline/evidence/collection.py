"""Which experiments and tests judge which claim; says what is missing or unknown."""

from dataclasses import dataclass

from skipline._core import InputError
from skipline.evidence import claims, pointers
from skipline.evidence.claims import ClaimRow
from skipline.evidence.pointers import Pointer
from skipline.experiment import catalogue
from skipline.experiment.catalogue import Entry
from skipline.nearest import did_you_mean


@dataclass(frozen=True)
class Collection:
    """The claims of the chosen sources and what judges them."""

    rows: list[ClaimRow]
    entries: list[Entry]
    pointers: dict[str, Pointer]


def collect(folder: str, sources: list[str]) -> Collection:
    """Gather claims, experiments and tests below `folder`; refuse what does not fit together."""
    table = f"{folder}/{claims.FILE}"
    rows = claims.read(table)
    chosen = claims.of_sources(rows, sources)
    entries = [catalogue.load(path) for path in catalogue.paths(folder)]
    pointing = pointers.read(folder)
    known = [row.id for row in rows]
    for entry in entries:
        if not entry.experiment.claim:
            raise InputError(f"{entry.path}: no [[claim]]: an experiment judges a claim of {table}")
        for claim in entry.experiment.claim:
            _require(claim.id, known, entry.path, table)
    for pointer in pointing:
        _require(pointer.id, known, f"{folder}/{pointers.FILE}", table)
    _require_all(chosen, entries, pointing, folder)
    wanted = {row.id for row in chosen}
    return Collection(
        rows=chosen,
        entries=[e for e in entries if wanted & {claim.id for claim in e.experiment.claim}],
        pointers={pointer.id: pointer for pointer in pointing if pointer.id in wanted},
    )


def _require(identifier: str, known: list[str], path: str, table: str) -> None:
    if identifier not in known:
        hint = did_you_mean(identifier, known)
        raise InputError(f"{path}: claim '{identifier}': not in {table}{hint}")


def _require_all(
    rows: list[ClaimRow], entries: list[Entry], pointing: list[Pointer], folder: str
) -> None:
    judged = {claim.id for entry in entries for claim in entry.experiment.claim}
    judged |= {pointer.id for pointer in pointing}
    missing = [row.id for row in rows if row.id not in judged]
    if missing:
        raise InputError(
            f"{folder}/{claims.FILE}: no experiment and no test for {len(missing)} of "
            f"{len(rows)} claims: {', '.join(missing)}; add a [[claim]] to an experiment, "
            f"or to {folder}/{pointers.FILE}"
        )
