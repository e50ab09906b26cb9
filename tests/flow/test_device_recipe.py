"""The recipe for a kind of device, carried out: files of its own, and few others touched.

`tests/recipes/scratch-copy.patch` adds a device that copies lines, and the application that drives
it.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from command_line import REPOSITORY

PATCH = REPOSITORY / "tests" / "recipes" / "scratch-copy.patch"
MOST_FILES_TOUCHED = 4
COPIES = 1_000
LINES_OF_A_COPY = 24
LINE_BYTES = 64
NS_OF_A_LINE = 140


def files_touched() -> list[str]:
    """Existing files that the patch changes."""
    parts = PATCH.read_text().split("diff --git ")[1:]
    return [part.split()[0] for part in parts if "\nnew file mode " not in part.split("\n@@")[0]]


def run(*command: str, cwd: Path, **environment: str) -> str:
    """Run a command that must succeed; return its stdout."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def patched(tmp_path: Path) -> Path:
    """A copy of the tree with the patch applied."""
    for name in run("git", "ls-files", "-z", cwd=REPOSITORY).split("\0")[:-1]:
        source = REPOSITORY / name
        if source.is_file():
            copy = tmp_path / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    run("git", "apply", str(PATCH), cwd=tmp_path)
    return tmp_path


def test_a_kind_of_device_touches_few_files_of_others() -> None:
    touched = files_touched()
    assert 0 < len(touched) <= MOST_FILES_TOUCHED, touched


def test_the_recipe_applies_to_the_tree(patched: Path) -> None:
    assert (patched / "crates/model/src/device/scratch_copy.rs").is_file()


@pytest.mark.soak
def test_the_device_copies_every_line_once(patched: Path) -> None:
    # Crates of others are not compiled again: they do not depend on where the tree is.
    target = os.environ.get("CARGO_TARGET_DIR", str(REPOSITORY / "target"))
    command = ("cargo", "run", "--quiet", "--locked", "-p", "scenario", "--example", "scratch_copy")
    printed = run(*command, cwd=patched, CARGO_TARGET_DIR=target)
    copies, lines, read, written, behind_link, gbytes_per_s = printed.split()
    assert int(copies) == COPIES
    assert int(lines) == int(read) == COPIES * LINES_OF_A_COPY
    # Each copy has a completion of one line.
    assert int(written) == COPIES * (LINES_OF_A_COPY + 1)
    assert behind_link == "false", "it is on the mesh"
    # Lines are copied one at a time: a line takes at least a read and a write of the LLC.
    assert 0.0 < float(gbytes_per_s) < LINE_BYTES / NS_OF_A_LINE
