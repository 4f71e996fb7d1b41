#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What moved between two results of scripts/bench --json.

    bench/compare.py OLD.json NEW.json [PERCENT]

Prints every figure that both have and that differs by more than PERCENT (5), the most first. Of a case that is
compared to a peer of the same run the ratio counts: the rate itself is the machine's of the day.
"""
import json
import sys

# What tells an element of a list from the others, in the order of preference
KEYS = ("case", "name", "percent", "messages", "apdu", "n", "method", "sources", "hops", "tau", "part", "node",
        "offered", "rate")
# Inputs and what is the machine's
NOT_FIGURES = {"rounds", "seconds", "target", "count", "alarms", "mpps", "reference_mpps", "csum_mpps",
               "percentiles_us", "hz", "packets", "share", "fraction"}


def key_of(element, index):
    if isinstance(element, dict):
        for k in KEYS:
            if k in element:
                return f"{k}={element[k]}"
    return str(index)


def figures(value, path=""):
    """(path, number) of all that are figures."""
    if isinstance(value, dict):
        for k, v in value.items():
            # without a peer the rate itself is all there is
            alone = k == "mpps" and not value.get("reference")
            if k in KEYS or (k in NOT_FIGURES and not alone):
                continue
            yield from figures(v, f"{path}/{k}" if path else k)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from figures(v, f"{path}[{key_of(v, i)}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, float(value)


def moved(old, new, percent):
    """[(change in percent, path, old, new)], the largest change first. From 0 to anything is without end."""
    before = dict(figures(old))
    out = []
    for path, now in figures(new):
        was = before.get(path)
        if was is None or was == now:
            continue
        change = 100 * (now - was) / abs(was) if was else float("inf")
        if abs(change) > percent:
            out.append((change, path, was, now))
    return sorted(out, key=lambda m: -abs(m[0]))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    results = []
    for name in sys.argv[1:3]:
        with open(name, encoding="utf-8") as f:
            results.append(json.load(f))
    percent = float(sys.argv[3]) if len(sys.argv) == 4 else 5.0
    both = len(dict(figures(results[0])).keys() & dict(figures(results[1])).keys())
    if both == 0:
        sys.exit(f"{sys.argv[1]} and {sys.argv[2]} have no figure in common: were the same cases run?")
    changes = moved(*results, percent)
    old, new = (r.get("commit", "unknown") for r in results)
    print(f"{len(changes)} of {both} figures moved by more than {percent:g} % from {old} to {new}")
    if results[0].get("machine") != results[1].get("machine"):
        print(f"these are different machines: {results[0].get('machine')}; {results[1].get('machine')}")
    for change, path, was, now in changes:
        print(f"{change:+9.1f} %  {was:>14.6g} -> {now:<14.6g} {path}")


if __name__ == "__main__":
    main()
