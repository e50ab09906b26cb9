"""Writes files whole or not at all.

Links are followed by the rule of the crate `durable`: a link of another user, where others may
write, could lead a program of root to any file of root.
"""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath
from typing import NamedTuple

from skipline._core import InputError, RunError
from skipline.text import foreign

# Names of file types that can neither be replaced nor written as a stream.
_NO_TARGETS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
}

# Directories that are root's on every system.
_OF_ROOT = (
    *("/", "/dev", "/etc", "/home", "/proc", "/run", "/sys", "/tmp", "/usr", "/var", "/var/lib"),
    "/var/tmp",
)

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
        with ExitStack() as opened:
            directory, name = _end_of_links(path, opened)
            kind = _kind(path)
            if kind in _NO_TARGETS:
                raise InputError(f"{path}: this is {_NO_TARGETS[kind]}; name a file")
            if kind in (stat.S_IFCHR, stat.S_IFIFO):
                path.write_bytes(data)
            else:
                left = "; nothing was left"
                _replace(directory, name, data)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}{left}") from error


def _kind(path: Path) -> int | None:
    """Return the type of the file at the end of all links; None if there is none."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return None


def _end_of_links(path: Path, opened: ExitStack) -> tuple[int, str]:
    """Return the directory, held open, and the name to which `path` leads.

    Links are followed one by one, by the rule. Each directory is opened below the one before it, so
    that nobody can put another one in its place between the check and the use.
    """
    passed = [_open_directory("/", opened)]
    names = [*reversed(path.absolute().parts[1:])]
    links = 0
    while names:
        name = names.pop()
        if name == "..":
            passed = passed[:-1] or passed
            continue
        try:
            found = os.stat(name, dir_fd=passed[-1], follow_symlinks=False)
        except FileNotFoundError:
            if names:
                raise
            return passed[-1], name
        entry = _Entry(passed[-1], name, found)
        # Another user can give a link of root a second name, if the kernel allows that.
        has_second_name = stat.S_ISLNK(found.st_mode) and found.st_nlink > 1
        if (has_second_name or not _is_own(found.st_uid)) and _others_write(passed[-1]):
            _check_foreign(path, entry)
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            target = PurePath(entry.target())
            if target.is_absolute():
                passed = passed[:1]
            names.extend(reversed([part for part in target.parts if part != "/"]))
        elif names:
            passed.append(_open_directory(name, opened, passed[-1]))
        else:
            return passed[-1], name
    raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))


def _open_directory(name: str, opened: ExitStack, above: int | None = None) -> int:
    """Open a directory, no link, until `opened` ends."""
    # O_PATH, which Linux has, needs no permission to list it.
    flags = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
    directory = os.open(name, flags, dir_fd=above)
    opened.callback(os.close, directory)
    return directory


class _Entry(NamedTuple):
    """An entry of a directory that is held open."""

    directory: int
    name: str
    found: os.stat_result

    def target(self) -> str:
        """Return the path in a link."""
        return os.readlink(self.name, dir_fd=self.directory)


def _check_foreign(path: Path, entry: _Entry) -> None:
    """Refuse a link or FIFO that another user has put where others may write."""
    where = f"of user {entry.found.st_uid} in a directory that others may write"
    shown = foreign.in_cell(_shown(path, entry.name))
    if stat.S_ISLNK(entry.found.st_mode):
        target = foreign.in_cell(entry.target())
        raise InputError(
            f"{shown} is a link {where}; it is not followed; remove it, or name the "
            f"file to which it leads ({target})"
        )
    if stat.S_ISFIFO(entry.found.st_mode):
        raise InputError(
            f"{shown} is a pipe {where}; nothing is written to it; remove it, or name another file"
        )


def _shown(path: Path, name: str) -> str:
    """Return the part of a path that ends at a name; the name alone if it comes from a link."""
    parts = path.absolute().parts
    return str(Path(*parts[: parts.index(name) + 1])) if name in parts else name


def _is_own(user: int) -> bool:
    """Tell whether a user is root or that of this process."""
    return user in (0, os.geteuid())


def _others_write(directory: int) -> bool:
    """Tell whether users other than root and that of this process may write a directory.

    The group counts as other users unless it is root's or that of this process.
    """
    found = os.stat(directory)
    if not _is_own(found.st_uid) and not _is_by_place_of_root(found):
        return True
    own_group = found.st_gid in (0, os.getegid())
    return bool(found.st_mode & (stat.S_IWOTH if own_group else stat.S_IWOTH | stat.S_IWGRP))


def _is_by_place_of_root(found: os.stat_result) -> bool:
    """Tell whether a directory is root's though its owner has no number in this user namespace.

    One number stands for all such users: only the directory's place tells root from the others.
    """
    if _is_mapped(found.st_uid):
        return False
    for path in _OF_ROOT:
        with suppress(OSError):
            if os.path.samestat(Path(path).stat(), found):
                return True
    return False


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


@contextmanager
def scratch_directory(path: Path) -> Iterator[Path]:
    """Make a directory beside `path`, which only its user can read, until the end of the block."""
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{path.name[:200]}.", dir=path.absolute().parent))
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def copy(source: Path, target: Path) -> None:
    """Copy a file to a scratch directory."""
    try:
        shutil.copyfile(source, target)
    except OSError as error:
        raise RunError(f"{source}: cannot be copied: {error.strerror}") from error


def patch(scratch: Path, changes: dict[int, bytes], size: int) -> None:
    """Replace bytes of a file of a scratch directory, and fill it with zeros up to a size."""
    try:
        with scratch.open("r+b") as file:
            for at, content in changes.items():
                file.seek(at)
                file.write(content)
            file.truncate(size)
    except OSError as error:
        raise RunError(f"{scratch}: cannot be written: {error.strerror}") from error


def move(draft: Path, path: Path) -> None:
    """Replace `path` by a finished file of a scratch directory, by the rule of `write`."""
    try:
        with ExitStack() as opened, draft.open("rb") as file:
            directory, name = _end_of_links(path, opened)
            os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.fsync(file.fileno())
            os.rename(draft, name, dst_dir_fd=directory)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from error


def _replace(directory: int, name: str, data: bytes) -> None:
    draft = f".{name[:200]}.{os.getpid()}.{os.urandom(4).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    handle = os.open(draft, flags, 0o600, dir_fd=directory)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.fsync(file.fileno())
        os.rename(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        os.unlink(draft, dir_fd=directory)
        raise


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
