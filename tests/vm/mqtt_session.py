# SPDX-License-Identifier: BSD-3-Clause
"""An MQTT connection of raw frames from the devices to the cloud, without a kernel's TCP stack: frames arrive as sent,
including damaged segments."""

import itertools
import struct

from frames import ethernet, ip4, tcp
from lab import wait_until
from odd_frames import BACK, THERE
from wan import Tap

CLIENT, BROKER = "10.96.0.1", "10.96.0.2"  # no interface has these
SYN, ACK, PUSH = 0x02, 0x10, 0x08
_ports = itertools.count(41000)


class Session:
    def __init__(self, lab, device="dev", cloud="cloud"):
        self.ends = {"dev": Tap(lab, device, "eth0"), "cloud": Tap(lab, cloud, "eth0")}
        self.port, self.sent, self.last = next(_ports), [], None
        self.seq, self.answered = 1000, 5000

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        for e in self.ends.values():
            e.close()

    def _there(self, payload=b"", flags=PUSH | ACK, **kw):
        frame = ethernet(*THERE, 0x0800, ip4(CLIENT, BROKER, 6, tcp(
            CLIENT, BROKER, self.port, 1883, payload, seq=self.seq, ack=self.answered, flags=flags, **kw)))
        self.sent.append(frame)
        self.ends["dev"].send(frame)

    def _back(self, payload=b"", flags=PUSH | ACK):
        self.ends["cloud"].send(ethernet(*BACK, 0x0800, ip4(BROKER, CLIENT, 6, tcp(
            BROKER, CLIENT, 1883, self.port, payload, seq=self.answered, ack=self.seq, flags=flags))))

    def _wait(self, ns, n, way):
        """Until as many of the frames have arrived."""
        wait_until(f"{n} frames of the session in {ns}", lambda: len(self._of_session(ns, way)) >= n)

    def _of_session(self, ns, way):
        ports = (self.port, 1883) if way[0] == CLIENT else (1883, self.port)
        head = b"".join(bytes(map(int, a.split("."))) for a in way) + struct.pack("!HH", *ports)
        return [f for f in self.ends[ns].frames() if f[26:38] == head]

    def connect(self):
        """The handshakes of TCP and MQTT, each step once the one before has arrived."""
        self._there(flags=SYN)
        self._wait("cloud", 1, (CLIENT, BROKER))
        self.seq += 1
        self._back(flags=SYN | ACK)
        self._wait("dev", 1, (BROKER, CLIENT))
        self.answered += 1
        self._there(flags=ACK)
        connect = b"\x10\x0f\x00\x04MQTT\x04\x02\x00\x3c\x00\x03raw"
        self._there(connect)
        self.seq += len(connect)
        self._wait("cloud", 3, (CLIENT, BROKER))
        self._back(b"\x20\x02\x00\x00")
        self._wait("dev", 2, (BROKER, CLIENT))
        self.answered += 4

    def publish(self, topic, value, bad_sum=False):
        body = struct.pack("!H", len(topic)) + topic.encode() + value.encode()
        self.last = bytes([0x30, len(body)]) + body
        self._there(self.last, bad_sum=bad_sum)
        if not bad_sum:
            self.seq += len(self.last)

    def again(self):
        """The bytes sent last, which are lost from the receiver's point of view."""
        self._there(self.last)
        self.seq += len(self.last)

    def all_arrived(self):
        """Every frame, as it was sent and in that order."""
        self._wait("cloud", len(self.sent), (CLIENT, BROKER))
        got = self._of_session("cloud", (CLIENT, BROKER))
        assert got == [f.ljust(len(g), b"\0") if len(g) == 60 else f for f, g in zip(self.sent, got, strict=True)]
