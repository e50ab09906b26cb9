"""The explorer's page: what it shows is what `skipline run` prints, and nothing leaves it.

The tests use the page that `make web` built; without it they are skipped.
"""

import random
import re
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from browser_window import DESK, PHONE, show
from command_line import L2FWD, REPOSITORY
from flow.explorer_page import (
    SHORT,
    assert_same,
    complaints,
    configure,
    native,
    one_file,
    open_link,
    open_short,
    settle,
    state,
    until,
)
from skipline import _core

AXE = REPOSITORY / "web" / "node_modules" / "axe-core" / "axe.min.js"
# Keys of the forwarder whose values a run draws.
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
_PRESETS = (REPOSITORY / "web" / "src" / "model" / "presets.ts").read_text(encoding="utf-8")
PRESETS = re.findall(r'^    id: "([a-z0-9-]+)",$', _PRESETS, re.MULTILINE)
# Those whose whole runs are compared each time; all of them in a soak.
COMPARED = ["offload", "edge-box"]


def assert_nothing_loaded(browser: webdriver.Chrome) -> None:
    loaded = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    outside = [name for name in browser.execute_script(loaded) if not name.startswith("blob:")]
    assert outside == []


def test_the_page_opens_from_the_disk_and_answers(browser: webdriver.Chrome) -> None:
    show(browser, one_file(), DESK)
    ended = settle(browser)
    assert ended["state"] == "ended" and ended["answer"]
    assert browser.find_element(By.ID, "said-a").text == ended["answer"]
    assert complaints(browser) == []
    assert_nothing_loaded(browser)


def configuration(browser: webdriver.Chrome, side: str) -> dict[str, Any]:
    found: dict[str, Any] = browser.execute_script(
        f"return window.skipline.configs.{side}.value ?? null"
    )
    return found


def test_there_are_presets_for_papers_and_servers() -> None:
    assert len(PRESETS) >= 8 and set(COMPARED) <= set(PRESETS)


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_loads_and_answers(browser: webdriver.Chrome, preset: str) -> None:
    complaints(browser)
    browser.get("about:blank")
    browser.get(f"{one_file().as_uri()}#v=1&p={preset}")
    until(browser, lambda b: state(b)["answer"] or state(b)["refusal"])
    assert state(browser)["refusal"] is None
    assert len(browser.find_elements(By.CSS_SELECTOR, ".tile")) >= 3
    assert browser.find_elements(By.CSS_SELECTOR, ".alert") == []
    assert complaints(browser) == []


def assert_preset_is_native(browser: webdriver.Chrome, preset: str) -> None:
    ended = open_link(browser, f"v=1&p={preset}")
    assert ended["state"] == "ended", ended["refusal"]
    config = configuration(browser, "a")
    assert_same(ended["text"], native(config["file"], config["settings"]))


@pytest.mark.parametrize("preset", COMPARED)
def test_a_preset_gives_the_bytes_of_skipline_run(browser: webdriver.Chrome, preset: str) -> None:
    assert_preset_is_native(browser, preset)


@pytest.mark.soak_long
@pytest.mark.parametrize("preset", sorted(set(PRESETS) - set(COMPARED)))
def test_every_preset_gives_the_bytes_of_skipline_run(
    browser: webdriver.Chrome, preset: str
) -> None:
    assert_preset_is_native(browser, preset)


def drawn_settings(number: int) -> dict[str, str]:
    draw = random.Random(number)
    keys = draw.sample(sorted(DRAWN), draw.randint(2, 5))
    return {**SHORT, **{key: draw.choice(DRAWN[key]) for key in keys}}


def compare_drawn(browser: webdriver.Chrome, numbers: range) -> int:
    """Compare the page with the native engine at settings at random; return how many ran."""
    open_short(browser)
    ran = 0
    for number in numbers:
        settings = drawn_settings(number)
        shown = configure(browser, L2FWD, settings, seed=number)
        try:
            expected = native(L2FWD, settings, number)
        except (_core.InputError, _core.RunError) as error:
            assert shown["refusal"]["message"] == str(error), settings
            continue
        assert shown["state"] == "ended", (settings, shown["refusal"])
        assert_same(shown["text"], expected)
        ran += 1
    return ran


def test_random_settings_give_the_bytes_of_skipline_run(browser: webdriver.Chrome) -> None:
    assert compare_drawn(browser, range(1, 7)) >= 3


@pytest.mark.soak_long
def test_fifty_random_settings_give_the_bytes_of_skipline_run(browser: webdriver.Chrome) -> None:
    assert compare_drawn(browser, range(100, 150)) >= 40


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [("cores", "0", "`cores` = 0"), ("core_way_mask", "0x0", "core_way_mask")],
)
def test_a_value_that_is_not_allowed_is_told_beside_its_control(
    browser: webdriver.Chrome, key: str, value: str, told: str
) -> None:
    before = open_short(browser)["answer"]
    browser.execute_script("window.skipline.set('a', ...arguments)", key, value)
    refused = settle(browser)
    assert refused["refusal"]["key"] == key
    place = f'[data-key="{key}"] [role="alert"]'
    assert told in until(browser, lambda b: b.find_element(By.CSS_SELECTOR, place)).text
    # The numbers before stay, and the page goes on.
    assert browser.find_element(By.ID, "said-a").text == before
    browser.execute_script("window.skipline.set('a', arguments[0], undefined)", key)
    assert settle(browser)["state"] == "ended"
    until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "[role=alert]") == [])


