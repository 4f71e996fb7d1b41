# SPDX-License-Identifier: BSD-3-Clause
"""The edge broker goes and comes back while devices publish: no alarm is lost."""

import json

import jsonschema
import pytest

from conftest import config_for, overheat
from lab import ROOT, wait_until
from load import Load
from peers import Collector, Expected, usual_value

ANNOTATIONS = {"site": "north \"1\"", "runbook": "https://example.org/überhitzt"}
ENVELOPE = [overheat(payload="envelope", severity="major", annotations=ANNOTATIONS)]
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "reference" / "alarm-envelope.schema.json").read_text()))


def values(collector):
    """The alarms at the edge, each once, in the order of their first arrival."""
    seen = {}
    for topic, payload in list(collector.messages):
        a = json.loads(payload)
        SCHEMA.validate(a)
        assert topic == f"alarm/{a['topic']}" and a["rule"] == "overheat" and a["state"] == "raised"
        assert a["severity"] == "major" and a["annotations"] == ANNOTATIONS
        seen.setdefault(a["id"], a)
    return seen


def due(expected):
    return sorted(float(p) for t, p in expected.published if (usual_value(t, p) or 0) > 80)


@pytest.fixture
def edge_link(lab):
    """Cuts and mends the management link, so that a subscriber is there before biplane is."""
    def link(state):
        lab.run("gw", "ip", "link", "set", "mgmt", state)
    yield link
    link("up")


@pytest.fixture(autouse=True)
def brokers_back(lab):
    yield
    for ns in ("cloud", "edge"):
        if not lab.run(ns, "ss", "-tlnH").stdout.count(b":1883 "):
            lab.broker(ns, "start")


def nothing_lost(g, expected, edge, seconds=60):
    all_due = due(expected)
    wait_until(f"{len(all_due)} alarms at the edge",
               lambda: len(values(edge)) >= len(all_due), seconds, 0.1)
    got = values(edge)
    assert sorted(a["value"] for a in got.values()) == all_due, "alarms lost, or alarms that were not due"
    assert list(dict.fromkeys(sorted(got))) == sorted(got)
    for name in ("alarms_queue_full", "alarms_too_large"):
        assert g.counter(name) == 0
    # The last acknowledgement may still be on its way when the subscriber has the alarm.
    wait_until("an empty spool", lambda: g.status()["spool"]["rows"] == 0, seconds, 0.1)
    return got


def test_edge_broker_stopped_and_started(lab, gateway, tmp_path):
    """SIGTERM: the broker keeps the subscriber's session on disk, so the subscriber misses nothing."""
    g = gateway(config_for(rules=ENVELOPE, spool=tmp_path / "spool.db"))
    expected = Expected()
    edge = Collector(lab, "edge", ("alarm/#",), qos=1, client_id="keeper", clean=False)
    load = Load(lab, expected)
    for _ in range(2):
        load.go_on(200)
        lab.broker("edge", "stop")
        wait_until("biplane to see it", lambda: not g.status()["publisher"]["connected"])
        load.go_on(400)
        assert g.status()["spool"]["rows"] > 0
        lab.broker("edge", "start")
        wait_until("biplane to connect again", lambda: g.status()["publisher"]["connected"], 30)
        edge.wait_subscribed()
    load.go_on(200)
    load.finish()
    nothing_lost(g, expected, edge)
    edge.close()
    g.balanced()


def test_edge_broker_killed(lab, gateway, tmp_path, edge_link):
    """SIGKILL: the subscriber reads from the broker's socket until the kernel closes it, and is there
    again before biplane is, so what it lacks biplane has lost."""
    g = gateway(config_for(rules=ENVELOPE, spool=tmp_path / "spool.db"))
    expected = Expected()
    edge = Collector(lab, "edge", ("alarm/#",), qos=0)
    load = Load(lab, expected)
    load.go_on(300)
    lab.broker("edge", "kill")
    edge_link("down")
    load.go_on(300)
    lab.broker("edge", "start")
    wait_until("the subscriber", lambda: edge.client.is_connected(), 30)
    edge.wait_subscribed()
    edge_link("up")
    load.go_on(300)
    load.finish()
    nothing_lost(g, expected, edge)
    edge.close()


def test_backlog_in_order_and_live_alarms_not_behind_it(lab, gateway, tmp_path):
    g = gateway(config_for(rules=ENVELOPE, spool=tmp_path / "spool.db"))
    expected = Expected()
    edge = Collector(lab, "edge", ("alarm/#",), qos=1, client_id="keeper2", clean=False)
    lab.broker("edge", "stop")
    wait_until("biplane to see it", lambda: not g.status()["publisher"]["connected"])
    flood = Load(lab, expected, "plant/flood/temperature", rate=100_000)
    flood.go_on(15_000)
    flood.finish()
    wait_until("the spool to fill", lambda: g.status()["spool"]["rows"] >= 15_000, 60)
    last_of_backlog = None
    live = Load(lab, expected, "plant/live/temperature", rate=500, first=500_000)
    lab.broker("edge", "start")
    wait_until("biplane to connect again", lambda: g.status()["publisher"]["connected"], 30)
    live.topic = "plant/later/temperature"  # the other one has alarms in the spool, which come first
    edge.wait_subscribed()
    wait_until("the backlog to drain", lambda: g.status()["spool"]["rows"] == 0, 90, 0.1)
    live.go_on(100)
    live.finish()
    got = list(nothing_lost(g, expected, edge).values())
    backlog = [a["id"] for a in got if a["topic"] == "plant/flood/temperature"]
    assert backlog == sorted(backlog), "the backlog must arrive in id order"
    last_of_backlog = max(i for i, a in enumerate(got) if a["topic"] == "plant/flood/temperature")
    live_before = [a for a in got[:last_of_backlog] if a["topic"] == "plant/later/temperature"]
    assert any(a["id"] > backlog[-1] for a in live_before), "every live alarm waited for the backlog"
    edge.close()


def test_spool_is_bounded_and_reports_drops(lab, gateway, tmp_path):
    config = config_for(rules=ENVELOPE, spool=tmp_path / "spool.db")
    config["mqtt"]["spool"]["max_size"] = "64KiB"
    g = gateway(config)
    expected = Expected()
    edge = Collector(lab, "edge", ("alarm/#",), qos=1, client_id="keeper3", clean=False)
    lab.broker("edge", "stop")
    wait_until("biplane to see it", lambda: not g.status()["publisher"]["connected"])
    load = Load(lab, expected, rate=100_000)
    load.go_on(3000)
    load.finish()
    wait_until("the bound to bite", lambda: g.status()["alarms"]["dropped_size"] > 0, 30)
    wait_until("the ring to be read", lambda: g.status()["alarms"]["read"] >= g.counter("alarms_queued"))
    lab.broker("edge", "start")
    wait_until("biplane to connect again", lambda: g.status()["publisher"]["connected"], 30)
    edge.wait_subscribed()
    wait_until("the spool to drain", lambda: g.status()["spool"]["rows"] == 0, 60)
    lost = g.status()["alarms"]["dropped_size"]
    wait_until("the rest at the edge", lambda: len(values(edge)) + lost >= len(expected.published), 30)
    assert len(values(edge)) + lost == len(expected.published), "each alarm arrives, or is counted"
    edge.close()
