# SPDX-License-Identifier: BSD-3-Clause
"""Random rules, and random streams of publications."""

import payloads
import sparkplug_streams

T0 = 1_700_000_000_000  # ms
STEP = 50               # ms: equal times and exact ends of hold, quiet, max_age and absent are frequent
KINDS = "".join(payloads.KINDS)
TOPICS = len(KINDS) + 2  # of a key: also those of a node of Sparkplug B and its device


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


def typed_value(rng, path, kind):
    """The source and the conditions of strings and booleans"""
    if kind == "boolean":
        return {**path, "type": kind}, *({"equals": True}, {"equals": False})[::rng.choice((1, -1))]
    return {**path, "type": kind}, *(({"equals": "open"}, {"one_of": ["closed", "ajar"]}), ({"not_equals": "closed"}, {"equals": "closed"}),
                                     ({"one_of": ["open", "ajar"]}, {"not_equals": "open"}))[rng.randrange(3)]


def number_value(rng, kind):
    if kind in "tu":
        return None
    value = {payloads.FORMATS[kind]: rng.choice(payloads.NUMBER_PATHS)}
    if rng.random() < 0.3:
        value |= {"scale": rng.choice((0.5, -2, 10)), "offset": rng.choice((-1.5, 0, 4))}
    return value


def window(rng):
    out = {"type": rng.choice(("sliding", "tumbling"))}
    out["function"] = rng.choice(("mean", "min", "max", "sum", "count", "delta", "stddev", "rate", "percentile"))
    if rng.random() < 0.4:
        out["values"] = rng.choice((2, 4, 5))
    else:
        out["time"] = rng.choice(("400ms", "800ms", "1s", "1600ms"))
    if out["function"] == "percentile":
        out["percentile"] = rng.choice((25, 50, 90, 100))
    return out


def of_window(rng, windowed):
    """A condition on its result: the last bits of a quotient or a root decide nothing."""
    if windowed["function"] in ("count", "sum", "rate") and rng.random() < 0.3:
        return rng.choice(({"at_most": 0}, {"below": 0.513}))
    out = condition(rng)
    if windowed["function"] not in ("rate", "stddev", "mean"):
        return out
    (kind, bound), = out.items()
    kind = {"equals": "above", "not_equals": "below"}.get(kind, kind)
    return {kind: [b + 0.013 for b in bound] if isinstance(bound, list) else bound + 0.013}


def plain_rule(rng, name):
    kind = rng.choice("ttuujjjccmm")
    rule = {"name": name, "topic": f"o/+/{kind}"}
    what = rng.random() if kind not in "tu" else 0
    if what < 0.6:
        up, down, value = condition(rng), condition(rng), number_value(rng, kind)
        if value is not None:
            rule["value"] = value
        if rng.random() < 0.5:
            rule["window"] = window(rng)
            up, down = of_window(rng, rule["window"]), of_window(rng, rule["window"])
    elif what < 0.75:
        up, down = condition(rng), condition(rng)
        rule["value"] = {payloads.FORMATS[kind]: rng.choice(payloads.ELEMENT_PATHS), "match": rng.choice(("any", "all"))}
    else:
        path, type_ = rng.choice((("$.s", "string"), ("$.b", "boolean")))
        rule["value"], up, down = typed_value(rng, {payloads.FORMATS[kind]: path}, type_)
    rule["raise"] = up
    if rng.random() < 0.5:
        rule["clear"] = down
    state_settings(rng, rule, what < 0.6)
    return rule


def sparkplug_rule(rng, name):
    rule = {"name": name, "topic": rng.choice(sparkplug_streams.FILTERS), "value": sparkplug_streams.value(rng), "raise": condition(rng)}
    has_clear, typed = rng.random() < 0.5, rng.random() < 0.3
    if has_clear:
        rule["clear"] = condition(rng)
    if typed and rule["value"] != "sparkplug_online":
        rule["value"].pop("death", None)
        rule["value"], rule["raise"], down = typed_value(rng, rule["value"], rng.choice(("string", "boolean")))
        rule |= {"clear": down} if has_clear else {}
    elif rule["value"] == "sparkplug_online":
        rule["raise"] = {"equals": rng.choice((0, 1))}
    elif rng.random() < 0.2:
        rule["window"] = window(rng)
        rule["raise"] = of_window(rng, rule["window"])
    state_settings(rng, rule, "type" not in rule["value"])
    return rule


def part(rng, kind, windowed):
    out = {"topic": f"o/{{k}}/{kind}", "condition": condition(rng)}
    if kind == "s":
        out |= {"topic": "spBv1.0/{k}/NDATA/n", "value": sparkplug_streams.value(rng)}
    elif kind not in "tu":
        out["value"] = number_value(rng, kind)
    if windowed:
        out["window"] = window(rng)
        out["condition"] = of_window(rng, out["window"])
    if rng.random() < 0.4:
        out["max_age"] = f"{STEP * rng.randint(2, 30)}ms"
    return out


def combination(rng, name):
    kinds = rng.sample(KINDS + "s", rng.randint(1, 3))
    windowed = rng.choice(kinds) if rng.random() < 0.3 else None  # of one: no two results at the same time
    nodes = [part(rng, kind, kind == windowed) for kind in kinds]
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
            out.append({"name": name, "topic": f"o/+/{rng.choice(KINDS)}", "absent": f"{rng.randint(1, 3)}s"})
        elif what < 0.5:
            out.append(sparkplug_rule(rng, name))
        else:
            out.append(plain_rule(rng, name))
        if rng.random() < 0.3:
            out[-1]["severity"] = rng.choice(("info", "critical"))
    return out


def times(rng, n):
    at = T0 + 1000 + STEP * rng.randint(0, 20)
    for _ in range(n):
        yield at
        at += STEP * (rng.randint(0, 6) if rng.random() < 0.9 else rng.randint(10, 80))


def publications(rng, keys, values):
    """(time, topic, payload) of a topic for each kind of each key, and of a node of Sparkplug B, in the order of arrival"""
    out = []
    for k in range(keys):
        for kind in KINDS:
            out += [(at, f"o/{k}/{kind}", payloads.KINDS[kind](rng)) for at in times(rng, values)]
        messages = sparkplug_streams.Node(rng, k).messages(2 * values)
        out += [(at, topic, payload) for at, (topic, payload) in zip(times(rng, 2 * values), messages)]
    return sorted(out, key=lambda p: p[0])


def end_of(pubs):
    return max(p[0] for p in pubs) + STEP // 2
