"""The table of claims: what each source says, as one row each."""

from collections.abc import Iterable
from typing import NamedTuple

from skipline import resources
from skipline._core import InputError
from skipline.experiment.catalogue import Entry
from skipline.text import csv_text
from skipline.text.nearest import did_you_mean

FILE = "claims.csv"
# Short names of the sources, for the command line.
_KEYS = {
    "Skip the line with Intel DDIO (blog)": "blog",
    "ATC'20 Reexamining DCA": "atc20",
    "ISPASS'20 DDIO characterization (gem5)": "ispass20",
    "EuroSys'19 CacheDirector": "eurosys19",
    "ASPLOS'24 DSA": "asplos24",
    "Other results of these sources": "others",
}


class ClaimRow(NamedTuple):
    """A claim of a source, and the tolerance that a check of it may have."""

    id: str
    source: str
    kind: str
    statement: str
    expected: str
    tolerance: str

    @property
    def source_key(self) -> str:
        """The source as the command line takes it."""
        return _KEYS.get(self.source, self.source)

    @property
    def is_counted_apart(self) -> bool:
        """Whether sums over all claims leave it out: we chose it, the table's author did not."""
        return self.source_key == "others"

    @property
    def expectation(self) -> str:
        """Expected value and tolerance, for people."""
        if not self.expected or not self.tolerance:
            return self.expected or self.tolerance
        return f"{self.expected} (tolerance {self.tolerance})"


def read(path: str) -> list[ClaimRow]:
    """Return the rows of a claims table; wrong columns or a claim twice are refused."""
    rows = csv_text.records(resources.read_text(path))
    columns = rows.fieldnames or []
    wanted = ClaimRow._fields
    if missing := [name for name in wanted if name not in columns]:
        raise InputError(f"{path}: column '{missing[0]}' is missing; columns: {', '.join(columns)}")
    found: list[ClaimRow] = []
    known: set[str] = set()
    for row in rows:
        claim = ClaimRow(**{name: (row[name] or "").strip() for name in wanted})
        if not claim.id or claim.id in known:
            reason = "is stated twice" if claim.id else "has no id"
            raise InputError(f"{path}: line {rows.line_num}: claim '{claim.id}' {reason}")
        known.add(claim.id)
        found.append(claim)
    return found


def check(entry: Entry) -> None:
    """Refuse an experiment that judges a claim which its table does not list.

    The table is in the folder of the experiment or in the one above; without one it may claim
    anything.
    """
    judged = [claim.id for claim in entry.experiment.claim]
    table = _nearest(entry.path)
    if judged and table:
        require(judged, read(table), entry.path, table)


def _nearest(path: str) -> str | None:
    tables = (resources.path_beside(path, folder + FILE) for folder in ("", "../"))
    return next(filter(resources.exists, tables), None)


def require(wanted: Iterable[str], rows: list[ClaimRow], path: str, table: str) -> None:
    """Refuse claims that the file at `path` judges although they are not in the table."""
    known = [row.id for row in rows]
    for identifier in wanted:
        if identifier not in known:
            raise InputError(
                f"{path}: claim '{identifier}': not in {table}{did_you_mean(identifier, known)}; "
                f"a claim is a row of the {FILE} in the same folder or the one above"
            )


def of_sources(rows: list[ClaimRow], wanted: list[str]) -> list[ClaimRow]:
    """Return the claims of the sources with these short names; of all if none is named."""
    known = list(dict.fromkeys(row.source_key for row in rows))
    for name in wanted:
        if name not in known:
            raise InputError(
                f"--source {name}: unknown{did_you_mean(name, known)}; allowed: {', '.join(known)}"
            )
    return [row for row in rows if not wanted or row.source_key in wanted]
