# SPDX-License-Identifier: BSD-3-Clause
"""CBOR (RFC 8949) and MessagePack, read from their specifications. Maps have only their members with text names."""

import math
import struct

DEPTH = 64  # of arrays and maps


class Malformed(Exception):
    pass


class Other:
    """A well-formed item that is no number, text, boolean, array or map."""


OTHER, BREAK = Other(), Other()


def text(raw):
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return OTHER


def finite(v):
    return v if math.isfinite(v) else OTHER


def members(pairs):
    return {k: v for k, v in pairs if isinstance(k, str)}


class Reader:
    def __init__(self, data):
        self.data, self.at, self.depth = data, 0, 0

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Malformed
        self.at += n
        return self.data[self.at - n:self.at]

    def uint(self, n):
        return int.from_bytes(self.take(n), "big")

    def inside(self, read, n):
        """n items, or those up to a break."""
        self.depth += 1
        if self.depth > DEPTH or (n is not None and n > len(self.data)):
            raise Malformed
        out = []
        while n is None or len(out) < n:
            item = read()
            if item is BREAK:
                if n is None:
                    break
                raise Malformed
            out.append(item)
        self.depth -= 1
        return out

    def pairs(self, read, n):
        flat = self.inside(read, None if n is None else 2 * n)
        if len(flat) % 2:
            raise Malformed
        return members(zip(flat[::2], flat[1::2]))

    def whole(self):
        item = self.item()
        if item is BREAK or self.at != len(self.data):
            raise Malformed
        return item


class Cbor(Reader):
    def argument(self, info):
        if info < 24:
            return info
        if info < 28:
            return self.uint(1 << info - 24)
        raise Malformed

    def chunks(self, major):
        out = b""
        while True:
            head = self.uint(1)
            if head == 0xFF:
                return out
            if head >> 5 != major:
                raise Malformed
            out += self.take(self.argument(head & 31))

    def simple(self, info):
        if info in (25, 26, 27):
            return finite(struct.unpack(">" + "efd"[info - 25], self.take(1 << info - 24))[0])
        if info == 31:
            return BREAK
        if info == 24 and self.uint(1) < 32 or info > 24:
            raise Malformed
        return {20: False, 21: True}.get(info, OTHER)

    def item(self):
        head = self.uint(1)
        major, info = head >> 5, head & 31
        if major == 7:
            return self.simple(info)
        if info == 31 and major in (2, 3):
            raw = self.chunks(major)
            return text(raw) if major == 3 else OTHER
        n = None if info == 31 and major in (4, 5) else self.argument(info)
        if major < 2:
            return n if major == 0 else -1 - n
        if major < 4:
            raw = self.take(n)
            return text(raw) if major == 3 else OTHER
        if major == 6:
            item = self.item()
            if item is BREAK:
                raise Malformed
            return item
        return self.inside(self.item, n) if major == 4 else self.pairs(self.item, n)


class Msgpack(Reader):
    def item(self):
        head = self.uint(1)
        if head < 0x80 or head >= 0xE0:
            return head if head < 0x80 else head - 256
        if head < 0x90:
            return self.pairs(self.item, head & 15)
        if head < 0xA0:
            return self.inside(self.item, head & 15)
        if head < 0xC0:
            return text(self.take(head & 31))
        return self.typed(head)

    def typed(self, head):
        if head in (0xC0, 0xC2, 0xC3):
            return OTHER if head == 0xC0 else head == 0xC3
        if 0xC4 <= head <= 0xC9:  # bin, ext
            self.take(self.uint(1 << (head - 0xC4) % 3) + (head >= 0xC7))
            return OTHER
        if head in (0xCA, 0xCB):
            return finite(struct.unpack(">" + "fd"[head - 0xCA], self.take(4 << head - 0xCA))[0])
        if 0xCC <= head <= 0xCF:
            return self.uint(1 << head - 0xCC)
        if 0xD0 <= head <= 0xD3:
            return int.from_bytes(self.take(1 << head - 0xD0), "big", signed=True)
        if 0xD4 <= head <= 0xD8:  # fixext
            self.take((1 << head - 0xD4) + 1)
            return OTHER
        if 0xD9 <= head <= 0xDB:
            return text(self.take(self.uint(1 << head - 0xD9)))
        if 0xDC <= head <= 0xDF:
            n = self.uint(2 << (head & 1))
            return self.inside(self.item, n) if head < 0xDE else self.pairs(self.item, n)
        raise Malformed


def parse(kind, payload):
    """The item; None: the payload is not well-formed."""
    try:
        return {"cbor": Cbor, "msgpack": Msgpack}[kind](payload).whole()
    except (Malformed, RecursionError):
        return None
