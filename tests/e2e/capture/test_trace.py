# SPDX-License-Identifier: BSD-3-Clause
"""`biplane trace` on a running gateway: the steps of a frame, and what became of it."""

import socket
import subprocess

import pytest

from captured import exchange, frame
from conftest import config_for
from frames import LOCAL_ETHERTYPE, Wire, ethernet
from json_doc import differences
from lab import BIPLANE, CLOUD, MAC, wait_until
from peers import Collector, Publisher
from traced import finish, nodes, objects, tracing

TLS_PORT = 8883


def acknowledged(publisher, value):
    info = publisher.publish("plant/oven/temperature", value, 1)
    info.wait_for_publish(20)
    assert info.is_published()


@pytest.fixture(scope="module")
def mqtt(lab, module_gateway):
    g = module_gateway(config_for(tcp_ports=[1883, TLS_PORT]))
    yield g
    g.stop()


def test_publication_with_its_connection_rule_and_alarm(lab, mqtt):
    cloud = Collector(lab, "cloud")
    p = Publisher(lab, CLOUD, client_id="oven-7")
    acknowledged(p, "20")
    cloud.wait_count(1)
    with tracing(mqtt, "-n", 2, "--json", "-i", "devices", "tcp dst port 1883 and greater 90") as t:
        acknowledged(p, "79")
        acknowledged(p, "81.5")
        low, high = objects(t)
    p.finish()
    cloud.close()
    for trace in low, high:
        assert trace["port"] == "devices" and trace["outcome"] == "sent on cloud"
        step = next(s for s in trace["steps"] if s["node"] == "mqtt")
        assert nodes(trace) == ["ethernet", "mqtt", "bridge", "port_tx-1"]
        assert step["next"] == [{"node": "bridge", "frames": 1}]
        assert step["connection"]["client_id"] == "oven-7" and step["connection"]["to_broker"] == "inspecting"
        assert not differences("trace", trace)
        assert step["connection"]["not_inspected_reason"] is None
        assert {"publishes", "matches"} <= {c["name"] for c in step["counters"]}, step["counters"]
    rule = next(s for s in low["steps"] if s["node"] == "mqtt")["rules"]
    assert rule == [{"rule": "overheat", "value": 79.0, "raise": "> 80", "verdict": "no change"}]
    step = next(s for s in high["steps"] if s["node"] == "mqtt")
    assert step["rules"] == [{"rule": "overheat", "value": 81.5, "raise": "> 80", "verdict": "raised"}]
    ids = wait_until("the alarm", lambda: [a["id"] for a in mqtt.show("alarms")["alarms"] if a["value"] == 81.5])
    assert step["alarms"] == ids[-1:]


def test_tls_has_the_reason_why_it_is_not_inspected(lab, mqtt):
    """The second frame of the client: the names of the first one are read, then inspection stops."""
    with lab.inside("cloud"):
        server = socket.create_server((CLOUD, TLS_PORT))
    with server, lab.inside("dev"), socket.create_connection((CLOUD, TLS_PORT), 20) as s, server.accept()[0] as peer:
        hello = bytes([0x16, 3, 1, 0, 165, 1, 0, 0, 161, 3, 3]).ljust(170, b".")
        s.sendall(hello)
        assert peer.recv(1000) == hello
        with tracing(mqtt, "-n", 1, "--json", "-i", "devices", f"tcp dst port {TLS_PORT} and greater 200") as t:
            s.sendall(hello)
            trace, = objects(t)
    step = next(s for s in trace["steps"] if s["node"] == "mqtt")
    assert step["connection"]["not_inspected_reason"] == "not_inspected_tls", step
    assert step["connection"]["to_broker"] != "inspecting" and "rules" not in step
    assert trace["outcome"] == "sent on cloud" and not differences("trace", trace)


def test_frame_that_is_dropped_has_its_reason(lab, mqtt):
    """To a station on the same port: the bridge drops it."""
    other = "02:99:00:00:00:78"
    w = Wire(lab, "dev")
    w.send(ethernet("ff:ff:ff:ff:ff:ff", other, LOCAL_ETHERTYPE, b".".ljust(46)))
    expression = f"ether dst {other}"
    with tracing(mqtt, "-n", 1, "--json", expression) as as_json, tracing(mqtt, "-n", 1, expression) as as_text:
        w.send(ethernet(other, MAC["dev"], LOCAL_ETHERTYPE, b".".ljust(46)))
        trace, = objects(as_json)
        lines = finish(as_text).splitlines()
    w.close()
    assert trace["outcome"] == "dropped: hairpin" and nodes(trace)[-2:] == ["bridge", "drop"], trace
    assert not differences("trace", trace)
    assert [line for line in lines if line][-1] == "  => dropped: hairpin"


def test_text_ends_with_the_outcome(lab, mqtt):
    with tracing(mqtt, "-n", 1, f"ether proto {LOCAL_ETHERTYPE:#x}") as t:
        exchange(lab, [frame(1)])
        lines = finish(t).splitlines()
    assert lines[0].startswith("frame 1: 20") and " devices 60 bytes " in lines[0]
    assert lines[1].startswith("  ") and " -> " in lines[1]
    assert [line for line in lines if line][-1] == "  => sent on cloud"


def test_wrong_arguments(mqtt):
    for args, status, words in [(("-n", "0"), 64, "1 to 1000"), (("tcp port",), 64, "filter"), (("-i", "x"), 69, "no port 'x'")]:
        p = subprocess.run([BIPLANE, "trace", "--config", mqtt.identity, *args], capture_output=True, text=True, check=False,
                           timeout=30)
        assert p.returncode == status and words in p.stderr, p.stderr
