"""The explorer's page by the keyboard alone: everything is reached, seen and worked."""

from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser_window import DESK, PHONE
from flow.explorer_page import configure, open_short, says, settle, until

# Elements that a keyboard stops at, in the order of the document.
STOPS = """
const kinds = 'a[href], button, input, select, summary, [tabindex]';
window.stops = [...document.querySelectorAll(kinds)].filter(one =>
  one.tabIndex >= 0 && !one.disabled && one.checkVisibility());
return window.stops.map(one => one.outerHTML.slice(0, 90));
"""
# The stop that has the focus, and whether one sees that it has it.
FOCUS = """
const one = document.activeElement, style = getComputedStyle(one);
const box = one.getBoundingClientRect();
return {
  number: window.stops.indexOf(one),
  html: one.outerHTML.slice(0, 90),
  ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
  inside: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0,
};
"""


def keys(browser: webdriver.Chrome, *pressed: str) -> None:
    actions = ActionChains(browser)
    for key in pressed:
        actions.send_keys(key)
    actions.perform()


def focus(browser: webdriver.Chrome, selector: str) -> None:
    browser.execute_script("document.querySelector(arguments[0]).focus()", selector)


def focused(browser: webdriver.Chrome) -> dict[str, Any]:
    found: dict[str, Any] = browser.execute_script(FOCUS)
    return found


def setting(browser: webdriver.Chrome, key: str, side: str = "a") -> str | None:
    found: str | None = browser.execute_script(
        "return window.skipline.configs[arguments[1]].value?.settings[arguments[0]] ?? null",
        key,
        side,
    )
    return found


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_tab_reaches_everything_in_order_and_shows_where_it_is(
    browser: webdriver.Chrome, size: tuple[int, int]
) -> None:
    open_short(browser, size)
    browser.find_element(By.ID, "compare").click()
    settle(browser, "b")
    browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    stops = browser.execute_script(STOPS)
    assert len(stops) > 60
    # A script puts the focus at the beginning; only keys make it seen.
    focus(browser, ".skip")
    keys(browser, Keys.TAB)
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
    seen = [focused(browser)]
    for _ in stops[1:]:
        keys(browser, Keys.TAB)
        seen.append(focused(browser))
    assert [one["number"] for one in seen] == list(range(len(stops)))
    assert [one["html"] for one in seen if not one["ring"]] == []
    assert [one["html"] for one in seen if not one["inside"]] == []


def test_the_first_stop_skips_to_the_numbers(browser: webdriver.Chrome) -> None:
    open_short(browser)
    focus(browser, ".skip")
    keys(browser, Keys.ENTER)
    assert browser.switch_to.active_element.get_attribute("id") == "main"
    keys(browser, Keys.TAB)
    assert "tile" in (browser.switch_to.active_element.get_attribute("class") or "")


def test_sliders_fields_and_choices_are_worked_by_keys(browser: webdriver.Chrome) -> None:
    open_short(browser)
    focus(browser, '[data-key="rx_descriptors"] input[type=range]')
    keys(browser, Keys.ARROW_LEFT)
    assert setting(browser, "rx_descriptors") == "256"
    said = browser.switch_to.active_element.get_attribute("aria-valuetext")
    assert said == "256 descriptors"
    keys(browser, Keys.TAB, "128", Keys.ENTER)
    until(browser, lambda b: setting(b, "rx_descriptors") == "128")
    focus(browser, '[data-key="core_way_mask"] button')
    keys(browser, Keys.SPACE)
    until(browser, lambda b: setting(b, "core_way_mask") == "0x3ff")
    assert browser.switch_to.active_element.get_attribute("aria-pressed") == "false"
    focus(browser, '[data-key="platform"] select')
    keys(browser, "ice")
    until(browser, lambda b: (setting(b, "platform") or "").startswith("ice-lake"))
    assert settle(browser)["state"] == "ended"
    focus(browser, '[data-key="platform"] .knob-head button')
    keys(browser, Keys.ENTER)
    until(browser, lambda b: setting(b, "platform") is None)
    assert settle(browser)["state"] == "ended"


def test_a_key_is_found_and_switched_by_keys(browser: webdriver.Chrome) -> None:
    open_short(browser)
    focus(browser, ".more input[type=search]")
    keys(browser, "flow_control")
    place = '.more [data-key="flow_control"] input'
    until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, place))
    focus(browser, place)
    keys(browser, Keys.SPACE)
    until(browser, lambda b: setting(b, "flow_control") == "true")
    assert settle(browser)["state"] == "ended"


def test_tiles_comparison_and_theme_are_buttons(browser: webdriver.Chrome) -> None:
    open_short(browser)
    focus(browser, "[data-metric=throughput_gbps]")
    keys(browser, Keys.ENTER)
    pressed = (By.CSS_SELECTOR, ".tile[aria-pressed=true]")
    until(
        browser,
        lambda b: b.find_element(*pressed).get_attribute("data-metric") == "throughput_gbps",
    )
    focus(browser, "#compare")
    keys(browser, Keys.SPACE)
    until(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".tabs"))
    focus(browser, ".tabs .side-a")
    keys(browser, Keys.ENTER)
    until(browser, lambda b: b.find_elements(By.ID, "controls-a"))
    before = browser.execute_script("return document.documentElement.dataset.theme")
    focus(browser, "#theme")
    keys(browser, Keys.ENTER)
    until(
        browser,
        lambda b: b.execute_script("return document.documentElement.dataset.theme") != before,
    )
    keys(browser, Keys.ENTER)


def test_a_word_explains_itself_when_it_has_the_focus(browser: webdriver.Chrome) -> None:
    open_short(browser)
    focus(browser, '[data-key="ddio_ways"] .term')
    tip = browser.find_element(By.CSS_SELECTOR, '[data-key="ddio_ways"] .tip')
    until(browser, lambda _: tip.is_displayed() and "DDIO" in tip.text)
    keys(browser, Keys.ESCAPE)
    until(browser, lambda _: not tip.is_displayed())


def test_the_tour_is_walked_by_keys_and_gives_the_focus_back(browser: webdriver.Chrome) -> None:
    open_short(browser)
    configure(browser, "examples/offload-copy.toml", {})
    focus(browser, "#tour")
    keys(browser, Keys.ENTER)
    heading = (By.ID, "tour-title")
    titles = []
    for stop in range(5):
        says(browser, ".tour-count", f"Stop {stop + 1} of 5")
        # The focus moves once the stop is drawn.
        until(browser, lambda b: b.find_element(*heading) == b.switch_to.active_element)
        titles.append(browser.find_element(*heading).text)
        assert len(browser.find_elements(By.CSS_SELECTOR, ".toured")) == 1
        if stop < 4:
            focus(browser, ".tour .primary")
            keys(browser, Keys.ENTER)
    assert titles == ["What DDIO is", "The leak", "Ways", "Rings", "Neighbours"]
    keys(browser, Keys.ESCAPE)
    until(browser, lambda b: not b.find_elements(*heading))
    assert browser.switch_to.active_element.get_attribute("id") == "tour"
