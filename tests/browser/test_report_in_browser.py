"""The report in a real browser: silent, self-contained, usable by mouse, keys and finger."""

import time

import pytest
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser.browser import SCREENS, look, requests, screenshot
from tests.browser.conftest import PICTURES

PAGES = ["ordinary", "complete", "hostile", "labels"]


def visit(browser, address, **wishes):
    look(browser, **wishes)
    browser.get_log("browser")
    requests(browser)
    browser.get(address)


def shown(browser):
    """Return the names of the columns that the table shows, from top to bottom."""
    return browser.execute_script(
        "return [...document.querySelectorAll('#columns-table tbody tr')]"
        ".filter(row => row.offsetHeight > 0).map(row => row.dataset.name)"
    )


def no_alert(browser):
    with pytest.raises(NoAlertPresentException):
        browser.switch_to.alert  # noqa: B018


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("page", PAGES)
def test_pages_are_silent_fit_the_screen_and_load_nothing(browser, pages, page, screen, scheme):
    visit(browser, pages[page], screen=screen, scheme=scheme)
    no_alert(browser)
    assert requests(browser) == [pages[page]]
    assert browser.get_log("browser") == []
    wide, window = browser.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth]"
    )
    assert wide <= window
    screenshot(browser, PICTURES / f"{page}-{screen}-{scheme}.png")


def test_colours_follow_the_readers_wish(browser, pages):
    found = []
    for scheme in ("light", "dark"):
        visit(browser, pages["ordinary"], scheme=scheme)
        found.append(
            browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        )
    assert found[0] != found[1]


def test_nothing_of_a_hostile_table_runs_or_becomes_markup(browser, pages):
    for page in ("hostile", "labels"):
        visit(browser, pages[page])
        time.sleep(0.2)
        no_alert(browser)
        counts = browser.execute_script(
            "return [document.scripts.length, document.images.length,"
            " document.querySelectorAll('[onload], [onerror], b, iframe, object').length,"
            " document.styleSheets.length]"
        )
        assert counts == [1, 0, 0, 1]


def test_the_policy_stops_scripts_that_are_not_its_own(browser, pages):
    visit(browser, pages["ordinary"])
    browser.execute_script(
        "const own = document.createElement('script');"
        "own.textContent = 'window.broken = true'; document.body.append(own);"
        "const image = '<img src=x onerror=\"window.broken = true\">';"
        "document.body.insertAdjacentHTML('beforeend', image)"
    )
    time.sleep(0.2)
    assert browser.execute_script("return window.broken") is None
    browser.get_log("browser")  # the refusals, which are meant


def test_a_hundred_kilobytes_of_name_stay_within_their_column(browser, pages):
    visit(browser, pages["hostile"])
    height = browser.execute_script(
        "return Math.max(...[...document.querySelectorAll('#columns-table tbody tr')]"
        ".map(row => row.offsetHeight))"
    )
    assert height < 260


def test_columns_are_sorted_by_mouse(browser, pages):
    visit(browser, pages["ordinary"])
    before = shown(browser)
    head = browser.find_element(By.CSS_SELECTOR, "th[data-key=name]")
    head.find_element(By.TAG_NAME, "button").click()
    assert shown(browser) == sorted(before)
    assert head.get_attribute("aria-sort") == "ascending"
    head.find_element(By.TAG_NAME, "button").click()
    assert shown(browser) == sorted(before, reverse=True)
    missing = browser.find_element(By.CSS_SELECTOR, "th[data-key=missing] button")
    missing.click()
    assert shown(browser)[0] == "alcalinity_of_ash"
    assert head.get_attribute("aria-sort") is None


def test_everything_works_by_keys_alone(browser, pages):
    visit(browser, pages["ordinary"])
    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys(Keys.TAB)
    skip = browser.switch_to.active_element
    assert skip.text == "Skip to the content"
    skip.send_keys(Keys.ENTER)
    assert browser.current_url.endswith("#main")
    reached = []
    for _ in range(40):
        active = browser.switch_to.active_element
        reached.append(active.get_attribute("id") or active.text.strip())
        if active.tag_name == "button" and active.text == "Missing":
            break
        active.send_keys(Keys.TAB)
    assert {"filter", "holes", "Column"} <= set(reached)
    outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineWidth")
    assert outline == "3px"
    active.send_keys(Keys.SPACE)
    assert shown(browser)[0] == "alcalinity_of_ash"


def test_columns_are_found_by_part_of_their_name(browser, pages):
    visit(browser, pages["ordinary"])
    field = browser.find_element(By.ID, "filter")
    field.send_keys("PHENOLS")
    assert shown(browser) == ["total_phenols", "nonflavanoid_phenols"]
    assert browser.find_element(By.ID, "count").text == "2 of 13 columns"
    field.send_keys(Keys.CONTROL, "a", Keys.DELETE)
    field.send_keys("<b>no such")
    assert shown(browser) == []
    assert browser.find_element(By.ID, "count").text == "0 of 13 columns"


@pytest.mark.parametrize("screen", SCREENS)
def test_five_hundred_columns_stay_usable(browser, pages, screen):
    visit(browser, pages["hostile"], screen=screen)
    assert len(shown(browser)) == 50
    more = browser.find_element(By.CSS_SELECTOR, "#more button")
    assert more.text == "Show all 500 columns"
    more.click()
    assert len(shown(browser)) == 500
    assert not more.is_displayed()
    browser.find_element(By.ID, "filter").send_keys("<script>")
    assert shown(browser) == ["<script>alert(1)</script>"]


def test_only_columns_with_holes(browser, pages):
    visit(browser, pages["complete"])
    assert shown(browser) == ["a", "b"]
    browser.find_element(By.ID, "holes").click()
    assert shown(browser) == []


def test_settings_open_and_lines_are_copied(browser, pages):
    visit(browser, pages["ordinary"])
    details = browser.find_element(By.TAG_NAME, "details")
    details.find_element(By.TAG_NAME, "summary").click()
    assert "random_state" in details.text
    button = browser.find_element(By.CSS_SELECTOR, ".code button")
    button.click()
    time.sleep(0.1)
    assert button.text in ("Copied", "Selected")


def test_without_scripts_everything_is_there(browser, pages):
    visit(browser, pages["hostile"], scripts=False)
    look(browser)
    assert not browser.find_element(By.ID, "controls").is_displayed()
    assert len(browser.find_elements(By.CSS_SELECTOR, "#columns-table tbody tr")) == 500
    assert browser.find_elements(By.CSS_SELECTOR, "#columns-table tbody tr[hidden]") == []


def test_print_has_all_and_fits_the_paper(browser, pages):
    visit(browser, pages["ordinary"])
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not browser.find_element(By.TAG_NAME, "nav").is_displayed()
    assert not browser.find_element(By.ID, "controls").is_displayed()
    screenshot(browser, PICTURES / "ordinary-print.png")
    pdf = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert len(pdf) > 20_000


def test_notebooks_show_it_in_a_frame(browser, pages):
    visit(browser, pages["notebook"])
    assert requests(browser)[0] == pages["notebook"]
    browser.switch_to.frame(browser.find_element(By.TAG_NAME, "iframe"))
    assert "missing cells, filled in" in browser.find_element(By.TAG_NAME, "h1").text
    assert len(shown(browser)) == 13
    browser.switch_to.default_content()
    assert browser.get_log("browser") == []
