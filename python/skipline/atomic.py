"""Writes files whole or not at all."""

import os
import tempfile
from pathlib import Path

from skipline._core import InputError, RunError


def write(path: Path, content: bytes | str) -> None:
    """Replace `path` by `content`; on any failure the old file stays and no part of the new one."""
    data = content.encode() if isinstance(content, str) else content
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
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}; nothing was left") from error
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
