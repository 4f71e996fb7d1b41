# SPDX-License-Identifier: BSD-3-Clause
"""The monitor: metrics, health, state and events over HTTP, of a running gateway."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import config_for, overheat
from json_doc import differences
from lab import CLOUD, wait_until
from monitor_client import LISTEN, SOCKET, Connection, failing, get, get_json, processes, try_get, wait_ready
from peers import Publisher

OBJECTS = ("ports", "nodes", "drops", "counters", "interfaces", "neighbors", "routes", "health", "alarms", "latency", "connections",
           "not-inspected", "rules", "sessions", "aggregates", "transform", "lcl", "sampling")


def config(**more):
    return {**config_for(), "monitoring": {**LISTEN, **more}}


@pytest.fixture(scope="module")
def watched(lab, module_gateway):
    g = module_gateway(config())
    wait_ready()
    p = Publisher(lab, CLOUD, client_id="oven-7")
    p.finish([p.publish("plant/oven/temperature", "81.5", 1)])
    wait_until("the alarm to be acknowledged", lambda: g.status()["alarms"]["acknowledged"] >= 1)
    yield g
    g.stop()


def test_monitor_has_no_privileges(watched):
    status = Path(f"/proc/{processes(watched)['monitor']}/status").read_text()
    for which in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(re.search(rf"^{which}:\s*(\w+)$", status, re.M)[1], 16) == 0
    assert re.search(r"^NoNewPrivs:\s*1$", status, re.M)
    for line in Path(f"/proc/{processes(watched)['monitor']}/maps").read_text().splitlines():
        assert "biplane-" not in line.rpartition(" ")[2] or line.split()[1].startswith("r--"), line


@pytest.mark.parametrize("name", OBJECTS)
def test_views_are_those_of_show(watched, name):
    view = get_json(f"/api/v1/show/{name}")
    assert not differences(f"show {name}", view)
    if name in ("rules", "alarms", "interfaces", "routes", "neighbors", "sampling", "transform", "sessions"):
        assert view == watched.show(name)


def test_list_of_views(watched):
    assert {v["name"] for v in get_json("/api/v1/show")["views"]} >= set(OBJECTS)


def test_status_is_that_of_the_command(watched):
    status = get_json("/api/v1/status")
    assert not differences("status", status)
    assert status["instance"] == watched.config["name"]
    assert [p["pid"] for p in status["planes"]] == [p["pid"] for p in watched.status()["planes"]]


def test_configuration_is_the_running_one(watched):
    shown = watched.command("config", "show", "-i", watched.config["name"], "--json")
    if shown.returncode != 0:  # the instance is in another directory than the default
        shown = watched.command("config", "show", "-c", watched.file, "--json")
    assert get_json("/api/v1/config") == json.loads(shown.stdout)
    changed = {**watched.config, "mqtt": {**watched.config["mqtt"], "rules": [overheat(**{"raise": "> 90"})]}}
    assert watched.reload(changed).returncode == 0
    try:
        assert "90" in str(get_json("/api/v1/config")["mqtt"]["rules"][0]["raise"])
    finally:
        assert watched.reload(watched.config).returncode == 0
    assert "80" in str(get_json("/api/v1/config")["mqtt"]["rules"][0]["raise"])


def test_configuration_returns_with_the_file(watched):
    """A file that is edited but not loaded, while the monitor starts, and then restored without a reload."""
    text = watched.file.read_text()
    watched.file.write_text(text.replace("> 80", "> 85"))
    try:
        os.kill(processes(watched)["monitor"], signal.SIGKILL)
        wait_until("another monitor", lambda: try_get("/api/v1/config") == 503, 30)
    finally:
        watched.file.write_text(text)
    wait_until("the configuration", lambda: try_get("/api/v1/config") == 200)
    wait_ready()


def test_metrics_in_both_formats(watched):
    status, headers, body = get("/metrics")
    assert status == 200 and headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert b"\nbiplane_up 1\n" in body or b"\nbiplane_up{" in body
    status, headers, body = get("/metrics", {"Accept": "application/openmetrics-text;version=1.0.0"})
    assert status == 200 and headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert body.endswith(b"# EOF\n")


def test_curl_on_a_unix_socket(watched):
    p = subprocess.run(["curl", "-sS", "--fail", "--unix-socket", SOCKET, "http://localhost/livez"], stdout=subprocess.PIPE, check=True)
    assert json.loads(p.stdout) == {"live": True}


def test_readiness_agrees_with_status(lab, watched):
    assert failing() == {}
    with lab.link_down("cloud"):
        wait_until("the link to be down", lambda: failing())
        assert failing() == {"ports": "link down: cloud"}
        assert [p["port"] for p in watched.status()["ports"] if not p["link_up"]] == ["cloud"]
    wait_until("the link to be up", lambda: not failing())
    lab.broker("edge", "stop")
    try:
        wait_until("the publisher to be disconnected", lambda: not watched.status()["publisher"]["connected"])
        assert failing() == {}  # the spool is below its limit
        checks = {c["check"]: c["reason"] for c in get_json("/readyz")["checks"]}
        assert re.fullmatch(r"not connected; the spool has \d+ of \d+ bytes", checks["publisher"])
    finally:
        lab.broker("edge", "start")
    wait_until("the publisher to be connected", lambda: watched.status()["publisher"]["connected"])


class Stream:
    """A reader of /api/v1/events."""

    def __init__(self, query=""):
        self.connection = Connection()
        self.connection.request("GET", f"/api/v1/events{query}")
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200
        assert self.answer.getheader("Content-Type") == "text/event-stream"

    def next(self):
        """(type, event) of the next event."""
        fields, end = {}, time.monotonic() + 30
        while True:
            assert time.monotonic() < end, "no event"
            line = self.answer.readline().decode().rstrip("\n")
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                return fields["event"], json.loads(fields["data"])

    def close(self):
        self.connection.close()


def test_events_arrive_as_they_happen(lab, watched):
    all_of_them, alarms = Stream(), Stream("?types=alarm")
    p = Publisher(lab, CLOUD, client_id="oven-8")
    p.finish([p.publish("plant/oven8/temperature", "85.5", 1)])
    kind, event = alarms.next()
    assert kind == event["event_type"] == "alarm" and event["alarm"]["rule"] == "overheat"
    seen = set()
    while "alarm" not in seen:
        seen.add(all_of_them.next()[0])
    again = Stream("?types=alarm&backlog=1")
    assert again.next()[1]["alarm"] == event["alarm"]
    for s in (all_of_them, alarms, again):
        s.close()


def test_monitor_that_is_killed_affects_nothing(watched):
    before = processes(watched)
    os.kill(before["monitor"], signal.SIGKILL)
    wait_until("another monitor", lambda: processes(watched).get("monitor", before["monitor"]) != before["monitor"])
    wait_ready()
    after = processes(watched)
    assert {k: v for k, v in after.items() if k != "monitor"} == {k: v for k, v in before.items() if k != "monitor"}
    assert [p["restarts"] for p in watched.status()["planes"][:2]] == [0, 0]
    watched.balanced()


def test_status_lists_the_monitor(watched):
    pid = processes(watched)["monitor"]
    seen = watched.status()["monitor"]
    assert seen["running"] and seen["pid"] == pid and seen["address"] == SOCKET and seen["uptime_s"] >= 0
    assert get_json("/api/v1/status")["monitor"]["pid"] == pid
    text = watched.command("status", "-c", watched.identity).stdout
    assert re.search(rf"^monitor +{pid} +yes ", text, re.M) and f"monitor    address {SOCKET}\n" in text
    os.kill(pid, signal.SIGKILL)

    def another():
        now = watched.status()["monitor"]
        return now["running"] and now["pid"] not in (pid, None)
    wait_until("status to list another monitor", another, 30)
    wait_ready()
