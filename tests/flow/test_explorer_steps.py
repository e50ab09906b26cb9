"""Step mode of the explorer's page: what `skipline run --trace-packet` has, of one side or two."""

import json
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from command_line import L2FWD
from flow.explorer_page import SHORT, configure, open_short, says, settle, until
from skipline import _core

PACKET = 600
SETTINGS = {**SHORT, "rx_descriptors": "512"}
OFFLOAD = "examples/offload-copy.toml"


def follow(browser: webdriver.Chrome, number: int) -> None:
    field = browser.find_element(By.ID, "step-number")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(str(number), Keys.ENTER)


def listed(browser: webdriver.Chrome, side: str) -> list[list[str]]:
    """The steps of a side as the page shows them, without their times."""
    rows = "return [...document.querySelectorAll(arguments[0])].map(row => "
    cells = "[...row.children].slice(1).map(cell => cell.textContent))"
    found: list[list[str]] = browser.execute_script(
        rows + cells, f"[data-story={side}] .events > li"
    )
    return found


def as_shown(event: dict[str, Any]) -> list[str]:
    evicted = event["evicted"]
    read = "read" if evicted and evicted["read"] else "unread"
    return [
        event["agent"],
        event["operation"],
        f"{event['part']} {event['line']}" if event.get("part") else f"line {event['line']}",
        event["found"],
        f"{evicted['owner']}, {evicted['state']}, {read}" if evicted else "",
    ]


def expected(settings: dict[str, str]) -> list[list[str]]:
    result = json.loads(_core.run(L2FWD, list(settings.items()), 1, PACKET))
    assert result["trace"]
    return [as_shown(event) for event in result["trace"]]


def test_a_packet_is_followed_back_and_forth(browser: webdriver.Chrome) -> None:
    open_short(browser)
    follow(browser, PACKET)
    events = until(browser, lambda b: b.find_element(By.CSS_SELECTOR, ".events"))
    steps = listed(browser, "a")
    assert steps == expected(SETTINGS)
    for key, place in [
        (Keys.ARROW_DOWN, 2),
        (Keys.ARROW_RIGHT, 3),
        (Keys.ARROW_UP, 2),
        (Keys.END, len(steps)),
        (Keys.ARROW_DOWN, len(steps)),
        (Keys.HOME, 1),
        (Keys.ARROW_LEFT, 1),
    ]:
        events.send_keys(key)
        says(browser, "#step-at", f"step {place} of {len(steps)}")
        current = browser.find_element(By.CSS_SELECTOR, ".events [aria-current=step]")
        assert current.text.split("\n")[1] == steps[place - 1][0]
        said = browser.find_element(By.CSS_SELECTOR, ".story-now > p").text
        assert steps[place - 1][1] in said and steps[place - 1][3] in said


def test_two_sides_are_followed_together(browser: webdriver.Chrome) -> None:
    open_short(browser)
    browser.find_element(By.ID, "compare").click()
    browser.execute_script("window.skipline.set('b', 'ddio_ways', '0')")
    settle(browser, "b")
    follow(browser, PACKET)
    until(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".events")) == 2)
    a, b = listed(browser, "a"), listed(browser, "b")
    assert a == expected(SETTINGS)
    assert b == expected({**SETTINGS, "ddio_ways": "0"})
    browser.find_element(By.CSS_SELECTOR, "[data-story=a] .events").send_keys(Keys.ARROW_DOWN)
    until(browser, lambda _: browser.find_element(By.ID, "step-at").text.startswith("step 2 of "))
    here = browser.find_elements(By.CSS_SELECTOR, ".events [aria-current=step]")
    assert [row.text.split("\n")[1] for row in here] == [a[1][0], b[1][0]]
    assert in_all(browser) == differences(a, b)
    # A change of one side forgets what was followed there alone.
    browser.execute_script("window.skipline.set('b', 'ddio_ways', '4')")
    until(browser, lambda _: len(browser.find_elements(By.CSS_SELECTOR, ".events")) == 1)
    assert listed(browser, "a") == a


def in_all(browser: webdriver.Chrome) -> dict[tuple[str, ...], list[int]]:
    """The table of the difference: operations of each kind of A, of B, and B less A."""
    rows = browser.find_elements(By.CSS_SELECTOR, "#steps-in-all tbody tr")
    cells = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows[:-1]]
    signed = str.maketrans("−", "-")
    return {tuple(row[:3]): [int(cell.translate(signed)) for cell in row[3:]] for row in cells}


def differences(a: list[list[str]], b: list[list[str]]) -> dict[tuple[str, ...], list[int]]:
    counts: dict[tuple[str, ...], list[int]] = {}
    for place, steps in enumerate((a, b)):
        for agent, operation, _, found, _ in steps:
            kind = (agent.rstrip("0123456789"), operation, found.partition(", way")[0])
            counts.setdefault(kind, [0, 0])[place] += 1
    return {kind: [of_a, of_b, of_b - of_a] for kind, (of_a, of_b) in counts.items()}


def test_a_packet_that_did_not_come_is_told(browser: webdriver.Chrome) -> None:
    open_short(browser)
    follow(browser, 9_999_999)
    told = until(browser, lambda b: b.find_element(By.CSS_SELECTOR, "#steps [role=alert]")).text
    assert told.startswith("There is no packet 9999999") and "Choose a lower number." in told


@pytest.mark.parametrize("number", [40])
def test_a_descriptor_is_followed_by_its_phases(browser: webdriver.Chrome, number: int) -> None:
    open_short(browser)
    assert configure(browser, OFFLOAD, {})["state"] == "ended"
    until(browser, lambda b: b.find_element(By.ID, "step-kind").get_attribute("value") != "packet")
    follow(browser, number)
    until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".events"))
    result = json.loads(_core.run(OFFLOAD, [], 1, trace_descriptor=number))
    trace = result["descriptor_trace"]
    assert listed(browser, "a") == [as_shown(event) for event in trace["events"]]
    rows = browser.find_elements(By.CSS_SELECTOR, ".story-now tbody tr td:first-child")
    assert [row.text for row in rows] == [phase["phase"] for phase in trace["phases"]]
