"""A soak runs the modules of Rust tests that do more in it, all of them and no others."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

import soak_runner
from command_line import REPOSITORY

RUNNER = REPOSITORY / "tests" / "soak_runner.py"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with a test program that prints its arguments."""
    for name, text in {
        "laws": "fn cases() { soak::amount(1, 2); }",
        "other_laws": "#![proptest_config(cases(1, 2))]",
        "plain": "ProptestConfig::with_cases(5)",
        "deep/inside": "soak::seed(3)",
    }.items():
        path = tmp_path / "tests" / "all" / f"{name}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    program = tmp_path / "deps" / "all-0123456789abcdef"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def said(package: Path, program: str) -> str:
    """What comes of the runner."""
    command = [sys.executable, str(RUNNER), str(package / program), "--quiet"]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=True)
    return str(done.stdout).strip()


def test_modules_that_ask_are_the_filters(package: Path) -> None:
    program = "deps/all-0123456789abcdef"
    assert said(package, program) == "deep:: laws:: other_laws:: --quiet"


def test_a_program_without_such_modules_is_not_run(package: Path) -> None:
    (package / "deps" / "unit-0123456789abcdef").write_text("no program at all")
    assert said(package, "deps/unit-0123456789abcdef") == "unit: nothing that a soak does more of"


def test_every_rust_file_that_asks_is_in_a_module_that_runs() -> None:
    asking = [
        path
        for path in REPOSITORY.glob("crates/*/*/**/*.rs")
        if "target" not in path.parts and "soak::" in path.read_text("utf-8")
    ]
    assert len(asking) > 30
    for path in asking:
        # Where cargo runs the test program.
        package = next(above for above in path.parents if (above / "Cargo.toml").exists())
        tests = package if package.name == "tests" else package / "tests"
        assert path.is_relative_to(tests), f"{path}: its tests do not run in a soak"
        target, module, *_ = path.relative_to(tests).with_suffix("").parts
        assert module in soak_runner.modules(package, target)
