"""Fixtures that all tests share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import L2FWD, SHORT, Skipline

# Fixtures that take long to set up, or that a machine has once: with `--dist loadgroup` the tests
# that use one of a group run in one process. A test with several takes the first.
GROUPS = {
    "published": "published experiments",
    "browser": "published experiments",
    "installed": "wheel",
    "unpacked": "source distribution",
    "pages": "huge pages",
    "binaries": "skipline-host",
    "captured": "capture",
    "traced": "traced programs",
    "generated": "generated traces",
    "compared": "comparison",
}


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Group tests by what they share."""
    for item in items:
        shared = [group for fixture, group in GROUPS.items() if fixture in item.fixturenames]
        if shared:
            item.add_marker(pytest.mark.xdist_group(shared[0]))


@pytest.fixture
def skipline(tmp_path: Path) -> Skipline:
    """The command line in an empty directory: only built-in files are there."""
    return Skipline(tmp_path)


@pytest.fixture(scope="session")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directory of one short run of the built-in forwarder."""
    directory = tmp_path_factory.mktemp("short-run")
    done = Skipline(directory)("run", L2FWD, *SHORT, "--out", "run")
    assert done.code == 0, done.err
    return directory / "run"


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Directory of a published experiment, simulated once per test session."""
    root = tmp_path_factory.mktemp("published")

    def directory(identifier: str) -> Path:
        target = root / identifier
        if not (target / "outcome.json").exists():
            done = Skipline(root)("experiment", "run", identifier, "--out", identifier)
            assert done.code == 0, done.err
        return target

    return directory
