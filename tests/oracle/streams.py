# SPDX-License-Identifier: BSD-3-Clause
"""Random rules, random streams of publications, and their capture."""

import json
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
import frames

T0 = 1_700_000_000_000  # ms
STEP = 50               # ms: equal times and exact ends of hold, quiet, max_age and absent are frequent
CONNECTIONS = 16
CLIENT, BROKER = "02:00:00:00:00:01", "02:00:00:00:00:02"
STATES = ("open", "ajar", "closed", "Open")


def number(rng):
    return rng.choice([rng.randint(-8, 8) / 2] * 12 + [0.1, -0.0, 1e30, -2.25])


def text_payload(rng):
    odd = ("", "x", "nan", "1e400", "-1e400", "0x10", " 3 ", "+2", ".5", "4.", "1e1", "-0", "7 7", "{}")
    return rng.choice(odd) if rng.random() < 0.12 else repr(number(rng)).replace("e+", "e")


def json_payload(rng):
    if rng.random() < 0.08:
        return rng.choice(("", "[", "{}", "[1]", "7", '{"v":"3","w":4,"s":1,"b":1}', '{"v":null,"w":[],"s":null,"b":"true"}',
                           '{"v":1,"v":-3,"s":"ajar","s":"open"}', '{"w":["x",null]}', '{"w":[2,"x",true,-4]}', '{"s":"\\u006fpen"}'))
    members = {"v": number(rng), "w": [number(rng) for _ in range(rng.randint(1, 4))], "s": rng.choice(STATES), "b": rng.random() < 0.5}
    return json.dumps({k: m for k, m in members.items() if rng.random() < 0.9})


def condition(rng, kinds=("above", "at_least", "below", "at_most", "equals", "not_equals", "inside", "outside")):
    kind = rng.choice(kinds)
    if kind in ("inside", "outside"):
        return {kind: sorted(rng.randint(-8, 8) / 2 for _ in range(2))}
    return {kind: rng.randint(-6, 6) / 2}


def duration(rng, longest):
    return f"{STEP * rng.randint(1, longest // STEP)}ms"


def state_settings(rng, rule, numbers):
    if rng.random() < 0.4:
        rule["hold"] = rng.choice((f"{rng.randint(2, 4)} samples", duration(rng, 1000)))
    if rng.random() < 0.6:
        rule["repeat"] = rng.choice(("every", "on_change"))
    if rng.random() < 0.3:
        rule["quiet"] = duration(rng, 1500)
    if numbers and rule.get("repeat", "every") == "every" and rng.random() < 0.4:
        rule["deadband"] = rng.randint(1, 6) / 2


def plain_rule(rng, name):
    kind = rng.choice("tttuvvsbw")
    rule = {"name": name, "topic": f"o/+/{kind if kind in 'tu' else 'j'}"}
    if kind in "sb":
        rule["value"] = {"json": f"$.{kind}", "type": "string" if kind == "s" else "boolean"}
        up, down = (({"equals": "open"}, {"one_of": ["closed", "ajar"]}), ({"not_equals": "closed"}, {"equals": "closed"}),
                    ({"one_of": ["open", "ajar"]}, {"not_equals": "open"}))[rng.randrange(3)] if kind == "s" else (
                        ({"equals": True}, {"equals": False})[::rng.choice((1, -1))])
    else:
        up, down = condition(rng), condition(rng)
        if kind == "v":
            rule["value"] = {"json": "$.v"}
            if rng.random() < 0.4:
                rule["value"] |= {"scale": rng.choice((0.5, -2, 10)), "offset": rng.choice((-1.5, 0, 4))}
        elif kind == "w":
            rule["value"] = {"json": "$.w[*]", "match": rng.choice(("any", "all"))}
    rule["raise"] = up
    if rng.random() < 0.5:
        rule["clear"] = down
    if kind == "v" and rng.random() < 0.5:
        function = rng.choice(("mean", "min", "max", "sum", "count", "delta", "percentile"))
        rule["window"] = {"values": rng.choice((2, 4, 5)), "function": function, "type": rng.choice(("sliding", "tumbling"))}
        if function == "percentile":
            rule["window"]["percentile"] = rng.choice((25, 50, 90, 100))
    state_settings(rng, rule, kind in "tuv")
    return rule


