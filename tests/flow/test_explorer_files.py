"""Files that the explorer's page writes and reads: the numbers stay those of `skipline run`."""

import csv
import gzip
import json
import re
import shlex
import struct
import zlib
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from command_line import L2FWD, REPOSITORY, Skipline
from flow.capture import Packet, write_pcap
from flow.explorer_page import (
    SHORT,
    assert_same,
    native,
    open_short,
    press,
    settle,
    state,
    until,
)

SVG = "{http://www.w3.org/2000/svg}"
Taken = Callable[[Callable[[], object], str], Path]


@pytest.fixture
def taken(browser: webdriver.Chrome, tmp_path: Path) -> Taken:
    """Do something that saves a file; return the file of that name."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    wanted = {"behavior": "allow", "downloadPath": str(folder)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", wanted)

    def take(save: Callable[[], object], name: str) -> Path:
        save()
        # Chromium gives a file its name when it is whole.
        until(browser, lambda _: (folder / name).exists())
        return folder / name

    return take


def test_the_command_line_reproduces_the_run(browser: webdriver.Chrome, skipline: Skipline) -> None:
    open_short(browser)
    browser.execute_script("window.skipline.set('a', 'ddio_ways', '4')")
    shown = settle(browser)["text"]
    program, *arguments = shlex.split(browser.find_element(By.ID, "command-line").text)
    assert program == "skipline" and "ddio_ways=4" in arguments
    done = skipline(*arguments, "--format", "json")
    assert done.code == 0, done.err
    assert_same(shown, done.out.strip())


def test_the_scenario_gives_the_same_numbers(
    browser: webdriver.Chrome, skipline: Skipline, taken: Taken
) -> None:
    open_short(browser)
    browser.execute_script("window.skipline.set('a', 'traffic.generator_queue_packets', '5120')")
    shown = json.loads(settle(browser)["text"])
    file = taken(lambda: press(browser, "Scenario (TOML)"), "scenario.toml")
    done = skipline("run", str(file), "--format", "json")
    assert done.code == 0, done.err
    assert numbers(done.json) == numbers(shown)
    # What it begins with is the command that runs it.
    assert file.read_text().startswith("# skipline run scenario.toml\n")


def numbers(result: dict[str, object]) -> object:
    timeless = {"line_ops_per_s", "real_time_factor"}
    metrics = result["metrics"]
    assert isinstance(metrics, dict)
    return [result["answer"], {name: m for name, m in metrics.items() if name not in timeless}]


def test_tables_hold_the_numbers_of_the_result(
    browser: webdriver.Chrome, skipline: Skipline, taken: Taken
) -> None:
    settings = [f"{key}={value}" for key, value in SHORT.items()] + ["rx_descriptors=512"]
    options = [part for setting in settings for part in ("--set", setting)]
    done = skipline("run", L2FWD, *options, "--format", "csv")
    open_short(browser)
    file = taken(lambda: press(browser, "Numbers (CSV)"), "result.csv")
    assert rows(file.read_text()) == rows(done.out)
    whole = taken(lambda: press(browser, "Result (JSON)"), "result.json")
    assert whole.read_text() == f"{state(browser)['text']}\n"


def rows(text: str) -> dict[tuple[str, str], list[float | str]]:
    """Rows of a table of numbers by metric and part, without what a clock decides."""
    head, *lines = csv.reader(StringIO(text))
    assert head[:3] == ["metric", "component", "value"]
    return {
        (metric, part): [value and float(value), half and float(half), unit]
        for metric, part, value, half, unit in lines
        if metric not in {"line_ops_per_s", "real_time_factor"}
    }


def test_the_curve_is_a_table(browser: webdriver.Chrome, taken: Taken) -> None:
    open_short(browser)
    until(browser, lambda b: " of 8 points" in b.find_element(By.CSS_SELECTOR, ".key-line").text)
    until(browser, lambda b: "(8 of 8" in b.find_element(By.CSS_SELECTOR, ".key-line").text)
    button = browser.find_element(By.XPATH, "//*[@id='curve']//button[.='CSV']")
    file = taken(lambda: browser.execute_script("arguments[0].click()", button), "curve.csv")
    head, *lines = csv.reader(StringIO(file.read_text()))
    assert head == ["rx_descriptors", "pcie_write_hit_rate", "ci95", "basis"]
    by_ring = {ring: float(value) for ring, value, _, basis in lines if basis == "simulated"}
    assert len(by_ring) == 8
    settings = {**SHORT, "rx_descriptors": "4096"}
    expected = json.loads(native(L2FWD, settings))["metrics"]["pcie_write_hit_rate"]["value"]
    assert by_ring["4096"] == expected


DRAWINGS = {
    "path": "data-path",
    "llc": "ways",
    "curve": "curve",
    "trail": "run",
}


@pytest.mark.parametrize(("card", "name"), DRAWINGS.items())
def test_a_drawing_stands_by_itself(
    browser: webdriver.Chrome, taken: Taken, card: str, name: str
) -> None:
    open_short(browser)
    drawn = (
        By.CSS_SELECTOR,
        f"#{card} figure > div > svg, #{card} figure > svg, #{card} .plot svg",
    )
    svg = until(browser, lambda b: b.find_element(*drawn))
    width = round(svg.size["width"])

    def save(kind: str) -> Path:
        button = browser.find_element(By.XPATH, f"//*[@id='{card}']//button[.='{kind}']")
        click = "arguments[0].click()"
        return taken(lambda: browser.execute_script(click, button), f"{name}.{kind.lower()}")

    text = save("SVG").read_text()
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg" and root.get("role") == "img" and root.get("aria-label")
    assert len(list(root.iter(f"{SVG}text"))) >= 3
    # No colour of the page, and nothing from elsewhere.
    assert "var(" not in text and "class=" not in text
    assert re.findall(r'(?:href|src)="(?!#)', text) == []
    size, colours = picture(save("PNG").read_bytes())
    assert abs(size[0] - 2 * width) <= 2 and size[1] > 100
    assert colours > 3


def picture(content: bytes) -> tuple[tuple[int, int], int]:
    """Size of a PNG, and how many different bytes its lines have: a blank one has few."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    place, data, size = 8, b"", (0, 0)
    while place < len(content):
        length, kind = struct.unpack_from(">I4s", content, place)
        body = content[place + 8 : place + 8 + length]
        assert struct.unpack_from(">I", content, place + 8 + length)[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            size = struct.unpack_from(">II", body)
        if kind == b"IDAT":
            data += body
        place += length + 12
    return size, len(set(zlib.decompress(data)))


def give(browser: webdriver.Chrome, label: str, file: Path) -> None:
    """Give the page a file."""
    place = f"//div[@class='file'][label[starts-with(., '{label}')]]/input"
    browser.find_element(By.XPATH, place).send_keys(str(file))


def told(browser: webdriver.Chrome, label: str, part: str) -> str:
    """Wait until the page has said `part` beside the input of that label; return all it said."""
    place = f"//div[@class='file'][label[starts-with(., '{label}')]]/p[@role='alert']"

    def said(b: webdriver.Chrome) -> str:
        texts = [alert.text for alert in b.find_elements(By.XPATH, place)]
        return next((text for text in texts if part in text), "")

    found: str = until(browser, said)
    return found


def test_files_that_cannot_be_read_are_refused_in_words(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    open_short(browser)
    unknown = tmp_path / "unknown.toml"
    unknown.write_text('platform = "skylake-gold-6140"\ncoers = 2\n')
    give(browser, "Scenario", unknown)
    assert "did you mean `cores`?" in told(browser, "Scenario", "unknown key `coers`")
    damaged = tmp_path / "damaged.pcap"
    damaged.write_bytes(b"\xd4\xc3\xb2\xa1" + bytes(3))
    give(browser, "Capture", damaged)
    told(browser, "Capture", "damaged.pcap")
    large = tmp_path / "large.pcap"
    with large.open("wb") as file:
        file.truncate(10 << 30)
    give(browser, "Capture", large)
    assert "512 MiB at most" in told(browser, "Capture", "10 GiB")
    broken = tmp_path / "broken.toml"
    broken.write_text("title = \n")
    give(browser, "Platform", broken)
    told(browser, "Platform", "not valid TOML")
    empty = tmp_path / "empty.toml"
    empty.write_text("")
    give(browser, "Scenario", empty)
    told(browser, "Scenario", "empty.toml is empty")
    # The page goes on with what it had.
    browser.execute_script("window.skipline.set('a', 'cores', '2')")
    assert settle(browser)["state"] == "ended"


def with_short_run(scenario: str) -> str:
    """A scenario whose run is short: its table of the run replaced."""
    lines = "\n".join(f"{key.removeprefix('run.')} = {value}" for key, value in SHORT.items())
    without = re.sub(r"^\[run\]\n(?:(?!\[).*\n?)*", "", scenario, flags=re.MULTILINE)
    return f"{without}\n[run]\n{lines}\n"


def changed(browser: webdriver.Chrome, part: str) -> dict[str, str]:
    """Wait until side A is configured with `part`, and let it settle; return what is known."""
    configured = "return JSON.stringify(window.skipline.configs.a.value)"
    until(browser, lambda b: part in b.execute_script(configured))
    return settle(browser)


def test_a_scenario_of_ones_own_runs_and_is_part_of_the_link(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    open_short(browser)
    own = tmp_path / "own.toml"
    text = (REPOSITORY / L2FWD).read_text(encoding="utf-8")
    own.write_text(with_short_run(text.replace("rx_descriptors = 4096", "rx_descriptors = 256")))
    give(browser, "Scenario", own)
    shown = changed(browser, "own.toml")
    assert shown["state"] == "ended", shown["refusal"]
    assert numbers(json.loads(shown["text"])) == numbers(json.loads(native(str(own), {})))
    until(browser, lambda b: "own.toml" in b.current_url and "text=" in b.current_url)


def test_a_server_of_ones_own_is_simulated(browser: webdriver.Chrome, tmp_path: Path) -> None:
    open_short(browser)
    facts = (REPOSITORY / "platforms" / "skylake-gold-6140.toml").read_text(encoding="utf-8")
    server = tmp_path / "my-server.toml"
    server.write_text(re.sub(r"^title = .*$", 'title = "My server"', facts, count=1, flags=re.M))
    give(browser, "Platform", server)
    shown = changed(browser, "my-server.toml")
    assert shown["state"] == "ended", shown["refusal"]
    settings = {**SHORT, "rx_descriptors": "512", "platform": str(server)}
    assert numbers(json.loads(shown["text"])) == numbers(json.loads(native(L2FWD, settings)))
    note = browser.find_element(By.ID, "exports").text
    assert "A link does not contain my-server.toml" in note


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_capture_is_replayed(
    browser: webdriver.Chrome, tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    open_short(browser)
    capture = tmp_path / "traffic.pcap"
    frames = [bytes(60 + 97 * number % 1400) for number in range(400)]
    write_pcap(capture, [Packet(1000 * number, frame) for number, frame in enumerate(frames)])
    capture.write_bytes(pack(capture.read_bytes()))
    give(browser, "Capture", capture)
    shown = changed(browser, "traffic.pcap")
    assert shown["state"] == "ended", shown["refusal"]
    settings = {**SHORT, "rx_descriptors": "512", "traffic.pcap": str(capture)}
    assert numbers(json.loads(shown["text"])) == numbers(json.loads(native(L2FWD, settings)))
