"""The explorer's page: what it shows is what `skipline run` prints, and nothing leaves it.

The tests use the page that `make web` built; without it they are skipped.
"""

import json
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from browser_window import DESK, PHONE, show
from command_line import REPOSITORY
from skipline import _core

PAGE = REPOSITORY / "python" / "skipline" / "explorer" / "page"
ONE_FILE = PAGE / "skipline-explorer.html"
AXE = REPOSITORY / "web" / "node_modules" / "axe-core" / "axe.min.js"
LIMIT_S = 90
# What a wall clock decides.
TIMES = re.compile(r'"(wall_s|line_ops_per_s|real_time_factor)":[-+.e\d]+')
# Keys of the forwarder whose values a run draws, and a run that is short.
DRAWN: dict[str, list[str]] = {
    "rx_descriptors": ["64", "128", "512", "1024", "4096"],
    "packet_bytes": ["60", "256", "512", "1024", "1500"],
    "ddio_ways": ["0", "1", "2", "4", "11"],
    "cores": ["1", "2", "4"],
    "offered_gbps": ["10", "40.5", "99.3"],
    "nic_socket": ["0", "1"],
    "core_way_mask": ["0x7ff", "0x1ff", "0x3"],
    "rng_calls": ["0", "100"],
    "iommu": ["off", "2M"],
}
SHORT = {"run.batch_packets": "512", "run.min_batches": "10", "run.max_batches": "12"}
L2FWD = "experiments/ddio-bench/l2fwd.toml"


@pytest.fixture(scope="module")
def page() -> Path:
    if not ONE_FILE.exists():
        pytest.skip("needs the explorer's page: make web builds it")
    return ONE_FILE


@pytest.fixture(scope="module")
def firefox() -> Iterator[webdriver.Firefox]:
    program = shutil.which("firefox") or shutil.which("firefox-esr")
    driver = shutil.which("geckodriver")
    if not (program and driver):
        pytest.skip("needs the package firefox-esr, and geckodriver: cargo install geckodriver")
    options = webdriver.FirefoxOptions()
    options.binary_location = program
    options.add_argument("-headless")
    opened = webdriver.Firefox(options, webdriver.FirefoxService(executable_path=driver))
    yield opened
    opened.quit()


Browser = webdriver.Chrome | webdriver.Firefox


def state(browser: Browser) -> dict[str, Any]:
    found: dict[str, Any] = browser.execute_script(
        "const run = window.skipline?.runs.a.value ?? {state: 'idle'};"
        "const {state, text, refusal, result} = run;"
        "return {state, text, refusal, answer: result?.answer}"
    )
    return found


def settle(browser: Browser) -> dict[str, Any]:
    """Wait until the run of side A has ended or was refused."""
    WebDriverWait(browser, LIMIT_S, 0.02).until(lambda b: state(b)["state"] in {"ended", "refused"})
    return state(browser)


def configure(
    browser: Browser, file: str, settings: dict[str, str], seed: int = 1
) -> dict[str, Any]:
    config = {"file": file, "settings": settings, "seed": seed}
    browser.execute_script("window.skipline.configs.a.value = arguments[0]", config)
    return settle(browser)


def native(file: str, settings: dict[str, str], seed: int = 1) -> str:
    return _core.run(file, list(settings.items()), seed)


def assert_same(page_text: str, native_text: str) -> None:
    """The same bytes but for what a clock decides."""
    assert TIMES.sub(r'"\1":0', page_text) == TIMES.sub(r'"\1":0', native_text)


def assert_nothing_loaded(browser: webdriver.Chrome) -> None:
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
    loaded = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    outside = [name for name in browser.execute_script(loaded) if not name.startswith("blob:")]
    assert outside == []


def test_the_page_opens_from_the_disk_and_answers(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page, DESK)
    ended = settle(browser)
    assert ended["state"] == "ended" and ended["answer"]
    assert browser.find_element(By.ID, "said-a").text == ended["answer"]
    assert_nothing_loaded(browser)


def presets() -> list[str]:
    text = (REPOSITORY / "web" / "src" / "model" / "presets.ts").read_text(encoding="utf-8")
    return re.findall(r'^    id: "([a-z0-9-]+)",$', text, re.MULTILINE)


def test_each_preset_loads_and_answers(browser: webdriver.Chrome, page: Path) -> None:
    assert len(presets()) >= 8
    for preset in presets():
        browser.get("about:blank")
        browser.get(f"{page.as_uri()}#v=1&p={preset}")
        ended = settle(browser)
        assert ended["state"] == "ended", (preset, ended["refusal"])
        assert len(browser.find_elements(By.CSS_SELECTOR, ".tile")) >= 3, preset
        assert browser.find_elements(By.CSS_SELECTOR, ".alert") == [], preset
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def drawn_settings(number: int) -> dict[str, str]:
    draw = random.Random(number)
    keys = draw.sample(sorted(DRAWN), draw.randint(2, 5))
    return {**SHORT, **{key: draw.choice(DRAWN[key]) for key in keys}}


def compare_drawn(browser: webdriver.Chrome, page: Path, numbers: range) -> int:
    """Compare the page with the native engine at settings at random; return how many ran."""
    show(browser, page, DESK)
    settle(browser)
    ran = 0
    for number in numbers:
        settings = drawn_settings(number)
        shown = configure(browser, L2FWD, settings, seed=number)
        try:
            expected = native(L2FWD, settings, number)
        except _core.InputError as error:
            assert shown["refusal"]["message"] == str(error), settings
            continue
        except _core.RunError as error:
            assert shown["refusal"]["message"] == str(error), settings
            continue
        assert shown["state"] == "ended", (settings, shown["refusal"])
        assert_same(shown["text"], expected)
        ran += 1
    return ran


