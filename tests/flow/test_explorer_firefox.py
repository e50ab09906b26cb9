"""The explorer's page in Firefox: it opens, answers, and gives the bytes of `skipline run`."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from command_line import L2FWD, REPOSITORY
from flow.explorer_page import (
    SHORT,
    assert_same,
    configure,
    native,
    one_file,
    open_link,
    settle,
    state,
    until,
)
from flow.test_explorer import AXE, PRESETS

# `packaging/web_page.py --drivers` puts it there.
DRIVER = REPOSITORY / "target" / "web-tools" / "bin" / "geckodriver"
# A browser takes seconds to start: all tests of this file share one.
pytestmark = pytest.mark.xdist_group("firefox")


@pytest.fixture(scope="module")
def firefox() -> Iterator[webdriver.Firefox]:
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    driver = str(DRIVER) if DRIVER.exists() else shutil.which("geckodriver")
    if program is None:
        pytest.skip("needs the package firefox-esr")
    if driver is None:
        pytest.skip("needs geckodriver: python packaging/web_page.py --drivers installs it")
    options = webdriver.FirefoxOptions()
    options.binary_location = program
    options.add_argument("-headless")
    # By this protocol alone the console is told.
    options.enable_bidi = True
    opened = webdriver.Firefox(options, webdriver.FirefoxService(executable_path=driver))
    yield opened
    opened.quit()


@pytest.fixture
def page() -> Path:
    return one_file()


@pytest.fixture
def complaints(firefox: webdriver.Firefox) -> Iterator[list[str]]:
    """What pages write to the console, and their errors, while a test runs."""
    told: list[str] = []
    log = firefox.script
    console = log.add_console_message_handler(lambda entry: told.append(str(entry.text)))
    errors = log.add_javascript_error_handler(lambda entry: told.append(str(entry.text)))
    yield told
    log.remove_console_message_handler(console)
    log.remove_javascript_error_handler(errors)


def test_the_page_gives_the_bytes_of_skipline_run(
    firefox: webdriver.Firefox, page: Path, complaints: list[str]
) -> None:
    firefox.get(page.as_uri())
    assert settle(firefox)["state"] == "ended"
    for settings in (
        {**SHORT, "rx_descriptors": "512"},
        {**SHORT, "cores": "2", "ddio_ways": "4", "packet_bytes": "256"},
    ):
        shown = configure(firefox, L2FWD, settings)
        assert_same(shown["text"], native(L2FWD, settings))
    assert firefox.find_element(By.ID, "said-a").text == shown["answer"]
    assert complaints == []
    loaded = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    assert [n for n in firefox.execute_script(loaded) if not n.startswith("blob:")] == []


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_loads_and_answers(
    firefox: webdriver.Firefox, page: Path, complaints: list[str], preset: str
) -> None:
    firefox.get("about:blank")
    firefox.get(f"{page.as_uri()}#v=1&p={preset}")
    until(firefox, lambda b: state(b)["answer"] or state(b)["refusal"])
    assert state(firefox)["refusal"] is None
    assert len(firefox.find_elements(By.CSS_SELECTOR, ".tile")) >= 3
    assert firefox.find_elements(By.CSS_SELECTOR, ".alert") == []
    assert complaints == []


def test_nobody_is_shut_out(firefox: webdriver.Firefox) -> None:
    if not AXE.exists():
        pytest.skip("needs axe-core: make web installs it")
    open_link(firefox, "v=1&p=ring&s=run.max_batches=10")
    firefox.execute_script(AXE.read_text(encoding="utf-8"))
    found = firefox.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run().then(done)"
    )
    serious = [one["id"] for one in found["violations"] if one["impact"] in {"serious", "critical"}]
    assert serious == []
