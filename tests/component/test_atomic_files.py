"""A file is written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from skipline import RunError, atomic


def test_a_write_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("a much longer old content")
    atomic.write(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"result\.json.*No space left on device"):
        atomic.write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_get_the_permissions_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    atomic.write(tmp_path / "atomic", "")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode
