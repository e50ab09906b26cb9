"""The explorer's page from servers: its folder behind any, `skipline explore` with its engine."""

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from command_line import L2FWD
from flow.explorer_page import (
    SHORT,
    assert_same,
    complaints,
    configure,
    native,
    one_file,
    settle,
    until,
)
from skipline.explorer import server

HOST = "127.0.0.1"
# A browser takes seconds to start: all tests of this file share one.
pytestmark = pytest.mark.xdist_group("served pages")


@pytest.fixture(scope="module")
def visitor() -> Iterator[webdriver.Chrome]:
    """Chromium that reaches this machine and nothing else."""
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
        f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {HOST}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options, webdriver.ChromeService(executable_path=driver))
    yield opened
    opened.quit()


class _Quiet(SimpleHTTPRequestHandler):
    def log_request(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def folder() -> Iterator[str]:
    """Address of the page's folder behind a server that knows nothing of it."""
    handler = partial(_Quiet, directory=str(one_file().parent))
    with ThreadingHTTPServer((HOST, 0), handler) as serving:
        threading.Thread(target=serving.serve_forever).start()
        yield f"http://{HOST}:{serving.server_port}/"
        serving.shutdown()


def loaded(browser: webdriver.Chrome) -> list[str]:
    found: list[str] = browser.execute_script(
        "return performance.getEntriesByType('resource').map(entry => entry.name)"
    )
    return [name for name in found if not name.startswith("blob:")]


def test_the_folder_runs_behind_any_server(visitor: webdriver.Chrome, folder: str) -> None:
    visitor.get(folder)
    assert settle(visitor)["state"] == "ended"
    settings = {**SHORT, "rx_descriptors": "512"}
    assert_same(configure(visitor, L2FWD, settings)["text"], native(L2FWD, settings))
    assert visitor.find_element(By.ID, "engine").text == "in your browser"
    assert {name.removeprefix(folder) for name in loaded(visitor)} == {
        "app.js",
        "style.css",
        "skipline.wasm",
    }
    assert complaints(visitor) == []


def test_the_command_answers_the_same_page(visitor: webdriver.Chrome) -> None:
    one_file()
    with server.started() as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        visitor.get(serving.address)
        assert settle(visitor)["state"] == "ended"
        settings = {**SHORT, "rx_descriptors": "512", "ddio_ways": "4"}
        assert_same(configure(visitor, L2FWD, settings)["text"], native(L2FWD, settings))
        assert visitor.find_element(By.ID, "engine").text == "native engine"
        # What is refused is told as in the page by itself.
        refused = configure(visitor, L2FWD, {**SHORT, "cores": "0"})
        assert refused["refusal"]["key"] == "cores"
        until(visitor, lambda b: "cores%3D0" in b.current_url)
        own = f"http://{HOST}:{serving.server_port}/"
        assert all(name.startswith(own) for name in loaded(visitor))
        assert complaints(visitor) == []
        visitor.get("about:blank")
        serving.shutdown()
        thread.join()
