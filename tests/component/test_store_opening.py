"""What a store is taken for when it is opened: whole, damaged, of others, in use."""

import gc
from pathlib import Path

import duckdb
import pytest

from skipline._core import InputError, store_checksum
from skipline.store.connection import first_line, in_words
from skipline.store.store import Store
from skipline.store.writing import Writer

_PAGE_BYTES = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An empty store, whose name is a word about locks."""
    path = tmp_path / "clock on a block.duckdb"
    Writer(str(path)).close()
    return path


def damage(path: Path) -> None:
    """Change a byte of one of the two pages on the content of a store."""
    with path.open("r+b") as file:
        file.seek(_PAGE_BYTES + 1000)
        file.write(b"\x55")


def test_a_store_that_was_forgotten_open_is_looked_at_again(path: Path) -> None:
    forgotten = Store(path)
    del forgotten
    gc.collect()
    damage(path)
    with pytest.raises(InputError, match="this store is damaged"):
        Store(path)


def test_a_store_is_closed_once_however_often(path: Path) -> None:
    first, second = Store(path), Store(path)
    first.close()
    first.close()
    # The other one is open: looking at the file would give up its lock.
    damage(path)
    Store(path).close()
    second.close()
    with pytest.raises(InputError, match="this store is damaged"):
        Store(path)


def test_a_name_about_locks_is_no_lock(path: Path) -> None:
    content = path.read_bytes()
    page = bytearray(content[:_PAGE_BYTES])
    page[12] = 200  # a version of the format that is not there yet
    page[:8] = store_checksum(bytes(page[8:])).to_bytes(8, "little")
    path.write_bytes(bytes(page) + content[_PAGE_BYTES:])
    with pytest.raises(InputError, match="not a store that can be opened") as refused:
        Store(path)
    assert "is writing" not in str(refused.value)


def test_an_error_in_the_form_that_duckdb_keeps_is_told_in_its_words() -> None:
    kept = '{"exception_type":"Parser","exception_message":"no\\n\\nLINE 1: list","position":"0"}'
    assert first_line(duckdb.Error(kept)) == "Parser Error: no"
    for text in ('{"exception_type":"Parser"}', "[1]", "7", "IO Error: gone"):
        assert first_line(RuntimeError(text)) == text
    interrupted = '{"exception_type":"INTERRUPT","exception_message":"Interrupted!"}'
    with pytest.raises(KeyboardInterrupt), in_words("s.duckdb"):
        raise RuntimeError(interrupted)
