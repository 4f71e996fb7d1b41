# SPDX-License-Identifier: BSD-3-Clause
"""A policy with action blank: real clients go on, and the real broker has refused messages on the quarantine topic alone."""

import subprocess

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from conftest import config_for
from lab import CLOUD, wait_until
from peers import Client, Collector, mqtt_js

POLICY = {"fail": "closed", "rules": [
    {"name": "secrets", "action": "blank", "packet": "publish", "topic": "plant/secret/#"},
    {"name": "readers", "action": "blank", "packet": "subscribe", "topic": "plant/secret/x"},
]}
WEBSOCKET_PORT = 9001
QUARANTINE = "$refused/-----"  # of the length of plant/secret/x


@pytest.fixture(scope="module")
def g(lab, module_gateway):
    gateway = module_gateway(config_for(policy=POLICY, websocket_ports=[WEBSOCKET_PORT]))
    yield gateway
    gateway.stop()


@pytest.fixture(scope="module")
def cloud(lab, g):
    c = Collector(lab, "cloud")
    yield c
    c.close()


@pytest.fixture(scope="module")
def auditor(lab, g):
    c = Collector(lab, "cloud", filters=("$refused/#",))
    yield c
    c.close()


@pytest.fixture(scope="module")
def pcap(lab, g, tmp_path_factory):
    """What arrives at the broker."""
    path = tmp_path_factory.mktemp("blank") / "cloud.pcap"
    log = path.with_suffix(".log")
    with open(log, "wb") as out:
        dump = lab.popen("cloud", "tcpdump", "-i", "eth0", "-U", "--immediate-mode", "-Z", "root", "-w", path,
                         "tcp dst port 1883", stderr=out)
    wait_until("tcpdump", lambda: b"listening on" in log.read_bytes())
    yield path
    dump.terminate()
    dump.wait()


