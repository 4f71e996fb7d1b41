# SPDX-License-Identifier: BSD-3-Clause
"""Chromium without a display, for tests of the console and for its screenshots."""

import re
import time

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains

from lab import PATIENCE

WAIT = 20 * PATIENCE
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", "--force-device-scale-factor=1", "--lang=en-US")


class Browser:
    def __init__(self, folder=None):
        """folder: profile of the browser"""
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for argument in ARGUMENTS + ((f"--user-data-dir={folder}",) if folder else ()):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.accept_insecure_certs = True
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.script = self.driver.execute_script
        self.size(1280, 900)

    def close(self):
        self.driver.quit()

    def size(self, width, height):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def media(self, **features):
        """prefers_color_scheme="dark", ...; those that are not given have the values of the system."""
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": listed})

    def open(self, url):
        """A page without the storage of one before."""
        self.driver.get("about:blank")
        self.errors()
        self.driver.get(url)
        self.script("sessionStorage.clear(); localStorage.clear();")
        self.driver.get("about:blank")
        self.driver.get(url)

    def errors(self):
        """Lines of the browser's console since the last call, without those about answers that are no fault of the page."""
        return [e["message"] for e in self.driver.get_log("browser")
                if e["level"] in ("SEVERE", "WARNING") and not re.search(r"(/readyz|/api/v1/\S+) - Failed to load resource", e["message"])]

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def text(self, selector):
        """Visible text of the first element, with plain blanks; "" without one."""
        return self.script("const e = document.querySelector(arguments[0]); return e ? e.innerText.replaceAll('\\xa0', ' ') : ''", selector)

    def content(self, selector):
        """The same, without line breaks and with what is not visible."""
        return self.script("const e = document.querySelector(arguments[0]); return e ? e.textContent.replaceAll('\\xa0', ' ') : ''", selector)

    def rows(self, selector):
        """Texts of the cells of a table, as lists."""
        return self.script("return [...document.querySelectorAll(arguments[0] + ' tbody tr')].map("
                           "(tr) => [...tr.children].map((td) => td.textContent.replaceAll('\\xa0', ' ')))", selector)

    def page(self, name):
        self.script("location.hash = arguments[0]", name)
        self.until(lambda: self.all(f"#page-{name}:not([hidden])"), f"page {name}")

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def focused(self):
        """A short name of the element that has the focus."""
        return self.script("const e = document.activeElement; return `${e.tagName.toLowerCase()}#${e.id}.${e.className}`")

    def until(self, condition, what):
        """Waits for a condition; returns its value."""
        end = time.monotonic() + WAIT
        while True:
            try:
                value = condition()
            except StaleElementReferenceException:
                value = None
            if value:
                return value
            assert time.monotonic() < end, f"does not come: {what}; state {self.text('#state')!r}, console {self.errors()}"
            time.sleep(0.05)
