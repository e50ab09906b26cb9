"""Writes files whole or not at all."""

import os
import stat
from pathlib import Path

from skipline._core import InputError, RunError

# Names of file types that can neither be replaced nor written as a stream.
_NO_TARGETS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
}


def write(path: Path, content: bytes | str) -> None:
    """Replace `path` by `content`; on any failure the old file stays and no part of the new one.

    A link stays, and the file behind it is replaced. Character devices and FIFOs (/dev/null,
    /dev/stdout) stay what they are: they get the content.
    """
    data = content.encode() if isinstance(content, str) else content
    left = ""
    try:
        kind = _kind(path)
        if kind in _NO_TARGETS:
            raise InputError(f"{path}: this is {_NO_TARGETS[kind]}; name a file")
        if kind in (stat.S_IFCHR, stat.S_IFIFO):
            path.write_bytes(data)
        else:
            left = "; nothing was left"
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}{left}") from error


def _kind(path: Path) -> int | None:
    """Return the type of the file at the end of all links; None if there is none."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _replace(path: Path, data: bytes) -> None:
    import tempfile  # bad input, which must be told at once, is found before anything is written

    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        temporary = None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def prepare_directory(directory: Path) -> Path:
    """Create `directory` and find out now, not after a long run, whether it can be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{directory}: cannot be a directory for results: {error.strerror}"
        ) from error
    if not os.access(directory, os.W_OK):
        raise InputError(f"{directory}: this directory is not writable; name another one")
    return directory


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
