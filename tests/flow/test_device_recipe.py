"""The recipe for a kind of device, carried out: files of its own, and few others touched.

`tests/recipes/scratch-copy.patch` adds a device that copies lines, and the application that drives
it.
"""

from pathlib import Path

import pytest

from recipe import cargo, carried_out, lines_added

NAME = "scratch-copy"
MOST_FILES_TOUCHED, MOST_LINES_ADDED = 4, 30
COPIES = 1_000
LINES_OF_A_COPY = 24
LINE_BYTES = 64
NS_OF_A_LINE = 140


@pytest.fixture
def patched(tmp_path: Path) -> Path:
    """Return a copy of the tree with the patch applied."""
    return carried_out(NAME, tmp_path)


def test_a_kind_of_device_touches_few_files_of_others() -> None:
    touched = lines_added(NAME)
    assert 0 < len(touched) <= MOST_FILES_TOUCHED, touched
    assert 0 < sum(touched.values()) <= MOST_LINES_ADDED, touched


def test_the_recipe_applies_to_the_tree(patched: Path) -> None:
    assert (patched / "crates/sim/model/src/device/scratch_copy.rs").is_file()


@pytest.mark.soak
def test_the_device_copies_every_line_once(patched: Path) -> None:
    printed = cargo("run", "-p", "scenario", "--example", "scratch_copy", cwd=patched)
    copies, lines, read, written, behind_link, gbytes_per_s = printed.split()
    assert int(copies) == COPIES
    assert int(lines) == int(read) == COPIES * LINES_OF_A_COPY
    # Each copy has a completion of one line.
    assert int(written) == COPIES * (LINES_OF_A_COPY + 1)
    assert behind_link == "false", "it is on the mesh"
    # Lines are copied one at a time: a line takes at least a read and a write of the LLC.
    assert 0.0 < float(gbytes_per_s) < LINE_BYTES / NS_OF_A_LINE
