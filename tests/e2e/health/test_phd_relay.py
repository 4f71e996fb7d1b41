# SPDX-License-Identifier: BSD-3-Clause
"""A bad network between devices and gateway: a relay loses, duplicates, delays and so reorders datagrams in both
directions. Each measurement is stored exactly once.

The relay does not cause one case, a documented limit: a report of a device never arrives after a later one of another
kind or number.
"""

import contextlib
import heapq
import random
import select
import socket
import subprocess
import time

import pytest

from conftest import running_router
from phd_apdu import PORT
from relay_thread import RelayThread
from router_lab import LEFT, RIGHT, only_biplane, own
from test_phd import SIM, ended
from test_phd_slow_path import Sink, assert_once

pytestmark = only_biplane
RELAY = 7024


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("phd")
    phd = {"listen": {"udp_port": 6024, "tcp_port": 6024}, "max_sessions": 1024, "store": {"path": str(directory / "phd.db")},
           "cse": {"coap": f"coap://{RIGHT}:5683", "path": "cse-in/{system_id}/{object}"}}
    with running_router(routed_lab, directory, health_devices=phd) as r:
        yield r
        r.balanced()


class Relay(RelayThread):
    """On the left; each device that sends to it gets a port of its own towards the gateway."""

    def __init__(self, lab, seed, loss, double, delay):
        super().__init__()
        self.lab, self.random = lab, random.Random(seed)
        self.loss, self.double, self.delay = loss, double, delay
        with lab.inside("left"):
            self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.front.bind((LEFT, RELAY))
        self.towards, self.newest, self.queue, self.order = {}, {}, [], 0  # by a device's address
        self.lost = self.doubled = 0

    def sockets(self):
        return self.front, *self.towards.values()

    def back(self, device):
        if device not in self.towards:
            with self.lab.inside("left"):
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.connect((own("left"), PORT))
            self.towards[device] = s
        return self.towards[device]

    def take(self, device, data, up):
        """Holds a datagram for a while, or two copies of it, or none."""
        if up and data != self.newest.get(device):
            self.newest[device] = data
            self.queue = [q for q in self.queue if q[2] != device or not q[4]]
            heapq.heapify(self.queue)
        copies = 1 + (self.random.random() < self.double)
        self.doubled += copies - 1
        for _ in range(copies):
            if self.random.random() < self.loss:
                self.lost += 1
                continue
            self.order += 1
            heapq.heappush(self.queue, (time.monotonic() + self.random.uniform(0, self.delay), self.order, device, data, up))

    def turn(self):
        wait = max(0, self.queue[0][0] - time.monotonic()) if self.queue else 1
        ready = select.select([self.wake, self.front, *self.towards.values()], [], [], wait)[0]
        if self.wake in ready:
            return False
        if self.front in ready:
            data, device = self.front.recvfrom(65536)
            self.take(device, data, True)
        for device, s in list(self.towards.items()):
            if s in ready:
                with contextlib.suppress(ConnectionRefusedError):
                    self.take(device, s.recv(65536), False)
        while self.queue and self.queue[0][0] <= time.monotonic():
            _, _, device, data, up = heapq.heappop(self.queue)
            if up:
                self.back(device).send(data)
            else:
                self.front.sendto(data, device)
        return True


@pytest.mark.parametrize("kind,report,seed", (("oximeter", "mixed", 1), ("activity", "fixed", 2), ("dispenser", "mixed", 3)))
def test_a_bad_network(routed_lab, router, kind, report, seed):
    """One datagram of ten is lost, one of five comes twice, and each up to 60 ms late."""
    with Sink(routed_lab) as sink, Relay(routed_lab, seed, 0.1, 0.2, 0.06) as relay:
        sim = routed_lab.popen("left", SIM, "--to", f"{LEFT}:{RELAY}", "--report-file", "-", "--system-id",
                               f"0022092258d{seed:x}0000", "--device", kind, "--count", 10, "--reports", 20, "--confirmed", "--rate", 0,
                               "--report", report, "--retries", 0, "--timeout", "200ms", "--association-timeout", "200ms",
                               stdout=subprocess.PIPE)
        status, lines, summary = ended(sim)
        said = sink.report()
    assert status == 0 and summary["answered"] == summary["reports"] == 200, summary
    assert_once(said, lines)
    assert relay.lost > 20 and relay.doubled > 40
