"""Reports open without a network, draw every figure, and fit a desk and a phone."""

import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

import skipline as skipline_package
from browser_window import DESK, PHONE, show
from command_line import L2FWD, SHORT, Skipline
from skipline.report import sweep_page
from small_experiment import write_small_evidence

# The texts of an SVG, line by line.
TEXTS = re.compile(r">([^<>]+)<")
SIZES = [DESK, PHONE]
# Figures along the axes, two of simulated against measured, one per unit of the claims' checks.
PANELS = {"pktsize-desc": 5 * 4 + 3 + 4, "ddio-tune": 5 + 3 + 2}
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


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of eight points, two of which cannot be."""
    folder = tmp_path_factory.mktemp("swept")
    axes = ("--axis", "rx_descriptors=256,8192", "--axis", "pool_buffers=4095,65535")
    ways = ("--axis", "ddio_ways=2,4")
    done = Skipline(folder)("sweep", L2FWD, *SHORT, *axes, *ways)
    assert done.code == 1 and "2 points failed" in done.err
    return folder / "results.duckdb"


@pytest.mark.parametrize("size", SIZES)
def test_a_sweep_draws_its_points_heat_maps_and_front(
    browser: webdriver.Chrome, swept: Path, size: tuple[int, int]
) -> None:
    done = Skipline(swept.parent)("report", "results.duckdb")
    assert done.code == 0, done.err
    # All points; a heat map for each of four metrics; the front.
    assert opened(browser, swept.with_suffix(".html"), size) == 1 + 4 + 1
    assert_healthy(browser, size[0])
    text = browser.find_element(By.TAG_NAME, "body").text
    for promised in ("Best trade-offs (Pareto front)", "skipline run", "Points that failed"):
        assert promised in text
    assert "packets lost, %" in text


@pytest.fixture(scope="module")
def along_one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store over one setting, with two seeds; its brief runs have not all settled."""
    folder = tmp_path_factory.mktemp("along")
    axis = ("--axis", "rx_descriptors=128,512,4096", "--repeats", "2")
    done = Skipline(folder)("sweep", L2FWD, *SHORT, *axis, "--set", "packet_bytes=1024")
    assert done.code == 0, done.err
    measured = "rx_descriptors,pcie_write_hit_rate\n128,97.9\n4096,39.3\n"
    (folder / "server.csv").write_text(measured)
    return folder / "results.duckdb"


@pytest.mark.parametrize("size", SIZES)
def test_a_sweep_over_one_setting_is_a_curve_for_each_metric(
    browser: webdriver.Chrome, along_one: Path, size: tuple[int, int]
) -> None:
    done = Skipline(along_one.parent)("report", "results.duckdb", "--measured", "server.csv")
    assert done.code == 0, done.err
    assert opened(browser, along_one.with_suffix(".html"), size) == 4
    assert_healthy(browser, size[0])
    assert browser.find_element(By.TAG_NAME, "h1").text == "L2 forwarder at 100 Gbps on a Gold 6140"
    text = browser.find_element(By.TAG_NAME, "body").text
    for promised in (
        "over receive descriptors per queue (rx_descriptors, horizontal)",
        "over 2 seeds",
        "Pale band: what the model itself may be off by",
        "Rings fit the DDIO ways at all points.",
        "The points",
        "packets lost, %",
    ):
        assert promised in text, text
    # What is best is said above, by intervals; a table by means would say something else.
    assert "Best trade-offs" not in text
    assert "server.csv" in text and "All points" not in text


