"""Takes the pictures of the explorer's page in web/pictures, by which one sees what a change did.

    python web/scripts/pictures.py [FOLDER]

Needs the page that `make web` builds, and Chromium.
"""

import base64
import shutil
import sys
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "python" / "skipline" / "explorer" / "page" / "skipline-explorer.html"
SIZES = {"desk": (1280, 900), "phone": (390, 844)}
# The default, and two sides with a packet that is followed.
LINKS = {"ring": "v=1&p=ring", "two": "v=1&p=ring&b.p=ring&b.s=ddio_ways%3D6"}
THEMES = ("light", "dark")
# Of WebP: text stays sharp, and all pictures together take a megabyte and a half.
QUALITY = 40
SETTLED = """
const {runs, configs} = window.skipline ?? {};
const over = side => !configs[side].value || runs[side].value.state === 'ended';
const points = document.querySelector('.key-line')?.textContent.match(/(\\d+) of (\\d+) points/);
return runs && over('a') && over('b') && points && points[1] === points[2];
"""


def main(arguments: list[str]) -> int:
    """Write a picture of each page, size and theme; return the exit code."""
    folder = Path(arguments[0]) if arguments else REPOSITORY / "web" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        for name, link in LINKS.items():
            for size in SIZES:
                take(browser, folder, name, link, size)
    finally:
        browser.quit()
    return 0


def take(browser: webdriver.Chrome, folder: Path, name: str, link: str, size: str) -> None:
    """Take the pictures of one page in one size, in both themes."""
    width, height = SIZES[size]
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get("about:blank")
    browser.get(f"{PAGE.as_uri()}#{link}")
    WebDriverWait(browser, 120, 0.1).until(lambda b: b.execute_script(SETTLED))
    if name == "two":
        browser.execute_script("document.querySelector('.step-form').requestSubmit()")
        WebDriverWait(browser, 60, 0.1).until(
            lambda b: b.execute_script("return document.querySelectorAll('.events').length === 2")
        )
    # A card out of sight is not painted.
    browser.execute_script(
        "const rule = document.createElement('style');"
        "rule.textContent = '.card { content-visibility: visible !important }';"
        "document.head.append(rule)"
    )
    for theme in THEMES:
        browser.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
        wanted = {"captureBeyondViewport": True, "format": "webp", "quality": QUALITY}
        taken = browser.execute_cdp_cmd("Page.captureScreenshot", wanted | full(browser))
        (folder / f"{name}-{size}-{theme}.webp").write_bytes(base64.b64decode(taken["data"]))


def full(browser: webdriver.Chrome) -> dict[str, object]:
    """Return the whole page as the part that is taken."""
    size = browser.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    return {"clip": {**size, "scale": 1}}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
