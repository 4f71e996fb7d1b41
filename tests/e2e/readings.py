# SPDX-License-Identifier: BSD-3-Clause
"""Readings of trackers and the coordinates that robots get: the paper's packet and the arithmetic, in Python's own doubles,
and sockets that send the one and receive the other."""

import contextlib
import math
import random
import socket
import struct
from typing import NamedTuple

from lab import wait_until

UDP, TIMED_UDP = 10000, 10001
ONE = 1 << 25  # fixed point: 25 bits of fraction
LEAST, MOST = -(1 << 31), (1 << 31) - 1
HEADER = 17  # bytes of the timing header
IDENTITY = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
ROTATED = [[0, -1, 0, 1.5], [1, 0, 0, 0], [0, 0, 1, 0.25]]
SLANTED = [[0.36, 0.48, -0.8, -2.5], [-0.8, 0.6, 0, 0.125], [0.48, 0.64, 0.6, 7]]
METRE = 1e6  # micrometres
EXACT = 0.2  # micrometres that the default method may be off


class Reading(NamedTuple):
    """Fixed-point numbers, as in the packet; stamps and what follows are kept by the gateway."""
    radius: int
    phi: int
    theta: int
    stamps: bytes = bytes(16)
    rest: bytes = b""
    header: bytes = b""

    def payload(self, xyz=(0, 0, 0)):
        return self.header + struct.pack("!iII3i", self.radius, self.phi, self.theta, *xyz) + self.stamps + self.rest

    def point(self):
        """In metres, before any matrix."""
        r, phi, theta = self.radius / ONE, self.phi / ONE, self.theta / ONE
        return r * math.sin(theta) * math.cos(phi), r * math.sin(theta) * math.sin(phi), r * math.cos(theta)

    def seen(self, matrix=None):
        """In the frame of a robot."""
        v = self.point()
        return tuple(sum(m * c for m, c in zip(row, (*v, 1))) for row in matrix or IDENTITY)


def fixed(metres):
    return math.floor(metres * ONE)


def reading(radius, phi, theta, **more):
    """From metres and radians, rounded down as the paper's senders do."""
    return Reading(fixed(radius), fixed(phi), fixed(theta), **more)


def some(n, seed=1, timed=False, radius=20):
    """As the paper's: anywhere within 20 m. Each has another time stamp, so that none is like another."""
    rng = random.Random(seed)
    return [reading(rng.uniform(0, radius), rng.uniform(0, 2 * math.pi), rng.uniform(0, 2 * math.pi),
                    stamps=struct.pack("!QQ", i, seed), header=rng.randbytes(HEADER) if timed else b"") for i in range(n)]


class Coordinates(NamedTuple):
    reading: Reading
    xyz: tuple  # fixed point

    def metres(self):
        return tuple(c / ONE for c in self.xyz)

    def off(self, matrix=None):
        """Micrometres from where it should be."""
        return math.dist(self.metres(), self.reading.seen(matrix)) * METRE


def coordinates(payload, timed=False):
    header, p = (payload[:HEADER], payload[HEADER:]) if timed else (b"", payload)
    radius, phi, theta, *xyz = struct.unpack("!iII3i", p[:24])
    return Coordinates(Reading(radius, phi, theta, p[24:40], p[40:], header), tuple(xyz))


def saturated(metres):
    return tuple(max(LEAST, min(MOST, round(c * ONE))) for c in metres)


def assert_exact(sent, got, matrix=None, off=EXACT):
    """A robot received all readings exactly once and in order, in its coordinate system."""
    assert [c.reading for c in got] == list(sent)
    worst = max((c.off(matrix) for c in got), default=0)
    assert worst < off, f"{worst} micrometres off"


class Tracker(contextlib.AbstractContextManager):
    """Sends readings from an address of its own."""

    def __init__(self, lab, ns, to, source=None, port=0, udp=UDP):
        family = socket.AF_INET6 if ":" in to else socket.AF_INET
        with lab.inside(ns):
            self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.bind((source or ("::" if family == socket.AF_INET6 else "0.0.0.0"), port))
        self.to = (to, udp)

    def send(self, readings):
        for r in readings:
            self.socket.sendto(r if isinstance(r, bytes) else r.payload(), self.to)

    def __exit__(self, *exc):
        self.socket.close()


class Robot(contextlib.AbstractContextManager):
    """Receives coordinates on an address and port."""

    def __init__(self, lab, ns, port, family=4, timed=False):
        with lab.inside(ns):
            self.socket = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.socket.bind(("::" if family == 6 else "0.0.0.0", port))
        self.socket.setblocking(False)
        self.timed, self.datagrams = timed, []

    def heard(self):
        """(source, port, payload) of all that came since the beginning."""
        with contextlib.suppress(BlockingIOError):
            while True:
                payload, source = self.socket.recvfrom(4096)
                self.datagrams.append((source[0], source[1], payload))
        return self.datagrams

    def wait(self, n, seconds=20):
        wait_until(f"{n} readings; there are {len(self.datagrams)}", lambda: len(self.heard()) >= n, seconds)
        return self.got()

    def got(self, source=None):
        return [coordinates(p, self.timed) for s, _, p in self.heard() if source in (None, s)]

    def clear(self):
        self.heard()
        self.datagrams = []

    def __exit__(self, *exc):
        self.socket.close()


def transform(sources=(), port="devices", udp=UDP, **more):
    """An entry of section transform."""
    return {"port": port, "udp_port": udp, "sources": list(sources), **more}


def source(address, *receivers):
    return {"address": address, "receivers": list(receivers)}
