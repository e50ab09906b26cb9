"""The parts of a store's file, and which of them are as they were written.

The file begins with a page on its format and two on its content, of which the later one holds.
Blocks follow, each with a checksum; those in a list of free ones hold nothing. Beside it, a log has
what was added since the blocks were last written.

Source: DuckDB, src/storage: single_file_block_manager.cpp, metadata, write_ahead_log.cpp.
"""

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from skipline._core import store_checksum

MAGIC = b"DUCK"
MAGIC_AT = 8
PAGE_BYTES = 4096
HEAD_BYTES = 3 * PAGE_BYTES
LOG = ".wal"
# Formats of which the parts are known; of others DuckDB says whether it can read them.
_VERSIONS = range(64, 69)
_BLOCK_SIZES = {1 << power for power in range(14, 23)}
_PIECES_OF_BLOCK = 64
_NO_BLOCK = 2**64 - 1
_CHECKSUM = struct.Struct("<Q")
_ENTRY = struct.Struct("<QQ")
_PIECE_OF = (1 << 56) - 1
# How a log begins, and the end of a change in it.
_LOG_BEGINS = b"d\x00be\x00\x02\xff\xff"
_LOG_VERSION_AT = 5
_CHANGE_ENDS = b"d\x00d\xff\xff"
_MOST_NAMED = 8


class Page(NamedTuple):
    """One of the two pages on the content of a store."""

    iteration: int
    meta_block: int
    free_list: int
    blocks: int
    block_bytes: int
    content: bytes

    @property
    def ends(self) -> int:
        """Where the last block ends."""
        return HEAD_BYTES + self.blocks * self.block_bytes


@dataclass
class Parts:
    """What was found in a file; `damage` says in words what is not as it was written."""

    size: int
    damage: list[str] = field(default_factory=list)
    is_head_good: bool = True
    pages: tuple[Page | None, Page | None] = (None, None)
    free_blocks: frozenset[int] = frozenset()
    bad_blocks: list[int] = field(default_factory=list)
    log_bytes: int | None = None
    """Length of the log that can be used, if not all of it can."""

    @property
    def page(self) -> Page | None:
        """The page that holds: of those that can be read the later one."""
        known = [page for page in self.pages if page is not None]
        return max(known, key=lambda page: page.iteration, default=None)


def is_store(path: str) -> bool:
    """Return whether a file is one of DuckDB's, maybe with a damaged beginning."""
    with open(path, "rb") as opened:  # noqa: PTH123 - as `look`
        head = opened.read(HEAD_BYTES)
    return _has_magic(head) or any(page is not None for page in _pages(head))


def look(path: str) -> Parts | None:
    """Return what is in the file at `path`, None while another process writes it."""
    with held(path) as parts:
        return parts


@contextmanager
def held(path: str) -> Iterator[Parts | None]:
    """Look, and keep writers away inside; until this process closes the file for the first time."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield _look(handle, path) if _lock(handle) else None
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Keep writers away until the file is closed; False if there is one."""
    try:
        fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _look(handle: int, path: str) -> Parts:
    parts = Parts(os.fstat(handle).st_size)
    head = os.pread(handle, HEAD_BYTES, 0)
    if len(head) < HEAD_BYTES:
        parts.damage.append(f"it was cut short: {len(head):,} bytes are left")
        parts.is_head_good = False
        return parts
    parts.is_head_good = _has_magic(head) and _is_good(head[:PAGE_BYTES])
    if parts.is_head_good and not _is_known(head):
        return parts
    if not parts.is_head_good:
        parts.damage.append("its beginning, which says what kind of file it is, has changed")
    parts.pages = _pages(head)
    page = parts.page
    if page is None:
        parts.damage.append("both pages that say what is in it have changed")
        return parts
    if None in parts.pages:
        parts.damage.append("one of the two pages that say what is in it has changed")
    _look_at_blocks(handle, parts, page)
    _look_at_log(path + LOG, parts)
    return parts


def _has_magic(head: bytes) -> bool:
    return head[MAGIC_AT : MAGIC_AT + len(MAGIC)] == MAGIC


def _is_known(head: bytes) -> bool:
    """Return whether the parts of this format are known; those of encrypted files are not."""
    version, flags = struct.unpack_from("<QQ", head, MAGIC_AT + len(MAGIC))
    return version in _VERSIONS and not flags


def _is_good(part: bytes) -> bool:
    """Return whether a page or block is as it was written."""
    (stated,) = _CHECKSUM.unpack_from(part)
    return bool(stated == store_checksum(part[_CHECKSUM.size :]))


def _pages(head: bytes) -> tuple[Page | None, Page | None]:
    first, second = (_page(head[at * PAGE_BYTES : (at + 1) * PAGE_BYTES]) for at in (1, 2))
    return first, second


