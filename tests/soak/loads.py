# SPDX-License-Identifier: BSD-3-Clause
"""The traffic of the soak test: each kind knows what has to arrive, and what did."""

import json
import socket
import struct
import threading
import time
from collections import OrderedDict

import paho.mqtt.client as mqtt
from churn import Churn
from lab import Background, wait_until
from sequence import Sequence
from wan_lab import PORT, SERVER, sensor

CLOUD = SERVER["routed"][4]
ABOVE = 81  # a value over the threshold; its decimals are the number of the message
DECIMALS = 6
UIDS = 4096  # of alarms, of each device
WAIT = 90  # seconds for what TCP and the publisher send again after a fault


class Periodic:
    """Calls step() each `period` seconds in a thread, until stop()."""

    def __init__(self, period):
        self.period, self._stop = period, threading.Event()

    def begin(self):
        self._thread = Background(self._run)
        self._thread.start()

    def _run(self):
        due = time.monotonic()
        while not self._stop.wait(max(0, due - time.monotonic())):
            self.step()
            due = max(due + self.period, time.monotonic() - 1)

    def check_alive(self):
        if not self._thread.is_alive():
            self._thread.finish()
            raise AssertionError(f"{type(self).__name__} ended by itself")

    def stop(self):
        self._stop.set()
        self._thread.finish(60)


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
        self.refused, self.blanked = 0, 0
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
        uids = self.uids[d]
        if self.alarms[d].add(n):
            uids[n] = alarm["uid"]
            if len(uids) > UIDS:
                uids.popitem(last=False)
        elif uids.get(n, alarm["uid"]) != alarm["uid"]:
            self.second_alarms += 1

    def step(self):
        d = self.turn % len(self.clients)
        self.clients[d].publish(f"soak/{d}/temperature", f"{ABOVE}.{self.sent[d]:0{DECIMALS}d}", 1)
        self.sent[d] += 1
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

    def check(self):
        pass

    def settle(self):
        pass

    def totals(self):
        return {"visits": self.visits, "visits_failed": self.refused}


class Datagrams(Periodic):
    """Messages of sensors that the gateways aggregate and restore: each arrives once, but those on their way when a fault begins
    and those sent until it ends."""

    def __init__(self, lab, sensors=20, rate=25):
        super().__init__(1 / rate)
        self.sent, self.of = [0] * sensors, [Sequence() for _ in range(sensors)]
        self.away = []  # of each fault: the numbers before it and after it
        with lab.inside("sensors"):
            self.sockets = [self._bound(sensor(n, "routed")) for n in range(sensors)]
        with lab.inside("server"):
            self.server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.server.bind(("", PORT))
        self.server.settimeout(0.2)
        self._reader = Background(self._read)
        self._reader.start()

    @staticmethod
    def _bound(address):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((address, 0))
        return s

    def _read(self):
        while not self._stop.is_set():
            try:
                payload = self.server.recv(2048)
            except TimeoutError:
                continue
            n, number = struct.unpack_from(">IQ", payload)
            self.of[n].add(number)

    def step(self):
        for n, s in enumerate(self.sockets):
            try:
                s.sendto(struct.pack(">IQ", n, self.sent[n]) + bytes(20), (CLOUD, PORT))
            except OSError:  # no neighbor while the gateway is away: it counts as sent, and as lost
                pass
            self.sent[n] += 1

    def before_fault(self):
        self.away.append(([s.next for s in self.of], None))

    def after_fault(self):
        self.away[-1] = (self.away[-1][0], list(self.sent))

    def settle(self):
        due = list(self.sent)
        allowed = [[range(a[n], b[n]) for a, b in self.away] for n in range(len(due))]
        floor = [max((b[n] for _, b in self.away), default=0) for n in range(len(due))]

        def arrived():
            return all(s.has_all(f, d) for s, d, f in zip(self.of, due, floor, strict=True))
        try:
            wait_until("the datagrams", arrived, 10, 0.1)
        except AssertionError:
            pass  # give_up() says which
        for s, d, a in zip(self.of, due, allowed, strict=True):
            s.give_up(d, a)
        self.away.clear()

    def check(self):
        missing = [(n, s.missing[:5]) for n, s in enumerate(self.of) if s.missing]
        assert not missing, f"datagrams are missing outside of faults: {missing[:5]}"
        again = sum(s.again for s in self.of)
        assert again == 0, f"{again} datagrams arrived more than once"

    def totals(self):
        return {"datagrams": sum(self.sent), "datagrams_lost_in_faults": sum(s.lost for s in self.of)}

    def stop(self):
        super().stop()
        self._reader.finish()
        for s in (*self.sockets, self.server):
            s.close()


class RoutePlan:
    """Routes that come and go beside those of the traffic: 2,048 prefixes at most."""
    via = "10.8.0.2"

    def __init__(self, random):
        self.random, self.present = random, set()

    def change(self):
        prefix = f"60.{self.random.randrange(8)}.{self.random.randrange(256)}.0/24"
        if prefix in self.present:
            self.present.remove(prefix)
            return f"route del {prefix}"
        self.present.add(prefix)
        return f"route add {prefix} via {self.via}"


class NearLab:
    """The laboratory with its gateway NEAR where churn.py expects gw."""

    def __init__(self, lab):
        self.lab = lab

    def argv(self, _, *args):
        return self.lab.argv("near", *args)


class Routes:
    def __init__(self, lab, random, rate=200):
        self.lab, self.random, self.rate = lab, random, rate

    def begin(self):
        self.churn = Churn(NearLab(self.lab), RoutePlan(self.random), self.rate)

    def check_alive(self):
        self.churn.check()

    def check(self):
        self.churn.check()

    def settle(self):
        pass

    def totals(self):
        return {"route_changes": self.churn.made}

    def stop(self):
        self.churn.stop()
