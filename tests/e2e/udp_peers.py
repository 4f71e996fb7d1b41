# SPDX-License-Identifier: BSD-3-Clause
"""Sensors and their server: real UDP sockets, and what was sent and received as values that can be compared."""

import contextlib
import itertools
import random
import socket
import struct
import threading
import time
from collections import Counter, defaultdict
from typing import NamedTuple

from lab import Background, wait_until
from wan_lab import PORT, SENSORS, SERVER, sensor

IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, PMTUDISC_DONT, PMTUDISC_DO = 10, 23, 0, 2
IP_RECVTTL, IP_RECVTOS = 12, 13
SO_RCVBUFFORCE = 33


class Datagram(NamedTuple):
    source: str
    port: int
    hops: int
    tos: int
    payload: bytes


class Sender:
    """A sensor: a socket with an address, a port, a TTL and a TOS byte of its own."""

    def __init__(self, lab, address, port, hops=64, tos=0, fragment=False, ns="sensors"):
        six = ":" in address
        with lab.inside(ns):
            s = socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM)
        if six:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, hops)
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
        else:
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, hops)
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        s.setsockopt(*((socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER) if six else (socket.IPPROTO_IP, IP_MTU_DISCOVER)),
                     PMTUDISC_DONT if fragment else PMTUDISC_DO)
        s.bind((address, port))
        self.socket, self.address, self.port, self.hops, self.tos = s, address, s.getsockname()[1], hops, tos

    def datagram(self, payload):
        return Datagram(self.address, self.port, self.hops, self.tos, payload)


class Senders(contextlib.AbstractContextManager):
    """Many of them. `sent` has what they sent, in order."""

    def __init__(self, lab, kind="bridged", family=4, n=SENSORS, seed=1, tos=(0,), fragment=(False,), ns="sensors", to=None):
        self.random = random.Random(seed)
        self.to = to or SERVER[kind][family]
        # Ports above the server's, so that tshark takes its port for that of the protocol.
        ports = self.random.sample(range(10000, 60000), n)
        self.all = []
        for i, t, f in zip(range(n), itertools.cycle(tos), itertools.cycle(fragment)):
            hops = self.random.choice((64, 64, 128, self.random.randrange(8, 256)))
            self.all.append(Sender(lab, sensor(i % SENSORS, kind, family), ports[i], hops, t, f, ns))
        self.sent = []

    def send(self, sender, payload, port=PORT):
        sender.socket.sendto(payload, (self.to, port))
        d = sender.datagram(payload)
        self.sent.append(d)
        return d

    def numbered(self, n, size, port=PORT, senders=None):
        """n messages of random senders, with a number each; size(): bytes, of which a short one has part of the number."""
        for _ in range(n):
            length = size()
            text = struct.pack("!I", len(self.sent)) + self.random.randbytes(max(0, length - 4))
            self.send(self.random.choice(senders or self.all), text[:length] if length < 4 else text, port)
        return self.sent[-n:]

    def close(self):
        for s in self.all:
            s.socket.close()

    def __exit__(self, *exc):
        self.close()


class Going:
    """The sensors send on, some thousand messages in a second, until the block ends."""

    def __init__(self, senders):
        self.senders, self.enough = senders, threading.Event()
        self.task = Background(self.go_on)

    def go_on(self):
        while not self.enough.is_set():
            self.senders.numbered(20, lambda: self.senders.random.randrange(4, 60))
            time.sleep(0.005)

    def __enter__(self):
        self.task.start()
        return self

    def __exit__(self, *exc):
        self.enough.set()
        self.task.finish()


class Receiver(contextlib.AbstractContextManager):
    """The server. `got` has what it received, in order."""

    def __init__(self, lab, family=4, port=PORT, ns="server"):
        with lab.inside(ns):
            s = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
        if family == 4:
            s.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
            s.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        else:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        s.bind(("", port))
        s.setblocking(False)
        self.socket, self.got = s, []

    def drain(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                payload, ancillary, _, (address, port, *_) = self.socket.recvmsg(65536, 128)
                fields = {(level, kind): int.from_bytes(data, "little") for level, kind, data in ancillary}
                six = ":" in address
                hops = fields[(socket.IPPROTO_IPV6, socket.IPV6_HOPLIMIT) if six else (socket.IPPROTO_IP, socket.IP_TTL)]
                tos = fields[(socket.IPPROTO_IPV6, socket.IPV6_TCLASS) if six else (socket.IPPROTO_IP, socket.IP_TOS)]
                self.got.append(Datagram(address, port, hops, tos, payload))
        return self.got

    def wait(self, n, seconds=20):
        """Returns once n were received in all."""
        try:
            wait_until(f"{n} datagrams", lambda: len(self.drain()) >= n, seconds, 0.005)
        except AssertionError as e:
            raise AssertionError(f"{e}: there are {len(self.got)}") from None
        return self.got

    def close(self):
        self.socket.close()

    def __exit__(self, *exc):
        self.close()


def by_sender(datagrams):
    """{(address, port, TOS): payloads in order}. Messages of other TOS are of another stream, with an order of its own."""
    out = defaultdict(list)
    for d in datagrams:
        out[d.source, d.port, d.tos].append(d.payload)
    return out


def assert_restored(sent, got, less=0):
    """Checks that each datagram arrived complete and exactly once, those of each sender in order. `less`: by so much
    has the TTL fallen on the way."""
    sent = [d._replace(hops=d.hops - less) for d in sent]
    missing, surplus = Counter(sent) - Counter(got), Counter(got) - Counter(sent)
    assert not missing and not surplus, (f"{sum(missing.values())} of {len(sent)} are missing, {sum(surplus.values())} were not sent; "
                                         f"missing: {list(missing)[:3]}; not sent: {list(surplus)[:3]}")
    expected = by_sender(sent)
    for sender, payloads in by_sender(got).items():
        assert payloads == expected[sender], f"messages of {sender} are in another order"


def send_and_wait(senders, receiver, rounds, n, size, port=PORT):
    """Rounds of n messages, each when the one before has arrived: never more at one time than the ports' rings hold."""
    for _ in range(rounds):
        senders.numbered(n, size, port)
        receiver.wait(len(senders.sent))
