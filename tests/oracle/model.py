# SPDX-License-Identifier: BSD-3-Clause
"""What rules do, by docs/reference/rules.md and the help of the settings alone: no line follows the code in C.

A rule is its mapping in the configuration. Times are in milliseconds, payloads are bytes."""

import json
import math
import re
import struct

import items
import sparkplug
import windows
from windows import milliseconds

NOTHING = object()  # no value
LARGEST = 1.7976931348623157e308
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.A)


def finite(v):
    return math.copysign(LARGEST, v) if math.isinf(v) else v


def holds(condition, v):
    (name, bound), = condition.items()
    return {"above": lambda: v > bound, "at_least": lambda: v >= bound, "below": lambda: v < bound, "at_most": lambda: v <= bound,
            "equals": lambda: v == bound, "not_equals": lambda: v != bound, "one_of": lambda: v in bound,
            "inside": lambda: bound[0] <= v <= bound[1], "outside": lambda: v < bound[0] or v > bound[1]}[name]()


def typed(v, kind):
    if kind == "number":
        return finite(float(v)) if isinstance(v, (int, float)) and not isinstance(v, bool) else NOTHING
    return v if isinstance(v, bool if kind == "boolean" else str) else NOTHING


STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\[(\*)\]")


def elements(path, value):
    """What is at the path: $.a.b, $.a[1], $.a[*].b"""
    found = [value]
    for name, index, star in STEP.findall(path):
        if name:
            found = [x[name] for x in found if isinstance(x, dict) and name in x]
        elif index:
            found = [x[int(index)] for x in found if isinstance(x, list) and int(index) < len(x)]
        elif star:
            found = [y for x in found if isinstance(x, list) for y in x]
    return found


def parsed(kind, payload):
    if kind != "json":
        return items.parse(kind, payload)
    try:
        return json.loads(payload.decode(), parse_constant=lambda _: None)
    except ValueError:
        return None


def whole_text(payload):
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return []
    return [text.strip(" \t\r\n")] if payload else []


def values_of(source, payload):
    """A list of values: more than one only for an array; empty: no value."""
    if isinstance(payload, sparkplug.Reading):
        return payload.values(source)
    kind = next((k for k in ("json", "cbor", "msgpack") if k in source), None) if isinstance(source, dict) else None
    if isinstance(source, dict) and source.get("type") == "string" and kind is None:
        return whole_text(payload)
    if kind is None:
        text = payload.decode("latin-1")
        return [finite(float(text))] if NUMBER.fullmatch(text) else []
    typed_values = [typed(v, source.get("type", "number")) for v in elements(source[kind], parsed(kind, payload))]
    values = [v for v in typed_values if v is not NOTHING]
    if "scale" in source or "offset" in source:
        values = [finite(v * source.get("scale", 1) + source.get("offset", 0)) for v in values]
    return values


def beginning(text):
    """What the envelope has of a string: the complete characters of its first 63 bytes."""
    return text.encode()[:63].decode(errors="ignore")


def verdicts(rule, values):
    """Whether the values meet raise, and clear, and the value of the alarm (None: not compared)"""
    up, down = rule["raise"], rule.get("clear")
    if len(values) == 1 and "[*]" not in str(rule.get("value")):
        v = values[0]
        return holds(up, v), down is not None and holds(down, v), beginning(v) if isinstance(v, str) else v
    if rule["value"]["match"] == "any":
        return any(holds(up, v) for v in values), down is not None and all(holds(down, v) for v in values), None
    return (all(holds(up, v) for v in values),
            down is not None and any(holds(down, v) and not holds(up, v) for v in values), None)


def stored(value):
    """A value as the deadband compares it: without the lowest two bits of its fraction (docs/reference/rules.md)."""
    word, = struct.unpack("<Q", struct.pack("<d", value))
    return struct.unpack("<d", struct.pack("<Q", word & ~3))[0]


class Pair:
    """The state of a rule and a topic."""

    def __init__(self, rule, repeat):
        self.rule, self.every = rule, rule.get("repeat", repeat) == "every"
        self.quiet = milliseconds(rule["quiet"]) if rule.get("quiet", "off") != "off" else 0
        hold = rule.get("hold", "off")
        self.samples = int(hold.split()[0]) if "sample" in hold else None
        self.hold = milliseconds(hold) if hold != "off" and self.samples is None else None
        self.raised, self.row, self.since = False, 0, None
        self.last_time = self.last_value = None

    def send(self, state, value, now):
        self.last_time = now
        if state == "raised":
            self.last_value = value
        return [state]

    def feed(self, up, down, has_clear, value, now):
        quiet = self.last_time is not None and now - self.last_time < self.quiet
        if self.raised and up:
            if not self.every or quiet:
                return []
            if "deadband" in self.rule and abs(stored(value) - stored(self.last_value)) <= self.rule["deadband"]:
                return []
            return self.send("raised", value, now)
        if self.raised:
            if has_clear and not down:
                return []
            self.raised, self.row, self.since = False, 0, None
            return self.send("cleared", value, now) if has_clear or not self.every else []
        if not up:
            self.row, self.since = 0, None
            return []
        self.row += 1
        self.since = now if self.since is None else self.since
        if quiet or (self.samples is not None and self.row < self.samples) or (self.hold is not None and now - self.since < self.hold):
            return []
        self.raised = True
        return self.send("raised", value, now)


