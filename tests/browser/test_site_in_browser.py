"""The documentation in a real browser, where `make docs` has built it: silent and offline."""

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.browser.browser import SCREENS, look, requests, screenshot
from tests.browser.conftest import PICTURES

SITE = Path(__file__).parents[2] / "out" / "docs"
PAGES = sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html"))
pytestmark = pytest.mark.skipif(not PAGES, reason="the site is not built: make docs")
#: Pages whose pictures are kept, to be looked at.
KEPT = ("index.html", "tutorial.html", "gallery.html", "faq.html", "api/completers.html")


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("page", PAGES)
def test_pages_are_silent_fit_the_screen_and_load_nothing_from_elsewhere(browser, page, screen):
    look(browser, screen=screen)
    browser.get_log("browser")
    requests(browser)
    browser.get((SITE / page).as_uri())
    here = SITE.as_uri()
    assert [address for address in requests(browser) if not address.startswith(here)] == []
    assert browser.get_log("browser") == []
    wide, window, broken = browser.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth,"
        " [...document.images].filter(image => !image.naturalWidth).map(image => image.src)]"
    )
    assert wide <= window
    assert broken == []
    if page in KEPT:
        name = page.removesuffix(".html").replace("/", "-")
        screenshot(browser, PICTURES / f"site-{name}-{screen}.png")


def test_search_works_without_a_server(browser):
    look(browser)
    browser.get((SITE / "search.html").as_uri() + "?q=landmark")
    found = WebDriverWait(browser, 20).until(
        lambda driver: driver.find_elements(By.CSS_SELECTOR, "#search-results ul.search li a")
    )
    assert any("landmark" in link.text.lower() for link in found)
