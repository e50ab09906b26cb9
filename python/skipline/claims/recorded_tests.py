"""The outcomes of the tests that show claims, of their last run, for one state of the sources.

`make claim-tests` runs them and writes the record. A record of other sources says nothing: a test
that held then may fail now.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from skipline import atomic

TestOutcome = Literal["passed", "failed"]
FILE = "reports/tests.json"
HOW = "make claim-tests"

# Sources that can change the outcome of a test: the simulator, its facts, the tests themselves.
_SOURCES = (
    *("Cargo.lock", "Cargo.toml", "pyproject.toml", "crates", "python", "tests", "native"),
    *("platforms", "devices", "software", "testbeds", "experiments", "examples"),
)
_MADE = {"__pycache__", "build", "target", ".pytest_cache", ".hypothesis"}
_MADE_FILES = (".so", ".pyc", "/skipline-host")


class Record(BaseModel):
    """The outcome of each test that ran, by FILE::FUNCTION."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    revision: str
    said: dict[str, TestOutcome]


def read(root: Path) -> Mapping[str, TestOutcome]:
    """Return what the tests of the repository at `root` said, if they ran on what is there now."""
    path = root / FILE
    try:
        record = Record.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        # None was written yet, or one of another format: the next run replaces it.
        return {}
    return record.said if record.revision == revision(root) else {}


def write(root: Path, ran_on: str, said: Mapping[str, TestOutcome]) -> None:
    """Keep what tests said on the sources whose revision is `ran_on`."""
    path = root / FILE
    path.parent.mkdir(exist_ok=True)
    atomic.write(path, Record(revision=ran_on, said=dict(said)).model_dump_json(indent=1))


def revision(root: Path) -> str:
    """Return the digest of names and contents of all sources below `root`."""
    found = hashlib.sha256()
    for path in sorted(_files(root)):
        content = (root / path).read_bytes()
        found.update(f"{path}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


def _files(root: Path) -> Iterator[str]:
    for name in _SOURCES:
        if (root / name).is_file():
            yield name
        for folder, below, files in os.walk(root / name):
            below[:] = [one for one in below if one not in _MADE]
            for file in files:
                path = f"{Path(folder).relative_to(root).as_posix()}/{file}"
                if not path.endswith(_MADE_FILES) and (root / path).is_file():
                    yield path
