# SPDX-License-Identifier: BSD-3-Clause
"""The machine kills the data plane, again and again, under alarms on many connections that never ping: each is read on
with its first whole packet after the restart, and every publication that reached the broker has given its alarm."""

import array
import contextlib
import fcntl
import json
import os
import select
import socket
import struct
import termios
import threading
import time

from conftest import config_for, overheat
from lab import CLOUD, Background, wait_until
from peers import Collector

KILLS = int(os.environ.get("BP_RESTARTS", "4"))
CONNECTIONS = int(os.environ.get("BP_RESTART_CONNECTIONS", "300"))
RATE = int(os.environ.get("BP_RESTART_RATE", "2000"))
TICK = 0.01


def text(s):
    return struct.pack("!H", len(s)) + s


def packet(first, body):
    assert len(body) < 128
    return bytes([first, len(body)]) + body


class Device:
    """A client of one of three kinds: QoS 0, QoS 1, or QoS 0 of version 5 by topic alias. Keep alive is off."""

    def __init__(self, number):
        self.number, self.kind, self.sent, self.waiting = number, number % 3, 0, b""
        self.topic = f"plant/d{number}/temperature".encode()
        self.socket = socket.create_connection((CLOUD, 1883), 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        level, properties = (b"\x05", b"\x00") if self.kind == 2 else (b"\x04", b"")
        self.socket.sendall(packet(0x10, text(b"MQTT") + level + b"\x02\x00\x00" + properties + text(b"d%d" % number)))
        head = self.socket.recv(2, socket.MSG_WAITALL)
        body = self.socket.recv(head[1], socket.MSG_WAITALL)
        assert head[0] == 0x20 and body[1] == 0, (head, body)
        self.socket.setblocking(False)

    def publish(self, value):
        payload = b"%d" % value
        self.sent += 1
        if self.kind == 0:
            p = packet(0x30, text(self.topic) + payload)
        elif self.kind == 1:
            p = packet(0x32, text(self.topic) + struct.pack("!H", self.sent % 65535 + 1) + payload)
        else:
            p = packet(0x30, text(self.topic if self.sent == 1 else b"") + b"\x03\x23\x00\x01" + payload)
        self.waiting += p
        self.flush()

    def flush(self):
        with contextlib.suppress(BlockingIOError):
            self.waiting = self.waiting[self.socket.send(self.waiting):]

    def unacknowledged(self):
        n = array.array("i", [0])
        fcntl.ioctl(self.socket, termios.TIOCOUTQ, n)
        return n[0] + len(self.waiting)


class Fleet:
    """They publish in turn; every value is over the threshold, and no two are equal."""

    def __init__(self, lab):
        with lab.inside("dev"):
            self.devices = [Device(i) for i in range(CONNECTIONS)]
        self.n = 0
        self._stop = threading.Event()
        self._thread = Background(self._run)
        self._thread.start()

    def _run(self):
        poll, begin = select.epoll(), time.monotonic()
        by_fd = {d.socket.fileno(): d for d in self.devices}
        for fd in by_fd:
            poll.register(fd, select.EPOLLIN)
        while not self._stop.is_set():
            # a machine that is too slow for the rate publishes at its own
            for _ in range(min(int((time.monotonic() - begin) * RATE) - self.n, int(4 * RATE * TICK))):
                self.devices[self.n % CONNECTIONS].publish(1000 + self.n)
                self.n += 1
            for fd, _ in poll.poll(TICK):
                assert by_fd[fd].socket.recv(65536), "the broker has closed a connection"
        for d in self.devices:
            wait_until("all to be sent", lambda d=d: d.flush() or not d.waiting, 120)

    def go_on(self, publications):
        goal = self.n + publications
        while self.n < goal:
            assert self._thread.is_alive(), "the load ended by itself"
            time.sleep(TICK)

    def finish(self):
        self._stop.set()
        self._thread.finish(240)
        for d in self.devices:
            wait_until("the broker's acknowledgement", lambda d=d: d.unacknowledged() == 0, 120)

    def close(self):
        for d in self.devices:
            d.socket.close()


def test_connections_are_read_on_after_kills(lab, gateway, tmp_path):
    g = gateway(config_for(rules=[overheat(payload="envelope")], spool=tmp_path / "spool.db"))
    edge = Collector(lab, "edge", ("alarm/#",))
    fleet = Fleet(lab)
    fleet.go_on(RATE)
    for _ in range(KILLS):
        g.kill_plane("data plane")
        fleet.go_on(RATE)
        counted = g.counted()  # of this process
        # until its socket is bound, the driver af_packet receives from all interfaces: on a busy machine also the
        # connection of the publisher, which passes another one
        foreign = counted.get("connections_midstream", 0)
        assert foreign <= 1 and counted.get("resync_started", 0) <= 2 * foreign, str(counted)
        assert 0 <= counted["connections_adopted"] - CONNECTIONS <= 1 and "connections_not_adopted" not in counted, str(counted)
    fleet.finish()
    due = set(range(1000, 1000 + fleet.n))

    def told():
        return [int(json.loads(p)["value"]) for _, p in list(edge.messages)]
    with contextlib.suppress(AssertionError):  # missing alarms are printed below
        wait_until("the alarms", lambda: len(edge.messages) >= fleet.n, 120, 0.5)
    got = told()
    lost = due - set(got)
    counted = g.counted()
    assert not lost, f"{len(lost)} of {fleet.n} alarms are lost, first {sorted(lost)[:5]}; {counted}"
    assert set(got) <= due, "alarms that were not due"
    assert len(got) == len(set(got)), f"{len(got) - len(set(got))} alarms came twice"
    fleet.close()
    edge.close()
