# SPDX-License-Identifier: BSD-3-Clause
"""A policy with action close: a refused packet never reaches the broker, and real clients and the real broker see their
connection end at once."""

import socket
import struct
import time

import paho.mqtt.client as mqtt
import pytest

from conftest import config_for
from lab import CLOUD, wait_until
from peers import Client, Collector, mqtt_js

NOT_AUTHORIZED = 0x87
POLICY = {"fail": "closed", "rules": [
    {"name": "secrets", "action": "close", "packet": "publish", "topic": "plant/secret/#"},
    {"name": "eve", "action": "close", "packet": "connect", "client_id": "eve*"},
    {"name": "all", "action": "close", "packet": "subscribe", "topic": "plant/secret/x"},
]}


@pytest.fixture(scope="module")
def g(lab, module_gateway):
    gateway = module_gateway(config_for(policy=POLICY))
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def cloud(lab, g):
    c = Collector(lab, "cloud")
    yield c
    c.close()


def client(lab, client_id, protocol):
    return Client(lab, CLOUD, client_id, protocol)


def topics(cloud):
    return [t for t, _ in list(cloud.messages)]


@pytest.mark.parametrize("protocol", [mqtt.MQTTv311, mqtt.MQTTv5], ids=["3.1.1", "5.0"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_refused_publication_ends_the_connection(lab, g, cloud, protocol, qos):
    c = client(lab, f"pump-{protocol}-{qos}", protocol).connected()
    before = f"plant/open/{protocol}/{qos}"
    c.publish(before, "1", qos=1)
    wait_until("the publication", lambda: before in topics(cloud))
    c.client.publish(f"plant/secret/{protocol}/{qos}", "1", qos=qos)
    wait_until("the end", lambda: c.ends)
    if protocol == mqtt.MQTTv5:
        assert c.ends[0].value == NOT_AUTHORIZED
    c.close()
    # the broker has no such connection any more: another client with this identifier ends none
    c = client(lab, f"pump-{protocol}-{qos}", protocol).connected()
    after = f"plant/open/{protocol}/{qos}/after"
    c.publish(after, "1", qos=1)
    wait_until("the publication", lambda: after in topics(cloud))
    assert not any(t.startswith("plant/secret") for t in topics(cloud))
    c.close()


def test_refused_connect(lab, g):
    c = client(lab, "eve-5", mqtt.MQTTv5)
    wait_until("the refusal", lambda: c.refused)
    assert c.refused[0].value == NOT_AUTHORIZED
    c.close()
    c = client(lab, "eve-4", mqtt.MQTTv311)
    wait_until("the refusal", lambda: c.refused)
    assert "ot authorized" in str(c.refused[0])
    c.close()


def test_refused_subscription(lab, g):
    c = client(lab, "reader", mqtt.MQTTv5).connected()
    c.client.subscribe("plant/open/#")
    c.client.subscribe("plant/#")
    wait_until("the end", lambda: c.ends)
    assert c.ends[0].value == NOT_AUTHORIZED
    c.close()


@pytest.mark.parametrize("version, ends", [(4, []), (5, [f"disconnect {NOT_AUTHORIZED}"])])
def test_mqtt_js(lab, g, cloud, version, ends):
    printed = mqtt_js(lab, CLOUD, f"js-{version}", version)
    assert [line for line in printed if not line.startswith("error")] == ["acknowledged plant/open/1", *ends, "closed"]
    assert not any(p.startswith(b"js-") and b"plant/secret" in p for _, p in list(cloud.messages))


CONNECT = b"\x10\x11\x00\x04MQTT\x04\x02\x00\x3c\x00\x05split"


def publish(topic):
    body = len(topic).to_bytes(2, "big") + topic + b"1"
    return b"\x30" + bytes([len(body)]) + body


def test_packet_in_single_bytes(lab, g, cloud):
    with lab.inside("dev"):
        s = socket.create_connection((CLOUD, 1883), 10)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    s.sendall(CONNECT)
    assert s.recv(4) == b"\x20\x02\x00\x00"
    for p in (publish(b"plant/open/bytes"), publish(b"plant/secret/bytes")):
        for i in range(len(p)):
            try:
                s.send(p[i:i + 1])
            except (ConnectionResetError, BrokenPipeError):
                break
            time.sleep(0.002)  # a segment of its own
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        s.send(b"\xc0\x00")
        assert s.recv(1) != b""
        s.recv(1)
    wait_until("the publication", lambda: "plant/open/bytes" in topics(cloud))
    assert "plant/secret/bytes" not in topics(cloud)


def test_packets_before_the_refused_one_in_a_segment_are_delivered(lab, g, cloud):
    with lab.inside("dev"):
        s = socket.create_connection((CLOUD, 1883), 10)
    s.sendall(CONNECT)
    assert s.recv(4) == b"\x20\x02\x00\x00"
    s.sendall(publish(b"plant/open/first") + publish(b"plant/secret/second") + publish(b"plant/open/third"))
    with pytest.raises(ConnectionResetError):
        while s.recv(10):
            pass
    wait_until("the publication", lambda: "plant/open/first" in topics(cloud))
    assert "plant/secret/second" not in topics(cloud) and "plant/open/third" not in topics(cloud)


def test_another_protocol_is_refused(lab, g):
    with lab.inside("dev"):
        s = socket.create_connection((CLOUD, 1883), 10)
    s.sendall(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(ConnectionResetError):
        s.recv(1)
    assert g.counter("policy_failed_closed") > 0


def test_every_frame_is_accounted_for(g):
    assert g.balanced()


def test_reload_ends_connections_that_the_new_policy_refuses(lab, g):
    clients = {name: client(lab, name, mqtt.MQTTv5).connected() for name in ("left", "late")}
    for c in clients.values():
        c.publish("plant/open/reload", "1", qos=1)
    policy = POLICY | {"on_reload": "close", "rules": POLICY["rules"] + [
        {"name": "late", "action": "close", "packet": "connect", "client_id": "late"}]}
    assert g.reload(g.config | {"mqtt": g.config["mqtt"] | {"policy": policy}}).returncode == 0
    wait_until("marked connections", lambda: clients["late"].client.publish("plant/open/reload", "1") and clients["late"].ends)
    assert clients["late"].ends[0].value == NOT_AUTHORIZED
    clients["left"].publish("plant/open/reload", "1", qos=1)
    assert not clients["left"].ends
    for c in clients.values():
        c.close()


def connect_with_will(lab, name, version):
    """A connection whose will is on plant/will/NAME"""
    def text(t):
        return len(t).to_bytes(2, "big") + t.encode()

    none = b"\0" if version == 5 else b""
    body = text("MQTT") + bytes([version, 6, 0, 60]) + none + text(name) + none + text(f"plant/will/{name}") + text("gone")
    with lab.inside("dev"):
        s = socket.create_connection((CLOUD, 1883), 10)
    s.sendall(bytes([0x10, len(body)]) + body)
    assert s.recv(4)[:1] == b"\x20"
    return s


def ended(s):
    """It has ended, or it sends something."""
    s.settimeout(0.05)
    try:
        s.sendall(b"\xc0\x00")
        return s.recv(100) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_broker_discards_the_will_that_a_reload_refuses(lab, g, cloud):
    refused = [connect_with_will(lab, f"refused-{version}", version) for version in (4, 5)]
    kept = connect_with_will(lab, "kept", 4)
    policy = POLICY | {"on_reload": "close", "rules": POLICY["rules"] + [
        {"name": "wills", "action": "close", "packet": "will", "topic": "plant/will/+", "client_id": "refused-*"}]}
    assert g.reload(g.config | {"mqtt": g.config["mqtt"] | {"policy": policy}}).returncode == 0
    for s in refused:
        wait_until("the end", lambda s=s: ended(s))
    # of a connection that ends in another way, the will is published
    kept.sendall(publish(b"plant/secret/x"))
    wait_until("the will of the other client", lambda: "plant/will/kept" in topics(cloud))
    assert [t for t in topics(cloud) if t.startswith("plant/will/")] == ["plant/will/kept"]
    assert g.counter("policy_will_left") == 0
    assert g.counter("wills_discarded") >= 2


def test_broker_discards_a_refused_will_when_its_client_closes(lab, g, cloud):
    closing, resetting, kept = (connect_with_will(lab, name, 4) for name in ("closing", "resetting", "kept-too"))
    policy = POLICY | {"on_reload": "leave", "rules": POLICY["rules"] + [
        {"name": "wills", "action": "close", "packet": "will", "topic": "plant/will/+", "client_id": "*ing"}]}
    assert g.reload(g.config | {"mqtt": g.config["mqtt"] | {"policy": policy}}).returncode == 0
    before = g.counter("wills_discarded"), g.counter("policy_will_left")
    closing.close()
    resetting.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    resetting.close()
    wait_until("discarded wills", lambda: g.counter("wills_discarded") == before[0] + 2)
    kept.close()
    wait_until("the will of the other client", lambda: "plant/will/kept-too" in topics(cloud))
    assert not {"plant/will/closing", "plant/will/resetting"} & set(topics(cloud))
    assert g.counter("policy_will_left") == before[1]
