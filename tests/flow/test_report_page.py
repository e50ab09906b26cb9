"""Reports open without a network, draw every figure, and fit a desk and a phone."""

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from browser_window import DESK, PHONE, show
from command_line import Skipline
from small_experiment import write_small_evidence

SIZES = [DESK, PHONE]
# Figures along the axes, two of simulated against measured, one per unit of the claims' checks.
PANELS = {"pktsize-desc": 3 * 4 + 2 + 4, "ddio-tune": 3 + 2 + 2}
DRAW_LIMIT_S = 60


def opened(browser: webdriver.Chrome, page: Path, size: tuple[int, int]) -> int:
    """Open a page in a window of `size` pixels, wait for its figures, return their number."""
    show(browser, page, size)
    expected = len(browser.find_elements(By.CSS_SELECTOR, "[data-chart]"))
    WebDriverWait(browser, DRAW_LIMIT_S).until(
        lambda b: len(b.find_elements(By.CSS_SELECTOR, "[data-chart] svg")) == expected
    )
    return expected


def assert_healthy(browser: webdriver.Chrome, width: int) -> None:
    """No message in the console, nothing loaded, no figure without marks, nothing sticks out."""
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    empty = "return [...document.querySelectorAll('[data-chart] svg')]\
        .filter(svg => !svg.querySelector('.mark-symbol path, .mark-rect path')).length"
    assert browser.execute_script(empty) == 0
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("identifier", PANELS)
def test_a_published_experiment_draws_all_its_panels(
    browser: webdriver.Chrome,
    published: Callable[[str], Path],
    identifier: str,
    size: tuple[int, int],
) -> None:
    panels = opened(browser, published(identifier) / "report.html", size)
    assert panels == PANELS[identifier]
    assert_healthy(browser, size[0])
    text = browser.find_element(By.TAG_NAME, "body").text
    for promised in (
        "Simulated against measured",
        "what the model has to beat",
        "Fitted parameters",
    ):
        assert promised in text


@pytest.mark.parametrize("size", SIZES)
def test_a_single_run_draws_its_figures(
    browser: webdriver.Chrome,
    short_run: Path,
    tmp_path: Path,
    skipline: Skipline,
    size: tuple[int, int],
) -> None:
    done = skipline("report", str(short_run), "--out", "run.html")
    assert done.code == 0, done.err
    assert opened(browser, tmp_path / "run.html", size) >= 3
    assert_healthy(browser, size[0])


@pytest.mark.parametrize("size", SIZES)
def test_the_page_of_all_claims_draws_its_figures(
    browser: webdriver.Chrome, tmp_path: Path, skipline: Skipline, size: tuple[int, int]
) -> None:
    write_small_evidence(tmp_path)
    done = skipline("evidence", "--experiments", "evidence")
    assert done.code == 0, done.err
    # The checks in percent of two claims are one figure, the metric along the rings another.
    assert opened(browser, tmp_path / "reports" / "evidence.html", size) == 2
    assert_healthy(browser, size[0])
    text = browser.find_element(By.TAG_NAME, "body").text
    for promised in ("Claims that fail", "hits at 512 are zero", "not judged", "Two rings"):
        assert promised in text
