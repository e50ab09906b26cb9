"""A file is written whole or not at all; what is no file stays what it is."""

import errno
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from skipline import InputError, RunError, atomic


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


def test_a_fifo_gets_the_content_and_stays(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(fifo.read_bytes()), daemon=True)
    reader.start()
    atomic.write(fifo, "content")
    reader.join(timeout=10)
    assert received == [b"content"]
    assert fifo.is_fifo()
    assert list(tmp_path.iterdir()) == [fifo]


def device(path: Path, minor: int) -> Path:
    """A node of its own: a fault here must not cost the machine its /dev/null."""
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
    except PermissionError:
        pytest.skip("making a device node needs root")
    return path


def test_a_character_device_gets_the_content_and_stays(tmp_path: Path) -> None:
    null = device(tmp_path / "null", 3)
    atomic.write(null, "content")
    assert null.is_char_device()
    assert list(tmp_path.iterdir()) == [null]


def test_a_full_device_is_told_and_stays(tmp_path: Path) -> None:
    full = device(tmp_path / "full", 7)
    link = tmp_path / "link"
    link.symlink_to(full)
    with pytest.raises(RunError, match=r"link: cannot be written: No space left on device$"):
        atomic.write(link, "content")
    assert full.is_char_device()
    assert link.is_symlink()


def test_a_link_stays_and_the_file_behind_it_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("elsewhere") / "result.json")
    for content in ("new", "newer"):  # at first there is no file behind it
        atomic.write(link, content)
        assert link.is_symlink()
        assert (folder / "result.json").read_text() == content
        assert list(folder.iterdir()) == [folder / "result.json"]
        assert set(tmp_path.iterdir()) == {folder, link}


def test_sockets_and_directories_are_refused(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(InputError, match="directory: this is a directory; name a file"):
        atomic.write(tmp_path / "directory", "content")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        with pytest.raises(InputError, match="socket: this is a socket; name a file"):
            atomic.write(tmp_path / "socket", "content")
    assert (tmp_path / "socket").is_socket()


def test_a_circle_of_links_is_told(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(RunError, match="one: cannot be written: Too many levels of symbolic links"):
        atomic.write(tmp_path / "one", "content")
    assert (tmp_path / "one").is_symlink()


OTHER_USER = 4321


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Create `shared` (sticky, as /tmp is) beside `own/precious`."""
    if os.geteuid() != 0:
        pytest.skip("giving a link to another user needs root")
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "precious").write_text("precious")
    return folder


def _link(path: Path, target: Path | str, user: int) -> Path:
    path.symlink_to(target)
    os.lchown(path, user, -1)
    return path


@pytest.mark.parametrize("mode", [0o1777, 0o777])
@pytest.mark.parametrize("rest", ["", "precious", "new"])
def test_a_link_of_another_user_where_others_write_is_refused(
    shared: Path, rest: str, mode: int
) -> None:
    shared.chmod(mode)
    own = shared.parent / "own"
    link = _link(shared / "link", own if rest else own / "precious", OTHER_USER)
    with pytest.raises(InputError, match=r"link is a link of user 4321 .* not followed"):
        atomic.write(link / rest, "new")
    # Also where a link of root leads to it.
    with pytest.raises(InputError, match=r"link is a link of user 4321"):
        atomic.write(_link(own / "hop", Path("../shared/link"), 0) / rest, "new")
    assert (own / "precious").read_text() == "precious"
    assert {path.name for path in own.iterdir()} == {"precious", "hop"}


def test_a_link_of_this_user_or_where_nobody_else_writes_is_followed(shared: Path) -> None:
    precious = shared.parent / "own" / "precious"
    atomic.write(_link(shared / "own", "../own/precious", os.geteuid()), "one")
    assert precious.read_text() == "one"
    shared.chmod(0o755)
    atomic.write(_link(shared / "other", "../own/precious", OTHER_USER), "two")
    assert precious.read_text() == "two"
    os.chown(shared, OTHER_USER, -1)
    with pytest.raises(InputError, match="is a link of user 4321"):
        atomic.write(shared / "other", "three")


def test_a_second_name_of_a_link_of_root_is_not_followed(shared: Path) -> None:
    own = _link(shared.parent / "own" / "link", shared.parent / "own" / "precious", 0)
    os.link(own, shared / "second", follow_symlinks=False)
    with pytest.raises(InputError, match="second is a link"):
        atomic.write(shared / "second", "new")
    assert own.read_text() == "precious"


# For a user namespace in which root alone has a number.
IN_A_NAMESPACE = """
import sys
from pathlib import Path
from skipline import atomic
atomic.write(Path(sys.argv[1]), "new")
"""


@pytest.mark.parametrize("owner", [OTHER_USER, 0])
def test_an_owner_without_a_number_is_not_taken_for_root(shared: Path, owner: int) -> None:
    precious = shared.parent / "own" / "precious"
    link = _link(shared / "link", precious, OTHER_USER)
    shared.chmod(0o755)
    os.chown(shared, owner, -1)
    command = ["unshare", "--user", "--map-root-user", sys.executable]
    done = subprocess.run(
        [*command, "-c", IN_A_NAMESPACE, str(link)], capture_output=True, text=True, check=False
    )
    if "unshare" in done.stderr:
        pytest.skip("no user namespaces here")
    followed = owner == 0
    assert (done.returncode == 0) == followed, done.stderr
    assert precious.read_text() == ("new" if followed else "precious")


def test_a_pipe_of_another_user_where_others_write_gets_nothing(shared: Path) -> None:
    os.mkfifo(shared / "pipe")
    os.chown(shared / "pipe", OTHER_USER, -1)
    with pytest.raises(InputError, match="pipe is a pipe of user 4321"):
        atomic.write(shared / "pipe", "content")  # an open would wait for a reader