def test_a_curve_is_written_as_a_picture_and_drawn_in_python(along_one: Path) -> None:
    folder = along_one.parent
    chosen = ("--metric", "pcie_write_hit_rate", "--png", "png")
    done = Skipline(folder)("report", "results.duckdb", *chosen)
    assert done.code == 0, done.err
    (file,) = (folder / "png").iterdir()
    assert file.name == "curve-pcie_write_hit_rate.png"
    two = ("--metric", "rx_dropped", "--metric", "p99", "--png", "two")
    done = Skipline(folder)("report", "results.duckdb", *two)
    assert done.code == 0, done.err
    of_two = {one.name: one.stat().st_size for one in (folder / "two").iterdir()}
    assert set(of_two) == {"curve-rx_dropped.png", "curve-latency_ns.p99.png", "curves.png"}
    # Both curves are in it, not the axes alone.
    assert of_two["curves.png"] > of_two["curve-rx_dropped.png"]
    drawn_twice = Skipline(folder)("report", "results.duckdb", *two[:-2], "--svg", "two")
    assert drawn_twice.code == 0, drawn_twice.err
    # What is offered is that of the points, not of the scenario's file.
    conditions = "99.3 Gbit/s of 1024 B packets; 1 core, 1 queue pair;"
    box = "l2-forward on the Gold 6140 with the ConnectX-5, 2 DDIO ways"
    words = " ".join(TEXTS.findall((folder / "two" / "curves.svg").read_text()))
    assert f"{conditions} {box}" in words, words
    whole, one = (
        (folder / "two" / f"{name}.svg").read_text() for name in ("curves", "curve-rx_dropped")
    )
    assert whole.count("mark-line") == 2 * one.count("mark-line") > 0
    drawn = skipline_package.plot(along_one, "pcie_write_hit_rate")
    drawn.save(folder / "again.png")
    assert (folder / "again.png").read_bytes() == file.read_bytes()
    (bundle,) = [key for key in drawn._repr_mimebundle_() if "vegalite" in key]
    assert "var(--" not in str(drawn._repr_mimebundle_()[bundle])
    with pytest.raises(skipline_package.InputError, match=r"ends with \.png or \.svg"):
        drawn.save(folder / "again.gif")


def test_pictures_of_an_interrupted_sweep_say_how_much_of_it_is_there(tmp_path: Path) -> None:
    store, short = tmp_path / "part.duckdb", {"run.batch_packets": 512, "run.max_batches": 10}
    axes = {"rx_descriptors": [128, 256]}
    for limit, told in ((1, True), (None, False)):
        skipline_package.sweep(L2FWD, axes, short, store=store, limit=limit)
        conditions = sweep_page.read(str(store), sweep_page.Choice()).conditions
        assert conditions.startswith("1 of 2 runs: the others are missing") == told


def test_a_slide_is_one_wide_figure_with_a_title_of_one_s_own(along_one: Path) -> None:
    command = Skipline(along_one.parent)
    wanted = ("--title", "Rings of the new box", "--slide")
    done = command("report", "results.duckdb", *wanted, "--svg", "slides", "--png", "slides")
    assert done.code == 0, done.err
    folder = along_one.parent / "slides"
    picture = (folder / "slide.png").read_bytes()
    assert struct.unpack(">II", picture[16:24]) == (2560, 1440)
    slide = " ".join(TEXTS.findall((folder / "slide.svg").read_text()))
    # Values that lose packets are no advice; one metric is drawn, and all are told.
    advice = ("choose 512", "hit the cache and DRAM writes", "Packets are lost with 128")
    for told in ("Rings of the new box", *advice, "99.3 Gbit/s", "mean of 2 seeds"):
        assert told in slide, slide
    page = along_one.with_suffix(".html").read_text()
    assert "<h1>Rings of the new box</h1>" in page
    assert "L2 forwarder at" not in page
    assert "mean of 2 seeds" not in (folder / "curves.svg").read_text()
    # A title is no setting: the points stay what they were.
    again = command("store", "list", "results.duckdb")
    assert "Rings of the new box" not in again.out
    assert "add --png DIR" in command("report", "results.duckdb", "--slide").err
    assert command("report", "results.duckdb", "--title", " ").code == 2


