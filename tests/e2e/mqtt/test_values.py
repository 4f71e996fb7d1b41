# SPDX-License-Identifier: BSD-3-Clause
"""Values of each source: strings, booleans, units, elements of arrays, CBOR and MessagePack."""

import json

import cbor2
import msgpack
import pytest

from conftest import config_for
from lab import CLOUD, wait_until
from peers import Collector, Publisher


def rule(name, value, raise_, clear):
    return {"name": name, "topic": f"plant/{name}", "value": value, "raise": raise_, "clear": clear, "repeat": "on_change"}


HOT, COOL = {"above": 80}, {"below": 70}
OPEN, CLOSED = {"one_of": ["open", "ajar"]}, {"equals": "closed"}
SENSORS = [{"c": 60}, {"h": 99}, {"c": 81.5}]

# rule, payload that raises and its value in the envelope, payload that clears and its value
CASES = [
    (rule("text", {"type": "string"}, OPEN, CLOSED), b"ajar\n", "ajar", b"closed", "closed"),
    (rule("json", {"json": "$.s", "type": "string"}, OPEN, CLOSED), rb'{"s": "op\u0065n"}', "open", b'{"s": "closed"}', "closed"),
    (rule("other", {"json": "$.s", "type": "string"}, {"not_equals": "ok"}, {"equals": "ok"}),
     json.dumps({"s": "é\n" * 40}).encode(), "é\n" * 21, b'{"s": "ok"}', "ok"),
    (rule("boolean", {"json": "$.on", "type": "boolean"}, {"equals": True}, {"equals": False}),
     b'{"on": true}', True, b'{"on": false}', False),
    (rule("scaled", {"json": "$.raw", "scale": 0.5, "offset": -40}, HOT, COOL), b'{"raw": 250}', 85, b'{"raw": 100}', 10),
    (rule("any", {"json": "$.r[*].c"}, HOT, COOL), json.dumps({"r": SENSORS}).encode(), 81.5, b'{"r": [{"c": 60}, {"c": 61}]}', 60),
    (rule("every", {"json": "$.r[*].c", "match": "all"}, HOT, COOL),
     b'{"r": [{"c": 81}, {"c": 82}]}', 81, json.dumps({"r": SENSORS}).encode(), 60),
    (rule("cbor", {"cbor": "$.r[*].c"}, HOT, COOL), cbor2.dumps({"r": SENSORS, 7: b"\0"}), 81.5, cbor2.dumps({"r": [{"c": 60}]}), 60),
    (rule("cbor-state", {"cbor": "$.s", "type": "string"}, OPEN, CLOSED), cbor2.dumps({"s": "open"}), "open", cbor2.dumps({"s": "closed"}), "closed"),
    (rule("msgpack", {"msgpack": "$.r[2].c"}, HOT, COOL), msgpack.packb({"r": SENSORS}), 81.5, msgpack.packb({"r": [0, 1, {"c": 5}]}), 5),
    (rule("msgpack-on", {"msgpack": "$.on", "type": "boolean"}, {"equals": True}, {"not_equals": True}),
     msgpack.packb({"on": True}), True, msgpack.packb({"on": False}), False),
]


@pytest.fixture(scope="module")
def alarms(lab, module_gateway):
    """The alarms of each rule, after all payloads."""
    edge = Collector(lab, "edge", ("alarm/#",), qos=1)
    g = module_gateway(config_for(rules=[c[0] for c in CASES]))
    device = Publisher(lab, CLOUD, client_id="plc")
    for r, raises, _, clears, _ in CASES:
        for payload in (b"\xff", raises, clears):  # the first has no value
            device.publish(r["topic"], payload, 1).wait_for_publish(20)
    wait_until("all alarms", lambda: len(edge.messages) >= 2 * len(CASES), 20)
    found = {}
    for _, payload in edge.messages:
        alarm = json.loads(payload)
        found.setdefault(alarm["rule"], []).append(alarm)
    yield g, found
    device.finish()
    edge.close()
    g.stop()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0]["name"])
def test_value(alarms, case):
    r, _, raised, _, cleared = case
    found = alarms[1][r["name"]]
    assert [(a["state"], a["value"]) for a in found] == [("raised", raised), ("cleared", cleared)]
    assert [a.get("value_truncated", False) for a in found] == [raised == "é\n" * 21, False]


def test_views_have_the_values(alarms):
    g, _ = alarms
    shown = {(a["rule"], a["state"]): a["value"] for a in g.show("alarms", "-n", "0")["alarms"]}
    assert shown["boolean", "raised"] is True and shown["cbor-state", "raised"] == "open" and shown["scaled", "raised"] == 85
    rules = {r["name"]: r for r in g.show("rules")["rules"]}
    assert rules["text"]["raise"] == 'one of "ajar", "open"' and rules["text"]["value"] == "text, string"
    assert rules["every"]["value"] == "json $.r[*].c, all" and rules["scaled"]["value"] == "json $.raw, times 0.5 plus -40"
    assert all(r["value_missing"] == 1 for r in rules.values())
