# SPDX-License-Identifier: BSD-3-Clause
"""Reads pcapng as the draft describes it (draft-ietf-opsawg-pcapng), little endian; strict, so that it judges a writer."""

import struct
from dataclasses import dataclass, field


@dataclass
class Packet:
    interface: str
    time_ns: int
    data: bytes
    length: int
    direction: str
    comment: str


@dataclass
class Capture:
    interfaces: list = field(default_factory=list)  # options of each, by code
    packets: list = field(default_factory=list)
    received: dict = field(default_factory=dict)  # by the name of the interface
    dropped: dict = field(default_factory=dict)

    def frames(self, interface=None, direction=None):
        return [p.data for p in self.packets
                if interface in (None, p.interface) and direction in (None, p.direction)]


def options(data):
    found, at = {}, 0
    while at < len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            assert length == 0 and at + 4 == len(data), "bytes after the end of the options"
            return found
        found[code] = data[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    assert not data, "options without an end"
    return found


def blocks(data):
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length >= 12 and length % 4 == 0 and at + length <= len(data), f"block of {length} bytes at {at} of {len(data)}"
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        yield kind, data[at + 8:at + length - 4]
        at += length


def read(data):
    """A Capture of the bytes of a whole file."""
    c = Capture()
    for i, (kind, body) in enumerate(blocks(data)):
        assert (kind == 0x0A0D0D0A) == (i == 0), "one section"
        if kind == 0x0A0D0D0A:
            assert struct.unpack_from("<IHHq", body) == (0x1A2B3C4D, 1, 0, -1)
            assert options(body[16:])[4].startswith(b"biplane ")
        elif kind == 1:
            assert struct.unpack_from("<HH", body) == (1, 0)
            o = options(body[8:])
            assert o[9] == b"\x09", "times in nanoseconds"
            c.interfaces.append({"name": o[2].decode(), "speed": struct.unpack("<Q", o[8])[0] if 8 in o else 0,
                                 "snap_length": struct.unpack_from("<I", body, 4)[0],
                                 "filter": o[11][1:].decode() if 11 in o else None})
        elif kind == 6:
            n, high, low, captured, length = struct.unpack_from("<IIIII", body)
            o = options(body[20 + (captured + 3) // 4 * 4:])
            direction = struct.unpack("<I", o[2])[0] & 3 if 2 in o else 0
            c.packets.append(Packet(c.interfaces[n]["name"], high << 32 | low, body[20:20 + captured], length,
                                    ("", "rx", "tx")[direction], o.get(1, b"").decode()))
        elif kind == 5:
            name = c.interfaces[struct.unpack_from("<I", body)[0]]["name"]
            o = options(body[12:])
            c.received[name], c.dropped[name] = (struct.unpack("<Q", o[code])[0] for code in (4, 5))
        else:
            raise AssertionError(f"block of type {kind}")
    return c