def first_records(drawn: skipline_package.Plot) -> list[dict[str, Any]]:
    """Return what the first layer of a figure draws."""
    name = drawn.spec["vconcat"][0]["layer"][0]["data"]["name"]
    found: list[dict[str, Any]] = drawn.spec["datasets"][name]
    return found


def test_the_pale_band_is_what_a_run_of_the_same_point_tells(
    along_one: Path, skipline: Skipline
) -> None:
    shutil.copy(along_one, skipline.directory / "one.duckdb")
    setting = ("--set", "packet_bytes=1024")
    axis = ("--axis", "rx_descriptors=128,512")
    done = skipline("sweep", L2FWD, *SHORT, *setting, *axis, "--store", "one.duckdb")
    assert "0 simulated, 2 reused" in done.out
    ran = skipline("run", L2FWD, *SHORT, *setting, "--set", "rx_descriptors=512")
    (told,) = re.findall(r"write hits (\S+) to (\S+) %", ran.out)
    drawn = skipline_package.plot(skipline.directory / "one.duckdb", "pcie_write_hit_rate")
    band = next(record for record in first_records(drawn) if record["x"] == 512)
    assert [f"{band[end]:.3g}" for end in ("model_low", "model_high")] == list(told)
    # The first metric is drawn, and tells what others may be: each point once even so.
    assert len(first_records(skipline_package.plot(skipline.directory / "one.duckdb"))) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ring,pcie_write_hit_rate\n1,2\n", "no column for an axis"),
        ("rx_descriptors,hits\n1,2\n", "no column for a metric"),
        ("rx_descriptors,pcie_write_hit_rate\n1,many\n", "line 2"),
    ],
)
def test_measured_points_that_cannot_be_are_refused(along_one: Path, text: str, told: str) -> None:
    (along_one.parent / "wrong.csv").write_text(text)
    done = Skipline(along_one.parent)("report", "results.duckdb", "--measured", "wrong.csv")
    assert done.code == 2 and told in done.err


def test_figures_of_a_sweep_are_written_as_pictures(swept: Path) -> None:
    command = Skipline(swept.parent)
    chosen = ("--metric", "p99", "--x", "pool_buffers", "--y", "ddio_ways")
    done = command("report", "results.duckdb", *chosen, "--svg", "svg", "--png", "png")
    assert done.code == 0, done.err
    for kind, first in (("svg", b"<svg"), ("png", b"\x89PNG")):
        files = sorted((swept.parent / kind).iterdir())
        assert [file.name for file in files] == [f"heat-map.{kind}", f"points.{kind}"]
        assert all(file.read_bytes().startswith(first) for file in files)
        assert all(b"var(--" not in file.read_bytes() for file in files)


