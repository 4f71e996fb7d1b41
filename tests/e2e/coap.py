# SPDX-License-Identifier: BSD-3-Clause
"""CoAP (RFC 7252) and its oneM2M options (TS-0008) for the tests: a second codec, independent of the one under test."""

import itertools
import json
import random
import socket
from dataclasses import dataclass, field

CON, NON, ACK, RST = range(4)
POST, GET, PUT, DELETE = 2, 1, 3, 4
URI_PATH, CONTENT_FORMAT, URI_QUERY = 11, 12, 15
TY, RVI, FR, RQI, RSC = 267, 271, 279, 283, 307  # release 3 and later
OLD_FR, OLD_RQI, OLD_RSC = 256, 257, 265
EXCHANGE_LIFETIME_S = 247
ACP, AE, CNT, CIN, CSE = 1, 2, 3, 4, 5
KEY = {ACP: "m2m:acp", AE: "m2m:ae", CNT: "m2m:cnt", CIN: "m2m:cin"}


def uint(n):
    """The shortest form of a number, empty for 0."""
    return n.to_bytes((n.bit_length() + 7) // 8, "big")


def _nibble(n):
    if n < 13:
        return n, b""
    if n < 269:
        return 13, bytes([n - 13])
    return 14, (n - 269).to_bytes(2, "big")


def _extended(nibble, data, at):
    if nibble < 13:
        return nibble, at
    size = {13: 1, 14: 2}.get(nibble)
    if size is None or at + size > len(data):
        raise ValueError("an option's length or number that is none")
    return int.from_bytes(data[at:at + size], "big") + {13: 13, 14: 269}[nibble], at + size


@dataclass
class Message:
    type: int
    code: int
    mid: int
    token: bytes = b""
    options: list = field(default_factory=list)  # (number, bytes), in order
    payload: bytes = b""

    def encode(self):
        out = bytearray([0x40 | self.type << 4 | len(self.token), self.code])
        out += self.mid.to_bytes(2, "big") + self.token
        last = 0
        for number, value in self.options:
            delta, more = _nibble(number - last)
            length, longer = _nibble(len(value))
            out += bytes([delta << 4 | length]) + more + longer + value
            last = number
        return bytes(out + (b"\xff" + self.payload if self.payload else b""))

    @classmethod
    def decode(cls, data):
        if len(data) < 4 or data[0] >> 6 != 1:
            raise ValueError("no CoAP message of version 1")
        n = data[0] & 15
        if n > 8 or len(data) < 4 + n:
            raise ValueError("a token that is none")
        m = cls(data[0] >> 4 & 3, data[1], int.from_bytes(data[2:4], "big"), data[4:4 + n])
        at, number = 4 + n, 0
        while at < len(data):
            if data[at] == 0xff:
                if at + 1 == len(data):
                    raise ValueError("a payload marker without payload")
                m.payload = data[at + 1:]
                break
            first, at = data[at], at + 1
            delta, at = _extended(first >> 4, data, at)
            length, at = _extended(first & 15, data, at)
            if at + length > len(data):
                raise ValueError("an option longer than the message")
            number += delta
            m.options.append((number, data[at:at + length]))
            at += length
        return m

    def option(self, number):
        """The value of the first such option, or None."""
        return next((v for n, v in self.options if n == number), None)

    def path(self):
        return "/".join(v.decode() for n, v in self.options if n == URI_PATH)

    @property
    def rsc(self):
        v = self.option(RSC)
        return None if v is None else int.from_bytes(v, "big")

    def json(self):
        return json.loads(self.payload)


def request(method, path, fr, ty=None, body=None, query=(), mid=0, token=b"", rqi=None, type=CON, rvi="4"):
    """A oneM2M request as release 3 and later have it."""
    options = [(URI_PATH, s.encode()) for s in path.split("/")]
    if body is not None:
        options.append((CONTENT_FORMAT, uint(50)))
    options += [(URI_QUERY, q.encode()) for q in query]
    if ty is not None:
        options.append((TY, uint(ty)))
    options += [(RVI, rvi.encode()), (FR, fr.encode()), (RQI, (rqi or f"r{mid}").encode())]
    payload = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    return Message(type, method, mid, token, options, payload)


class Client:
    """A socket connected to a CSE; repeats a request until it is answered."""

    def __init__(self, address, port=5683, timeout=2.0):
        self.socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((address, port))
        self.timeout = timeout
        self.mids = itertools.count(random.randrange(65536))

    def close(self):
        self.socket.close()

    def exchange(self, message, tries=4):
        """The answer to a message, or None after all retransmissions."""
        for _ in range(tries):
            self.socket.settimeout(self.timeout)
            try:
                self.socket.send(message.encode())
                while True:
                    got = Message.decode(self.socket.recv(65536))
                    if got.type in (ACK, RST) and got.mid == message.mid and (got.code or got.type == RST):
                        return got
                    if got.type in (CON, NON) and got.token == message.token:
                        return got
            except (TimeoutError, ConnectionRefusedError):
                continue
        return None

    def ask(self, method, path, fr, ty=None, body=None, query=(), tries=4):
        mid = next(self.mids) & 0xffff
        return self.exchange(request(method, path, fr, ty, body, query, mid, mid.to_bytes(2, "big")), tries)

    def create(self, path, ty, fr, **attributes):
        return self.ask(POST, path, fr, ty, {KEY[ty]: attributes})

    def retrieve(self, path, fr, query=()):
        return self.ask(GET, path, fr, query=query)
