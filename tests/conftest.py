"""Fixtures that all tests share."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import built
from command_line import L2FWD, SHORT, Skipline

if TYPE_CHECKING:
    from selenium import webdriver

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
    "first_half_hour": "notebook",
}


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what Skipline caches for its user away from the real user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


# Before xdist looks at the marks.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Group tests by what they share. Groups start first: the end would wait for a late one."""
    ranks = {group: rank for rank, group in enumerate(GROUPS.values())}
    rank_of: dict[str, int] = {}
    for item in items:
        shared = [group for fixture, group in GROUPS.items() if fixture in item.fixturenames]
        if shared:
            item.add_marker(pytest.mark.xdist_group(shared[0]))
            rank_of[item.nodeid] = ranks[shared[0]]
    items.sort(key=lambda item: rank_of.get(item.nodeid, len(ranks)))


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
def browser() -> "Iterator[webdriver.Chrome]":
    """Chromium that reaches nothing but files; without one a test is skipped."""
    from selenium import webdriver

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs the packages chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options, webdriver.ChromeService(executable_path=driver))
    yield opened
    opened.quit()


@pytest.fixture(scope="session")
def binaries() -> Path:
    """Folder of the programs of Rust."""
    return built.directory()


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
