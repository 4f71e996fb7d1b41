# SPDX-License-Identifier: BSD-3-Clause
"""Random payloads, and their encodings: most of them well-formed."""

import json
import math
import struct

STATES = ("open", "ajar", "closed", "Open")


def number(rng):
    return rng.choice([rng.randint(-8, 8) / 2] * 12 + [0.1, -0.0, 1e30, -2.25])


def text(rng):
    odd = ("", "x", "nan", "1e400", "-1e400", "0x10", " 3 ", "+2", ".5", "4.", "1e1", "-0", "7 7", "{}")
    return (rng.choice(odd) if rng.random() < 0.12 else repr(number(rng)).replace("e+", "e")).encode()


def document(rng):
    """The members that rules read: see PATHS."""
    members = {"v": number(rng), "w": [number(rng) for _ in range(rng.randint(1, 4))], "s": rng.choice(STATES), "b": rng.random() < 0.5,
               "n": {"v": number(rng)}, "r": [{"v": number(rng)} for _ in range(rng.randint(1, 3))]}
    return {k: m for k, m in members.items() if rng.random() < 0.9}


NUMBER_PATHS, ELEMENT_PATHS = ("$.v", "$.n.v", "$.w[0]", "$.r[1].v"), ("$.w[*]", "$.r[*].v")


def json_text(rng):
    odd = ("", "[", "{}", "[1]", "7", '{"v":"3","w":4,"s":1,"b":1}', '{"v":null,"w":[],"s":null,"b":"true"}',
           '{"v":1,"v":-3,"s":"ajar","s":"open"}', '{"w":["x",null]}', '{"w":[2,"x",true,-4]}', '{"s":"\\u006fpen"}',
           '{"n":{"v":1},"n":{"w":2}}', '{"n":{"v":1,"v":2},"v":3}', '{"r":[{"v":1},{"w":2},{"v":3,"v":4}]}', '{"r":[1,[2],{"v":[3]}]}')
    return (rng.choice(odd) if rng.random() < 0.1 else json.dumps(document(rng))).encode()


class Encoder:
    """An item by random choices among the forms that its format has."""

    def __init__(self, rng):
        self.rng = rng

    def sized(self, forms, n):
        """(first value that does not fit, prefix, format of the length) in their order: any that fits"""
        return self.rng.choice([(prefix, form) for bound, prefix, form in forms if n < bound])

    def float(self, v, forms):
        form, head = self.rng.choice([(f, h) for f, h in forms if exact(f, v)])
        return bytes((head,)) + struct.pack(form, v)

    def item(self, v):
        if isinstance(v, bool):
            return self.boolean(v)
        if isinstance(v, float) and not (v.is_integer() and abs(v) < 2**62 and self.rng.random() < 0.5):
            return self.float(v, self.FLOATS)
        if isinstance(v, (int, float)):
            return self.int(int(v))
        if isinstance(v, str):
            return self.str(v.encode())
        if isinstance(v, list):
            return self.container(False, [self.item(x) for x in v])
        return self.container(True, [self.item(k) + self.item(x) for k, x in self.pairs(v)])

    def pairs(self, v):
        """Sometimes with what is on no path, or is repeated."""
        pairs = list(v.items())
        if self.rng.random() < 0.1:
            pairs.insert(self.rng.randint(0, len(pairs)), self.rng.choice([(1, 2), ("v", -2.5), ("n", {"v": 1.5}), ("w", [3.5]), ("x", None)]))
        return pairs


def exact(form, v):
    try:
        return struct.unpack(form, struct.pack(form, v))[0] == v
    except OverflowError:
        return False


class Cbor(Encoder):
    FLOATS = (">e", 0xF9), (">f", 0xFA), (">d", 0xFB)
    FORMS = (24, None, None), (256, 24, ">B"), (1 << 16, 25, ">H"), (1 << 32, 26, ">I"), (1 << 64, 27, ">Q")

    def head(self, major, n):
        info, form = self.sized(self.FORMS, n)
        return bytes((major << 5 | n,)) if form is None else bytes((major << 5 | info,)) + struct.pack(form, n)

    def item(self, v):
        tag = self.head(6, self.rng.choice((1, 24, 4000, 55799))) if self.rng.random() < 0.03 else b""
        return tag + (b"\xf6" if v is None else super().item(v))

    def boolean(self, v):
        return b"\xf5" if v else b"\xf4"

    def int(self, v):
        return self.head(0, v) if v >= 0 else self.head(1, -1 - v)

    def str(self, raw):
        if self.rng.random() < 0.9:
            return self.head(3, len(raw)) + raw
        cut = self.rng.randint(0, len(raw))
        return b"\x7f" + b"".join(self.head(3, len(x)) + x for x in (raw[:cut], raw[cut:])) + b"\xff"

    def container(self, pairs, parts):
        major = 5 if pairs else 4
        if self.rng.random() < 0.9:
            return self.head(major, len(parts)) + b"".join(parts)
        return bytes((major << 5 | 31,)) + b"".join(parts) + b"\xff"


