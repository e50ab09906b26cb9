"""The explorer's page in a browser: opened, configured, read, compared with the native engine."""

import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from browser_window import DESK, show
from command_line import L2FWD, REPOSITORY
from skipline import _core

PAGE = REPOSITORY / "python" / "skipline" / "explorer" / "page"
ONE_FILE = PAGE / "skipline-explorer.html"
LIMIT_S = 90
# A run that is short.
SHORT = {"run.batch_packets": "512", "run.min_batches": "10", "run.max_batches": "12"}
# What a wall clock decides.
_TIMES = re.compile(r'"(wall_s|line_ops_per_s|real_time_factor)":[-+.e\d]+')
_FIELDS = "{state, text, refusal, answer: result?.answer}"
_IS_DRAWN = (
    "const {runs, drawn} = window.skipline, side = arguments[0];"
    "return drawn[side].value.result === runs[side].value.result"
)

Browser = webdriver.Chrome | webdriver.Firefox
Opened = TypeVar("Opened", webdriver.Chrome, webdriver.Firefox, Browser)


@cache
def one_file() -> Path:
    """The page as one file; without one that is up to date the test is skipped."""
    if not ONE_FILE.exists():
        pytest.skip("needs the explorer's page: make web builds it")
    question = ["make", "--question", "--no-print-directory", ".venv/stamps/web"]
    if subprocess.run(question, cwd=REPOSITORY, capture_output=True, check=False).returncode == 1:
        pytest.skip("the explorer's page is older than its sources: make web builds it")
    return ONE_FILE


def state(browser: Browser, side: str = "a") -> dict[str, Any]:
    """What is known of the run of a side."""
    found: dict[str, Any] = browser.execute_script(
        f"const run = window.skipline?.runs.{side}.value ?? {{state: 'idle'}};"
        f"const {{state, text, refusal, result}} = run; return {_FIELDS}"
    )
    return found


def until(browser: Opened, what: Callable[[Opened], Any]) -> Any:
    """Wait until something is there; return it."""
    return WebDriverWait(browser, LIMIT_S, 0.02).until(what)


def says(browser: Browser, selector: str, words: str) -> None:
    """Wait until an element has these words, and no others."""
    until(browser, lambda b: b.find_element(By.CSS_SELECTOR, selector).text == words)


def settle(browser: Browser, side: str = "a") -> dict[str, Any]:
    """Wait until the run of a side has ended or was refused, and its drawings show it."""
    until(browser, lambda b: state(b, side)["state"] in {"ended", "refused"})
    until(browser, lambda b: b.execute_script(_IS_DRAWN, side))
    return state(browser, side)


def open_link(browser: Browser, link: str) -> dict[str, Any]:
    """Open the page with a link, as from elsewhere, and let it settle."""
    browser.get("about:blank")
    browser.get(f"{one_file().as_uri()}#{link}")
    return settle(browser)


def open_short(browser: webdriver.Chrome, size: tuple[int, int] = DESK) -> dict[str, Any]:
    """Open the page at a run of its default scenario that is short."""
    show(browser, one_file(), size)
    settings = {**SHORT, "rx_descriptors": "512"}
    return configure(browser, L2FWD, settings)


def configure(
    browser: Browser, file: str, settings: dict[str, str], seed: int = 1
) -> dict[str, Any]:
    """Run another configuration on side A."""
    config = {"file": file, "settings": settings, "seed": seed}
    until(browser, lambda b: b.execute_script("return window.skipline !== undefined"))
    browser.execute_script("window.skipline.configs.a.value = arguments[0]", config)
    return settle(browser)


def native(file: str, settings: dict[str, str], seed: int = 1) -> str:
    """The result of `skipline run`."""
    return _core.run(file, list(settings.items()), seed)


def without_times(text: str) -> str:
    """A result without what a clock decides."""
    return _TIMES.sub(r'"\1":0', text)


def assert_same(page_text: str, native_text: str) -> None:
    """The same bytes but for what a clock decides."""
    assert without_times(page_text) == without_times(native_text)


def press(browser: Browser, words: str) -> None:
    """Press the button that says these words."""
    place = f"//button[normalize-space(.)='{words}']"
    browser.execute_script("arguments[0].click()", browser.find_element(By.XPATH, place))


def complaints(browser: webdriver.Chrome) -> list[Any]:
    """What the browser has complained of since it was asked last."""
    return browser.get_log("browser")  # type: ignore[no-untyped-call, no-any-return]