def test_a_combination_that_cannot_be_is_told_with_the_controls(browser: webdriver.Chrome) -> None:
    open_short(browser)
    settings = {**SHORT, "rx_descriptors": "4096", "pool_buffers": "1000"}
    refused = configure(browser, L2FWD, settings)
    assert refused["state"] == "refused"
    told = until(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".controls [role=alert]")).text
    assert "pool_buffers" in told
    assert open_short(browser)["state"] == "ended"


def test_a_link_of_another_version_says_what_it_cannot_read(browser: webdriver.Chrome) -> None:
    link = "v=9&p=ring&s=rx_descriptors=512&s=run.max_batches=10&colour=red"
    assert open_link(browser, link)["state"] == "ended"
    told = browser.find_element(By.CSS_SELECTOR, "main > [role=alert]").text
    assert "version 9" in told and "colour" in told
    command = browser.find_element(By.ID, "command-line").text
    assert "rx_descriptors=512" in command


# A link as pages of version 1 write it, with each of its parts. It stays as it is: links of that
# version are out in the world.
FIRST_VERSION = (
    "v=1&p=ring&s=rx_descriptors%3D512&s=run.max_batches%3D10&without=run.batch_packets&seed=7"
    "&b.file=mine.toml&b.text=platform+%3D+%22skylake-gold-6140%22%0A&b.s=cores%3D2"
    "&x=ddio_ways&y=throughput_gbps"
)


def test_a_link_of_the_first_version_opens_whole(browser: webdriver.Chrome) -> None:
    open_link(browser, FIRST_VERSION)
    assert configuration(browser, "a") == {
        "preset": "ring",
        "file": L2FWD,
        "settings": {
            "rx_descriptors": "512",
            "traffic.generator_queue_packets": "5120",
            "run.max_batches": "10",
        },
        "seed": 7,
    }
    assert configuration(browser, "b") == {
        "file": "mine.toml",
        "text": 'platform = "skylake-gold-6140"\n',
        "settings": {"cores": "2"},
        "seed": 1,
    }
    chosen = browser.find_element(By.ID, "curve-key").get_attribute("value")
    assert chosen == "ddio_ways"
    pressed = browser.find_element(By.CSS_SELECTOR, ".tile[aria-pressed=true]")
    assert pressed.get_attribute("data-metric") == "throughput_gbps"
    assert browser.find_elements(By.CSS_SELECTOR, "main > [role=alert]") == []


def test_a_link_opens_both_sides_as_they_were(browser: webdriver.Chrome) -> None:
    open_short(browser)
    browser.find_element(By.ID, "compare").click()
    browser.execute_script("window.skipline.set('b', 'ddio_ways', '6')")
    link = until(browser, lambda b: "ddio_ways" in b.current_url and b.current_url)
    open_link(browser, link.partition("#")[2])
    settle(browser, "b")
    assert configuration(browser, "b")["settings"]["ddio_ways"] == "6"
    assert len(browser.find_elements(By.CSS_SELECTOR, ".data-path")) == 2
    # Differences are said of both sides, and where the intervals allow none.
    place = "[data-metric=pcie_write_hit_rate] .difference"
    said = until(browser, lambda b: b.find_element(By.CSS_SELECTOR, place))
    assert re.fullmatch(r"B − A: [+−][\d.]+ points|no clear difference", said.text)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_nobody_is_shut_out(browser: webdriver.Chrome, size: tuple[int, int], theme: str) -> None:
    if not AXE.exists():
        pytest.skip("needs axe-core: make web installs it")
    open_short(browser, size)
    browser.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    browser.find_element(By.ID, "compare").click()
    settle(browser, "b")
    browser.execute_script("document.querySelector('.step-form').requestSubmit()")
    until(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".events")) == 2)
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


def test_nothing_of_a_page_names_a_host() -> None:
    """Addresses in it are names of formats, or what its licences say."""
    text = one_file().read_text(encoding="utf-8")
    without_licences = re.sub(r'<script type="text/plain".*?</script>', "", text, flags=re.S)
    hosts = set(re.findall(r"https?://([\w.-]+)", without_licences))
    assert hosts <= {"www.w3.org", "github.com"}, hosts


def test_the_folder_has_its_licences() -> None:
    licences = (one_file().parent / "licences.txt").read_text(encoding="utf-8")
    for part in ("preact", "@observablehq/plot", "d3-array", "Apache-2.0", "BSD-3-Clause", "ISC"):
        assert part in licences, part
