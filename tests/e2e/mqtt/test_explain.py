# SPDX-License-Identifier: BSD-3-Clause
"""`biplane explain` of a running gateway: topics, connections and clients of real peers."""

import json
import socket

import pytest

from conftest import config_for, overheat
from lab import CLOUD, DEVICE, wait_until
from peers import Publisher

TOPIC = "plant/oven/temperature"
RULES = [overheat(hold="3 samples", clear="< 75", repeat="on_change"),
         {"name": "door", "topic": "plant/+/door", "value": {"json": "$.open"}, "raise": "== 1", "publish": {"topic": "a"}}]


@pytest.fixture(scope="module")
def g(lab, module_gateway):
    gateway = module_gateway(config_for(rules=RULES))
    yield gateway
    gateway.stop()


def explain(g, kind, subject, *args):
    p = g.command("explain", kind, subject, "-c", g.identity, "--json", *args)
    assert p.returncode == 0, p.stderr
    return json.loads(p.stdout)


def check(of, name):
    return next(((c["status"], c["reason"]) for c in of["checks"] if c["check"] == name), (None, ""))


def publish(lab, values, topic=TOPIC, client_id="oven-7"):
    """A client that stays connected."""
    p = Publisher(lab, CLOUD, client_id=client_id)
    for v in values:
        p.publish(topic, v, 1).wait_for_publish(20)
    return p


def test_topic_before_and_after_its_publications(lab, g):
    before = explain(g, "topic", TOPIC)
    assert before["verdict"] == "possible"
    assert check(before, "published")[0] == "info" and check(before, "publisher")[0] == "ok"
    assert check(before["rules"][0], "hold")[1].startswith("not in progress")

    p = publish(lab, ["81", "82.5"])
    view = wait_until("two values", lambda: (x := explain(g, "topic", TOPIC)) and check(x["rules"][0], "hold")[1].startswith("2 of 3") and x)
    assert check(view["rules"][0], "hold")[1] == "2 of 3, last value 82.5"
    assert view["connections"][0]["client_id"] == "oven-7"
    p.publish(TOPIC, "83", 1).wait_for_publish(20)
    view = wait_until("the alarm", lambda: (x := explain(g, "topic", TOPIC))["verdict"] == "raised" and x)
    assert "last value 83" in check(view["rules"][0], "state")[1]
    assert check(view["rules"][0], "repeat")[0] == "no"
    wait_until("the alarm in the log", lambda: "raised" in check(explain(g, "topic", TOPIC)["rules"][0], "last alarm")[1])
    # the connection and the client have the same answer
    for view in explain(g, "client", "oven-7"), explain(g, "connection", f"{CLOUD}:1883"):
        assert view["verdict"] == "raised"
        flow = next(c for c in view["connections"] if c["client_id"] == "oven-7")
        assert check(flow, "last topic") == ("ok", TOPIC)
        assert "port devices, which is bridged by bridge0" in check(flow, "path")[1]
        assert check(flow, "inspected")[0] == "ok"
        assert flow["rules"][0]["rule"] == "overheat"
    p.publish(TOPIC, "70", 1).wait_for_publish(20)
    wait_until("the clear", lambda: explain(g, "topic", TOPIC)["verdict"] == "possible")
    p.finish([])


def test_typing_errors_and_other_rules(g):
    view = explain(g, "topic", "plant/oven/temperatur")
    assert view["verdict"] == "no"
    assert check(view, "match") == ("no", "no rule matches the topic; did you mean 'plant/oven/temperature'?")
    assert [r["matches"] for r in view["rules"]] == [False, False]
    assert view["rules"][0]["reason"] == "level 3 is 'temperatur', the filter has 'temperature'"
    assert len(explain(g, "topic", "x", "-n", "1")["rules"]) == 1
    text = g.command("explain", "topic", TOPIC, "-c", g.identity).stdout
    assert text.startswith(f"topic {TOPIC}: an alarm is raised when")
    assert "rule door, topic plant/+/door: does not match: level 3" in text


def test_value_that_is_missing(lab, g):
    p = publish(lab, ['{"closed": 1}'], "plant/oven/door", "door-1")
    view = wait_until("the match", lambda: (x := explain(g, "topic", "plant/oven/door"))["rules"][0]["matched"] == 1 and x)
    assert check(view["rules"][0], "value")[0] == "no" and "json $.open" in check(view["rules"][0], "value")[1]
    assert view["verdict"] == "no"
    p.finish([])


def test_connection_that_is_not_inspected(lab, g):
    with lab.inside("dev"), socket.create_connection((CLOUD, 1883)) as s:
        s.sendall(bytes([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3]))  # a TLS handshake
        end = f"{DEVICE}:{s.getsockname()[1]}"
        view = wait_until("the connection", lambda: (x := explain(g, "connection", end))["connections"] and
                          check(x["connections"][0], "inspected")[0] == "no" and x)
        assert "not_inspected_tls" in check(view["connections"][0], "inspected")[1]
        assert view["verdict"] == "no"


def test_unknown_subjects(lab, g):
    view = explain(g, "connection", f"{DEVICE}:9-{CLOUD}:9")
    assert view["verdict"] == "no" and check(view, "tracked")[0] == "no"
    p = publish(lab, ["20"], client_id="press-12")
    wait_until("the client", lambda: explain(g, "client", "press-12")["connections"])
    assert "did you mean client 'press-12'?" in check(explain(g, "client", "press12"), "tracked")[1]
    p.finish([])
    for args, message in ((("topic", "a/+/b"), "no wildcards"), (("topic",), "expected connection"),
                          (("connection", "10.0.0.1"), "ADDRESS:PORT"), (("topics", "x"), "did you mean 'topic'"),
                          (("topic", "a", "b"), "unexpected argument 'b'")):
        r = g.command("explain", *args, "-c", g.identity)
        assert r.returncode == 64 and message in r.stderr, (args, r.stderr)
