# SPDX-License-Identifier: BSD-3-Clause
"""A combination of two topics of the same cell, published by two devices on two connections."""

import json
import os

import pytest

from conftest import config_for
from lab import CLOUD, wait_until
from peers import Publisher

RULE = {"name": "dry",
        "all": [{"topic": "plant/{cell}/temperature", "value": {"json": "$.c"}, "condition": {"above": 80}, "max_age": "1h"},
                {"not": {"topic": "plant/{cell}/pressure", "condition": {"at_least": 2}}}],
        "publish": {"topic": "alarm/{rule}/{cell}"}}


def config(rules):
    """Each connection may be on another worker."""
    return config_for(rules=rules) | {"workers": min(2, os.cpu_count())}


@pytest.fixture(scope="module")
def g(lab, module_gateway):
    gateway = module_gateway(config(rules=[RULE]))
    yield gateway
    gateway.stop()


@pytest.fixture
def devices(lab):
    made = [Publisher(lab, CLOUD, client_id=name) for name in ("thermometer", "manometer")]
    yield made
    for p in made:
        p.finish([])


def temperature(device, cell, celsius):
    device.publish(f"plant/{cell}/temperature", json.dumps({"c": celsius}), 1).wait_for_publish(20)


def pressure(device, cell, bar):
    device.publish(f"plant/{cell}/pressure", str(bar), 1).wait_for_publish(20)


def envelopes(edge, n):
    wait_until(f"{n} alarms", lambda: len(edge.messages) >= n)
    return [(topic, json.loads(payload)) for topic, payload in edge.messages[:n]]


def test_two_devices_raise_and_clear(g, devices, collect):
    edge = collect("edge", ["alarm/#"])
    thermometer, manometer = devices
    pressure(manometer, "c1", 1.5)
    temperature(thermometer, "c2", 99)
    temperature(thermometer, "c1", 80.5)
    topic, raised = envelopes(edge, 1)[0]
    assert topic == "alarm/dry/c1"
    assert raised["state"] == "raised" and raised["rule"] == "dry" and raised["value"] == 1
    assert raised["topic"] == "plant/c1/temperature" and raised["client_id"] == "thermometer"
    assert raised["levels"] == {"cell": "c1"}
    first, second = raised["parts"]
    assert first == {"topic": "plant/{cell}/temperature", "holds": True, "value": 80.5, "age": 0}
    assert second["topic"] == "plant/{cell}/pressure" and second["holds"] is False and second["value"] == 1.5

    g.kill_plane("data plane")  # the values survive, and so does the state
    temperature(thermometer, "c1", 81)
    pressure(manometer, "c1", 2.5)
    topic, cleared = envelopes(edge, 2)[1]
    assert topic == "alarm/dry/c1" and cleared["state"] == "cleared" and cleared["value"] == 0
    assert cleared["topic"] == "plant/c1/temperature" and cleared["client_id"] == "manometer"
    assert [p["holds"] for p in cleared["parts"]] == [True, True]
    pressure(manometer, "c2", 1)
    assert envelopes(edge, 3)[2][0] == "alarm/dry/c2"
    assert len(edge.messages) == 3


def test_a_reload_keeps_the_values(g, devices, collect):
    edge = collect("edge", ["alarm/#"])
    thermometer, manometer = devices
    temperature(thermometer, "c3", 90)
    g.reload(config(rules=[{"name": "x", "topic": "x", "raise": "> 1"}, RULE]))
    pressure(manometer, "c3", 1)
    assert envelopes(edge, 1)[0][1]["topic"] == "plant/c3/temperature"


def explain(g, topic):
    p = g.command("explain", "topic", topic, "-c", g.identity, "--json")
    assert p.returncode == 0, p.stderr
    return next(r for r in json.loads(p.stdout)["rules"] if r["rule"] == "dry")


def test_explain_shows_which_part_holds(g, devices):
    thermometer, manometer = devices
    temperature(thermometer, "c4", 91)
    rule = wait_until("the value", lambda: (r := explain(g, "plant/c4/pressure"))["checks"][0]["reason"].count("last value 91") and r)
    assert rule["matches"] and rule["filter"] == "plant/{cell}/temperature, plant/{cell}/pressure"
    assert rule["raise"] == "all(plant/{cell}/temperature > 80, not(plant/{cell}/pressure >= 2))"
    reasons = [c["reason"] for c in rule["checks"] if c["check"] in ("part", "combination")]
    assert reasons[0].startswith("plant/{cell}/temperature > 80: true, last value 91, ")
    assert reasons[1] == "plant/{cell}/pressure >= 2: unknown, no value was seen for this key"
    assert reasons[2].startswith("unknown")
    pressure(manometer, "c4", 1)
    wait_until("the alarm", lambda: any(c["reason"].startswith("raised for") for c in explain(g, "plant/c4/temperature")["checks"]))
    other = explain(g, "plant/c4/pressur")
    assert not other["matches"] and "'pressur'" in other["reason"]
    shown = next(r for r in g.show("rules")["rules"] if r["name"] == "dry")
    assert shown["filter"] == rule["filter"] and shown["raise"] == rule["raise"] and shown["value"] is None