def test_what_a_sweep_does_not_have_is_refused(swept: Path, skipline: Skipline) -> None:
    command = Skipline(swept.parent)
    assert "did you mean 'ddio_ways'" in command("report", "results.duckdb", "--x", "ddio").err
    assert command("report", "results.duckdb", "--metric", "nosuch").code == 2
    assert command("report", "results.duckdb", "--sweep", "3").code == 2
    (skipline.directory / "result.json").write_text("{}")
    assert "is not a store" in skipline("report", "result.json", "--svg", "out").err


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of all claims of a small folder: one fails, one is not judged."""
    directory = tmp_path_factory.mktemp("evidence")
    write_small_evidence(directory)
    done = Skipline(directory)("evidence", "--experiments", "evidence")
    assert done.code == 0, done.err
    return directory / "reports" / "evidence.html"


@pytest.mark.parametrize("size", SIZES)
def test_the_page_of_all_claims_draws_its_figures(
    browser: webdriver.Chrome, evidence: Path, size: tuple[int, int]
) -> None:
    # The verdicts; the checks in percent of two claims; the metric along the rings.
    assert opened(browser, evidence, size) == 3
    assert_healthy(browser, size[0])
    text = browser.find_element(By.TAG_NAME, "body").text
    for promised in ("Claims that fail", "hits at 512 are zero", "not judged", "Two rings"):
        assert promised in text


def shown_claims(browser: webdriver.Chrome) -> list[str]:
    rows = browser.find_elements(By.CSS_SELECTOR, "tr[data-claim]")
    return [str(row.get_attribute("data-claim")) for row in rows if row.is_displayed()]


def hash_of(browser: webdriver.Chrome) -> str:
    return str(browser.execute_script("return location.hash"))


def field(browser: webdriver.Chrome, name: str) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, f".filters [name={name}]")


def test_claims_are_found_by_words_and_choices_from_the_keyboard(
    browser: webdriver.Chrome, evidence: Path
) -> None:
    opened(browser, evidence, DESK)
    every = ["x-01", "x-02", "y-01", "y-02"]
    assert shown_claims(browser) == every
    field(browser, "q").send_keys("No EVER")
    assert shown_claims(browser) == ["x-02"]
    assert browser.find_element(By.CSS_SELECTOR, ".filters output").text == "1 of 4 claims"
    # An experiment is there while a claim that it judges is, and its title finds its claims.
    field(browser, "q").clear()
    field(browser, "q").send_keys("two rings")
    assert shown_claims(browser) == ["x-01", "x-02"]
    assert browser.find_element(By.ID, "two-rings").is_displayed()
    # Tab leads from the words to the sources, whose letters choose.
    field(browser, "q").send_keys(Keys.TAB)
    focused = browser.switch_to.active_element
    assert focused.get_attribute("name") == "source"
    focused.send_keys("another")
    assert shown_claims(browser) == []
    assert not browser.find_element(By.ID, "two-rings").is_displayed()
    assert "No claim" in browser.find_element(By.CSS_SELECTOR, ".filters output").text
    browser.find_element(By.CSS_SELECTOR, ".filters button").send_keys(Keys.ENTER)
    WebDriverWait(browser, DRAW_LIMIT_S).until(lambda b: shown_claims(b) == every)
    assert hash_of(browser) == ""
    assert_healthy(browser, DESK[0])


def test_the_address_keeps_what_is_looked_for(browser: webdriver.Chrome, evidence: Path) -> None:
    opened(browser, evidence, DESK)
    Select(field(browser, "verdict")).select_by_visible_text("fails")
    Select(field(browser, "basis")).select_by_visible_text("fitted")
    address = browser.current_url
    assert hash_of(browser) == "#verdict=fails&basis=fitted"
    browser.get("about:blank")
    browser.get(address)
    assert shown_claims(browser) == ["x-02"]
    # What was hidden when the page was opened is drawn once it is shown.
    browser.execute_script("location.hash = 'q=nothing'")
    WebDriverWait(browser, DRAW_LIMIT_S).until(lambda b: shown_claims(b) == [])
    browser.execute_script("location.hash = 'claim-y-01'")
    WebDriverWait(browser, DRAW_LIMIT_S).until(lambda b: "y-01" in shown_claims(b))
    assert field(browser, "q").get_attribute("value") == ""
    assert hash_of(browser) == "#claim-y-01"


def test_figures_that_a_filter_hid_are_drawn_when_it_goes(
    browser: webdriver.Chrome, evidence: Path
) -> None:
    browser.get("about:blank")
    browser.get(f"{evidence.as_uri()}#source=another")
    shown = "return [...document.querySelectorAll('[data-chart]')].filter(c => c.clientWidth)"
    WebDriverWait(browser, DRAW_LIMIT_S).until(
        lambda b: b.execute_script(f"{shown}.every(c => c.querySelector('svg'))")
    )
    hidden = browser.find_elements(By.CSS_SELECTOR, "[data-judges] [data-chart]")
    assert hidden and not any(chart.is_displayed() for chart in hidden)
    # Not by its place on the page: figures that grow move it.
    button = browser.find_element(By.CSS_SELECTOR, ".filters button")
    browser.execute_script("arguments[0].click()", button)
    WebDriverWait(browser, DRAW_LIMIT_S).until(
        lambda _: all(chart.is_displayed() for chart in hidden), "figures stay hidden"
    )
    for chart in hidden:
        browser.execute_script("arguments[0].scrollIntoView()", chart)
        drawing = WebDriverWait(chart, DRAW_LIMIT_S)
        drawing.until(lambda c: c.find_elements(By.TAG_NAME, "svg"), f"not drawn: {chart.text!r}")
        assert chart.find_element(By.TAG_NAME, "svg").size["width"] > 200


def paper_and_line(browser: webdriver.Chrome) -> tuple[str, str]:
    """Colours of the page and of the first line of a figure's axis."""
    return tuple(
        browser.execute_script(
            "return [getComputedStyle(document.body).backgroundColor,"
            "getComputedStyle(document.querySelector('.role-axis-domain line')).stroke]"
        )
    )


