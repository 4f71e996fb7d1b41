# SPDX-License-Identifier: BSD-3-Clause
"""UDP frames made and read in Python, the aggregates in them by agg_formats.py, and tshark's opinion of them."""

import ipaddress
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from frames import checksum, ethernet
from lab import ROOT
from udp_peers import Datagram
from wan_lab import MAC, PORT

sys.path.insert(0, str(ROOT / "tests" / "unit" / "proto" / "aggregation"))

import agg_formats  # noqa: E402


class Packet(NamedTuple):
    macs: tuple  # destination, source
    tags: tuple  # (TPID, TCI)
    family: int
    source: str
    destination: str
    tos: int
    hops: int
    dont_fragment: bool
    sport: int
    dport: int
    payload: bytes

    def datagram(self):
        return Datagram(self.source, self.sport, self.hops, self.tos, self.payload)


def packed(address):
    return ipaddress.ip_address(address).packed


def pseudo(source, destination, length):
    return packed(source) + packed(destination) + struct.pack("!II", length, socket.IPPROTO_UDP)


def udp(source, destination, sport, dport, payload, *, sum_=None, length=None):
    """sum_: instead of the right checksum; length: instead of the right one, in a datagram that is right otherwise."""
    length = 8 + len(payload) if length is None else length
    head = struct.pack("!HHHH", sport, dport, length, 0)
    if sum_ is None:
        sum_ = checksum(pseudo(source, destination, length) + head + payload) or 0xFFFF
    return head[:6] + struct.pack("!H", sum_) + payload


def ip(source, destination, payload, *, tos=0, hops=64, dont_fragment=True, id_=0, total=None, protocol=17):
    if ":" in source:
        return struct.pack("!IHBB", 6 << 28 | tos << 20, len(payload) if total is None else total, protocol, hops) + \
            packed(source) + packed(destination) + payload
    head = struct.pack("!BBHHHBBH4s4s", 0x45, tos, 20 + len(payload) if total is None else total, id_,
                       0x4000 if dont_fragment else 0, hops, protocol, 0, packed(source), packed(destination))
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def frame_of(source, destination, payload, *, sport=40000, dport=PORT, src=MAC["sensors"], dst=MAC["server"], tags=(),
             sum_=None, length=None, **more):
    return ethernet(dst, src, 0x86DD if ":" in source else 0x0800,
                    ip(source, destination, udp(source, destination, sport, dport, payload, sum_=sum_, length=length), **more), tags)


def mac_of(where):
    return bytes.fromhex(MAC[where].replace(":", ""))


def read(frame):
    """A Packet, with all lengths and checksums right; None when it is no UDP."""
    at, tags = 12, []
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        tags.append(struct.unpack("!HH", frame[at:at + 4]))
        at += 4
    kind, p = frame[at:at + 2], frame[at + 2:]
    if kind == b"\x08\x00" and p[9] == 17 and not int.from_bytes(p[6:8], "big") & 0x3FFF:
        total = int.from_bytes(p[2:4], "big")
        assert p[0] == 0x45 and checksum(p[:20]) == 0, f"IPv4 header: {frame.hex()}"
        source, destination, body = socket.inet_ntoa(p[12:16]), socket.inet_ntoa(p[16:20]), p[20:total]
        family, tos, hops, df = 4, p[1], p[8], bool(p[6] & 0x40)
    elif kind == b"\x86\xdd" and p[6] == 17:
        total = 40 + int.from_bytes(p[4:6], "big")
        source, destination = (str(ipaddress.IPv6Address(p[i:i + 16])) for i in (8, 24))
        family, tos, hops, df, body = 6, int.from_bytes(p[:2], "big") >> 4 & 255, p[7], True, p[40:total]
    else:
        return None
    assert len(p) == max(total, 60 - at - 2 if len(frame) == 60 else 0), f"bytes behind the packet: {frame.hex()}"
    sport, dport, length, sum_ = struct.unpack("!HHHH", body[:8])
    assert length == len(body), f"UDP length: {frame.hex()}"
    assert sum_ != 0 and checksum(pseudo(source, destination, length) + body) == 0, f"UDP checksum: {frame.hex()}"
    return Packet((frame[:6], frame[6:12]), tuple(tags), family, source, destination, tos, hops, df, sport, dport, body[8:])


def packets(frames, port=PORT):
    return [p for p in map(read, frames) if p is not None and p.dport in (port if isinstance(port, tuple) else (port,))]


class Aggregate(NamedTuple):
    packet: Packet
    stream: int
    sequence: int
    messages: list  # of Datagram


def aggregate_in(p):
    """The aggregate of format full in a packet; None when it is a plain message."""
    if p.payload[:2] != agg_formats.MAGIC.to_bytes(2, "big"):
        return None
    stream, sequence, messages = agg_formats.full_read(p.payload, p.family, 255)
    return Aggregate(p, stream, sequence, [
        Datagram(str(ipaddress.ip_address(m.packed)), m.port, m.hops, p.tos, m.payload) for m in messages])


def aggregates(frames, port=PORT):
    return [a for a in map(aggregate_in, packets(frames, port)) if a]


def longest(frames):
    """Bytes of the longest aggregate's IP packet."""
    return max(len(a.packet.payload) + (28 if a.packet.family == 4 else 48) for a in aggregates(frames))


def carried(frames, port=PORT):
    """All messages in frames, in order: those of aggregates, and plain ones."""
    out = []
    for p in packets(frames, port):
        a = aggregate_in(p)
        out += a.messages if a else [p.datagram()]
    return out


def sequences_unbroken(found):
    """Each stream's aggregates are numbered one by one, in the order in which they were sent."""
    last = {}
    for a in found:
        if a.stream in last:
            assert a.sequence == (last[a.stream] + 1) % 2**32, f"stream {a.stream:04x}: {a.sequence} after {last[a.stream]}"
        last[a.stream] = a.sequence


def full(messages, family=4, stream=0x5EED, sequence=1, choose=min):
    """The bytes of an aggregate of Datagrams."""
    return agg_formats.full_write(family, stream, sequence, [
        agg_formats.Message(packed(m.source), m.port, m.hops, m.payload) for m in messages], choose)


def write_pcap(path, frames):
    with Path(path).open("wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i, frame in enumerate(frames):
            f.write(struct.pack("<IIII", 1 + i // 1000000, i % 1000000, len(frame), len(frame)) + frame)


def tshark_finds_no_fault(path, frames, port=PORT):
    """Writes a capture; nothing in it is malformed, and all checksums are right."""
    assert frames
    write_pcap(path, frames)
    p = subprocess.run(
        ["tshark", "-r", path, "-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-d", f"udp.port=={port},data",
         "-T", "fields", "-E", "occurrence=f", "-e", "ip.checksum.status", "-e", "udp.checksum.status", "-e", "ipv6.version",
         "-e", "_ws.malformed", "-e", "_ws.expert.message", "-e", "data.len"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert p.returncode == 0, p.stderr
    lines = p.stdout.split("\n")[:-1]
    assert len(lines) == len(frames)
    for i, line in enumerate(lines):
        ip_sum, udp_sum, six, malformed, expert, _ = line.split("\t")
        ok = udp_sum == "1" and (ip_sum == "1" or six == "6") and not malformed and not expert
        assert ok, f"tshark of frame {i + 1} of {path}: {line!r}; {frames[i].hex()}"
