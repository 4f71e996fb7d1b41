# SPDX-License-Identifier: BSD-3-Clause
"""The page of the console in a real browser, with answers that a stub of the monitor gives."""

import time

import pytest
from selenium.webdriver.common.keys import Keys

from browser import Browser
from console_stub import PORTS, Stub, alarm, alarm_event, ready

PAGES = ["overview", "alarms", "traffic", "connections", "sessions", "rules", "health", "events", "configuration"]
ALARMS = "#page-alarms .table"
HOSTILE = ["<img src=x onerror=document.title='owned'>", "<script>document.title='owned'</script>", "\u202etxet\u202c\u0007\u200b", "../../\"'`${1}{{1}}",
           "__proto__", "\ud83d\ude00" * 40, "x" * 65535, "\ud800"]
# Contrast of each visible text to what is behind it (WCAG 2.1, 1.4.3): [[ratio, text, element], ...], the lowest first.
CONTRAST = """
const channel = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const behind = (e) => {
  for (let at = e; at; at = at.parentElement) {
    const c = parse(getComputedStyle(at).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return [255, 255, 255];
};
const found = [];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || e.closest("svg") || !e.checkVisibility({checkVisibilityCSS: true}) || e.closest("[hidden], .topology-list, .hidden, .skip")) continue;
  const style = getComputedStyle(e), a = luminance(parse(style.color)), b = luminance(behind(e));
  found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.textContent.slice(0, 40), e.className]);
}
return found.sort((x, y) => x[0] - y[0]).slice(0, 5);
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    b = Browser(folder=tmp_path_factory.mktemp("profile"))
    yield b
    b.close()


@pytest.fixture
def stub():
    with Stub() as s:
        yield s


def opened(browser, stub, page="overview", width=1280):
    """The page, with the answers of all its sources."""
    browser.size(width, 900)
    browser.media()
    browser.open(f"{stub.url}/#{page}")
    browser.until(lambda: browser.text("#state") == "Ready", "state")
    browser.until(lambda: stub.streams, "stream of events")
    return browser


def module(browser, name, expression):
    """Value of an expression with a module of the console as `m`."""
    return browser.driver.execute_async_script(
        f"const done = arguments[arguments.length - 1]; import('/console/{name}.js').then((m) => done({expression}), (e) => done(String(e)));")


def test_overview_shows_the_gateway(browser, stub):
    opened(browser, stub)
    assert browser.text("#instance") == "plant"
    browser.until(lambda: "kpps" in browser.text(".tile .value"), "rate")
    drawing = browser.until(lambda: browser.content("svg.topology"), "topology")
    for text in [*(f"Network {p}" for p in PORTS), "Bridge line-1", "MQTT inspection", "Edge broker", "connected", "10 Gbit/s"]:
        assert text in drawing
    assert "Aggregation" not in drawing and "Sampling" not in drawing  # without entries
    browser.until(lambda: "kpps" in browser.content("svg.topology"), "rates on the links")
    assert browser.until(lambda: browser.script("return document.querySelectorAll('.chart .line[d*=L]').length"), "lines") >= 8
    assert [c.text.split("\n")[0] for c in browser.all(".health li")] == [
        "Data plane", "Control plane", "Ports", "Forwarding tables", "Publisher"]
    browser.until(lambda: len(browser.rows("#page-overview .brief")) == 14, "12 alarms and 2 drop reasons")
    assert any(row[-1] == f"{PORTS[0]} 80, {PORTS[1]} 1" for row in browser.rows("#page-overview .brief"))
    assert browser.errors() == []


def test_every_page_loads_without_errors_and_from_its_origin_alone(browser, stub):
    opened(browser, stub)
    for page in PAGES:
        browser.page(page)
        browser.until(lambda: browser.script("return document.querySelectorAll(`#page-${arguments[0]} .empty`).length === "
                                             "[...document.querySelectorAll(`#page-${arguments[0]} .empty`)].filter("
                                             "(e) => !e.innerText.startsWith('Loading')).length", page), f"data of {page}")
    requested = browser.script("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert requested and all(r.startswith(stub.url + "/") for r in requested)
    assert browser.errors() == []


def test_nothing_moves_while_the_page_loads(browser, stub):
    opened(browser, stub)
    browser.until(lambda: len(browser.rows("#page-overview .brief")) == 14, "tables")
    moved = browser.driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; let sum = 0;"
        "const o = new PerformanceObserver((l) => { for (const e of l.getEntries()) sum += e.value; });"
        "o.observe({type: 'layout-shift', buffered: true}); requestAnimationFrame(() => setTimeout(() => done(sum), 100))")
    assert moved < 0.05


def test_an_alarm_appears_when_it_happens(browser, stub):
    opened(browser, stub, "alarms")
    browser.until(lambda: len(browser.rows(ALARMS)) == 12, "alarms of the past")
    a = alarm(500, time.time(), value=99.25, topic="plant/oven9/temperature")
    stub.emit(alarm_event(a))
    row = browser.until(lambda: [r for r in browser.rows(ALARMS) if r[5] == "plant/oven9/temperature"], "alarm")[0]
    assert row[1:7] == ["raised", "–", "99.25", "overheat", "plant/oven9/temperature", f"{a['client_id']}, {a['client']}"]
    assert browser.rows(ALARMS)[0] == row
    browser.script("document.querySelector('#page-alarms .tools select').selectedIndex = 1;"
                   "document.querySelector('#page-alarms .tools select').dispatchEvent(new Event('change'))")
    browser.until(lambda: {r[1] for r in browser.rows(ALARMS)} == {"raised"}, "only alarms that are not cleared")
    stub.emit(alarm_event(alarm(501, time.time() + 0.001, "cleared", topic="plant/oven9/temperature")))
    browser.until(lambda: "plant/oven9/temperature" not in [r[5] for r in browser.rows(ALARMS)], "cleared alarm gone")
    browser.page("events")
    browser.until(lambda: [r[1:3] for r in browser.rows("#page-events")] == [["alarm", "cleared"], ["alarm", "raised"]], "events")
    stub.emit(alarm_event(a))  # again, as a stream that begins with the past
    stub.emit(alarm_event(alarm(502, time.time() + 0.002, topic="plant/oven8/temperature")))
    browser.until(lambda: len(browser.rows("#page-events")) == 3, "one event more")


def test_events_of_all_types_have_a_line(browser, stub):
    opened(browser, stub, "events")
    at = {"timestamp": "2026-11-27T03:02:09.123456+00:00", "src_ip": "fd99::1", "src_port": 5, "dest_ip": "fd99::2", "dest_port": 1883}
    for event in ({"event_type": "connection", "connection": {"state": "not_inspected", "reason": "not_inspected_tls", "client_id": "oven"}},
                  {"event_type": "session", "session": {"state": "associated", "system_id": "3132333435363738"}},
                  {"event_type": "fault", "fault": {"state": "raised", "name": "link_down", "object": "cloud"}},
                  {"event_type": "config", "config": {"state": "refused", "error": "a.yaml:3:1: unknown setting"}},
                  {"event_type": "plane", "plane": {"state": "restarted", "name": "dataplane", "hung": True}},
                  {"event_type": "policy", "policy": {"action": "observe", "packet": "publish", "topic": "plant/x", "client_id": "oven", "rule": "large"}},
                  {"event_type": "drops", "drops": {"hairpin": 3}}, {"event_type": "lost", "lost": {"events": 7}},
                  {"event_type": "unheard_of", "unheard_of": {}}, {"event_type": "alarm", "alarm": None}, {}, []):
        stub.emit({**at, **event} if isinstance(event, dict) else event)
    stub.emit(alarm_event(alarm(900, time.time())))
    browser.until(lambda: [r for r in browser.rows("#page-events") if r[1] == "alarm" and r[2] == "raised"], "last event")
    lines = {r[1]: r[2:] for r in browser.rows("#page-events")}
    assert lines["connection"] == ["not inspected", "[fd99::1]:5 to [fd99::2]:1883, oven, not_inspected_tls"]
    assert lines["fault"] == ["raised", "link_down cloud"]
    assert lines["config"] == ["refused", "a.yaml:3:1: unknown setting"]
    assert lines["plane"] == ["restarted", "dataplane, no heartbeat"]
    assert lines["policy"] == ["observe", "publish, plant/x, oven, rule large"]
    assert lines["drops"][1] == "hairpin 3" and lines["lost"][1] == "events 7" and "unheard_of" not in lines
    assert browser.errors() == []


def test_policy_has_its_rules_and_decisions(browser, stub):
    opened(browser, stub, "rules")
    table = "#page-rules .table:last-child"
    rows = browser.until(lambda: browser.rows(table), "rules of the policy")
    assert [r[:9] for r in rows] == [
        ["known-clients", "allow", "connect", "–", "oven-*", "–", "–", "120", "0"],
        ["large", "observe", "publish", "–", "–", "–", "larger_than 65536", "3", "0"],
        ["own-values", "allow", "publish", "plant/{client}/#", "–", "–", "–", "4,711", "2"],
        ["(default)", "observe", "any", "–", "–", "–", "–", "0", "0"]]
    assert [r[9] == "–" for r in rows] == [True, False, True, True]
    assert module(browser, "lists", "m.policyRows({enabled: false, rules: [], default: {action: 'allow'}})") == []
    assert browser.errors() == []


def test_hostile_names_are_text(browser, stub):
    for n, text in enumerate(HOSTILE):
        stub.data["show/alarms"]["alarms"].append(alarm(100 + n, time.time(), topic=text, rule=text, client_id=text))
        c = {**stub.data["show/connections"]["connections"][0], "client": f"10.8.0.{n}:1", "client_id": text, "not_inspected_reason": text,
             "transport": "tls", "tls": {"server_name": text, "alpn": text, "certificate": None, "certificate_names": None}}
        stub.data["show/connections"]["connections"].insert(0, c)
        stub.data["show/drops"]["reasons"].append({"reason": text, "count": 5, "ports": [{"port": text, "count": 5}], "description": text})
        stub.data["show/policy"]["rules"].append({**stub.data["show/policy"]["rules"][0], "name": text, "topic": text, "conditions": text})
        stub.data["show/rules"]["rules"].append({**stub.data["show/rules"]["rules"][0], "name": text, "filter": text})
    stub.data["status"]["faults"] = [{"fault": HOSTILE[0], "object": HOSTILE[1], "since": None, "description": HOSTILE[6]}]
    stub.data["config"]["mqtt"]["publisher"]["broker"] = HOSTILE[0]
    stub.data["config"]["mqtt"]["rules"].append({text: text for text in HOSTILE})
    stub.data["show/ports"]["ports"][0]["name"] = HOSTILE[1]
    stub.ready = ready(publisher=HOSTILE[0])
    browser.size(1280, 900)
    browser.media()
    browser.open(stub.url)
    browser.until(lambda: browser.text("#state") == "Not ready", "state")
    browser.until(lambda: stub.streams, "stream of events")
    for n, text in enumerate(HOSTILE):
        stub.emit(alarm_event(alarm(200 + n, time.time(), topic=text, rule=text, client_id=text)))
    for page in PAGES:
        browser.page(page)
        for width in (1280, 320):
            browser.size(width, 900)
            browser.until(lambda w=width: browser.script("return document.documentElement.clientWidth <= arguments[0]", w), "width")
            assert browser.script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (page, width)
    browser.page("alarms")
    browser.until(lambda: len(browser.rows(ALARMS)) == 12 + 2 * len(HOSTILE) - 1, "alarms")  # without the event that is too long
    topics = {r[5] for r in browser.rows(ALARMS)}
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[3], HOSTILE[4], "\\u{202e}txet\\u{202c}\\u{7}\\u{200b}", "x" * 256 + "…", "\\u{d800}"} <= topics
    browser.page("connections")
    browser.until(lambda: {("tls", HOSTILE[0]), ("tls", HOSTILE[1])} <= {tuple(r[3:5]) for r in browser.rows("#page-connections .table:first-child")},
                  "server names")
    browser.page("alarms")
    assert not browser.all("main img, main script, main iframe") and "owned" not in browser.driver.title
    browser.all(f"{ALARMS} button.row")[0].click()
    browser.until(lambda: browser.all("#details[open]"), "details")
    browser.keys(Keys.ESCAPE)
    assert browser.errors() == []


def test_sessions_are_searched_by_identifier_and_address(browser, stub):
    opened(browser, stub, "sessions")
    browser.until(lambda: len(browser.rows("#page-sessions .table")) == 12, "sessions")
    field = "#page-sessions input[type=search]"
    for text, device in (("0922580000000a", "10.0.1.11:49200"), ("10.0.1.4", "10.0.1.4:49200")):
        browser.script("const s = document.querySelector(arguments[0]); s.focus(); s.select()", field)
        browser.keys(text)
        browser.until(lambda d=device: [r[1] for r in browser.rows("#page-sessions .table")] == [d], f"the session of {text}")
        assert "1 of 12 match" in browser.text("#page-sessions .note")
    browser.script("document.activeElement.select()")
    browser.keys("<b>", Keys.BACKSPACE)
    browser.until(lambda: browser.rows("#page-sessions .table") == [], "no session")
    assert browser.errors() == []


def test_page_works_with_the_keyboard_alone(browser, stub):
    opened(browser, stub, "connections")
    browser.until(lambda: len(browser.rows("#page-connections .table:first-child")) == 120, "connections")
    browser.keys(Keys.TAB)
    assert browser.focused() == "a#.skip" and browser.script("return document.activeElement.getBoundingClientRect().top >= 0")
    browser.keys(Keys.ENTER)
    assert browser.focused().startswith("main#main")
    browser.keys(Keys.TAB)  # search
    browser.keys("oven-016")
    browser.until(lambda: len(browser.rows("#page-connections .table:first-child")) == 1, "found")
    assert "1 of 120 match" in browser.text("#page-connections .note")
    browser.keys(*[Keys.BACKSPACE] * 8)
    browser.until(lambda: len(browser.rows("#page-connections .table:first-child")) == 120, "all")
    while not browser.focused().endswith(".row"):  # region, heads
        browser.keys(Keys.TAB)
    assert browser.script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.keys(Keys.HOME, Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP)
    second = browser.script("return document.activeElement.textContent")
    assert second == browser.rows("#page-connections .table:first-child")[1][0]
    browser.keys(Keys.END)
    assert browser.script("return document.activeElement.textContent") == browser.rows("#page-connections .table:first-child")[-1][0]
    browser.keys(Keys.ENTER)
    browser.until(lambda: "client_id" in browser.text("#details[open]"), "details")
    browser.keys(Keys.ESCAPE)
    browser.until(lambda: not browser.all("#details[open]"), "closed dialog")
    assert browser.focused().endswith(".row")
    browser.keys(Keys.TAB)
    assert not browser.focused().endswith(".row")  # one stop for the table
    browser.script("document.getElementById('tab-connections').focus()")
    browser.keys(Keys.ARROW_RIGHT)
    browser.until(lambda: browser.all("#page-sessions:not([hidden])"), "next page")
    assert browser.focused().startswith("button#tab-sessions") and browser.driver.current_url.endswith("#sessions")
    browser.keys(Keys.HOME)
    browser.until(lambda: browser.all("#page-overview:not([hidden])"), "first page")
    browser.driver.back()
    browser.until(lambda: browser.all("#page-sessions:not([hidden])"), "page before")
    assert browser.errors() == []


def test_chart_values_are_reachable(browser, stub):
    opened(browser, stub)
    browser.until(lambda: browser.script("return document.querySelectorAll('.chart .line[d*=L]').length"), "lines")
    browser.script("document.querySelector('.plot').focus()")
    latest = browser.script("return document.activeElement.getAttribute('aria-valuetext')")
    assert "devices RX" in latest and "pps" in latest
    browser.keys(Keys.HOME)
    assert browser.script("return document.activeElement.getAttribute('aria-valuenow')") == "0"
    assert browser.script("return document.querySelectorAll('.chart .dot').length") >= 2
    browser.keys(Keys.ESCAPE)
    assert browser.script("return document.querySelectorAll('.chart .dot').length") == 0
    browser.script("document.querySelector('.values').open = true")
    browser.until(lambda: len(browser.rows(".values")) >= 25, "table of values")
    assert len(browser.rows(".values")) <= 31


def test_theme_follows_the_system_and_the_switch(browser, stub):
    opened(browser, stub)
    browser.media(prefers_color_scheme="dark")
    browser.until(lambda: browser.script("return document.documentElement.dataset.theme") == "dark", "dark theme")
    assert browser.script("return getComputedStyle(document.body).backgroundColor") == "rgb(14, 19, 25)"
    browser.script("const s = document.getElementById('theme'); s.value = 'light'; s.dispatchEvent(new Event('change'))")
    assert browser.script("return document.documentElement.dataset.theme") == "light"
    browser.driver.refresh()
    browser.until(lambda: browser.text("#state") == "Ready", "state")
    assert browser.script("return [document.documentElement.dataset.theme, document.getElementById('theme').value]") == ["light", "light"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast(browser, stub, theme):
    stub.ready = ready(ports="link down: cloud")
    stub.data["status"]["faults"] = [{"fault": "link_down", "object": "cloud", "since": None, "description": "the link of a port is down"}]
    browser.size(1280, 900)
    browser.open(stub.url)
    browser.media(prefers_color_scheme=theme)
    browser.until(lambda: browser.text("#state") == "Not ready", "state")
    browser.until(lambda: browser.script("return document.documentElement.dataset.theme") == theme, "theme")
    for page in PAGES:
        browser.page(page)
        lowest = browser.script(CONTRAST)
        assert lowest and lowest[0][0] >= 4.5, (page, lowest)


def test_narrow_screen_has_everything_without_scrolling_sideways(browser, stub):
    opened(browser, stub, width=320)
    browser.until(lambda: "receives" in browser.text(".topology-list"), "topology as a list")
    for text in ("devices", "Bridge line-1", "MQTT inspection", "Edge broker"):
        assert text in browser.text(".topology-list")
    assert not browser.script("return document.querySelector('svg.topology').checkVisibility()")
    for page in PAGES:
        browser.page(page)
        assert browser.script("return document.documentElement.scrollWidth <= document.documentElement.clientWidth"), page


def test_gateway_that_does_not_answer_is_reported_with_the_time(browser, stub):
    opened(browser, stub)
    browser.until(lambda: "kpps" in browser.text(".tile .value"), "rate")
    stub.stop()
    browser.until(lambda: browser.text("#state") == "Not reachable", "state")
    assert browser.text("#banner-text").startswith("The gateway has not answered since ")
    assert "kpps" in browser.text(".tile .value")  # the last values stay
    stub.start()
    browser.until(lambda: browser.text("#state") == "Ready", "state after the return")
    browser.until(lambda: stub.streams, "stream of events")
    assert not browser.script("return document.getElementById('banner').checkVisibility()")


def test_instance_that_does_not_run_is_reported(browser, stub):
    opened(browser, stub)
    stub.errors["status"] = (503, {"error": "instance 'plant' is not running"})
    browser.until(lambda: browser.text("#state") == "Not running", "state")
    assert browser.text("#banner-text") == "Instance 'plant' is not running."
    del stub.errors["status"]
    browser.until(lambda: browser.text("#state") == "Ready", "state")


def test_single_refused_answer_changes_nothing(browser, stub):
    opened(browser, stub, "connections")
    browser.until(lambda: len(browser.rows("#page-connections .table:first-child")) == 120, "connections")
    browser.script("window.texts = new Set(); new MutationObserver(() => window.texts.add(document.getElementById('state').textContent))"
                   ".observe(document.body, {subtree: true, childList: true, characterData: true})")
    busy = (503, {"error": "the last answers took much CPU time: try again in a moment"})
    stub.refuse = {"status": 1, "show/connections": 1}
    stub.errors.update({"status": busy, "show/connections": busy})
    browser.until(lambda: not stub.errors, "refused answers")
    before = len(stub.requests)
    browser.until(lambda: sum("/status" in path for _, path in stub.requests[before:]) > 1, "next answers")
    assert len(browser.rows("#page-connections .table:first-child")) == 120
    assert set(browser.script("return [...window.texts]")) <= {"Ready"}


def test_token_is_asked_for_and_kept_in_the_tab_only(browser, stub):
    stub.token = "a-token-of-the-gateway"
    browser.size(1280, 900)
    browser.media()
    browser.open(stub.url)
    browser.until(lambda: browser.all("#token[open]"), "dialog")
    assert browser.text("#state") == "Token required" and not browser.text("#token-error")
    before = len(stub.requests)
    browser.keys("pa\u00df wort", Keys.ENTER)
    browser.until(lambda: "letters, digits" in browser.text("#token-error"), "no token")
    browser.script("document.getElementById('token-field').value = ''")
    browser.keys("wrong", Keys.ENTER)
    browser.until(lambda: "does not accept" in browser.text("#token-error"), "rejection")
    assert len([r for r in stub.requests[before:] if r[1].startswith("/api/")]) <= 2  # no guessing
    browser.keys(stub.token, Keys.ENTER)
    browser.until(lambda: browser.text("#state") == "Ready", "state")
    browser.until(lambda: stub.streams, "stream of events")
    assert browser.script("return [sessionStorage.getItem('biplane-token'), localStorage.length, document.cookie]") == [stub.token, 0, ""]
    assert not any(stub.token in path for _, path in stub.requests)
    browser.driver.refresh()
    browser.until(lambda: browser.text("#state") == "Ready", "state after a reload")


def test_empty_gateway_says_so(browser, stub):
    stub.data["show/alarms"]["alarms"], stub.data["show/rules"]["rules"] = [], []
    stub.data["show/connections"].update(total=0, connections=[])
    stub.data["show/sessions"].update(total=0, sessions=[])
    stub.data["show/drops"]["reasons"] = []
    stub.rates = lambda since, step: {"step_s": step, "times": [], "series": []}
    opened(browser, stub)
    browser.until(lambda: "No alarm yet." in browser.text("#page-overview") and "No frame was dropped." in browser.text("#page-overview"), "texts")
    assert "No values yet" in browser.content(".plot")
    for page, text in (("connections", "No MQTT connection."), ("rules", "There is no rule."), ("sessions", "No health device is associated.")):
        browser.page(page)
        browser.until(lambda t=text, p=page: t in browser.text(f"#page-{p}"), text)
    assert browser.errors() == []


def test_lists_are_bounded(browser, stub):
    opened(browser, stub, "alarms")
    for n in range(1200):
        stub.emit(alarm_event(alarm(1000 + n, time.time(), topic=f"flood/{n}")))
    browser.until(lambda: module(browser, "main", "m.app.feed.alarms[0].topic") == "flood/1199", "newest alarm")
    browser.until(lambda: [r[5] for r in browser.rows(ALARMS)[:1]] == ["flood/1199"], "its row")
    assert len(browser.rows(ALARMS)) == 200
    assert module(browser, "main", "[m.app.feed.alarms.length, m.app.feed.events.length, m.app.feed.known.size, m.app.feed.seen.size]") == [500] * 4
    stub.data["show/connections"]["total"] = 65536
    browser.page("connections")
    browser.until(lambda: "The gateway has 65,536; the search covers the 120" in browser.text("#page-connections .note"), "note")


def test_hidden_page_requests_nothing(browser, stub):
    opened(browser, stub)
    browser.script("Object.defineProperty(document, 'hidden', {get: () => window.isHidden, configurable: true}); window.isHidden = true;"
                   "document.dispatchEvent(new Event('visibilitychange'))")
    module(browser, "main", "m.app.poller.answered()")  # as an answer that is late
    browser.until(lambda: not stub.streams or stub.emit({}), "end of the stream")
    assert module(browser, "main", "[m.app.poller.timer, m.app.feed.abort, m.app.feed.timer]") == [None, None, None]
    browser.script("window.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))")
    browser.until(lambda: stub.streams, "stream of the visible page")


def test_requests_are_few(browser, stub):
    opened(browser, stub)
    browser.until(lambda: len([1 for _, path in stub.requests if "/api/" in path or path == "/readyz"]) >= 30, "30 requests")
    at = [t for t, path in stub.requests if ("/api/" in path or path == "/readyz") and "events" not in path][:28]
    assert at[-1] - at[0] >= (len(at) - 9) / 3  # a burst of 8, then 3 a second


def test_functions_of_the_modules(browser, stub):
    opened(browser, stub)
    assert module(browser, "format", "[m.scaled(0), m.scaled(999.4), m.scaled(1234), m.scaled(99.96), m.scaled(NaN), m.bits(1e9), m.interval(61200),"
                  "m.duration(3725), m.bytes(184692736), m.linkSpeed(4294967295), m.timeMs('2026-11-27T03:02:09.123456789Z')]") == [
        "0", "999", "1.23\xa0k", "100", "–", "1\xa0Gbit/s", "61.2\xa0µs", "1\xa0h 2\xa0min", "176\xa0MiB", "speed unknown", 1795748529123]
    assert module(browser, "chart", "[[0, 3, 10, 11, 230].map(m.niceCeil), m.segments([0, 1, 2, 9, 10], [1, null, 2, 3, 4], 3)]") == [
        [1, 5, 10, 20, 250], [[0], [2], [3, 4]]]
    assert module(browser, "topology", "m.sides([{name: 'a', bridge: 'x'}, {name: 'b', bridge: 'x'}, {name: 'wan', bridge: ''}])") == {
        "left": [{"name": "a", "bridge": "x"}], "right": [{"name": "b", "bridge": "x"}, {"name": "wan", "bridge": ""}]}
    lines = module(browser, "yaml", "m.yamlLines({a: [{b: 'on', c: [1, '2']}], d: {}, e: '256MiB'}).lines.map("
                   "(l) => ' '.repeat(2 * l.indent) + (l.dash ? '- ' : '') + (l.name === null ? '' : l.name + ': ') + l.value)")
    assert lines == ["a: ", "  - b: \"on\"", "    c: [1, \"2\"]", "d: {}", "e: 256MiB"]
    # pieces of any size, CRLF, comments, fields without use, an event that is too long, JSON that is none
    assert module(browser, "api", "(() => { const got = [], p = new m.EventParser((e) => got.push(e));"
                  "for (const c of ': hi\\n\\nid: 1\\ndata: {\"a\":1}\\r\\n\\r\\ndata: x\\n\\ndata: {\"b\":\\ndata: 2}\\n\\n') p.push(c);"
                  "p.push('data: ' + 'y'.repeat(1e6)); p.push('\\n\\ndata: {\"c\":3}\\n\\n'); return [got, p.discarded]; })()") == [
        [{"a": 1}, {"b": 2}, {"c": 3}], 1]
