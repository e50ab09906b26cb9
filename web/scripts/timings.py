"""Measures how fast the explorer's page is, in Chromium and Firefox, beside its limits.

    python web/scripts/timings.py [chromium] [firefox]

Needs the page that `make web` builds, the module that `make setup` builds, and a machine that does
nothing else: the load is printed first. The exit code is 1 if a limit is missed.
"""

import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from skipline import _core

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "python" / "skipline" / "explorer" / "page" / "skipline-explorer.html"
DRIVER = REPOSITORY / "target" / "web-tools" / "bin" / "geckodriver"
LOADS, MOVES, PAIRS = 5, 30, 5
DOWN_AND_UP = (Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
# Limits: of the first numbers in ms, after loading and after a move; of the settled ones; of speed.
FIRST_MS, MOVED_MS, SETTLED_MS, SHARE = 1500.0, 100.0, 2000.0, 0.5

Browser = webdriver.Chrome | webdriver.Firefox


def chromium() -> Browser:
    """Chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    return webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))


def firefox() -> Browser:
    """Firefox without a window."""
    options = webdriver.FirefoxOptions()
    options.binary_location = shutil.which("firefox-esr") or ""
    options.add_argument("-headless")
    return webdriver.Firefox(options, webdriver.FirefoxService(str(DRIVER)))


BROWSERS: dict[str, Callable[[], Browser]] = {"chromium": chromium, "firefox": firefox}


def main(arguments: list[str]) -> int:
    """Measure in the named browsers, or in both; return the exit code."""
    print(f"load {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")
    missed = 0
    for name in arguments or BROWSERS:
        browser = BROWSERS[name]()
        try:
            missed += measure(name, browser)
        finally:
            browser.quit()
    return int(missed > 0)


def measure(name: str, browser: Browser) -> int:
    """Print what was measured in a browser; return how many limits it missed."""
    first = [loaded(browser) for _ in range(LOADS)]
    moved, settled = moves(browser)
    shares = [share(browser) for _ in range(PAIRS)]
    rows = [
        ("first numbers after the navigation, ms", max(first), first, FIRST_MS),
        ("first numbers after a slider moved, ms", statistics.median(moved), moved, MOVED_MS),
        ("settled after a slider moved, ms", max(settled), settled, SETTLED_MS),
    ]
    missed = 0
    for label, value, values, limit in rows:
        missed += value > limit
        spread = f"{min(values):.0f} to {max(values):.0f}, {len(values)} times"
        print(f"{name}: {label}: {value:.0f} ({spread}); at most {limit:.0f}")
    speed = statistics.median(shares)
    spread = f"{min(shares):.2f} to {max(shares):.2f}, {len(shares)} pairs"
    print(f"{name}: share of native speed: {speed:.2f} ({spread}); at least {SHARE}")
    return missed + (speed < SHARE)


def times(browser: Browser) -> dict[str, list[float]]:
    """Return the times that the page has noted, in ms."""
    found: dict[str, list[float]] = browser.execute_script(
        "const {first, firstBatch, settled} = window.skipline.timings;"
        "return {first: [first], firstBatch, settled}"
    )
    return found


def wait(browser: Browser, script: str, *values: object) -> None:
    """Wait until a script says true."""
    WebDriverWait(browser, 60, 0.01).until(lambda b: b.execute_script(script, *values))


def settle(browser: Browser) -> None:
    """Wait until the run of side A has ended."""
    wait(browser, "return window.skipline?.runs.a.value.state === 'ended'")


def loaded(browser: Browser) -> float:
    """Open the page; return when its first numbers were seen, in ms after the navigation."""
    browser.get("about:blank")
    browser.get(PAGE.as_uri())
    # Noted two frames later: what is counted from then on is of moves.
    wait(browser, "return window.skipline?.timings.settled.length > 0")
    settle(browser)
    return times(browser)["first"][0]


def moves(browser: Browser) -> tuple[list[float], list[float]]:
    """Move the slider of the ring by keys; return times until first and last numbers, in ms."""
    place = '[data-key="rx_descriptors"] input[type=range]'
    slider = browser.find_element(By.CSS_SELECTOR, place)
    before = len(times(browser)["settled"])
    for move in range(MOVES):
        slider.send_keys(DOWN_AND_UP[move % len(DOWN_AND_UP)])
        wait(
            browser,
            "return window.skipline.timings.settled.length === arguments[0]",
            before + move + 1,
        )
    noted = times(browser)
    return noted["firstBatch"][-MOVES:], noted["settled"][-MOVES:]


def share(browser: Browser) -> float:
    """Return the speed of a run in the page over that of the native engine right after it."""
    # The effect of the change is at once: the state is no longer that of the run before.
    browser.execute_script(
        "const {configs} = window.skipline; configs.a.value = {...configs.a.value}"
    )
    settle(browser)
    config, text = browser.execute_script(
        "const {configs, runs} = window.skipline; return [configs.a.value, runs.a.value.text]"
    )
    # The curve of the page simulates too, once the run has settled.
    browser.execute_script(
        "window.skipline.configs.a.value = {...window.skipline.configs.a.value, file: 'none'}"
    )
    wait(browser, "return window.skipline.runs.a.value.state === 'refused'")
    native = json.loads(_core.run(config["file"], list(config["settings"].items()), config["seed"]))
    browser.execute_script("window.skipline.configs.a.value = arguments[0]", config)
    settle(browser)
    return float(json.loads(text)["line_ops_per_s"] / native["line_ops_per_s"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
