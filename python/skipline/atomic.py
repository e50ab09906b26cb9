"""Writes files whole or not at all.

Links are followed by the rule of the crate `durable`: a link of another user, where others may
write, could lead a program of root to any file of root.
"""

import errno
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

# As in the kernel: more are taken for a circle.
_MOST_LINKS = 40


def write(path: Path, content: bytes | str) -> None:
    """Replace `path` by `content`; on any failure the old file stays and no part of the new one.

    A link stays, and the file behind it is replaced; a link of another user, in a directory that
    others may write, is refused. Character devices and FIFOs (/dev/null, /dev/stdout) stay what
    they are: they get the content.
    """
    data = content.encode() if isinstance(content, str) else content
    left = ""
    try:
        target = _end_of_links(path)
        kind = _kind(path)
        if kind in _NO_TARGETS:
            raise InputError(f"{path}: this is {_NO_TARGETS[kind]}; name a file")
        if kind in (stat.S_IFCHR, stat.S_IFIFO):
            path.write_bytes(data)
        else:
            left = "; nothing was left"
            _replace(target, data)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}{left}") from error


def _kind(path: Path) -> int | None:
    """Return the type of the file at the end of all links; None if there is none."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _end_of_links(path: Path) -> Path:
    """Return the path to which `path` leads; links are followed one by one, by the rule."""
    at = Path("/")
    names = [*reversed(path.absolute().parts[1:])]
    links = 0
    while names:
        name = names.pop()
        if name == "..":
            at = at.parent
            continue
        entry = at / name
        try:
            found = entry.lstat()
        except FileNotFoundError:
            at = entry
            continue
        if not _is_own(found.st_uid) and _others_write(at):
            _check_foreign(entry, found)
        if not stat.S_ISLNK(found.st_mode):
            at = entry
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = entry.readlink()
        if target.is_absolute():
            at = Path("/")
        names.extend(reversed([part for part in target.parts if part != "/"]))
    return at


def _check_foreign(entry: Path, found: os.stat_result) -> None:
    """Refuse a link or FIFO that another user has put where others may write."""
    where = f"of user {found.st_uid} in a directory that others may write"
    if stat.S_ISLNK(found.st_mode):
        target = _printable(entry.readlink())
        raise InputError(
            f"{_printable(entry)} is a link {where}; it is not followed; remove it, or name the "
            f"file to which it leads ({target})"
        )
    if stat.S_ISFIFO(found.st_mode):
        raise InputError(
            f"{_printable(entry)} is a pipe {where}; nothing is written to it; remove it, or name "
            "another file"
        )


def _is_own(user: int) -> bool:
    """Tell whether a user is root or that of this process."""
    return user in (0, os.geteuid())


def _others_write(directory: Path) -> bool:
    """Tell whether users other than root and that of this process may write a directory.

    The group counts as other users unless it is root's or that of this process.
    """
    found = directory.stat()
    if not _is_own(found.st_uid) and _is_mapped(found.st_uid):
        return True
    own_group = found.st_gid in (0, os.getegid())
    return bool(found.st_mode & (stat.S_IWOTH if own_group else stat.S_IWOTH | stat.S_IWGRP))


def _is_mapped(user: int) -> bool:
    """Tell whether a number is that of a user in the user namespace of this process.

    Otherwise it stands for all users who have none, among them the machine's root.
    """
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return True
    ranges = [(int(first), int(count)) for first, _, count in map(str.split, lines)]
    return any(first <= user < first + count for first, count in ranges)


def _printable(path: Path) -> str:
    """Return a path that another user may have chosen, without control characters."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(path)
    )


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
