"""Pages in a browser, in windows of the sizes that people have."""

from pathlib import Path

from selenium import webdriver

DESK = (1280, 900)
PHONE = (390, 844)


def show(browser: webdriver.Chrome, page: Path, size: tuple[int, int]) -> None:
    """Open a page from the disk in a window of `size` pixels; the browser keeps that size.

    Tests share the browser: what pages before this one have said in its console is forgotten.
    """
    browser.get_log("browser")  # type: ignore[no-untyped-call]
    width, height = size
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE},
    )
    browser.get(page.as_uri())
