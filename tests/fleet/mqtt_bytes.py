# SPDX-License-Identifier: BSD-3-Clause
"""The few MQTT packets that the devices of the fleet test send and read, for MQTT 3.1.1 and 5."""

import struct

CONNACK, PUBACK = 2, 4
ALIAS = 0x23


def _string(text):
    data = text.encode()
    return struct.pack("!H", len(data)) + data


def _packet(first, body):
    out, n = bytearray([first]), len(body)
    while True:
        out.append(n & 127 | (128 if n > 127 else 0))
        n >>= 7
        if not n:
            return bytes(out) + body


def connect(client_id, version):
    """A clean session without keep alive: a device that only publishes sends nothing else."""
    return _packet(0x10, _string("MQTT") + bytes([version, 2, 0, 0]) + (b"\0" if version == 5 else b"") + _string(client_id))


def publish(topic, payload, qos=0, packet_id=0, version=4, alias=0, dup=False):
    """Version 5: with a topic alias if it is not 0; an empty topic means the one that the alias has."""
    properties = bytes([3, ALIAS]) + struct.pack("!H", alias) if alias else b"\0"
    return _packet(0x30 | dup << 3 | qos << 1, _string(topic) + (struct.pack("!H", packet_id) if qos else b"") +
                   (properties if version == 5 else b"") + payload)


def disconnect():
    return b"\xe0\0"


def packets(buffer):
    """Removes the complete packets from the bytearray; yields (type, body)."""
    while len(buffer) >= 2:
        n = shift = 0
        at = 1
        while True:
            if at >= len(buffer):
                return
            b = buffer[at]
            n |= (b & 127) << shift
            at, shift = at + 1, shift + 7
            if b < 128:
                break
            if shift > 21:
                raise ValueError("a remaining length of more than four bytes")
        if len(buffer) < at + n:
            return
        kind, body = buffer[0] >> 4, bytes(buffer[at:at + n])
        del buffer[:at + n]
        yield kind, body
