"""Identity of a run as digests: of the question that it answers, and of the simulator.

A kept result is reused only while both are the same. The question is the resolved scenario, the
content of every file that it is read from, and the seed: a key that is stated with its default
value asks nothing new. A result of the same question by another simulator is *stale*.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from skipline import _core

Settings = list[tuple[str, str]]
# Of a digest in hexadecimal: 128 bits.
_LETTERS = 32


class Inputs(NamedTuple):
    """A resolved scenario and the files and pipes that it is read from, with their digests."""

    resolved: str
    files: dict[str, str]

    def question(self, seed: int) -> str:
        """Return the digest of what is asked with this seed."""
        # Files that are not on disk are part of the simulator.
        return digest(self.resolved, list(self.files.values()), seed)


class Files:
    """Digests of files as they are when they are first asked for."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}

    def on_disk(self, names: list[str]) -> dict[str, str]:
        """Return the digests of those that are files on disk, or pipes that have been read."""
        for name in names:
            if name not in self._known:
                self._known[name] = _digest_of_input(name)
        found = {name: self._known[name] for name in names}
        return {name: digest for name, digest in found.items() if digest is not None}


def inputs(scenario: str, overrides: Settings, files: Files | None = None) -> Inputs:
    """Resolve a scenario and read its files; InputError for bad input.

    `files` that were looked at before are not looked at again.
    """
    resolved, names = _core.resolve_scenario(scenario, overrides)
    return Inputs(resolved, (files or Files()).on_disk(names))


def simulator() -> str:
    """Return the digest of the simulator: a rebuilt one may give other results."""
    return digest(_core.version(), _compiled())


def changed_files(files: dict[str, str]) -> Iterable[str]:
    """Yield the inputs that are gone, or have other content than when they were digested."""
    for name, known in files.items():
        try:
            if _digest_of_input(name) != known:
                yield name
        except OSError:
            yield name


def digest(*parts: object) -> str:
    """Return the digest of what JSON can hold."""
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_LETTERS]


def _digest_of_input(name: str) -> str | None:
    """Return the digest of what a pipe gave, else of a file; None if there is neither."""
    kept = _core.kept_input(name)
    if kept is not None:
        return hashlib.sha256(kept).hexdigest()
    path = Path(name)
    return file_digest(path) if path.is_file() else None


def file_digest(path: Path) -> str:
    """Return the digest of a file's content, which is read again when the file has changed."""
    state = path.stat()
    return _content(path, state.st_ino, state.st_size, state.st_mtime_ns)


@cache
def _content(path: Path, _inode: int, _size_bytes: int, _changed_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def _compiled() -> str:
    return file_digest(Path(str(_core.__file__)))
