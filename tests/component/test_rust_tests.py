"""Every file of a Rust test program is compiled into it: a file that `main.rs` omits never runs."""

import re
from pathlib import Path

import pytest

from command_line import REPOSITORY

PROGRAMS = sorted(REPOSITORY.glob("crates/*/*/tests/*/main.rs"))


@pytest.mark.parametrize("main", PROGRAMS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_file_beside_main_is_one_of_its_modules(main: Path) -> None:
    declared = re.findall(r"^mod (\w+);", main.read_text(), re.MULTILINE)
    own = {file.stem for file in main.parent.glob("*.rs")} - {"main"}
    own |= {file.parent.name for file in main.parent.glob("*/mod.rs")}
    assert sorted(own - set(declared)) == []


def test_test_programs_are_found() -> None:
    assert {path.relative_to(REPOSITORY).parts[2] for path in PROGRAMS} >= {"model", "host", "cli"}