class Msgpack(Encoder):
    FLOATS = (">f", 0xCA), (">d", 0xCB)
    STRINGS = (32, None, None), (256, 0xD9, ">B"), (1 << 16, 0xDA, ">H"), (1 << 32, 0xDB, ">I")
    ARRAYS = (16, None, None), (1 << 16, 0xDC, ">H"), (1 << 32, 0xDD, ">I")
    MAPS = (16, None, None), (1 << 16, 0xDE, ">H"), (1 << 32, 0xDF, ">I")
    UINTS = (128, None, None), (256, 0xCC, ">B"), (1 << 16, 0xCD, ">H"), (1 << 32, 0xCE, ">I"), (1 << 64, 0xCF, ">Q")
    INTS = (1 << 7, 0xD0, ">b"), (1 << 15, 0xD1, ">h"), (1 << 31, 0xD2, ">i"), (1 << 63, 0xD3, ">q")

    def head(self, forms, short, n):
        prefix, form = self.sized(forms, n)
        return bytes((short | n,)) if form is None else bytes((prefix,)) + struct.pack(form, n)

    def item(self, v):
        if v is None:
            return self.rng.choice((b"\xc0", b"\xc4\x01\x31", b"\xd6\xff\0\0\0\0", b"\xc7\x03\x01abc"))
        return super().item(v)

    def boolean(self, v):
        return b"\xc3" if v else b"\xc2"

    def int(self, v):
        if -32 <= v < 0 and self.rng.random() < 0.7:
            return struct.pack(">b", v)
        if v >= 0 and self.rng.random() < 0.7:
            return self.head(self.UINTS, 0, v)
        prefix, form = self.sized(self.INTS, v if v >= 0 else -1 - v)
        return bytes((prefix,)) + struct.pack(form, v)

    def str(self, raw):
        return self.head(self.STRINGS, 0xA0, len(raw)) + raw

    def container(self, pairs, parts):
        return self.head(self.MAPS if pairs else self.ARRAYS, 0x80 if pairs else 0x90, len(parts)) + b"".join(parts)


def damaged(rng, raw):
    """Cut, extended or with another byte."""
    at = rng.randrange(len(raw))
    return rng.choice((raw[:at], raw + b"\0", raw[:at] + bytes((rng.randrange(256),)) + raw[at + 1:]))


def binary(encoder, odd):
    def payload(rng):
        if rng.random() < 0.04:
            return rng.choice(odd)
        raw = encoder(rng).item(document(rng))
        return damaged(rng, raw) if rng.random() < 0.1 else raw
    return payload


def nested(n, open_one, inner):
    return open_one * n + inner


cbor = binary(Cbor, (b"", b"\xa1\x61v\xf9\x7e\x00", b"\xa1\x61v\xfb" + struct.pack(">d", math.inf), b"\xa1\x61v\x1b" + b"\xff" * 8,
                     b"\xa1\x61v\xc2\x41\x05", b"\xa1\x61v\x41\x05", b"\xa2\x61v\x05\x61x" + nested(63, b"\x81", b"\x01"),
                     b"\xa2\x61v\x05\x61x" + nested(64, b"\x81", b"\x01")))
msgpack = binary(Msgpack, (b"", b"\x81\xa1v\xcb" + struct.pack(">d", math.nan), b"\x81\xa1v\xca" + struct.pack(">f", -math.inf),
                           b"\x81\xa1v\xcf" + b"\xff" * 8, b"\x81\xc4\x01v\x05", b"\xc1", b"\x81\xa1v\xc1",
                           b"\x82\xa1v\x05\xa1x" + nested(63, b"\x91", b"\x01"), b"\x82\xa1v\x05\xa1x" + nested(64, b"\x91", b"\x01")))
KINDS = {"t": text, "u": text, "j": json_text, "c": cbor, "m": msgpack}
FORMATS = {"j": "json", "c": "cbor", "m": "msgpack"}