def _page(content: bytes) -> Page | None:
    if len(content) < PAGE_BYTES or not any(content) or not _is_good(content):
        return None
    iteration, meta, free, blocks, size = struct.unpack_from("<5Q", content, _CHECKSUM.size)
    page = Page(iteration, meta, free, blocks, size, content)
    return page if page.block_bytes in _BLOCK_SIZES else None


def _look_at_blocks(handle: int, parts: Parts, page: Page) -> None:
    # Free blocks at the end may never have been written: the file is shorter then.
    parts.free_blocks = _free_blocks(handle, page)
    used = [block for block in range(page.blocks) if block not in parts.free_blocks]
    ends = HEAD_BYTES + (used[-1] + 1 if used else 0) * page.block_bytes
    if parts.size < ends:
        parts.damage.append(f"it was cut short: {parts.size:,} of {ends:,} bytes are left")
    wrong = []
    for block in used:
        content = _block(handle, page, block)
        if len(content) < page.block_bytes or not _is_good(content):
            wrong.append(block)
    parts.bad_blocks = wrong
    present = [
        block for block in wrong if HEAD_BYTES + (block + 1) * page.block_bytes <= parts.size
    ]
    if present:
        named = ", ".join(map(str, present[:_MOST_NAMED]))
        more = f" and {len(present) - _MOST_NAMED} more" if len(present) > _MOST_NAMED else ""
        parts.damage.append(
            f"of its {page.blocks:,} blocks of {page.block_bytes >> 10} KiB, {len(present)} are "
            f"not as they were written ({named}{more}; the first block is 0)"
        )


def _block(handle: int, page: Page, block: int) -> bytes:
    return os.pread(handle, page.block_bytes, HEAD_BYTES + block * page.block_bytes)


def _free_blocks(handle: int, page: Page) -> frozenset[int]:
    """Return the blocks that hold nothing; none if the list of them cannot be read."""
    if page.free_list == _NO_BLOCK:
        return frozenset()
    piece_bytes = (page.block_bytes - _CHECKSUM.size) // _PIECES_OF_BLOCK // 8 * 8
    content, pointer = bytearray(), page.free_list
    # A list names each block once: one that is longer is none.
    while pointer != _NO_BLOCK and len(content) <= 16 * page.blocks + page.block_bytes:
        block = _block(handle, page, pointer & _PIECE_OF)
        if len(block) < page.block_bytes or not _is_good(block):
            return frozenset()
        at = _CHECKSUM.size + (pointer >> 56) * piece_bytes
        piece = block[at : at + piece_bytes]
        (pointer,) = _CHECKSUM.unpack_from(piece)
        content += piece[_CHECKSUM.size :]
    if len(content) < _CHECKSUM.size:
        return frozenset()
    (count,) = _CHECKSUM.unpack_from(content)
    if count > page.blocks or len(content) < (count + 1) * _CHECKSUM.size:
        return frozenset()
    return frozenset(struct.unpack_from(f"<{count}Q", content, _CHECKSUM.size))


def _look_at_log(path: str, parts: Parts) -> None:
    try:
        with open(path, "rb") as opened:  # noqa: PTH123 - as `look`
            log = opened.read()
    except FileNotFoundError:
        return
    good, entries = _good_bytes(log)
    begins = log.startswith(_LOG_BEGINS)
    if not log or (begins and good == len(log)):
        return
    if not begins and not entries:
        # Maybe one of another version, of which DuckDB knows more.
        own = _LOG_BEGINS[:_LOG_VERSION_AT]
        if log.startswith(own) and log[_LOG_VERSION_AT] > _LOG_BEGINS[_LOG_VERSION_AT]:
            return
        good = 0
    rest = log[good:]
    if begins and _is_unfinished(rest):
        # As after a kill: the last change was not finished, and does not count.
        return
    parts.log_bytes = good if begins else 0
    parts.damage.append(
        f"its log ({path}) is not as it was written from byte {parts.log_bytes:,} of "
        f"{len(log):,} on"
    )


def _good_bytes(log: bytes) -> tuple[int, int]:
    """Return the length of a log up to the first entry that is not whole, and how many are."""
    at, entries = len(_LOG_BEGINS), 0
    while at + _ENTRY.size <= len(log):
        size, checksum = _ENTRY.unpack_from(log, at)
        begin = at + _ENTRY.size
        if size > len(log) - begin or store_checksum(log[begin : begin + size]) != checksum:
            break
        at, entries = begin + size, entries + 1
    return at, entries


def _is_unfinished(rest: bytes) -> bool:
    """Return whether what follows the whole entries of a log is a change that was being written."""
    if len(rest) >= _ENTRY.size:
        size, _ = _ENTRY.unpack_from(rest)
        if size <= len(rest) - _ENTRY.size:
            return False
    ends = _ENTRY.pack(len(_CHANGE_ENDS), store_checksum(_CHANGE_ENDS)) + _CHANGE_ENDS
    return ends not in rest and not rest.endswith(_CHANGE_ENDS)
