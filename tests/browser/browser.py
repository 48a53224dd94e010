"""A headless Chromium that notes what a page asks of the network and says on its console."""

from __future__ import annotations

import base64
import json
import os
import shutil
from contextlib import contextmanager

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
#: name: width, height, pixels per point, mobile
SCREENS = {"phone": (390, 844, 2, True), "desktop": (1280, 900, 1, False)}


@contextmanager
def chromium(*switches):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in ("--headless=new", "--hide-scrollbars", "--force-color-profile=srgb", *switches):
        options.add_argument(switch)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to be sandboxed as root
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def look(driver, screen="desktop", scheme="light", scripts=True):
    """Set the size of the window and what the page is told of the reader's wishes."""
    width, height, pixels, mobile = SCREENS[screen]
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": pixels, "mobile": mobile},
    )
    wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wishes.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})


def requests(driver):
    """Return the addresses that were asked for since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [event["params"]["request"]["url"] for event in events
            if event["method"] == "Network.requestWillBeSent"]  # fmt: skip
    return [url for url in sent if not url.startswith(("data:", "about:"))]


def screenshot(driver, path, whole=True):
    """Keep a picture of the whole page, or of what the window shows."""
    found = driver.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole} | (
            {"clip": _page(driver)} if whole else {}))  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(found["data"]))


def _page(driver):
    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
