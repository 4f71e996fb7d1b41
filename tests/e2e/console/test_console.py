# SPDX-License-Identifier: BSD-3-Clause
"""The console of a running gateway, in a real browser next to it."""

import subprocess

from selenium.webdriver.common.keys import Keys

from browser import Browser
from conftest import config_for
from lab import CLOUD, wait_until
from peers import Publisher

ALARMS = "#page-alarms .table"
HOSTILE = "plant/<img src=x onerror=document.title='owned'>/temperature"
TOKEN = "0123456789abcdef0123456789abcdef"


def serves(lab, address):
    """Whether a TCP port is open in the gateway's namespace."""
    return f" {address} ".encode() in lab.run("gw", "ss", "-tlnH").stdout


def console(lab, folder, url):
    """A browser in the gateway's namespace, where the caller must be."""
    address = url.split("//")[1].rstrip("/")
    wait_until("the monitor to listen", lambda: serves(lab, address), 30)
    return Browser(folder=folder)


def publish(lab, *values):
    p = Publisher(lab, CLOUD, client_id="oven-7")
    p.finish([p.publish(topic, text, 1) for topic, text in values])


def test_alarm_of_a_device_appears_in_the_page(lab, gateway, tmp_path):
    g = gateway({**config_for(), "monitoring": {"listen": "127.0.0.1:9464"}})
    url = "http://127.0.0.1:9464/"
    with lab.inside("gw"):
        browser = console(lab, tmp_path / "profile", url)
        try:
            browser.open(url)
            browser.until(lambda: browser.text("#state") in ("Ready", "1 open fault"), "state")
            assert browser.text("#instance") == g.config["name"]
            for text in ("Network devices", "Network cloud", "Network edge", "Bridge bridge0", "MQTT inspection", "connected"):
                browser.until(lambda t=text: t in browser.content("svg.topology"), text)
            browser.page("alarms")
            browser.until(lambda: browser.text(f"{ALARMS} [role=status]:last-child") == "Live", "stream of events")
            publish(lab, ("plant/oven7/temperature", "99.25"), ("plant/oven7/temperature", "20"), (HOSTILE, "81.5"))
            browser.until(lambda: len(browser.rows(ALARMS)) == 2, "alarms")
            assert [r[1:6] for r in browser.rows(ALARMS)] == [["raised", "–", "81.5", "overheat", HOSTILE],
                                                             ["raised", "–", "99.25", "overheat", "plant/oven7/temperature"]]
            assert browser.rows(ALARMS)[0][6].startswith("oven-7, 10.99.0.1:")
            browser.until(lambda: browser.script("return document.querySelector('#page-alarms .plot').getAttribute('aria-valuetext')") !=
                          "no values yet", "rates")
            browser.page("rules")
            browser.until(lambda: [r[8] for r in browser.rows("#page-rules")] == ["3"], "matches")
            browser.page("events")
            browser.until(lambda: ["alarm", "connection"] == sorted({r[1] for r in browser.rows("#page-events")} & {"alarm", "connection"}), "events")
            browser.page("configuration")
            browser.until(lambda: "name: overheat" in browser.text("#page-configuration"), "configuration")
            browser.page("traffic")
            browser.until(lambda: len(browser.rows("#page-traffic .table")) >= 3, "ports")
            assert not browser.all("main img") and "owned" not in browser.driver.title
            requested = browser.script("return performance.getEntriesByType('resource').map((e) => e.name)")
            assert requested and all(r.startswith(url) for r in requested)
            assert browser.errors() == []
            g.stop()
            browser.until(lambda: browser.text("#state") in ("Not running", "Not reachable"), "end of the gateway")
        finally:
            browser.close()


def test_beyond_loopback_the_page_needs_tls_and_a_token(lab, gateway, tmp_path):
    certificate, key, token = (tmp_path / n for n in ("cert.pem", "key.pem", "token"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=gateway", "-keyout", key,
                    "-out", certificate, "-addext", "subjectAltName=IP:10.98.0.1"], check=True, stderr=subprocess.DEVNULL)
    token.write_text(TOKEN + "\n")
    g = gateway({**config_for(), "monitoring": {"listen": "10.98.0.1:9464", "tls_certificate": str(certificate), "tls_key": str(key),
                                                "token_file": str(token)}})
    url = "https://10.98.0.1:9464/"
    with lab.inside("gw"):
        browser = console(lab, tmp_path / "profile", url)
        try:
            browser.open(url)
            browser.until(lambda: browser.all("#token[open]"), "dialog")
            browser.keys("0" * 32, Keys.ENTER)
            browser.until(lambda: "does not accept" in browser.text("#token-error"), "rejection")
            browser.keys(TOKEN, Keys.ENTER)
            browser.until(lambda: browser.text("#instance") == g.config["name"], "name")
            browser.page("alarms")
            browser.until(lambda: browser.text(f"{ALARMS} [role=status]:last-child") == "Live", "stream of events")
            publish(lab, ("plant/oven7/temperature", "99.25"))
            browser.until(lambda: len(browser.rows(ALARMS)) == 1, "alarm")
            assert browser.errors() == []
        finally:
            browser.close()
