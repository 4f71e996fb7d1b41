# SPDX-License-Identifier: BSD-3-Clause
"""MQTT packets of clients as bytes, and a reader of them that shares nothing with biplane."""

import struct

PUBLISH = 3


def varint(n):
    out = b""
    while n >= 128:
        out += bytes((n & 127 | 128,))
        n >>= 7
    return out + bytes((n,))


def text(s):
    return struct.pack("!H", len(s)) + s.encode()


def packet(first, body):
    return bytes((first,)) + varint(len(body)) + body


def connect(version, client, user=None, will=None):
    flags = 2 | (0x80 if user is not None else 0) | (0x04 if will is not None else 0)
    body = text("MQTT") + bytes((version, flags)) + struct.pack("!H", 60) + (b"\0" if version == 5 else b"") + text(client)
    if will is not None:
        body += (b"\0" if version == 5 else b"") + text(will) + text("gone")
    return packet(0x10, body + (text(user) if user is not None else b""))


def publish(version, topic, payload, qos=0, retain=False, dup=False, identifier=1, alias=None):
    body = text(topic) + (struct.pack("!H", identifier) if qos else b"")
    if version == 5:
        body += b"\0" if alias is None else b"\3\x23" + struct.pack("!H", alias)
    return packet(0x30 | dup << 3 | qos << 1 | retain, body + payload)


def subscribe(version, filters, identifier=1):
    return packet(0x82, struct.pack("!H", identifier) + (b"\0" if version == 5 else b"") + b"".join(text(f) + bytes((qos,)) for f, qos in filters))


def unsubscribe(version, filters, identifier=1):
    return packet(0xa2, struct.pack("!H", identifier) + (b"\0" if version == 5 else b"") + b"".join(map(text, filters)))


def suback(version, identifier, codes):
    return packet(0x90, struct.pack("!H", identifier) + (b"\0" if version == 5 else b"") + bytes(codes))


def answer(version, first, body, refuses):
    """What a broker answers to a packet of a client, after the CONNACK. refuses(): a filter of a SUBSCRIBE"""
    kind, rest = first >> 4, body
    if kind == PUBLISH:
        qos, n = first >> 1 & 3, struct.unpack("!H", body[:2])[0]
        return packet(0x40 if qos == 1 else 0x50, body[2 + n:4 + n]) if qos else b""
    if kind == 12:
        return b"\xd0\0"
    if kind not in (8, 10):
        return b""
    codes, rest = [], body[3 if version == 5 else 2:]
    while rest:
        n = 2 + struct.unpack("!H", rest[:2])[0]
        codes.append((0x8f if version == 5 else 0x80) if refuses() else rest[n] & 3 if kind == 8 else 0)
        rest = rest[n + (kind == 8):]
    identifier = struct.unpack("!H", body[:2])[0]
    if kind == 8:
        return suback(version, identifier, codes)
    return packet(0xb0, body[:2] + (b"\0" + bytes(len(codes)) if version == 5 else b""))


def split(stream):
    """(first byte, body, position, position behind it) of the complete packets of a stream"""
    at = 0
    while True:
        length, shift, i = 0, 0, at + 1
        while i < len(stream) and shift < 28:
            length |= (stream[i] & 127) << shift
            shift += 7
            i += 1
            if not stream[i - 1] & 128:
                break
        else:
            return
        if i + length > len(stream):
            return
        yield stream[at], stream[i:i + length], at, i + length
        at = i + length


def publications(stream, version):
    """(topic, payload) of the complete PUBLISH packets, with the topics of their aliases"""
    aliases, out = {}, []
    for first, body, _, _ in split(stream):
        if first >> 4 != PUBLISH:
            continue
        n = struct.unpack("!H", body[:2])[0]
        topic, at = body[2:2 + n].decode(errors="replace"), 2 + n + (2 if first & 6 else 0)
        if version == 5:
            properties = body[at + 1:at + 1 + body[at]]  # the sessions have the alias alone, so one byte is the length
            at += 1 + len(properties)
            if properties:
                alias = struct.unpack("!BH", properties)[1]
                topic = aliases.setdefault(alias, topic) if not topic else topic
                aliases[alias] = topic
        out.append((topic, body[at:]))
    return out
