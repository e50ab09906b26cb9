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


TARGET = re.compile(r"^\[(lib|\[bin\])\]\n((?:[^\[\n].*\n)*)", re.MULTILINE)


def untested_sources() -> dict[Path, list[Path]]:
    """Sources of targets that are not compiled for tests of their own, by manifest."""
    found: dict[Path, list[Path]] = {}
    in_wings = REPOSITORY.glob("crates/*/*/Cargo.toml")
    for manifest in [*in_wings, *REPOSITORY.glob("tests/*/Cargo.toml")]:
        source = manifest.parent / "src"
        for kind, keys in TARGET.findall(manifest.read_text()):
            if "test = false" in keys.splitlines():
                of_target = source.rglob("*.rs") if kind == "lib" else [source / "main.rs"]
                found.setdefault(manifest, []).extend(of_target)
    return found


def test_what_is_not_compiled_for_tests_of_its_own_has_none() -> None:
    sources = untested_sources()
    assert len(sources) > 8
    for path in [path for paths in sources.values() for path in paths]:
        assert not re.search(r"#\[(?:cfg\()?test\b", path.read_text()), path