def part(rng, kind):
    out = {"topic": f"o/{{k}}/{kind}", "condition": condition(rng)}
    if kind == "j":
        out["value"] = {"json": "$.v"}
    if rng.random() < 0.4:
        out["max_age"] = f"{STEP * rng.randint(2, 30)}ms"
    return out


def combination(rng, name):
    kinds = rng.sample("tuj", rng.randint(1, 3))
    nodes = [part(rng, kind) for kind in kinds]
    nodes = [{"not": n} if rng.random() < 0.3 else n for n in nodes]
    if len(nodes) == 3 and rng.random() < 0.5:
        nodes = [nodes[0], {rng.choice(("all", "any")): nodes[1:]}]
    rule = {"name": name, rng.choice(("all", "any")): nodes}
    state_settings(rng, rule, False)
    return rule


def rules(rng, n=10):
    out = []
    for i in range(n):
        name = f"r{i}"
        what = rng.random()
        if what < 0.25:
            out.append(combination(rng, name))
        elif what < 0.32:
            out.append({"name": name, "topic": f"o/+/{rng.choice('tuj')}", "absent": f"{rng.randint(1, 3)}s"})
        else:
            out.append(plain_rule(rng, name))
        if rng.random() < 0.3:
            out[-1]["severity"] = rng.choice(("info", "critical"))
    return out


def publications(rng, keys, values):
    """(time, topic, payload) of 3 topics of each key, in the order of arrival"""
    out = []
    for k in range(keys):
        for kind in "tuj":
            at = T0 + 1000 + STEP * rng.randint(0, 20)
            for _ in range(values):
                out.append((at, f"o/{k}/{kind}", (json_payload if kind == "j" else text_payload)(rng)))
                at += STEP * (rng.randint(0, 6) if rng.random() < 0.9 else rng.randint(10, 80))
    return sorted(out, key=lambda p: p[0])


def end_of(pubs):
    return max(p[0] for p in pubs) + STEP // 2


class Connection:
    def __init__(self, out, number):
        self.out, self.port, self.seq, self.unacked = out, 20000 + number, 1000, 0

    def frame(self, ms, from_client, flags, payload=b"", ack=2000, seq=None):
        src, dst = ("10.0.0.5", "10.0.0.9") if from_client else ("10.0.0.9", "10.0.0.5")
        ports = (self.port, 1883) if from_client else (1883, self.port)
        seq = seq if seq is not None else self.seq
        segment = struct.pack("!HHIIBBHHH", *ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 5 << 4, flags, 65535, 0, 0) + payload
        macs = (BROKER, CLIENT) if from_client else (CLIENT, BROKER)
        data = frames.ethernet(*macs, 0x0800, frames.ip4(src, dst, 6, segment))
        self.out.append(struct.pack("<IIII", ms // 1000, ms % 1000 * 1000, len(data), len(data)) + data)

    def open(self, ms):
        client = f"c{self.port}".encode()
        connect = b"\0\4MQTT\4\2\0\0" + struct.pack("!H", len(client)) + client
        self.frame(ms, True, 0x02, ack=0, seq=self.seq - 1)
        self.frame(ms, False, 0x12, seq=1999, ack=self.seq)
        self.frame(ms, True, 0x10)
        self.send(ms, bytes((0x10, len(connect))) + connect, ack=2000)
        self.frame(ms, False, 0x18, b"\x20\2\0\0", seq=2000, ack=self.seq)

    def send(self, ms, data, ack=2004):
        self.frame(ms, True, 0x18, data, ack=ack)
        self.seq += len(data)
        self.unacked += len(data)
        if self.unacked > 20000:
            self.acknowledge(ms)

    def acknowledge(self, ms):
        self.frame(ms, False, 0x10, seq=2004, ack=self.seq)
        self.unacked = 0


def publish(topic, payload):
    body = struct.pack("!H", len(topic)) + topic.encode() + payload.encode()
    length, head = len(body), b""
    while True:
        head += bytes((length % 128 | (0x80 if length >= 128 else 0),))
        length //= 128
        if not length:
            return b"\x30" + head + body


def capture(pubs, end):
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    connections = [Connection(out, n) for n in range(CONNECTIONS)]
    for c in connections:
        c.open(T0)
    for at, topic, payload in pubs:
        connections[int(topic.split("/")[1]) % CONNECTIONS].send(at, publish(topic, payload))
    connections[0].acknowledge(end)
    return b"".join(out)
