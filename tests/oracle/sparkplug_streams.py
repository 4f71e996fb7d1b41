# SPDX-License-Identifier: BSD-3-Clause
"""Random messages of an edge node of Sparkplug B and its device."""

import struct

import payloads
import sparkplug
from sparkplug import BOOLEAN, BYTES, DOUBLE, FIXED32, FIXED64, FLOAT, INT, LONG, STRING, VARINT

NODE, DEVICE = "n", "d"
NAMES = ("Motor/Speed", "b")
# datatype, field
TYPES = (1, INT), (2, INT), (3, INT), (4, LONG), (5, INT), (7, INT), (8, LONG), (9, FLOAT), (10, DOUBLE), (11, BOOLEAN), (13, LONG), (11, INT), (12, STRING), (14, STRING)


def varint(v):
    out = b""
    while v >= 0x80:
        out += bytes((v & 0x7F | 0x80,))
        v >>= 7
    return out + bytes((v,))


def field(number, kind, value):
    if kind == BYTES:
        value = varint(len(value)) + value
    return varint(number << 3 | kind) + (varint(value) if kind == VARINT else value)


def value_field(rng, datatype, number):
    v = payloads.number(rng)
    if number in (FLOAT, DOUBLE):
        return field(number, FIXED32 if number == FLOAT else FIXED64, struct.pack("<f" if number == FLOAT else "<d", v))
    if number == STRING:
        return field(number, BYTES, rng.choice(payloads.STATES).encode())
    if datatype == 11:
        return field(number, VARINT, rng.randint(0, 1))
    v = int(v) if abs(v) < 128 else 100
    if datatype not in sparkplug.SIGNED:
        v = abs(v)
    return field(number, VARINT, v & (1 << (64 if number == LONG else 32)) - 1)


class Node:
    def __init__(self, rng, key):
        self.rng, self.key, self.time, self.seq, self.bdseq = rng, key, 1000, 0, 0
        self.types = {}    # of a node or device: (datatype, field) of each name
        self.aliases = {}  # likewise its alias, or None
        self.last_birth = None

    def topic(self, kind):
        return "/".join(["spBv1.0", str(self.key), kind, NODE, *([DEVICE] if kind[0] == "D" else [])])

    def value(self, datatype, number):
        rng, what = self.rng, self.rng.random()
        if what < 0.04:
            return field(7, VARINT, 1)
        if what < 0.08:
            return field(STRING, BYTES, b"7")
        if what < 0.1:
            return b""
        flags = field(5, VARINT, 1) if rng.random() < 0.1 else b""
        return flags + value_field(rng, datatype, number)

    def metric(self, of, name, by_alias, with_type, birth=False):
        datatype, number = self.types[of][name]
        alias = self.aliases[of][name]
        parts = [] if by_alias and alias is not None else [field(1, BYTES, name.encode())]
        if alias is not None and (by_alias or birth or self.rng.random() < 0.8):
            parts.append(field(2, VARINT, alias))
        if with_type:
            parts.append(field(4, VARINT, datatype))
        parts.append(self.value(datatype, number))
        self.rng.shuffle(parts)
        return field(2, BYTES, b"".join(parts))

    def payload(self, metrics, seq=True):
        self.time += 1
        parts = [field(1, VARINT, self.time), *metrics]
        if seq:
            self.seq = (self.seq + self.rng.choice((1, 1, 1, 2))) % 256
            parts.append(field(3, VARINT, self.seq))
        return b"".join(parts)

    def bdseq_metric(self, v):
        return field(2, BYTES, field(1, BYTES, b"bdSeq") + field(4, VARINT, 8) + field(LONG, VARINT, v))

    def birth(self, kind):
        of, rng = kind[0], self.rng
        self.types[of] = {name: rng.choice(TYPES) for name in NAMES}
        pool = rng.sample(range(1, 6), len(NAMES))
        self.aliases[of] = {name: alias if rng.random() < 0.85 else None for name, alias in zip(NAMES, pool)}
        metrics = [self.metric(of, name, False, True, True) for name in NAMES if rng.random() < 0.9]
        for name in NAMES:  # an alias is that of the birth
            if not any(name.encode() in m for m in metrics):
                self.aliases[of][name] = self.aliases[of][name] and 9
        if kind == "NBIRTH":
            self.bdseq += 1
            metrics += [self.bdseq_metric(self.bdseq)] if rng.random() < 0.9 else []
        out = self.topic(kind), self.payload(metrics)
        if kind == "NBIRTH":
            self.last_birth = out
        return out

    def data(self, kind):
        of, rng = kind[0], self.rng
        if of not in self.types:  # without a birth
            self.types[of] = {name: rng.choice(TYPES) for name in NAMES}
            self.aliases[of] = {name: rng.randint(1, 5) for name in NAMES}
            return self.topic(kind), self.payload([self.metric(of, name, rng.random() < 0.5, True) for name in NAMES])
        metrics = [self.metric(of, rng.choice(NAMES), rng.random() < 0.7, rng.random() < 0.3) for _ in range(rng.randint(1, 3))]
        return self.topic(kind), self.payload(metrics)

    def death(self, kind):
        metrics = []
        if kind == "NDEATH" and self.rng.random() < 0.9:
            metrics = [self.bdseq_metric(self.bdseq + self.rng.choice((0, 0, 0, 1)))]
        return self.topic(kind), self.payload(metrics, seq=kind == "DDEATH")

    def message(self):
        what = self.rng.choices(("data", "birth", "death", "copy", "command", "damaged"), (70, 14, 10, 2, 2, 2))[0]
        of = self.rng.choice("ND")
        if what == "copy" and self.last_birth is not None:
            return self.last_birth
        if what == "command":
            topic, payload = self.data(of + "DATA")
            return topic.replace("DATA", "CMD"), payload
        if what == "damaged":
            topic, payload = self.data(of + "DATA")
            return topic, payload[:-1]
        return {"birth": self.birth, "death": self.death}.get(what, self.data)(f"{of}{what.upper() if what in ('birth', 'death') else 'DATA'}")

    def messages(self, n):
        out = [self.birth("NBIRTH"), self.birth("DBIRTH")] if self.rng.random() < 0.8 else []
        return out + [self.message() for _ in range(n - len(out))]


FILTERS = "spBv1.0/+/NDATA/n", "spBv1.0/+/DDATA/n/d", "spBv1.0/+/+/n/#", "spBv1.0/+/DDATA/+/+"


def value(rng):
    if rng.random() < 0.25:
        return "sparkplug_online"
    out = {"sparkplug": rng.choice(NAMES)}
    if rng.random() < 0.3:
        out["historical"] = "evaluate"
    if rng.random() < 0.5:
        out["death"] = rng.choice((-5, 0, 2.5))
    return out
