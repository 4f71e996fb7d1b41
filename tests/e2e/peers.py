# SPDX-License-Identifier: BSD-3-Clause
"""MQTT peers for the tests: paho publishers and collectors inside namespaces, and mosquitto_pub."""

import hashlib
import itertools
import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from lab import wait_until

VERSION = {"3.1": mqtt.MQTTv31, "3.1.1": mqtt.MQTTv311, "5": mqtt.MQTTv5}
MOSQUITTO_VERSION = {"3.1": "mqttv31", "3.1.1": "mqttv311", "5": "mqttv5"}
_serial = itertools.count(1)


def digest(payload):
    return hashlib.sha256(payload).hexdigest()


@dataclass
class Expected:
    """The published messages, and the expected alarms."""
    published: list = field(default_factory=list)  # (topic, payload)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, topic, payload):
        with self.lock:
            self.published.append((topic, payload))

    def cloud(self):
        return Counter((t, digest(p)) for t, p in self.published)

    def alarms(self, value, over=80.0):
        """Multiset of (alarm topic, payload digest) due to rules "value > over" with payload original.
        value(topic, payload) is what the rules' filters and sources make of a publication, or None."""
        return Counter((f"alarm/{t}", digest(p)) for t, p in self.published
                       if (v := value(t, p)) is not None and v > over)


def text_value(payload):
    """The number that a payload is, as value: text has it; None for anything else."""
    try:
        s = payload.decode().strip(" \t\r\n")
    except UnicodeDecodeError:
        return None
    if not s or any(c not in "0123456789+-.eE" for c in s):
        return None
    return float(s)


def json_value(payload):
    try:
        return float(json.loads(payload)["celsius"])
    except (ValueError, KeyError, TypeError):
        return None


def usual_value(topic, payload):
    """The two rules of most tests: text on plant/+/temperature, JSON on kiln/+/state."""
    match topic.split("/"):
        case ["plant", _, "temperature"]:
            return text_value(payload)
        case ["kiln", _, "state"]:
            return json_value(payload)
    return None


class Collector:
    """A subscriber that keeps (topic, payload) of all it gets, in order."""

    def __init__(self, lab, ns, filters=("#",), qos=2, host="127.0.0.1", version="3.1.1", client_id=None,
                 clean=True, port=1883):
        self.messages, self.times = [], []
        self._ready = threading.Event()
        self._filters = [(f, qos) for f in filters]
        kw = {}
        if version != "5":
            kw["clean_session"] = clean
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=VERSION[version],
                                  client_id=client_id or f"collector-{next(_serial)}", **kw)
        self.client.reconnect_delay_set(1, 1)
        self.client.on_connect = lambda c, *a: c.subscribe(self._filters)
        self.client.on_subscribe = lambda *a: self._ready.set()
        self.client.on_disconnect = lambda *a: self._ready.clear()
        self.client.on_message = self._on_message
        with lab.inside(ns):  # the loop's thread, and so its reconnections, stay in the namespace
            self.client.connect(host, port, keepalive=60)
            self.client.loop_start()
        self.wait_subscribed()

    def wait_subscribed(self, seconds=20):
        assert self._ready.wait(seconds), "a collector did not get its SUBACK"

    def _on_message(self, client, userdata, message):
        self.messages.append((message.topic, message.payload))

    def counts(self, but=()):
        return Counter((t, digest(p)) for t, p in list(self.messages) if t not in but)

    def wait_for_topic(self, topic, seconds=30):
        def arrived():
            return next((p for t, p in reversed(self.messages) if t == topic), None)
        return wait_until(f"a message on {topic}", arrived, seconds)

    def wait_count(self, n, seconds=30):
        wait_until(f"{n} messages (got {len(self.messages)})", lambda: len(self.messages) >= n, seconds)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()


class Client:
    """A paho client in the devices' namespace that notes what it gets and how its connection ends."""

    def __init__(self, lab, host, client_id, protocol, port=1883, transport="tcp"):
        self.ends, self.refused, self.messages, self.granted = [], [], [], []
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=protocol, client_id=client_id, transport=transport, reconnect_on_failure=False)
        self.client.on_connect = lambda c, u, flags, reason, properties: self.refused.append(reason) if reason.is_failure else None
        self.client.on_disconnect = lambda c, u, flags, reason, properties: self.ends.append(reason)
        self.client.on_message = lambda c, u, m: self.messages.append((m.topic, m.payload))
        self.client.on_subscribe = lambda c, u, mid, reasons, properties: self.granted.append([r.value for r in reasons])
        with lab.inside("dev"):
            self.client.connect(host, port)
            self.client.loop_start()

    def connected(self):
        wait_until("a connection", self.client.is_connected)
        return self

    def publish(self, topic, payload, **options):
        """Waits for its acknowledgement."""
        self.client.publish(topic, payload, **options).wait_for_publish(10)

    def subscribe(self, filters):
        """The reason codes of the SUBACK"""
        self.client.subscribe(filters)
        return wait_until("the SUBACK", lambda: self.granted.pop(0) if self.granted else None)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()


