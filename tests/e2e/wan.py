# SPDX-License-Identifier: BSD-3-Clause
"""The WAN between the two gateways: a link that records, and can lose, duplicate and reorder frames; and a tap."""

import contextlib
import random
import select
import socket
import threading

from relay_thread import RelayThread
from vlan_tap import open_raw, receive_frame

SO_RCVBUFFORCE = 33


class Tap(contextlib.AbstractContextManager):
    """Receives and sends raw frames on an interface of a namespace."""

    def __init__(self, lab, ns, interface):
        with lab.inside(ns):
            self.socket = open_raw(interface)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.setblocking(False)
        self.heard = []

    def frames(self):
        """All that came since the beginning, in order."""
        while True:
            try:
                frame = receive_frame(self.socket)
            except BlockingIOError:
                return self.heard
            if frame is not None:
                self.heard.append(frame)

    def clear(self):
        self.frames()
        self.heard = []

    def send(self, *frames):
        for f in frames:
            self.socket.send(f)

    def close(self):
        self.socket.close()

    def __exit__(self, *exc):
        self.close()


class BadWire:
    """Loses, doubles and delays frames, by a seed. A frame that is delayed is behind the next few."""

    def __init__(self, seed, loss=0.0, double=0.0, delay=0.0, most=5):
        self.random, self.loss, self.double, self.delay, self.most = random.Random(seed), loss, double, delay, most
        self.held = []  # [how many frames are still to pass it, frame]
        self.lost, self.doubled, self.delayed = [], 0, 0

    def carry(self, frame):
        """The frames that leave now, in order."""
        out = []
        copies = 1
        if self.random.random() < self.loss:
            self.lost.append(frame)
            copies = 0
        elif self.random.random() < self.double:
            self.doubled += 1
            copies = 2
        for _ in range(copies):
            if self.random.random() < self.delay:
                self.delayed += 1
                self.held.append([self.random.randint(1, self.most), frame])
            else:
                out.append(frame)
        for h in self.held[:]:
            h[0] -= 1
            if h[0] < 0:
                self.held.remove(h)
                out.append(h[1])
        return out

    def rest(self):
        out, self.held = [f for _, f in self.held], []
        return out


class Wan(RelayThread):
    """Connects the two links of the WAN. Frames from NEAR are in `sent`, frames to FAR in `delivered`."""

    def __init__(self, lab):
        super().__init__()
        with lab.inside("wan"):
            self.ends = {"near": open_raw("near"), "far": open_raw("far")}
        for s in self.ends.values():
            s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
            s.setblocking(False)
        self.lock = threading.Lock()
        self.bad, self.concerns = None, None
        self.sent, self.delivered = [], []

    def clear(self):
        with self.lock:
            self.sent, self.delivered = [], []

    def is_bad(self, wire, concerns):
        """From now on `wire` carries those frames from NEAR of which concerns(frame) is true."""
        with self.lock:
            self.bad, self.concerns = wire, concerns

    def is_good(self):
        """Delivers the held frames, and from now on all others."""
        with self.lock:
            if self.bad:
                self._deliver(self.bad.rest())
            self.bad = None

    def _deliver(self, frames):
        for f in frames:
            self.delivered.append(f)
            self.ends["far"].send(f)

    def turn(self):
        ready = select.select([self.wake, *self.ends.values()], [], [])[0]
        if self.wake in ready:
            return False
        for side, s in self.ends.items():
            while s in ready:
                try:
                    frame = receive_frame(s)
                except OSError:  # no more frames, or the link is down
                    break
                if frame is None:
                    continue
                if side == "far":
                    self.ends["near"].send(frame)
                    continue
                with self.lock:
                    self.sent.append(frame)
                    self._deliver(self.bad.carry(frame) if self.bad and self.concerns(frame) else [frame])
        return True

    def sockets(self):
        return self.ends.values()
