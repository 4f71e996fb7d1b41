# SPDX-License-Identifier: BSD-3-Clause
"""A device that publishes with QoS 0 and is never answered, on a wire that loses: with room for what comes out of order
nothing is lost to inspection; without, it comes back in step, and no alarm is wrong."""

import array
import contextlib
import fcntl
import select
import socket
import struct
import termios
import threading

import pytest

from conftest import config_for
from lab import CLOUD, wait_until
from peers import Collector, Expected, usual_value
from relay_thread import RelayThread
from vlan_tap import open_raw, receive_frame

TOPIC = "plant/oven/temperature"
PUSHES = 4


def packet(first, body):
    length = b""
    n = len(body)
    while True:
        n, digit = divmod(n, 128)
        length += bytes([digit | (0x80 if n else 0)])
        if not n:
            return bytes([first]) + length + body


def text(s):
    return struct.pack("!H", len(s)) + s


def publication(topic, payload):
    return packet(0x30, text(topic.encode()) + payload)


class Device:
    """Writes every packet immediately and unchanged, and sends PINGREQ only on request (keep alive 0)."""

    def __init__(self, lab, name):
        with lab.inside("dev"):
            self.socket = socket.create_connection((CLOUD, 1883), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.expected = Expected()
        self.socket.sendall(packet(0x10, text(b"MQTT") + b"\x04\x02\x00\x00" + text(name)))
        assert self.receive(4) == b"\x20\x02\x00\x00"

    def receive(self, n):
        data = b""
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            assert more, "the broker has closed the connection"
            data += more
        return data

    def publish(self, payload, topic=TOPIC):
        self.expected.add(topic, payload)
        self.socket.sendall(publication(topic, payload))

    def acknowledged(self):
        """Waits until the broker has all."""
        def unacknowledged():
            n = array.array("i", [0])
            fcntl.ioctl(self.socket, termios.TIOCOUTQ, n)
            return n[0]
        wait_until("the broker's acknowledgement", lambda: unacknowledged() == 0)

    def ping(self):
        self.socket.sendall(b"\xc0\x00")
        assert self.receive(2) == b"\xd0\x00"


class Wire(RelayThread):
    """Between the devices' cable and biplane's port."""

    def __init__(self, lab):
        super().__init__()
        with lab.inside("gw"):
            self.ends = {"devices": open_raw("devices"), "biplane": open_raw("wire")}
        for s in self.ends.values():
            s.setblocking(False)
        self.lock = threading.Lock()
        self.losing = self.until = None
        self.lost = 0

    def lose(self, what, until):
        """Drops segments that contain `what`, including retransmissions, until a frame with `until` was forwarded."""
        with self.lock:
            self.losing, self.until, self.lost = what, until, 0

    def carried(self):
        with self.lock:
            return self.losing is None

    def _carry(self, frame):
        with self.lock:
            if self.losing and self.losing in frame:
                self.lost += 1
                return
            if self.losing and self.until in frame:
                self.losing = None
        self.ends["biplane"].send(frame)

    def turn(self):
        ready = select.select([self.wake, *self.ends.values()], [], [])[0]
        if self.wake in ready:
            return False
        for side, s in self.ends.items():
            while s in ready:
                try:
                    frame = receive_frame(s)
                except BlockingIOError:
                    break
                if frame is None:
                    continue
                if side == "biplane":
                    self.ends["devices"].send(frame)
                else:
                    self._carry(frame)
        return True

    def sockets(self):
        return self.ends.values()


@pytest.fixture
def wire(lab):
    lab.run("gw", "ip", "link", "add", "wire", "type", "veth", "peer", "name", "port")
    try:
        for i in ("wire", "port"):
            lab.run("gw", "sysctl", "-qw", f"net.ipv6.conf.{i}.disable_ipv6=1", check=False)
            lab.run("gw", "ethtool", "-K", i, "tx", "off", "txvlan", "off", check=False)
            lab.run("gw", "ip", "link", "set", i, "up", "promisc", "on")
        with Wire(lab) as w:
            yield w
    finally:
        lab.run("gw", "ip", "link", "del", "wire")


@contextlib.contextmanager
def device_on(lab, wire, gateway, **mqtt):
    """A gateway at the end of the wire, and a device of which the first measurement has raised its alarm."""
    config = config_for(**{"resync_packets": PUSHES, **mqtt})
    config["ports"][0]["device"] = "net_af_packet0,iface=port"
    g = gateway(config)
    cloud, edge = Collector(lab, "cloud", ["plant/#"]), Collector(lab, "edge", ["alarm/#"])
    d = Device(lab, b"oven")
    d.publish(b"81")
    edge.wait_count(1)
    try:
        yield g, d, edge
        d.acknowledged()
        cloud.wait_count(len(d.expected.published))
        assert cloud.counts() == d.expected.cloud(), "inspection changed what the broker got"
        g.balanced()
    finally:
        d.socket.close()
        cloud.close()
        edge.close()


def one_lost(wire, d):
    """A measurement is lost on the wire and the next one, too long to be sent again together with it, is there first."""
    wire.lose(b"82.125", b"83.125")
    d.publish(b"82.125")
    d.publish(b"83.125" + b" " * 1400)
    wait_until("the second measurement on the wire", wire.carried)
    assert wire.lost >= 1
    d.acknowledged()


def values(edge):
    return [float(p) for _, p in edge.messages]


def test_pending_reports_are_not_lost(lab, wire, gateway):
    with device_on(lab, wire, gateway) as (g, d, edge):
        for _ in range(5):
            one_lost(wire, d)
        edge.wait_count(11)
        assert edge.counts() == d.expected.alarms(usual_value)
        assert g.counter("segments_out_of_order") >= 5
        assert g.counter("gaps_lost") == 0 and g.counter("resync_started") == 0


def test_lost_segment_is_followed_by_resynchronization(lab, wire, gateway):
    """No room for what is ahead: the second is never read. Six measurements later the device is read again."""
    with device_on(lab, wire, gateway, reorder_buffer=0) as (g, d, edge):
        due = [81.0]
        for turn in range(1, 4):
            one_lost(wire, d)
            due.append(82.125)
            wait_until("the gap to be given up", lambda n=turn: g.counter("resync_started") == n)
            for _ in range(PUSHES):
                d.publish(b"84")
                d.acknowledged()
            assert g.counter("resync_unconfirmed") == turn - 1
            d.publish(b"84")
            d.acknowledged()
            wait_until("the device to be read again", lambda n=turn: g.counter("resync_unconfirmed") == n)
            for value in (b"85", b"79", b"86"):
                d.publish(value)
            due += [85.0, 86.0]
            edge.wait_count(len(due))
        # a topic that it did not publish before waits for an answer
        d.publish(b"99", "plant/kiln/temperature")
        wait_until("the new topic", lambda: g.counter("topics_unconfirmed") == 1)
        d.ping()
        wait_until("the proof", lambda: g.counter("resync_confirmed") == 1)
        d.publish(b"98", "plant/kiln/temperature")
        due.append(98.0)
        edge.wait_count(len(due))
        assert values(edge) == due
        assert g.counter("resync_reverted") == 0 and g.counter("segments_reorder_full") >= 3


def test_not_inspected_as_configured(lab, wire, gateway):
    """resync_packets: off. Only an answer brings it back."""
    with device_on(lab, wire, gateway, reorder_buffer=0, resync_packets="off") as (g, d, edge):
        one_lost(wire, d)
        wait_until("the gap to be given up", lambda: g.counter("resync_started") == 1)
        for _ in range(5 * PUSHES):
            d.publish(b"84")
            d.acknowledged()
        d.ping()
        wait_until("the proof", lambda: g.counter("resync_confirmed") == 1)
        d.publish(b"85")
        edge.wait_count(3)
        assert values(edge) == [81.0, 82.125, 85.0]
        assert g.counter("resync_unconfirmed") == 0


def test_packets_in_a_payload_are_no_alarms(lab, wire, gateway):
    """A file full of publications of the device's own topic, whose beginning is lost to inspection."""
    fake = publication(TOPIC, b"999") * 50
    with device_on(lab, wire, gateway, reorder_buffer=0) as (g, d, edge):
        d.publish(b"file to come", "plant/file")
        for turn in range(1, 4):
            wire.lose(b"82.125", b"\0 the file \0")
            d.publish(b"82.125")
            d.publish(b"\0 the file \0" + fake * 40, "plant/file")
            wait_until("the file on the wire", wire.carried)
            d.acknowledged()
            wait_until("the gap to be given up", lambda n=turn: g.counter("resync_started") == n)
            assert g.counter("resync_unconfirmed") == turn - 1
            while g.counter("resync_unconfirmed") < turn:
                d.publish(b"84")
                d.acknowledged()
            d.publish(f"{85 + turn}".encode())
            wait_until("the alarm", lambda n=turn: 85 + n in values(edge))
        assert set(values(edge)) <= {81, 82.125, 84, 86, 87, 88}
        assert g.counter("resync_reverted") == 0
