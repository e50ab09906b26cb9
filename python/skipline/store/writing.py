"""The one writer of a store: what it added is there whole, and outlives the process."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from skipline import interruption
from skipline._core import RunError
from skipline.runs import identity
from skipline.store import opening
from skipline.store.connection import Connection, StoreFault

# An experiment whose points are all kept needs no Arrow.
if TYPE_CHECKING:
    import pyarrow as pa

    from skipline.store.kept_results import KeptResult


class Member(NamedTuple):
    """A run that a sweep asks for: its question, and the values of its axes and its seed."""

    question: str
    seed: int
    axes: dict[str, Any]


class SweepIdentity(NamedTuple):
    """A sweep as a store keeps it; `digest` finds it again."""

    digest: str
    title: str
    scenario: str
    keys: list[str]
    files: dict[str, str]


class Writer:
    """Adds sweeps and points to a store that no other process may have open.

    Without a path the store is in memory.
    """

    def __init__(self, path: str | None) -> None:
        self.connection = opening.open_store(path, write=True)
        self.path = self.connection.path
        self._next = self._first("SELECT coalesce(max(point), 0) + 1 FROM points")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        # What ended the writing is told, not that Ctrl-C was pressed once more.
        with interruption.held(raises=kind is None):
            self.close()

    def close(self) -> None:
        """Close the file; what was added is in it already."""
        with suppress(StoreFault):  # of a full disk: its log has what was added
            self.connection.close()

    def _first(self, query: str, values: Sequence[object] = ()) -> int:
        row = self.connection.row(query, values)
        return 0 if row is None else int(row[0])

    def known_members(self, digest: str) -> list[str] | None:
        """Return the questions of a sweep if they still are what it asks, in order."""
        found = self.connection.row(
            "SELECT sweep, simulator, files FROM sweeps WHERE digest = ?", [digest]
        )
        if found is None or found[1] != identity.simulator():
            return None
        if any(True for _ in identity.changed_files(json.loads(found[2]))):
            return None
        questions = self.connection.rows(
            "SELECT question FROM members WHERE sweep = ? ORDER BY ordinal", [found[0]]
        )
        return [question for (question,) in questions]

    def record_sweep(self, sweep_identity: SweepIdentity, members: Sequence[Member]) -> int:
        """Keep what a sweep asks, in place of what the same one asked before; return its number."""
        import pyarrow as pa

        from skipline.store import rows

        number = self._first(
            "SELECT coalesce((SELECT max(sweep) FROM sweeps WHERE digest = ?), "
            "(SELECT coalesce(max(sweep), 0) + 1 FROM sweeps))",
            [sweep_identity.digest],
        )
        table = pa.table(
            {
                "sweep": pa.array([number] * len(members), pa.int32()),
                "ordinal": pa.array(range(len(members)), pa.int32()),
                "question": pa.array([one.question for one in members], pa.string()),
                "seed": pa.array([one.seed for one in members], pa.uint64()),
                "axes": pa.array([json.dumps(one.axes) for one in members], pa.string()),
            }
        )
        with self.transaction() as connection:
            for name in ("sweeps", "members"):
                connection.execute(f"DELETE FROM {name} WHERE sweep = ?", [number])
            row = [
                number,
                sweep_identity.digest,
                sweep_identity.title,
                sweep_identity.scenario,
                json.dumps(sweep_identity.keys),
            ]
            row += [json.dumps(sweep_identity.files), identity.simulator(), rows.now()]
            connection.execute("INSERT INTO sweeps VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            connection.insert(
                "INSERT INTO members SELECT * FROM asked_members", {"asked_members": table}
            )
        return number

    def statuses(self, simulator: str) -> dict[str, str]:
        """Return what is there by this simulator: the status of each question."""
        query = "SELECT question, status FROM points WHERE simulator = ?"
        return dict(self.connection.rows(query, [simulator]))

    def kept_results(self, questions: Iterable[str], simulator: str) -> dict[str, "KeptResult"]:
        """Return the valid results of a simulator by question."""
        from skipline.store import kept_results

        return kept_results.read(self.connection, questions, simulator)

    def add(self, table: "pa.Table") -> int:
        """Add points with their numbers, all or none; those that are there stay as they are.

        A point that was lost, or failed, is replaced by its new row. Returns how many were added.
        """
        import pyarrow as pa

        statuses = self.statuses_of(table.column("question").to_pylist())
        columns = table.select(["question", "simulator"]).to_pydict()
        pairs = list(zip(columns["question"], columns["simulator"], strict=True))
        again = [pair for pair in pairs if statuses.get(pair, "done") != "done"]
        self.remove(again)
        wanted = [at for at, pair in enumerate(pairs) if statuses.get(pair) != "done"]
        if not wanted:
            return 0
        new = table.take(wanted)
        points = pa.array(range(self._next, self._next + len(wanted)), pa.int64())
        with self.transaction() as connection:
            head = new.drop_columns(["numbers"]).add_column(0, "point", points)
            names = ", ".join(head.column_names)
            into = f"INSERT INTO points ({names}) SELECT {names} FROM new_points"
            connection.insert(into, {"new_points": head})
            flat = _flat(points, new.column("numbers"))
            connection.insert(
                "INSERT INTO numbers SELECT * FROM new_numbers", {"new_numbers": flat}
            )
        self._next += len(wanted)
        return len(wanted)

    def statuses_of(self, questions: Sequence[str]) -> dict[tuple[str, str], str]:
        """Return the status of each question and simulator that is there."""
        found = self.connection.rows(
            "SELECT question, simulator, status FROM points WHERE question IN "
            "(SELECT unnest(?::VARCHAR[]))",
            [list(questions)],
        )
        return {(question, simulator): status for question, simulator, status in found}

    def remove(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Remove points by question and simulator, with their numbers."""
        if not pairs:
            return
        with self.transaction() as connection:
            for pair in pairs:
                connection.execute(
                    "DELETE FROM numbers WHERE point IN "
                    "(SELECT point FROM points WHERE question = ? AND simulator = ?)",
                    list(pair),
                )
                connection.execute(
                    "DELETE FROM points WHERE question = ? AND simulator = ?", list(pair)
                )

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Make the changes inside all or none; RunError if the disk does not take them.

        Ctrl-C counts when they are there: what is simulated is not lost.
        """
        with interruption.held():
            try:
                self.connection.begin()
                yield self.connection
                self.connection.commit()
            except BaseException as error:
                with suppress(StoreFault):
                    self.connection.rollback()
                if not isinstance(error, StoreFault):
                    raise
                raise RunError(
                    f"{self.path}: cannot be written: {error.reason}; what was there before stays"
                ) from error


def _flat(points: "pa.Array", numbers: "pa.ChunkedArray") -> "pa.Table":
    """Return a row per number, with the point that it belongs to."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from skipline.store import rows

    whole = numbers.combine_chunks()
    owners = points.take(pc.list_parent_indices(whole))
    flat = pc.list_flatten(whole)
    fields = {field.name: pc.struct_field(flat, field.name) for field in rows.NUMBER}
    return pa.table({"point": owners, **fields})