def mqtt_js(lab, host, client_id, version=4, port=1883):
    """What tests/e2e/mqtt_client.js prints"""
    return lab.run("dev", "env", "NODE_PATH=/usr/share/nodejs", "node", Path(__file__).with_name("mqtt_client.js"), host, str(port), str(version),
                   client_id, timeout=60).stdout.decode().splitlines()


class Publisher:
    """A paho client in the devices' namespace that notes what it publishes."""

    def __init__(self, lab, host, expected=None, version="3.1.1", client_id=None, ns="dev", keepalive=60,
                 port=1883):
        self.expected = expected if expected is not None else Expected()
        self.version = version
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=VERSION[version],
                                  client_id=client_id or f"device-{next(_serial)}")
        self.client.max_inflight_messages_set(200)
        self.client.max_queued_messages_set(0)
        up = threading.Event()
        self.client.on_connect = lambda *a: up.set()
        self._alias = {}
        with lab.inside(ns):
            self.client.connect(host, port, keepalive=keepalive)
            self.client.loop_start()
        assert up.wait(30), f"no CONNACK from {host}"

    def publish(self, topic, payload, qos=0, alias=None, rich=False, retain=False):
        if isinstance(payload, str):
            payload = payload.encode()
        self.expected.add(topic, payload)
        properties = None
        name = topic
        if self.version == "5" and (alias or rich):
            properties = Properties(PacketTypes.PUBLISH)
            if rich:
                properties.PayloadFormatIndicator = 0
                properties.MessageExpiryInterval = 3600
                properties.ContentType = "application/byte-stream"
                properties.ResponseTopic = "reply/here"
                properties.CorrelationData = bytes(range(16))
                properties.UserProperty = [("line", "7"), ("line", "8")]
            if alias:
                properties.TopicAlias = alias
                if self._alias.get(alias) == topic:
                    return self._publish_by_alias(payload, qos, retain, properties)
                self._alias[alias] = topic
        return self.client.publish(name, payload, qos, retain, properties)

    def _publish_by_alias(self, payload, qos, retain, properties):
        """publish() of paho refuses the empty topic name that is used with a mapped topic alias."""
        c = self.client
        mid = c._mid_generate()  # noqa: SLF001
        info = mqtt.MQTTMessageInfo(mid)
        if qos:
            message = mqtt.MQTTMessage(mid, b"")
            message.payload, message.qos, message.retain = payload, qos, retain
            message.timestamp, message.properties, message.info = mqtt.time_func(), properties, info
            message.state = mqtt.mqtt_ms_wait_for_puback if qos == 1 else mqtt.mqtt_ms_wait_for_pubrec
            with c._out_message_mutex:  # noqa: SLF001
                c._out_messages[mid] = message  # noqa: SLF001
                c._inflight_messages += 1  # noqa: SLF001
        c._send_publish(mid, b"", payload, qos, retain, False, info, properties)  # noqa: SLF001
        return info

    def finish(self, infos=(), seconds=60):
        """Waits until all is sent and acknowledged, then disconnects."""
        for i in infos:
            i.wait_for_publish(seconds)
            assert i.is_published(), "a publication was not acknowledged"
        self.client.disconnect()
        self.client.loop_stop()


def mosquitto_pub(lab, host, topic, payloads, version="3.1.1", qos=0, expected=None, client_id=None):
    """One mosquitto_pub: a single message with -s (any bytes), several with -l (a line each)."""
    argv = ["mosquitto_pub", "-h", host, "-V", MOSQUITTO_VERSION[version], "-t", topic, "-q", qos,
            "-i", client_id or f"pub-{next(_serial)}"]
    payloads = [p.encode() if isinstance(p, str) else p for p in payloads]
    if len(payloads) == 1:
        lab.run("dev", *argv, "-s", input=payloads[0])
    else:
        lab.run("dev", *argv, "-l", input=b"".join(p + b"\n" for p in payloads))
    if expected is not None:
        for p in payloads:
            expected.add(topic, p)
