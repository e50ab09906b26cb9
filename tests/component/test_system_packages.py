"""Packages of the system that tests need: one round of apt, and notes for what stays away."""

from pathlib import Path

import pytest

import system_packages
from system_packages import Group

FOUND = Group(packages="dash", purpose="a test", programs="sh")
ABSENT = Group(packages="one two", purpose="a test of two", programs="absent-one sh")
REQUIRED = Group(
    packages="two three", purpose="all", programs="", checks=("sh -c 'exit 1'",), required=True
)

# It notes its arguments, and fails if the package `one` is asked for beside `three`.
APT = """#!/bin/sh
echo "$@" >> {log}
case "$*" in *one*three*) exit 100;; esac
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The groups above, and calls of an apt that installs nothing."""
    monkeypatch.setattr(
        system_packages, "GROUPS", {"found": FOUND, "absent": ABSENT, "required": REQUIRED}
    )
    monkeypatch.setattr("os.geteuid", lambda: 0)
    log, apt = tmp_path / "log", tmp_path / "bin" / "apt-get"
    log.touch()
    apt.parent.mkdir()
    apt.write_text(APT.format(log=log))
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{apt.parent}:/usr/bin:/bin")
    return log


def test_where_nothing_is_missing_apt_is_not_called(log: Path) -> None:
    assert system_packages.main(["found"]) == 0
    assert log.read_text() == ""


def test_what_is_missing_is_installed_in_one_round(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert system_packages.main(["found", "absent"]) == 0
    update, install = log.read_text().splitlines()
    assert update.startswith("update")
    assert install.endswith("install --no-install-recommends one two")
    assert capsys.readouterr().out.splitlines() == [
        "installing one two",
        "note: for a test of two the packages one two cannot be installed",
    ]


def test_a_package_that_is_nowhere_does_not_keep_others_from_being_installed(log: Path) -> None:
    assert system_packages.main(["absent", "required"]) == 1
    _, *installs = (line.partition("recommends ")[2] for line in log.read_text().splitlines())
    assert installs == ["one two three", "one two", "two three"]


def test_who_may_not_install_is_told_what_to_install(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert system_packages.main(["absent", "required"]) == 1
    assert log.read_text() == ""
    note, error = capsys.readouterr().out.splitlines()
    assert note == "note: for a test of two the packages one two have to be installed"
    assert error.startswith("error: for all the packages two three")
