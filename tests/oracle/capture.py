# SPDX-License-Identifier: BSD-3-Clause
"""The capture of publications on several connections to a broker."""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import frames

CONNECTIONS = 16
CLIENT, BROKER = "02:00:00:00:00:01", "02:00:00:00:00:02"


class Connection:
    def __init__(self, out, number):
        self.out, self.port, self.seq, self.unacked = out, 20000 + number, 1000, 0

    def frame(self, ms, from_client, flags, payload=b"", ack=2000, seq=None):
        src, dst = ("10.0.0.5", "10.0.0.9") if from_client else ("10.0.0.9", "10.0.0.5")
        ports = (self.port, 1883) if from_client else (1883, self.port)
        seq = seq if seq is not None else self.seq
        segment = struct.pack("!HHIIBBHHH", *ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 5 << 4, flags, 65535, 0, 0) + payload
        macs = (BROKER, CLIENT) if from_client else (CLIENT, BROKER)
        data = frames.ethernet(*macs, 0x0800, frames.ip4(src, dst, 6, segment))
        self.out.append(struct.pack("<IIII", ms // 1000, ms % 1000 * 1000, len(data), len(data)) + data)

    def open(self, ms):
        client = f"c{self.port}".encode()
        connect = b"\0\4MQTT\4\2\0\0" + struct.pack("!H", len(client)) + client
        self.frame(ms, True, 0x02, ack=0, seq=self.seq - 1)
        self.frame(ms, False, 0x12, seq=1999, ack=self.seq)
        self.frame(ms, True, 0x10)
        self.send(ms, bytes((0x10, len(connect))) + connect, ack=2000)
        self.frame(ms, False, 0x18, b"\x20\2\0\0", seq=2000, ack=self.seq)

    def send(self, ms, data, ack=2004):
        self.frame(ms, True, 0x18, data, ack=ack)
        self.seq += len(data)
        self.unacked += len(data)
        if self.unacked > 20000:
            self.acknowledge(ms)

    def acknowledge(self, ms):
        self.frame(ms, False, 0x10, seq=2004, ack=self.seq)
        self.unacked = 0


def publish(topic, payload):
    body = struct.pack("!H", len(topic)) + topic.encode() + payload
    length, head = len(body), b""
    while True:
        head += bytes((length % 128 | (0x80 if length >= 128 else 0),))
        length //= 128
        if not length:
            return b"\x30" + head + body


def capture(pubs, begin, end):
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    connections = [Connection(out, n) for n in range(CONNECTIONS)]
    for c in connections:
        c.open(begin)
    for at, topic, payload in pubs:
        connections[int(topic.split("/")[1]) % CONNECTIONS].send(at, publish(topic, payload))
    connections[0].acknowledge(end)
    return b"".join(out)
