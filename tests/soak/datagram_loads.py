# SPDX-License-Identifier: BSD-3-Clause
"""Datagrams of the soak test whose senders number them: messages that are aggregated, and readings that are transformed."""

import math
import socket
import struct

from lab import Background, wait_until
from mqtt_loads import CLOUD
from periodic import Periodic
from readings import EXACT, ROTATED, UDP, coordinates, reading, source, transform
from sequence import Sequence
from wan_lab import PORT, sensor

ROBOT = 20000  # UDP port of the results


class Numbered(Periodic):
    """Each datagram arrives once, but those on their way when a fault begins and those sent until it ends."""
    name = "datagrams"

    def __init__(self, lab, addresses, to, listen, rate):
        super().__init__(1 / rate)
        self.to = to
        self.sent, self.of = [0] * len(addresses), [Sequence() for _ in addresses]
        self.away = []  # of each fault: the numbers before it and after it
        with lab.inside("sensors"):
            self.sockets = [self._bound(a) for a in addresses]
        with lab.inside("server"):
            self.server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.server.bind(("", listen))
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
            n, number = self.numbers(payload)
            self.of[n].add(number)

    def step(self):
        for n, s in enumerate(self.sockets):
            self.sent[n] += 1
            try:
                s.sendto(self.payload(n, self.sent[n] - 1), self.to)
            except OSError:  # no neighbor while the gateway is away: it counts as sent, and as lost
                pass

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
            wait_until(f"the {self.name}", arrived, 10, 0.1)
        except AssertionError:
            pass  # give_up() says which
        for s, d, a in zip(self.of, due, allowed, strict=True):
            s.give_up(d, a)
        self.away.clear()

    def check(self):
        missing = [(n, s.missing[:5]) for n, s in enumerate(self.of) if s.missing]
        assert not missing, f"{self.name} are missing outside of faults: {missing[:5]}"
        again = sum(s.again for s in self.of)
        assert again == 0, f"{again} {self.name} arrived more than once"

    def totals(self):
        return {self.name: sum(self.sent), f"{self.name}_lost_in_faults": sum(s.lost for s in self.of)}

    def stop(self):
        super().stop()
        self._reader.finish()
        for s in (*self.sockets, self.server):
            s.close()


class Datagrams(Numbered):
    """Messages of sensors that the gateways aggregate and restore."""

    def __init__(self, lab, sensors=20, rate=25):
        super().__init__(lab, [sensor(n, "routed") for n in range(sensors)], (CLOUD, PORT), PORT, rate)

    def payload(self, n, number):
        return struct.pack(">IQ", n, number) + bytes(20)

    def numbers(self, payload):
        return struct.unpack_from(">IQ", payload)


class Readings(Numbered):
    """Readings of trackers that the near gateway transforms: the time stamps, which it keeps, are their numbers."""
    name = "readings"

    def __init__(self, lab, trackers=4, rate=25, first=100):
        self.addresses = [sensor(first + n, "routed") for n in range(trackers)]
        self.wrong = []
        super().__init__(lab, self.addresses, (CLOUD, UDP), ROBOT, rate)

    def section(self):
        robot = {"address": CLOUD, "udp_port": ROBOT, "matrix": ROTATED}
        return {"entries": [transform([source(a, robot) for a in self.addresses])]}

    @staticmethod
    def _of(n, number):
        return reading(1 + number % 1000 / 100, number % 628 / 100, number % 314 / 100, stamps=struct.pack("!QQ", n, number))

    def payload(self, n, number):
        return self._of(n, number).payload()

    def numbers(self, payload):
        got = coordinates(payload)
        n, number = struct.unpack("!QQ", got.reading.stamps)
        if got.reading != self._of(n, number) or not math.isfinite(got.off(ROTATED)) or got.off(ROTATED) > EXACT:
            self.wrong.append(got)
        return n, number

    def check(self):
        super().check()
        assert not self.wrong, f"wrong coordinates: {self.wrong[:5]}"
