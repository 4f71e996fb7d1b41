# SPDX-License-Identifier: BSD-3-Clause
"""MQTT devices and visitors of the soak test."""

import json
import socket
from collections import OrderedDict

import paho.mqtt.client as mqtt
from lab import wait_until
from periodic import Periodic
from sequence import Sequence
from wan_lab import SERVER

CLOUD = SERVER["routed"][4]
ABOVE = 81  # a value over the threshold; its decimals are the number of the message
DECIMALS = 6
UIDS = 4096  # of alarms, of each device
WAIT = 90  # seconds for what TCP and the publisher send again after a fault


def client(lab, ns, name, host, clean=True):
    c = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=name, clean_session=clean)
    c.reconnect_delay_set(1, 1)
    c.max_inflight_messages_set(50)
    c.max_queued_messages_set(0)
    with lab.inside(ns):
        c.connect(host, 1883, keepalive=5)
        c.loop_start()
    return c


class Subscriber:
    """A session that outlives its connections and its broker, so that it gets each message that a broker accepted."""

    def __init__(self, lab, ns, name, topic, take):
        self.client = client(lab, ns, name, "127.0.0.1", clean=False)
        self.client.on_connect = lambda c, *a: c.subscribe(topic, 1)
        self.client.on_message = lambda c, u, m: take(m.topic, m.payload)
        self.client.subscribe(topic, 1)

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()


class MqttDevices(Periodic):
    """Devices whose values all raise an alarm, and some that a policy refuses: each accepted value reaches the cloud, each one
    above the threshold one alarm at the edge, and none of the refused ones the cloud under its own topic."""

    def __init__(self, lab, devices=20, rate=5):
        super().__init__(1 / (devices * rate))
        self.lab, self.turn, self.wrong = lab, 0, []
        self.sent = [0] * devices
        self.values = [Sequence() for _ in range(devices)]
        self.alarms = [Sequence() for _ in range(devices)]
        self.refused, self.blanked, self.wrong_alarms = 0, 0, []
        self.uids = [OrderedDict() for _ in range(devices)]
        self.second_alarms = 0  # of another uid for the same value
        self.resent = 0         # at most so many publications passed more than once
        self.cloud = Subscriber(lab, "server", "soak-cloud", "#", self._at_cloud)
        self.quarantine = Subscriber(lab, "server", "soak-quarantine", "$refused/#", self._at_quarantine)
        self.edge = Subscriber(lab, "near", "soak-edge", "alarm/#", self._at_edge)
        self.clients = [self._client(d) for d in range(devices)]

    def _client(self, d):
        c = client(self.lab, "sensors", f"soak-{d}", CLOUD)

        def disconnected(*_):
            self.resent += len(c._out_messages)  # noqa: SLF001
        c.on_disconnect = disconnected
        return c

    def _number(self, value):
        return round((float(value) - ABOVE) * 10**DECIMALS)

    def _at_cloud(self, topic, payload):
        match topic.split("/"):
            case "soak", d, "temperature":
                self.values[int(d)].add(self._number(payload))
            case ["visit"]:
                pass
            case _:
                self.wrong.append(topic)

    def _at_quarantine(self, topic, payload):
        self.blanked += 1

    def _at_edge(self, topic, payload):
        alarm = json.loads(payload)
        d = int(alarm["topic"].split("/")[1])
        n = self._number(alarm["value"])
        if topic != f"alarm/soak/{d}/temperature" or alarm["rule"] != "hot" or alarm["state"] != "raised" or not 0 <= n < self.sent[d]:
            self.wrong_alarms.append(alarm)
            return
        uids = self.uids[d]
        if self.alarms[d].add(n):
            uids[n] = alarm["uid"]
            if len(uids) > UIDS:
                uids.popitem(last=False)
        elif uids.get(n, alarm["uid"]) != alarm["uid"]:
            self.second_alarms += 1

    def step(self):
        d = self.turn % len(self.clients)
        self.sent[d] += 1  # before its alarm can arrive
        self.clients[d].publish(f"soak/{d}/temperature", f"{ABOVE}.{self.sent[d] - 1:0{DECIMALS}d}", 1)
        if self.turn % 10 == 0:
            self.clients[d].publish(f"soak/{d}/setpoint", "1", 1)
            self.refused += 1
        self.turn += 1

    def settle(self):
        """Returns when all that was published so far has arrived."""
        due, refused = list(self.sent), self.refused

        def missing(of):
            return sum(max(0, n - s.next) for n, s in zip(due, of, strict=True))
        for what, of in (("values at the cloud", self.values), ("alarms at the edge", self.alarms)):
            wait_until(f"the {what}", lambda o=of: missing(o) == 0, WAIT, 0.1)
        wait_until("the refused publications at the quarantine topic", lambda: self.blanked >= refused, WAIT, 0.1)

    def check(self):
        assert not self.wrong, f"refused publications reached the cloud: {self.wrong[:5]}"
        assert not self.wrong_alarms, f"alarms of no publication: {self.wrong_alarms[:5]}"
        assert self.second_alarms <= self.resent, f"{self.second_alarms} second alarms, but only {self.resent} publications passed twice"

    def totals(self):
        return {"values": sum(self.sent), "values_again": sum(s.again for s in self.values),
                "alarms": sum(s.next for s in self.alarms), "alarms_again": sum(s.again for s in self.alarms),
                "second_alarms": self.second_alarms, "refused": self.refused, "blanked": self.blanked}

    def stop(self):
        super().stop()
        for c in self.clients:
            c.disconnect()
            c.loop_stop()
        for s in (self.cloud, self.quarantine, self.edge):
            s.close()


class Visitors(Periodic):
    """Connections that are opened and closed, some without a DISCONNECT: the table has to forget them."""

    def __init__(self, lab, rate=5):
        super().__init__(1 / rate)
        self.lab, self.visits, self.refused = lab, 0, 0

    def step(self):
        packet = b"\x10\x12\x00\x04MQTT\x04\x02\x00\x05\x00\x06v" + f"{self.visits % 100000:05d}".encode()
        try:
            with self.lab.inside("sensors"):
                s = socket.create_connection((CLOUD, 1883), 2)
            with s:
                s.sendall(packet + b"\x30\x09\x00\x05visitok" + (b"\xe0\x00" if self.visits % 2 else b""))
                s.settimeout(2)
                s.recv(4)
        except OSError:
            self.refused += 1  # as while a gateway or the broker is away
        self.visits += 1

    def totals(self):
        return {"visits": self.visits, "visits_failed": self.refused}
