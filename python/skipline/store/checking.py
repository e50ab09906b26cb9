"""Checks a whole store: its file, then what its tables say of each other."""

from typing import NamedTuple

from skipline._core import InputError
from skipline.store import opening, parts, schema
from skipline.store.kept_results import mismatched
from skipline.store.store import Store


class Checked(NamedTuple):
    """The rows of each table that can be read, and in words what is damaged."""

    rows: dict[str, int]
    damage: list[str]


def check(path: str) -> Checked:
    """Read a store to its end; InputError for a file that is none, or is being written."""
    opening.check_file(path, write=False)
    looked = parts.look(path)
    if looked is None:
        raise InputError(f"{path}: another process is writing this store; wait until it has ended")
    if looked.damage:
        return Checked({}, looked.damage)
    with Store.of(opening.open_store(path, write=False, is_whole=True)) as store:
        return Checked(_counts(store), _contradictions(store))


def _counts(store: Store) -> dict[str, int]:
    rows = ((name, store.connection.row(f"SELECT count(*) FROM {name}")) for name in schema.NAMES)
    return {name: int(row[0]) for name, row in rows if row is not None}


def _contradictions(store: Store) -> list[str]:
    """Return what no Skipline has written so: another program has changed it, or a part is gone."""
    connection = store.connection
    columns = {name for name, *_ in connection.rows("DESCRIBE points")}
    found = []
    # Points of format 1 have no digest.
    if "digest" in columns and (wrong := mismatched(connection)):
        found.append(f"{len(wrong):,} points have other numbers than when they were written")
    for what, query in _QUERIES.items():
        row = connection.row(query)
        if row is not None and row[0]:
            found.append(f"{row[0]:,} {what}")
    return found


_QUERIES = {
    "numbers belong to no point": (
        "SELECT count(*) FROM numbers WHERE point NOT IN (SELECT point FROM points)"
    ),
    "runs belong to no sweep": (
        "SELECT count(*) FROM members WHERE sweep NOT IN (SELECT sweep FROM sweeps)"
    ),
    "sweeps lack runs": (
        "SELECT count(*) FROM (SELECT sweep FROM members GROUP BY sweep "
        "HAVING count(*) <> max(ordinal) + 1) JOIN sweeps USING (sweep) "
        f"WHERE NOT starts_with(digest, '{schema.SALVAGED}')"
    ),
}
