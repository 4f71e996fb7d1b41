# SPDX-License-Identifier: BSD-3-Clause
"""The capture of publications on several connections to a broker, and recorded captures."""

import ipaddress
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import frames

CONNECTIONS = 16
BROKER_PORT = 1883
CLIENT, BROKER = "02:00:00:00:00:01", "02:00:00:00:00:02"


def segment(ports, seq, ack, flags, payload=b""):
    return struct.pack("!HHIIBBHHH", *ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 5 << 4, flags, 65535, 0, 0) + payload


class Connection:
    def __init__(self, out, number):
        self.out, self.port, self.seq, self.unacked = out, 20000 + number, 1000, 0

    def frame(self, ms, from_client, flags, payload=b"", ack=2000, seq=None):
        src, dst = ("10.0.0.5", "10.0.0.9") if from_client else ("10.0.0.9", "10.0.0.5")
        ports = (self.port, 1883) if from_client else (1883, self.port)
        seq = seq if seq is not None else self.seq
        macs = (BROKER, CLIENT) if from_client else (CLIENT, BROKER)
        data = frames.ethernet(*macs, 0x0800, frames.ip4(src, dst, 6, segment(ports, seq, ack, flags, payload)))
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


def handshake(frame, seen):
    """The frames before the first one of a connection that is recorded without them: a passive observer does not believe
    its first bytes without."""
    if frame[12:14] != b"\x08\0" or frame[23] != 6:
        return []
    src, dst = (str(ipaddress.ip_address(frame[at:at + 4])) for at in (26, 30))
    tcp = frame[14 + 4 * (frame[14] & 15):]
    sport, dport, seq, ack = struct.unpack("!HHII", tcp[:12])
    connection = frozenset(((src, sport), (dst, dport)))
    if connection in seen:
        return []
    seen.add(connection)
    if tcp[13] & 2:
        return []
    client, server = (src, sport, frame[6:12], seq), (dst, dport, frame[:6], ack)
    if sport == BROKER_PORT:
        client, server = server, client

    def sent(by, to, flags, seq, ack):
        return to[2] + by[2] + b"\x08\0" + frames.ip4(by[0], to[0], 6, segment((by[1], to[1]), seq, ack, flags))

    return [sent(client, server, 0x02, client[3] - 1, 0), sent(server, client, 0x12, server[3] - 1, client[3]),
            sent(client, server, 0x10, client[3], server[3])]


def whole(data):
    """The records of a file of libpcap, with the handshake of each connection."""
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    out, at, seen = [data[:24]], 24, set()
    while at < len(data):
        time, (size,) = data[at:at + 8], struct.unpack(order + "I", data[at + 8:at + 12])
        frame = data[at + 16:at + 16 + size]
        out += [time + struct.pack(order + "II", len(f), len(f)) + f for f in handshake(frame, seen)]
        out.append(data[at:at + 16] + frame)
        at += 16 + size
    return b"".join(out)
