# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of Sparkplug B as an observer reads them, by docs/reference/sparkplug.md and the specification alone."""

import math
import struct

NOTHING = object()
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
SIGNED, UNSIGNED = {1: 8, 2: 16, 3: 32, 4: 64}, {5: 8, 6: 16, 7: 32, 8: 64, 13: 64}
INT, LONG, FLOAT, DOUBLE, BOOLEAN, STRING = 10, 11, 12, 13, 14, 15  # fields of a metric


class Malformed(Exception):
    pass


# ---- protobuf ----

def varint(data, at):
    v = 0
    for i in range(10):
        if at + i >= len(data):
            raise Malformed
        v |= (data[at + i] & 0x7F) << 7 * i
        if data[at + i] < 0x80:
            return v & (1 << 64) - 1, at + i + 1
    raise Malformed


def fields(data):
    """(number, type, value) of a message"""
    out, at = [], 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = varint(data, at)
        elif kind in (FIXED64, FIXED32, BYTES):
            size, at = varint(data, at) if kind == BYTES else (8 if kind == FIXED64 else 4, at)
            value, at = data[at:at + size], at + size
        else:
            raise Malformed
        if at > len(data) or number == 0:
            raise Malformed
        out.append((number, kind, value))
    return out


class Metric:
    def __init__(self, data):
        self.name = self.alias = self.datatype = self.field = self.value = None
        self.historical = self.null = False
        for number, kind, value in fields(data):
            if (number, kind) == (1, BYTES):
                self.name = value.decode()
            elif (number, kind) == (2, VARINT):
                self.alias = value
            elif (number, kind) == (4, VARINT):
                self.datatype = value
            elif (number, kind) == (5, VARINT):
                self.historical = value != 0
            elif (number, kind) == (7, VARINT):
                self.null = value != 0
            elif number in range(INT, STRING + 4):
                self.field, self.value = number, value

    def typed(self, datatype, kind):
        """The value of a rule of this type"""
        if kind == "number":
            return self.number(datatype)
        if self.null or kind == "string":
            return self.value.decode() if self.field == STRING and not self.null else NOTHING
        boolean = self.field == BOOLEAN or self.field in (INT, LONG) and datatype == 11
        return self.value != 0 if boolean else NOTHING

    def number(self, datatype):
        v = self.value
        if self.null or self.field is None:
            return NOTHING
        if self.field in (FLOAT, DOUBLE):
            v = struct.unpack("<f" if self.field == FLOAT else "<d", v)[0]
            return v if math.isfinite(v) else NOTHING
        if self.field == BOOLEAN:
            return float(v != 0)
        if self.field not in (INT, LONG):
            return NOTHING
        bits = SIGNED.get(datatype) or UNSIGNED.get(datatype) or 64
        v &= (1 << bits) - 1
        return float(v - (1 << bits) if datatype in SIGNED and v >> bits - 1 else v)


# ---- sessions ----

class Reading:
    """What a message says of a node or a device: its values by the names of their metrics, or its death."""

    def __init__(self, metrics=None):
        self.metrics = metrics

    def values(self, source):
        if source == "sparkplug_online":
            return [0.0 if self.metrics is None else 1.0]
        if self.metrics is None:
            return [float(source["death"])] if "death" in source else []
        found = [m.typed(datatype, source.get("type", "number")) for name, datatype, m in self.metrics
                 if name == source["sparkplug"] and (not m.historical or source.get("historical") == "evaluate")]
        return [v for v in found[-1:] if v is not NOTHING]


class Session:
    """Of an edge node."""

    def __init__(self):
        self.birth = self.bdseq = None
        self.born = set()  # devices, since the birth of the node
        self.aliases, self.types = {}, {}  # of the node (None) and its devices: name by alias, datatype by name

    def names(self, device, metrics):
        """A metric with a name is never another one by its alias."""
        known, types = self.aliases.get(device, {}), self.types.get(device, {})
        out = []
        for m in metrics:
            name = m.name if m.name is not None else known.get(m.alias)
            out.append((name, m.datatype if m.datatype is not None else types.get(name), m))
        return out

    def node_birth(self, timestamp, bdseq):
        if self.birth == (timestamp, bdseq) and timestamp is not None:
            return False  # a copy
        self.birth, self.bdseq = (timestamp, bdseq), bdseq
        self.born, self.aliases, self.types = set(), {}, {}
        return True

    def message(self, kind, device, payload):
        """(device or None, reading) for the node and each device"""
        top = fields(payload)
        metrics = [Metric(v) for number, t, v in top if (number, t) == (2, BYTES)]
        timestamp = next((v for number, t, v in reversed(top) if (number, t) == (1, VARINT)), None)
        bdseq = next((m.value for m in metrics if m.name == "bdSeq"), None)
        if kind == "NDEATH":
            if None not in (bdseq, self.bdseq) and bdseq != self.bdseq:
                return []
            return [(d, Reading()) for d in [None, *sorted(self.born)]]
        if kind == "DDEATH":
            return [(device, Reading())]
        if kind == "NBIRTH" and self.node_birth(timestamp, bdseq) or kind == "DBIRTH":
            self.aliases[device] = {m.alias: m.name for m in metrics if m.alias is not None}
            self.types[device] = {m.name: m.datatype for m in metrics}
        if kind == "DBIRTH":
            self.born.add(device)
        return [(device, Reading(self.names(device, metrics)))]


class Sessions:
    def __init__(self):
        self.of = {}

    def read(self, topic, payload):
        """(topic of the data messages, reading) of each node and device that the message is of"""
        _, group, kind, node, *device = topic.split("/")
        if kind not in ("NBIRTH", "DBIRTH", "NDATA", "DDATA", "NDEATH", "DDEATH") or len(device) != (kind[0] == "D"):
            return []
        session = self.of.setdefault((group, node), Session())
        try:
            said = session.message(kind, device[0] if device else None, payload)
        except Malformed:
            return []
        return [("/".join(["spBv1.0", group, *(["NDATA", node] if d is None else ["DDATA", node, d])]), reading) for d, reading in said]
