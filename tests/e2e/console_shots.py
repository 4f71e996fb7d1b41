# SPDX-License-Identifier: BSD-3-Clause
"""The screenshots of the documents: the console of a gateway in the laboratory, with 20 devices that send for two minutes.

    build-venv/bin/python tests/e2e/console_shots.py docs/console [MINUTES]
"""

import json
import math
import sys
import tempfile
import threading
import time
from pathlib import Path

from browser import Browser
from conftest import config_for
from lab import CLOUD, Gateway, Lab, wait_until
from peers import Publisher
from small_png import smaller

URL = "http://127.0.0.1:9464/"
DEVICES, PERIOD_S = 20, 0.05
RULES = [
    {"name": "overheat", "topic": "plant/+/temperature", "value": {"json": "$.celsius"}, "raise": "> 80", "clear": "< 75",
     "repeat": "on_change", "severity": "critical", "publish": {"topic": "alarm/{topic}"}},
    {"name": "pressure", "topic": "plant/+/pressure", "value": "text", "raise": "> 6.5", "clear": "< 6",
     "repeat": "on_change", "severity": "minor", "publish": {"topic": "alarm/{topic}"}},
]
# name: page, width, height, colors
SHOTS = {"overview-light": ("overview", 1380, 1120, "light"), "overview-dark": ("overview", 1380, 1120, "dark"),
         "alarms": ("alarms", 1200, 860, "light"), "connections": ("connections", 1200, 640, "light"), "health": ("health", 1200, 860, "light"),
         "narrow": ("overview", 360, 900, "dark")}


class Devices:
    """Ovens with a temperature that sometimes exceeds the threshold, and a pressure."""

    def __init__(self, lab):
        self.clients = [Publisher(lab, CLOUD, client_id=f"oven-{n + 1:02}") for n in range(DEVICES)]
        self.begin = time.monotonic()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ended.wait(PERIOD_S):
            self.step()

    def step(self):
        t = time.monotonic() - self.begin
        for n, c in enumerate(self.clients):
            if (int(t / PERIOD_S) + n) % 2 and t % 60 < 45:
                continue  # more traffic in the last quarter of each minute
            hot = 62 + 17 * math.sin(t / 30 + n) + 4 * math.sin(t / 3 + 2 * n)
            c.client.publish(f"plant/oven{n + 1}/temperature", json.dumps({"celsius": round(hot, 1)}))
            if n % 5 == 0:
                c.client.publish(f"plant/oven{n + 1}/pressure", f"{5.4 + 1.3 * math.sin(t / 20 + n):.2f}")

    def stop(self):
        self.ended.set()
        self.thread.join()
        for c in self.clients:
            c.finish()


def shoot(browser, folder):
    for name, (page, width, height, colors) in SHOTS.items():
        browser.size(width, height)
        browser.media(prefers_color_scheme=colors)
        browser.page(page)
        yield  # the page gets its data
        file = folder / f"{name}.png"
        file.write_bytes(smaller(browser.driver.get_screenshot_as_png()))
        print(f"{file}: {file.stat().st_size} bytes")


def main(folder, minutes):
    folder.mkdir(parents=True, exist_ok=True)
    lab = Lab("shots")
    lab.up()
    browser = devices = gateway = None
    try:
        with tempfile.TemporaryDirectory() as work, lab.inside("gw"):
            gateway = Gateway(lab, work, {**config_for(rules=RULES), "name": "plant", "monitoring": {"listen": URL[7:-1]}})
            gateway.start()
            wait_until("the monitor", lambda: URL[7:-1].encode() in lab.run("gw", "ss", "-tlnH").stdout, 30)
            devices = Devices(lab)
            time.sleep(60 * minutes)  # a history for the charts
            browser = Browser(folder=f"{work}/profile")
            browser.open(URL)
            browser.script("const s = document.querySelector('.choices select'); s.selectedIndex = 0; s.dispatchEvent(new Event('change'))")
            for _ in shoot(browser, folder):
                time.sleep(6)
    finally:
        if devices:
            devices.stop()
        if browser:
            browser.close()
        if gateway:
            gateway.stop()
        lab.down()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 2.5)
