# SPDX-License-Identifier: BSD-3-Clause
"""sparkplug_oracle_test.py PROGRAM: random payloads of Sparkplug B, valid and damaged, as PROGRAM (sparkplug_read.c) and the
reference implementation of protobuf read them. Values that biplane reads only on demand are bytes in the schema here."""

import math
import random
import struct
import subprocess
import sys
import warnings

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError

try:
    from google.protobuf.message_factory import GetMessageClass
except ImportError:  # before 4.22
    from google.protobuf.message_factory import MessageFactory
    GetMessageClass = MessageFactory().GetPrototype

ROUNDS = 20000
F = descriptor_pb2.FieldDescriptorProto
U32, U64, BOOL, FLOAT, DOUBLE, BYTES, MESSAGE = (F.TYPE_UINT32, F.TYPE_UINT64, F.TYPE_BOOL, F.TYPE_FLOAT, F.TYPE_DOUBLE,
                                                 F.TYPE_BYTES, F.TYPE_MESSAGE)
VALUE = [("int", 10, U32), ("long", 11, U64), ("float", 12, FLOAT), ("double", 13, DOUBLE), ("boolean", 14, BOOL),
         ("string", 15, BYTES), ("bytes", 16, BYTES), ("dataset", 17, BYTES), ("template", 18, BYTES), ("extension", 19, BYTES)]
SCHEMA = {
    "Element": ([], [("int", 1, U32), ("long", 2, U64), ("float", 3, FLOAT), ("double", 4, DOUBLE), ("boolean", 5, BOOL),
                     ("string", 6, BYTES)]),
    "Row": ([("elements", 1, "Element", True)], []),
    "DataSet": ([("num", 1, U64, False), ("columns", 2, BYTES, True), ("types", 3, U32, True), ("rows", 4, "Row", True)], []),
    "Metric": ([("name", 1, BYTES, False), ("alias", 2, U64, False), ("timestamp", 3, U64, False),
                ("datatype", 4, U32, False), ("is_historical", 5, BOOL, False), ("is_transient", 6, BOOL, False),
                ("is_null", 7, BOOL, False), ("metadata", 8, BYTES, False), ("properties", 9, BYTES, False)], VALUE),
    "Payload": ([("timestamp", 1, U64, False), ("metrics", 2, "Metric", True), ("seq", 3, U64, False),
                 ("uuid", 4, BYTES, False), ("body", 5, BYTES, False)], []),
}


def classes():
    file = descriptor_pb2.FileDescriptorProto(name="spb.proto", package="spb", syntax="proto2")
    for name, (fields, oneof) in SCHEMA.items():
        m = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            f = m.field.add(name=field, number=number, label=F.LABEL_REPEATED if repeated else F.LABEL_OPTIONAL)
            if isinstance(kind, str):
                f.type, f.type_name = MESSAGE, ".spb." + kind
            else:
                f.type = kind
        if oneof:
            m.oneof_decl.add(name="value")
            for field, number, kind in oneof:
                m.field.add(name=field, number=number, type=kind, label=F.LABEL_OPTIONAL, oneof_index=0)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: GetMessageClass(pool.FindMessageTypeByName("spb." + name)) for name in SCHEMA}


CLASS = classes()


def scalar(r, kind):
    if kind == BOOL:
        return r.random() < 0.5
    if kind == BYTES:
        return r.choice([b"", b"v", b"Motor/Temperature", bytes(r.randrange(256) for _ in range(r.randrange(20)))])
    if kind in (FLOAT, DOUBLE):
        return r.choice([0.0, -1.5, 1e30, math.inf, math.nan, r.uniform(-1e6, 1e6)])
    return r.choice([0, 1, 127, 128, 255, 2**31, 2**32 - 1] + ([2**63, 2**64 - 1] if kind == U64 else []) + [r.randrange(2**32)])


def parse(name, data):
    """The message; None: it is damaged, also where the C++ implementation only warns that not all data was converted."""
    message = CLASS[name]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            message.ParseFromString(data)
        except DecodeError:
            return None
    return None if caught else message


def random_value(r, message, values):
    field, _, kind = r.choice(values)
    setattr(message, field, scalar(r, kind))


def random_dataset(r):
    d = CLASS["DataSet"](num=2, columns=[b"t", b"v"][:r.randrange(3)], types=[r.randrange(1, 14) for _ in range(r.randrange(3))])
    for _ in range(r.randrange(4)):
        row = d.rows.add()
        for _ in range(r.randrange(3)):
            random_value(r, row.elements.add(), SCHEMA["Element"][1])
    return d.SerializeToString()


def random_payload(r):
    p = CLASS["Payload"]()
    for field in ("timestamp", "seq"):
        if r.random() < 0.7:
            setattr(p, field, scalar(r, U64))
    for _ in range(r.randrange(5)):
        m = p.metrics.add()
        for field, _, kind, _ in SCHEMA["Metric"][0]:
            if r.random() < 0.4:
                setattr(m, field, r.randrange(36) if field == "datatype" else scalar(r, kind))
        if r.random() < 0.3:
            m.dataset = random_dataset(r)
        elif r.random() < 0.9:
            random_value(r, m, VALUE)
    return p.SerializeToString()


