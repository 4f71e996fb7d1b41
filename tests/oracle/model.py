# SPDX-License-Identifier: BSD-3-Clause
"""What rules do, by docs/reference/rules.md and the help of the settings alone: no line follows the code in C.

A rule is its mapping in the configuration. Times are integers, in milliseconds."""

import json
import math
import re

NOTHING = object()  # no value
LARGEST = 1.7976931348623157e308
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.A)


def milliseconds(text):
    for unit, factor in (("ms", 1), ("s", 1000), ("m", 60000)):
        if text.endswith(unit):
            return int(text.removesuffix(unit)) * factor
    raise ValueError(text)


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


def elements(path, value, kind):
    """The values at the path: $.a, $.a[*]"""
    name, star = re.fullmatch(r"\$\.(\w+)(\[\*\])?", path).groups()
    if not isinstance(value, dict) or name not in value:
        return []
    found = value[name]
    if star:
        found = found if isinstance(found, list) else []
    else:
        found = [found]
    return [v for v in (typed(x, kind) for x in found) if v is not NOTHING]


def values_of(source, payload):
    """A list of values: more than one only for an array; empty: no value."""
    if source == "text" or "json" not in source:
        return [finite(float(payload))] if NUMBER.fullmatch(payload) else []
    try:
        parsed = json.loads(payload, parse_constant=lambda _: "no number")
    except ValueError:
        return []
    values = elements(source["json"], parsed, source.get("type", "number"))
    if "scale" in source or "offset" in source:
        values = [finite(v * source.get("scale", 1) + source.get("offset", 0)) for v in values]
    return values


def verdicts(rule, values):
    """Whether the values meet raise, and clear, and the value of the alarm (None: not compared)"""
    up, down = rule["raise"], rule.get("clear")
    if len(values) == 1 and "[*]" not in str(rule.get("value")):
        v = values[0]
        return holds(up, v), down is not None and holds(down, v), v if isinstance(v, float) else None
    if rule["value"]["match"] == "any":
        return any(holds(up, v) for v in values), down is not None and all(holds(down, v) for v in values), None
    return (all(holds(up, v) for v in values),
            down is not None and any(holds(down, v) and not holds(up, v) for v in values), None)


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
            if "deadband" in self.rule and abs(value - self.last_value) <= self.rule["deadband"]:
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
    """The text at the levels + or {NAME}; None: no match."""
    a, b = pattern.split("/"), topic.split("/")
    if len(a) != len(b):
        return None
    if any(x != y and x != "+" and not x.startswith("{") for x, y in zip(a, b)):
        return None
    return tuple(y for x, y in zip(a, b) if x.startswith("{"))


def aggregate(window, values):
    ordered = sorted(values)
    return {"mean": lambda: math.fsum(values) / len(values), "min": lambda: ordered[0], "max": lambda: ordered[-1], "sum": lambda: math.fsum(values),
            "count": lambda: float(len(values)), "delta": lambda: values[-1] - values[0],
            "percentile": lambda: ordered[max(math.ceil(window.get("percentile", 0) * len(values) / 100), 1) - 1]}[window["function"]]()


class Plain:
    def __init__(self, rule):
        self.rule, self.pairs, self.windows = rule, {}, {}

    def windowed(self, topic, value):
        """The result of the window; None: it has never been full."""
        window = self.rule["window"]
        last = self.windows.setdefault(topic, [])
        last.append(value)
        if len(last) < window["values"]:
            return None
        result = aggregate(window, last)
        if window.get("type") == "tumbling":
            last.clear()
        else:
            del last[0]
        return result

    def publication(self, topic, payload, now):
        if levels(self.rule["topic"], topic) is None:
            return
        values = values_of(self.rule.get("value", "text"), payload)
        if not values:
            return
        if "window" in self.rule:
            values = [self.windowed(topic, values[0])]
            if values == [None]:
                return
        pair = self.pairs.setdefault(topic, Pair(self.rule, "every"))
        up, down, value = verdicts(self.rule, values)
        for state in pair.feed(up, down, "clear" in self.rule, value, now):
            yield self.rule["name"], topic, now, state, value

    def end(self, _now):
        return []


class Combination:
    """`all` or `any` over parts, in the three-valued logic of Kleene; None is unknown."""

    def __init__(self, rule):
        self.rule, self.pairs, self.truths = rule, {}, {}
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

    def publication(self, topic, payload, now):
        for i, part in enumerate(self.parts):
            key = levels(part["topic"], topic)
            if key is None:
                continue
            values = values_of(part.get("value", "text"), payload)
            if not values:
                continue
            self.truths[key, i] = holds(part["condition"], values[0]), now
            result = self.truth(self.tree, key, now)
            if result is None:
                continue
            first = re.sub(r"\{\w+\}", key[0], self.parts[0]["topic"])
            pair = self.pairs.setdefault(key, Pair(self.rule, "on_change"))
            for state in pair.feed(result, not result, True, float(result), now):
                yield self.rule["name"], first, now, state, None

    def end(self, _now):
        return []


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
    for now, topic, payload in publications:
        for machine in machines:
            yield from machine.publication(topic, payload, now)
    for machine in machines:
        yield from machine.end(end)