@pytest.fixture
def websocket_broker(lab, tmp_path):
    """Also on TCP port 1884, in its own namespace."""
    conf = tmp_path / "mosquitto.conf"
    conf.write_text(f"user root\nlistener 1884 127.0.0.1\nlistener {WEBSOCKET_PORT}\nprotocol websockets\nallow_anonymous true\n")
    p = lab.popen("cloud", "mosquitto", "-c", conf, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until("a listening broker", lambda: str(WEBSOCKET_PORT) in lab.run("cloud", "ss", "-ltn").stdout.decode())
    yield
    p.terminate()
    p.wait(10)


def client(lab, client_id, protocol, **options):
    return Client(lab, CLOUD, client_id, protocol, **options).connected()


def close_alive(c):
    assert not c.ends
    c.close()


def payloads(collector):
    return [p for _, p in list(collector.messages)]


@pytest.mark.parametrize("protocol", [mqtt.MQTTv311, mqtt.MQTTv5], ids=["3.1.1", "5.0"])
def test_publisher_goes_on(lab, g, cloud, auditor, pcap, protocol):
    c = client(lab, f"pump-{protocol}", protocol)
    sent = [(qos, retain, b"%d-%d-%d" % (protocol, qos, retain)) for qos in (0, 1, 2) for retain in (False, True)]
    for qos, retain, payload in sent:
        c.publish("plant/secret/x", payload, qos=qos, retain=retain)
        c.publish("plant/open/x", payload, qos=qos)
    wait_until("the allowed ones", lambda: all(p in payloads(cloud) for _, _, p in sent))
    wait_until("the refused ones", lambda: all(p in payloads(auditor) for _, _, p in sent))
    close_alive(c)
    assert {t for t, _ in cloud.messages} == {"plant/open/x"}
    assert {t for t, _ in auditor.messages} == {QUARANTINE}
    # nothing is retained
    late = Collector(lab, "cloud", filters=("$refused/#", "#"))
    late.close()
    assert not late.messages


def test_many_publications(lab, g, cloud, auditor, pcap):
    """Those behind the first one are overwritten on the burst path; the broker discards a segment with a wrong checksum."""
    c = client(lab, "many", mqtt.MQTTv311)
    sent = [b"many-%d" % i for i in range(200)]
    for i, payload in enumerate(sent):
        c.publish("plant/secret/x", payload, qos=1, retain=i % 3 == 0)  # acknowledged, each in its own segment
        c.publish("plant/open/x", payload, qos=1)
    wait_until("the allowed ones", lambda: set(sent) <= set(payloads(cloud)))
    wait_until("the refused ones", lambda: set(sent) <= set(payloads(auditor)))
    close_alive(c)
    assert {t for t, _ in cloud.messages} <= {"plant/open/x"}
    assert {t for t, _ in auditor.messages} == {QUARANTINE}
    assert payloads(auditor).count(sent[0]) == 1
    assert b"plant/secret/x" not in pcap.read_bytes()


def test_topic_alias(lab, g, cloud, auditor):
    c = client(lab, "alias", mqtt.MQTTv5)
    alias = Properties(PacketTypes.PUBLISH)
    alias.TopicAlias = 1
    c.publish("plant/secret/x", "defined", qos=1, properties=alias)
    c.publish("", "used", qos=1, properties=alias)
    c.publish("plant/open/x", "defined again", qos=1, properties=alias)
    c.publish("", "used again", qos=1, properties=alias)
    wait_until("the allowed ones", lambda: b"used again" in payloads(cloud))
    wait_until("the refused ones", lambda: {b"defined", b"used"} <= set(payloads(auditor)))
    assert not {b"defined", b"used"} & set(payloads(cloud))
    close_alive(c)


@pytest.mark.parametrize("protocol", [mqtt.MQTTv311, mqtt.MQTTv5], ids=["3.1.1", "5.0"])
def test_subscriber_goes_on(lab, g, protocol):
    local = client(lab, f"reader-{protocol}", protocol)
    refused = 0x87 if protocol == mqtt.MQTTv5 else 0x80
    filters = ["#", "plant/open/#", "plant/secret/x", "$share/g/plant/+/x"]
    assert local.subscribe([(f, 0) for f in filters]) == [refused, 0, refused, refused]
    other = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    with lab.inside("cloud"):
        other.connect("127.0.0.1", 1883)
        other.loop_start()
    for topic in ("plant/secret/x", QUARANTINE, "plant/open/x"):
        other.publish(topic, "1", qos=1).wait_for_publish(10)
    wait_until("the allowed one", lambda: local.messages)
    assert local.messages == [("plant/open/x", b"1")]
    other.disconnect()
    other.loop_stop()
    close_alive(local)


def test_websocket(lab, g, websocket_broker):
    c = client(lab, "browser", mqtt.MQTTv5, port=WEBSOCKET_PORT, transport="websockets")
    assert c.subscribe([("plant/open/x", 0), ("plant/secret/x", 0)]) == [0, 0x87]
    seen = Collector(lab, "cloud", filters=("#", "$refused/#"), port=1884)
    payload = {qos: b"%d" % qos * 10000 * qos for qos in (0, 1, 2)}
    for qos in (0, 1, 2):
        c.publish("plant/secret/x", payload[qos], qos=qos, retain=True)
        c.publish("plant/open/x", payload[qos], qos=qos)
    wait_until("all messages", lambda: len(seen.messages) == 6 and len(c.messages) == 3)
    assert seen.messages == [(topic, payload[qos]) for qos in (0, 1, 2) for topic in (QUARANTINE, "plant/open/x")]
    seen.close()
    close_alive(c)


@pytest.mark.parametrize("version", [4, 5])
def test_mqtt_js(lab, g, auditor, version):
    topics = ["plant/open/1", "plant/secret/x", "plant/open/2"]
    assert mqtt_js(lab, CLOUD, f"js-{version}", version) == [*(f"acknowledged {t}" for t in topics), "closed"]
    wait_until("the refused one", lambda: (QUARANTINE, b"js-%d plant/secret/x" % version) in list(auditor.messages))


@pytest.mark.parametrize("version", ["mqttv311", "mqttv5"])
def test_mosquitto_sub_says_so(lab, g, version):
    sub = lab.run("dev", "mosquitto_sub", "-V", version, "-h", CLOUD, "-t", "plant/secret/x", "-W", "20", check=False, text=True)
    assert "All subscription requests were denied." in sub.stdout
    assert sub.returncode != 27  # its time is over


def test_checksums(g, pcap):
    out = subprocess.run(["tshark", "-r", str(pcap), "-n", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
                          "-T", "fields", "-e", "tcp.checksum.status", "-e", "ip.checksum.status", "-e", "mqtt.topic"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    rows = [line.split("\t") for line in out.splitlines()]
    assert {(tcp, ip) for tcp, ip, _ in rows} == {("1", "1")}
    topics = {t for _, _, topic in rows for t in topic.split(",")}
    assert QUARANTINE in topics and "$" in topics and "plant/secret/x" not in topics


def test_every_frame_is_accounted_for(g):
    assert g.counter("policy_packets_blanked") > 0 and g.counter("policy_blank_fallback") == 0
    assert g.counter("policy_suback_refused") > 0 and g.counter("policy_suback_unchanged") == 0
    assert g.balanced()