def unknown_field(r):
    """A field that the schema does not have, of any wire type."""
    number = r.randrange(20, 40)

    def tag(wire):
        return encode_varint(number << 3 | wire)
    return r.choice([lambda: tag(0) + encode_varint(r.randrange(2**64)), lambda: tag(1) + bytes(8), lambda: tag(5) + bytes(4),
                     lambda: tag(2) + b"\3abc", lambda: tag(3) + tag(0) + b"\1" + tag(4)])()


def encode_varint(v):
    out = b""
    while v >= 0x80:
        out += bytes([v & 0x7F | 0x80])
        v >>= 7
    return out + bytes([v])


def damaged(r, p):
    kind, p = r.randrange(6), bytearray(p)
    if kind == 0 and p:
        p[r.randrange(len(p))] = r.randrange(256)
    elif kind == 1 and p:
        del p[r.randrange(len(p)):]
    elif kind == 2:
        p += unknown_field(r)
    elif kind == 3:
        p = bytearray(unknown_field(r)) + p
    elif kind == 4:
        p += random_payload(r)  # protobuf merges messages that follow each other
    return bytes(p)


def integer(bits, datatype):
    width = {1: 8, 2: 16, 3: 32, 4: 64, 5: 8, 6: 16, 7: 32}.get(datatype, 64)
    bits &= 2**width - 1
    return bits - 2**width if datatype in (1, 2, 3, 4) and bits >> (width - 1) else bits


def number(message, datatype):
    """What is compared with a rule; None: no number."""
    which = message.WhichOneof("value")
    if which in ("int", "long"):
        bits = getattr(message, which)
        return float(bits != 0) if datatype == 11 else float(integer(bits, datatype))
    if which in ("float", "double", "boolean"):
        v = float(getattr(message, which))
        return v if math.isfinite(v) else None
    return None


def member(m):
    """The element v[1] of a DataSet."""
    if m.is_null or m.WhichOneof("value") != "dataset":
        return None
    d = parse("DataSet", m.dataset)
    if d is None:
        return "damaged"
    if b"v" not in list(d.columns) or len(d.rows) < 2:
        return None
    column = list(d.columns).index(b"v")
    if len(d.rows[1].elements) <= column:
        return None
    return number(d.rows[1].elements[column], d.types[column] if column < len(d.types) else 0)


def bits_of(m, which):
    if which == "float":
        return struct.unpack("<I", struct.pack("<f", m.float))[0]
    if which == "double":
        return struct.unpack("<Q", struct.pack("<d", m.double))[0]
    return int(getattr(m, which))


def expected(payload):
    """The line of PROGRAM, as a list; None for a word that is not compared."""
    p = parse("Payload", payload)
    if p is None:
        return ["malformed"]
    words = [str(p.seq) if p.HasField("seq") else "-"]
    for m in p.metrics:
        which = m.WhichOneof("value")
        words.append("x" + m.name.hex() if m.HasField("name") else "-")
        words.append(str(m.alias) if m.HasField("alias") else "-")
        words += [str(m.datatype), str(int(m.is_historical)), str(int(m.is_null))]
        words.append(str(dict((f, n) for f, n, _ in VALUE)[which]) if which else "0")
        nan = which in ("float", "double") and math.isnan(getattr(m, which))  # Python may change its bits
        words.append("0" if not which else "x" + getattr(m, which).hex() if words[-1] >= "15" else
                     None if nan else f"{bits_of(m, which):x}")
        for v in (None if m.is_null else number(m, m.datatype)), member(m):
            words.append("-" if v is None else None if v == "damaged" else v)
    return words


def same(got, want):
    if want is None:
        return True
    if isinstance(want, float):
        return got != "-" and float(got) == want
    return got == want


def main():
    seed = random.randrange(2**32)
    r = random.Random(seed)
    payloads = [random_payload(r) for _ in range(ROUNDS)]
    payloads = [damaged(r, p) if i % 2 else p for i, p in enumerate(payloads)]
    got = subprocess.run([sys.argv[1]], input=b"".join(struct.pack("<I", len(p)) + p for p in payloads),
                         stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    assert len(got) == ROUNDS, f"{len(got)} answers"
    malformed = 0
    for p, line in zip(payloads, got):
        words, want = line.split(), expected(p)
        malformed += want == ["malformed"]
        assert len(words) == len(want) and all(map(same, words, want)), \
            f"seed {seed}: {p.hex()}\nbiplane:  {words}\nprotobuf: {want}"
    assert 0 < malformed < ROUNDS / 2, malformed
    print(f"{ROUNDS} payloads, {malformed} of them malformed, seed {seed}")


if __name__ == "__main__":
    main()