def levels(pattern, topic):
    """The text at the levels {NAME}; None: no match."""
    a, b = pattern.split("/"), topic.split("/")
    if topic.startswith("$") and a[0] in ("#", "+"):
        return None
    if a[-1] == "#" and len(b) >= len(a) - 1:
        a, b = a[:-1], b[:len(a) - 1]
    if len(a) != len(b):
        return None
    if any(x != y and x != "+" and not x.startswith("{") for x, y in zip(a, b)):
        return None
    return tuple(y for x, y in zip(a, b) if x.startswith("{"))


class Plain:
    def __init__(self, rule):
        self.rule, self.pairs, self.windows = rule, {}, {}

    def feed(self, topic, values, now):
        pair = self.pairs.setdefault(topic, Pair(self.rule, "every"))
        up, down, value = verdicts(self.rule, values)
        for state in pair.feed(up, down, "clear" in self.rule, value, now):
            yield self.rule["name"], topic, now, state, value

    def publication(self, topic, payload, now):
        if levels(self.rule["topic"], topic) is None:
            return
        values = values_of(self.rule.get("value", "text"), payload)
        if "window" not in self.rule:
            if values:
                yield from self.feed(topic, values, now)
            return
        if not values and topic not in self.windows:
            return
        window = self.windows.setdefault(topic, windows.window_of(self.rule["window"]))
        for at, result in window.add(now, values[0]) if values else window.expire(now):
            yield from self.feed(topic, [result], at)

    def end(self, now):
        for topic, window in self.windows.items():
            for at, result in window.expire(now):
                yield from self.feed(topic, [result], at)


class Combination:
    """`all` or `any` over parts, in the three-valued logic of Kleene; None is unknown."""

    def __init__(self, rule):
        self.rule, self.pairs, self.truths, self.windows = rule, {}, {}, {}
        self.parts = []
        self.tree = self.number({k: rule[k] for k in ("all", "any") if k in rule})

    def number(self, node):
        if "topic" in node:
            self.parts.append(node)
            return len(self.parts) - 1
        (name, of), = node.items()
        return name, [self.number(x) for x in (of if name != "not" else [of])]

    def truth(self, node, key, now):
        if isinstance(node, int):
            truth, at = self.truths.get((key, node), (None, 0))
            age = self.parts[node].get("max_age")
            return None if truth is None or (age and now - at > milliseconds(age)) else truth
        name, of = node
        results = [self.truth(x, key, now) for x in of]
        if name == "not":
            return None if results[0] is None else not results[0]
        decides = name == "any"
        return decides if decides in results else None if None in results else not decides

    def feed(self, i, key, value, now):
        self.truths[key, i] = holds(self.parts[i]["condition"], value), now
        result = self.truth(self.tree, key, now)
        if result is None:
            return
        first = re.sub(r"\{\w+\}", key[0], self.parts[0]["topic"])
        pair = self.pairs.setdefault(key, Pair(self.rule, "on_change"))
        for state in pair.feed(result, not result, True, float(result), now):
            yield self.rule["name"], first, now, state, None

    def expire(self, now, of=None):
        for (key, i), window in self.windows.items():
            if of in (None, key):
                for at, result in window.expire(now):
                    yield from self.feed(i, key, result, at)

    def publication(self, topic, payload, now):
        for i, part in enumerate(self.parts):
            key = levels(part["topic"], topic)
            if key is None:
                continue
            yield from self.expire(now, key)
            values = values_of(part.get("value", "text"), payload)
            if not values:
                continue
            results = [(now, values[0])]
            if "window" in part:
                results = self.windows.setdefault((key, i), windows.window_of(part["window"])).add(now, values[0])
            for at, result in results:
                yield from self.feed(i, key, result, at)

    def end(self, now):
        return self.expire(now)


class Absence:
    def __init__(self, rule):
        self.rule, self.after, self.seen, self.raised = rule, milliseconds(rule["absent"]), {}, set()

    def publication(self, topic, _payload, now):
        if levels(self.rule["topic"], topic) is None:
            return
        before = self.seen.get(topic)
        if before is not None and now - before >= self.after:
            yield self.rule["name"], topic, before + self.after, "raised", self.after / 1000
            yield self.rule["name"], topic, now, "cleared", (now - before) / 1000
        self.seen[topic] = now

    def end(self, now):
        for topic, at in self.seen.items():
            if now - at >= self.after:
                yield self.rule["name"], topic, at + self.after, "raised", self.after / 1000


def alarms(rules, publications, end):
    """(rule, topic, time, state, value or None) of publications (time, topic, payload) in their order"""
    machines = [Absence(r) if "absent" in r else Plain(r) if "topic" in r else Combination(r) for r in rules]
    sessions = sparkplug.Sessions()
    for now, topic, payload in publications:
        read = sessions.read(topic, payload) if topic.startswith("spBv1.0/") else [(topic, payload)]
        for of, said in read:
            for machine in machines:
                yield from machine.publication(of, said, now)
    for machine in machines:
        yield from machine.end(end)