def test_random_settings_give_the_bytes_of_skipline_run(
    browser: webdriver.Chrome, page: Path
) -> None:
    assert compare_drawn(browser, page, range(1, 7)) >= 3


@pytest.mark.soak_long
def test_fifty_random_settings_give_the_bytes_of_skipline_run(
    browser: webdriver.Chrome, page: Path
) -> None:
    assert compare_drawn(browser, page, range(100, 150)) >= 40


def test_a_value_that_is_not_allowed_is_told_beside_its_control(
    browser: webdriver.Chrome, page: Path
) -> None:
    show(browser, page, DESK)
    before = settle(browser)["answer"]
    browser.execute_script("window.skipline.set('a', 'cores', '0')")
    refused = settle(browser)
    assert refused["refusal"]["key"] == "cores" and "allowed: 1" in refused["refusal"]["message"]
    told = browser.find_element(By.CSS_SELECTOR, '[data-key="cores"] [role="alert"]').text
    assert "`cores` = 0" in told
    # The numbers before stay, and the page goes on.
    assert browser.find_element(By.ID, "said-a").text == before
    browser.execute_script("window.skipline.set('a', 'cores', '2')")
    assert settle(browser)["state"] == "ended"
    assert browser.find_elements(By.CSS_SELECTOR, "[role=alert]") == []


def imported(browser: webdriver.Chrome, label: str, file: Path) -> str:
    """Give the page a file; return what it says about it."""
    place = f"//div[@class='file'][label[starts-with(., '{label}')]]"
    browser.find_element(By.XPATH, f"{place}/input").send_keys(str(file))
    alert = (By.XPATH, f"{place}/p[@role='alert']")
    WebDriverWait(browser, LIMIT_S).until(lambda b: b.find_elements(*alert))
    return browser.find_element(*alert).text


def test_files_that_cannot_be_read_are_refused_in_words(
    browser: webdriver.Chrome, page: Path, tmp_path: Path
) -> None:
    show(browser, page, DESK)
    settle(browser)
    unknown = tmp_path / "unknown.toml"
    unknown.write_text('platform = "skylake-gold-6140"\ncoers = 2\n')
    told = imported(browser, "Scenario", unknown)
    assert "unknown key `coers`" in told and "did you mean `cores`?" in told
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(b"\xd4\xc3\xb2\xa1" + bytes(3))
    assert "damaged.pcap" in imported(browser, "Capture", damaged)
    large = tmp_path / "large.pcap"
    with large.open("wb") as file:
        file.truncate(10 << 30)
    told = imported(browser, "Capture", large)
    assert "10 GiB" in told and "512 MiB at most" in told
    broken = tmp_path / "broken.toml"
    broken.write_text("title = \n")
    assert "not valid TOML" in imported(browser, "Platform", broken)
    assert settle(browser)["state"] == "ended"


def test_a_link_of_another_version_says_what_it_cannot_read(
    browser: webdriver.Chrome, page: Path
) -> None:
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}#v=9&p=ring&s=rx_descriptors=512&colour=red")
    assert settle(browser)["state"] == "ended"
    told = browser.find_element(By.CSS_SELECTOR, "main > [role=alert]").text
    assert "version 9" in told and "colour" in told
    command = browser.find_element(By.ID, "command-line").text
    assert "rx_descriptors=512" in command


def test_a_link_opens_both_sides_as_they_were(browser: webdriver.Chrome, page: Path) -> None:
    show(browser, page, DESK)
    settle(browser)
    browser.find_element(By.ID, "compare").click()
    browser.execute_script("window.skipline.set('b', 'ddio_ways', '6')")
    link = WebDriverWait(browser, LIMIT_S).until(
        lambda b: "ddio_ways" in b.current_url and b.current_url
    )
    browser.get("about:blank")
    browser.get(link)
    settle(browser)
    settings = browser.execute_script("return window.skipline.configs.b.value.settings")
    assert settings["ddio_ways"] == "6"
    assert len(browser.find_elements(By.CSS_SELECTOR, ".data-path")) == 2


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_nobody_is_shut_out(
    browser: webdriver.Chrome, page: Path, size: tuple[int, int], theme: str
) -> None:
    if not AXE.exists():
        pytest.skip("needs axe-core: make web installs it")
    show(browser, page, size)
    settle(browser)
    browser.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= size[0]
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found = browser.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run().then(done)"
    )
    serious = [
        (problem["id"], [node["html"][:120] for node in problem["nodes"][:3]])
        for problem in found["violations"]
        if problem["impact"] in {"serious", "critical"}
    ]
    assert serious == []


def test_firefox_gives_the_same_bytes(firefox: webdriver.Firefox, page: Path) -> None:
    firefox.get(page.as_uri())
    assert settle(firefox)["state"] == "ended"
    settings = {**SHORT, "rx_descriptors": "512"}
    assert_same(configure(firefox, L2FWD, settings)["text"], native(L2FWD, settings))


def test_the_exported_scenario_gives_the_same_numbers(page: Path, tmp_path: Path) -> None:
    settings = {**SHORT, "rx_descriptors": "512", "traffic.generator_queue_packets": "5120"}
    request = {"file": L2FWD, "settings": list(settings.items()), "seed": 1}
    answer = _core.explorer_fact("changed_text", json.dumps(request))
    assert answer is not None and page
    file = tmp_path / "scenario.toml"
    file.write_text(json.loads(answer)["text"])
    own = json.loads(native(str(file), {}))
    assert own["metrics"] == json.loads(native(L2FWD, settings))["metrics"]