def test_dark_mode_follows_the_system_and_the_switch_and_is_remembered(
    browser: webdriver.Chrome, evidence: Path
) -> None:
    def prefer(scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def switch() -> WebElement:
        return browser.find_element(By.ID, "dark")

    def wait_until_pressed(pressed: str) -> None:
        # The page hears of another scheme in its next frame.
        WebDriverWait(browser, DRAW_LIMIT_S).until(
            lambda _: switch().get_attribute("aria-pressed") == pressed
        )

    try:
        prefer("light")
        # The explorer's page remembers its theme in the same place.
        show(browser, evidence, DESK)
        browser.execute_script("localStorage.clear()")
        opened(browser, evidence, DESK)
        light = paper_and_line(browser)
        prefer("dark")
        wait_until_pressed("true")
        dark = paper_and_line(browser)
        assert set(light).isdisjoint(dark)
        switch().send_keys(Keys.ENTER)
        assert paper_and_line(browser) == light
        opened(browser, evidence, DESK)
        assert paper_and_line(browser) == light
        assert switch().get_attribute("aria-pressed") == "false"
        # Back to what the system says: the page follows it again.
        switch().click()
        prefer("light")
        wait_until_pressed("false")
        assert paper_and_line(browser) == light
        assert browser.execute_script("return localStorage.getItem('skipline-theme')") is None
        assert_healthy(browser, DESK[0])
    finally:
        browser.execute_script("localStorage.clear()")
        prefer("")


def test_paper_has_the_figures_and_leaves_settings_folded(
    browser: webdriver.Chrome, short_run: Path, skipline: Skipline, tmp_path: Path
) -> None:
    assert skipline("report", str(short_run), "--out", "run.html").code == 0
    opened(browser, tmp_path / "run.html", DESK)
    folded = "return document.querySelectorAll('details.folded:not([open])').length"
    assert browser.execute_script(f"dispatchEvent(new Event('beforeprint')); {folded}") == 1
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        charts = browser.find_elements(By.CSS_SELECTOR, "[data-chart] svg")
        assert charts and all(chart.is_displayed() for chart in charts)
        assert not browser.find_element(By.CSS_SELECTOR, "details.folded").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_script("dispatchEvent(new Event('afterprint'))")


def test_paper_is_light_and_shows_what_is_folded(browser: webdriver.Chrome, evidence: Path) -> None:
    opened(browser, evidence, DESK)
    browser.execute_script("document.documentElement.dataset.theme = 'dark'")
    folded = "return document.querySelectorAll('details:not([open])').length"
    before = browser.execute_script(folded)
    assert before > 0
    during = f"dispatchEvent(new Event('beforeprint')); {folded}"
    assert browser.execute_script(during) == 0
    assert browser.execute_script(f"dispatchEvent(new Event('afterprint')); {folded}") == before
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert paper_and_line(browser)[0] == "rgb(255, 255, 255)"
        assert not browser.find_element(By.CSS_SELECTOR, ".filters").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
