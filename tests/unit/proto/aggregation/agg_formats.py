# SPDX-License-Identifier: BSD-3-Clause
"""Both aggregation formats, written from docs/reference/aggregation-format.md and not from the C code."""

import struct
from dataclasses import dataclass

MAGIC = 0xfda6
VERSION = 1
HEADER = 16
SUFFIXES = {4: [0, 1, 2, 3, 4], 6: [0, 1, 2, 3, 8, 10, 12, 16]}
ADDRESS = {4: 4, 6: 16}


class Refused(Exception):
    """The reason's name, as in the tables of the document."""


@dataclass
class Message:
    packed: bytes
    port: int
    hops: int
    payload: bytes


def eight_steps(register):
    for _ in range(8):
        register = register >> 1 ^ (0x82f63b78 if register & 1 else 0)
    return register


STEPS = [eight_steps(byte) for byte in range(256)]


def crc32c(data):
    register = 0xffffffff
    for byte in data:
        register = register >> 8 ^ STEPS[(register ^ byte) & 255]
    return register ^ 0xffffffff


# Format paper.

def paper_read(payload, most):
    if len(payload) < 6:
        raise Refused("SHORT")
    kind, rest = payload[0], payload[6:]
    if kind not in (0xfa, 0xfc):
        raise Refused("TYPE")
    if not rest:
        raise Refused("EMPTY")
    messages = [rest[i:i + 16] for i in range(0, len(rest), 16)]
    if len(messages[-1]) != 16:
        raise Refused("LENGTH")
    if kind == 0xfa and len(messages) != 1:
        raise Refused("SINGLE")
    if len(messages) > most:
        raise Refused("MANY")
    return kind, messages


def paper_write(kind, messages):
    return bytes([kind]) + bytes(5) + b"".join(messages)


# Format full.

def entry(family, before, message, choose=min):
    """`choose` picks among the forms that say the same, by their length."""
    port = struct.pack("!H", message.port)
    length = len(message.payload)
    lengths = [(2, struct.pack("!H", length))] + ([(1, bytes([length]))] if length < 256 else [])
    hops = [(1, bytes([message.hops]))]
    ports = [(2, port)]
    whole = ADDRESS[family]
    addresses = [(SUFFIXES[family].index(whole), message.packed)]
    if before is not None:
        old = struct.pack("!H", before.port)
        if len(before.payload) == length:
            lengths.append((0, b""))
        if before.hops == message.hops:
            hops.append((0, b""))
        if old[0] == port[0]:
            ports.append((1, port[1:]))
        if old == port:
            ports.append((0, b""))
        for code, n in enumerate(SUFFIXES[family]):
            if before.packed[:whole - n] == message.packed[:whole - n]:
                addresses.append((code, message.packed[whole - n:]))
    size = lambda form: len(form[1])
    length, hops, port, address = (choose(forms, key=size) for forms in (lengths, hops, ports, addresses))
    flags = length[0] << 6 | hops[0] << 5 | port[0] << 3 | address[0]
    return bytes([flags]) + length[1] + hops[1] + port[1] + address[1]


def directory_of(family, messages, choose=min):
    out, before = b"", None
    for message in messages:
        out += entry(family, before, message, choose)
        before = message
    return out


def assemble(family, stream, sequence, count, directory, payloads, version=VERSION, declared=None):
    head = struct.pack("!HBBHHI", MAGIC, version << 4 | family, count,
                       len(directory) if declared is None else declared, stream, sequence)
    return head + struct.pack("!I", crc32c(head + directory)) + directory + payloads


def full_write(family, stream, sequence, messages, choose=min):
    return assemble(family, stream, sequence, len(messages), directory_of(family, messages, choose),
                    b"".join(m.payload for m in messages))


def full_take(family, front, size, most, messages):
    """How many of the messages an aggregate of at most `size` bytes takes, where `front` bytes are kept for header and
    directory and the longest entry must always have room there."""
    directory, payloads, before = 0, 0, None
    for i, message in enumerate(messages):
        more = len(entry(family, before, message))
        if i == most or HEADER + directory + more + payloads + len(message.payload) > size or \
                HEADER + directory + 6 + ADDRESS[family] > front:
            return i
        directory, payloads, before = directory + more, payloads + len(message.payload), message
    return len(messages)


def full_read(packet, family, most):
    """(stream, sequence, messages), or Refused."""
    if packet[:2] != MAGIC.to_bytes(2, "big"):
        raise Refused("MAGIC")
    if len(packet) > 2 and packet[2] >> 4 != VERSION:
        raise Refused("VERSION")
    if len(packet) < HEADER:
        raise Refused("SHORT")
    _, kind, count, length, stream, sequence, crc = struct.unpack("!HBBHHII", packet[:HEADER])
    if HEADER + length > len(packet):
        raise Refused("SHORT")
    directory, payloads = packet[HEADER:HEADER + length], packet[HEADER + length:]
    if crc32c(packet[:12] + directory) != crc:
        raise Refused("CHECKSUM")
    if kind & 15 != family:
        raise Refused("FAMILY")
    if count > most:
        raise Refused("MANY")
    if count == 0:
        raise Refused("COUNT")
    messages, last = [], None
    for i in range(count):
        if not directory:
            raise Refused("COUNT")
        flags, rest = directory[0], directory[1:]
        form, hop, place, code = flags >> 6, flags >> 5 & 1, flags >> 3 & 3, flags & 7
        if form == 3 or place == 3 or code >= len(SUFFIXES[family]):
            raise Refused("ENTRY")
        tail = SUFFIXES[family][code]
        if i == 0 and (form == 0 or not hop or place != 2 or tail != ADDRESS[family]):
            raise Refused("ENTRY")
        if len(rest) < form + hop + place + tail:
            raise Refused("ENTRY")
        fields = []
        for n in (form, hop, place, tail):
            fields.append(rest[:n])
            rest = rest[n:]
        directory = rest
        size = int.from_bytes(fields[0], "big") if form else len(last.payload)
        hops = fields[1][0] if hop else last.hops
        port = int.from_bytes(fields[2] if place == 2 else last.port.to_bytes(2, "big")[:2 - place] + fields[2], "big")
        address = fields[3] if last is None else last.packed[:ADDRESS[family] - tail] + fields[3]
        if size > len(payloads):
            raise Refused("LENGTH")
        last = Message(address, port, hops, payloads[:size])
        payloads = payloads[size:]
        messages.append(last)
    if directory:
        raise Refused("COUNT")
    if payloads:
        raise Refused("LENGTH")
    return stream, sequence, messages
