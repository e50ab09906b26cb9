"""Reads scenario, experiment, reference and result files: from disk or a pipe, else built in.

Built-in files have the paths that they have in the repository (experiments/ddio-bench/l2fwd.toml),
so that an installed wheel and a clone take the same names. A pipe is read once, and its text kept.
"""

import posixpath
import re
from pathlib import Path

from skipline import _core
from skipline._core import InputError

# Paths of open files of the process: their folder holds nothing else.
_OF_PROCESS = re.compile(r"/dev/(stdin$|fd/)|/proc/[^/]+/fd/")


def read_text(path: str) -> str:
    """Return the text of the file or pipe at `path`, else of the built-in file of that name.

    InputError if there is none, it is no text, or it is longer than 256 MiB.
    """
    return _read(path, keys=False)


def read_keys(path: str) -> str:
    """Return the text of a file of TOML like `read_text`; InputError beyond 4 MiB."""
    return _read(path, keys=True)


def _read(path: str, *, keys: bool) -> str:
    text = _core.read_text(path, keys=keys)
    if text is None:
        text = _core.builtin_file(posixpath.normpath(path))
    if text is None:
        raise InputError(f"{path}: no such file, neither on disk nor built in")
    return text


def exists(path: str) -> bool:
    """Return whether there is a file on disk at `path`, or a built-in one of that name."""
    return (
        Path(path).is_file()
        or _core.is_pipe(path)
        or _core.builtin_file(posixpath.normpath(path)) is not None
    )


def path_beside(path: str, relative: str) -> str:
    """Return `relative` seen from the folder of a file; that of a pipe is the current one."""
    folder = "" if _OF_PROCESS.match(path) else posixpath.dirname(path)
    return posixpath.normpath(posixpath.join(folder, relative))


def names_below(folder: str, suffix: str) -> list[str]:
    """List files below `folder` with `suffix`, on disk and built in, sorted, each once."""
    on_disk = [path.as_posix() for path in Path(folder).rglob(f"*{suffix}") if path.is_file()]
    built_in = [
        name
        for name in _core.builtin_files()
        if name.startswith(f"{folder}/") and name.endswith(suffix)
    ]
    return sorted({*on_disk, *built_in})
