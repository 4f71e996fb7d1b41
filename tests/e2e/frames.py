# SPDX-License-Identifier: BSD-3-Clause
"""Raw Ethernet frames: a tap at a namespace's interface, and builders of good and bad ones."""

import select
import socket
import struct
import time

from vlan_tap import open_raw, receive_frame

LOCAL_ETHERTYPE = 0x88B5  # IEEE 802: for experiments, so no one else sends it here
BROADCAST = "ff:ff:ff:ff:ff:ff"


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def ethernet(dst, src, ethertype, payload=b"", tags=()):
    """tags: (TPID, TCI) pairs, outermost first."""
    out = mac(dst) + mac(src)
    for tpid, tci in tags:
        out += struct.pack("!HH", tpid, tci)
    return out + struct.pack("!H", ethertype) + payload


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    s = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


def ip4(src, dst, protocol, payload, *, bad_sum=False, total=None, options=b"", fragment=0, ihl=None):
    length = 20 + len(options) + len(payload) if total is None else total
    words = 5 + len(options) // 4 if ihl is None else ihl
    head = struct.pack("!BBHHHBBH4s4s", 0x40 | words, 0, length, 1, fragment, 64, protocol, 0,
                       socket.inet_aton(src), socket.inet_aton(dst)) + options
    s = checksum(head) ^ (0x5A5A if bad_sum else 0)
    return head[:10] + struct.pack("!H", s) + head[12:] + payload


def tcp(src, dst, sport, dport, payload=b"", *, seq=1, ack=1, flags=0x18, bad_sum=False, offset=5, options=b""):
    segment = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, offset << 4, flags, 65535, 0, 0) + options + payload
    pseudo = socket.inet_aton(src) + socket.inet_aton(dst) + struct.pack("!HH", 6, len(segment))
    s = checksum(pseudo + segment) ^ (0x1234 if bad_sum else 0)
    return segment[:16] + struct.pack("!H", s) + segment[18:]


class Wire:
    """One end of the laboratory's segment, as raw frames."""

    def __init__(self, lab, ns, interface="eth0"):
        with lab.inside(ns):
            self.socket = open_raw(interface)
        self.heard = []

    def send(self, *frames):
        for f in frames:
            self.socket.send(f)

    def listen(self, until, seconds=20):
        """Keeps what arrives until a frame that is `until`; returns all that came before it."""
        end, got = time.monotonic() + seconds, []
        while True:
            left = end - time.monotonic()
            assert left > 0, f"the awaited frame did not arrive; others that did: {[f.hex() for f in got]}"
            if not select.select([self.socket], [], [], left)[0]:
                continue
            frame = receive_frame(self.socket)
            if frame is None:
                continue
            if frame == until:
                return got
            got.append(frame)

    def close(self):
        self.socket.close()
