#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares two results of scripts/bench --json.

  bench/report/compare.py OLD.json NEW.json [PERCENT]

Prints every figure in both files that differs by more than PERCENT (5), the largest difference first. For cases that
are compared with a peer in the same run the ratio is compared, because the rate itself depends on the load of the
machine.
"""
import json
import sys

# Keys that identify an element of a list: all of these that it has
KEYS = ("case", "name", "who", "percent", "messages", "apdu", "n", "method", "sources", "gateways", "lcl", "tau_ns", "hops",
        "part", "node", "rate", "system", "size")
# Inputs, properties of the machine, counters of the measurement itself, and data for plots only
NOT_FIGURES = {"rounds", "seconds", "target", "target_ratio", "ratio_low", "ratio_high", "cores", "memory_gib", "mpps", "reference_mpps", "csum_mpps", "hz",
               "count", "alarms", "packets", "share", "fraction", "offered", "rate_bps", "queues", "budget_ns",
               "queued", "acknowledged", "changes", "frames", "inside", "early", "made", "taken", "left", "sent",
               "best_effort", "best_effort_made", "best_effort_taken", "moved", "slots", "gated_ns", "intervals",
               "percentiles_us", "series", "parameters", "searches", "spread", "load"}


def keys_of(elements):
    """A unique text for each element of a list: its index, if KEYS do not identify it."""
    keys, seen = [], {}
    for place, e in enumerate(elements):
        key = " ".join(f"{k}={e[k]}" for k in KEYS if k in e) if isinstance(e, dict) else ""
        key = key or str(place)
        seen[key] = seen.get(key, 0) + 1
        keys.append(key if seen[key] == 1 else f"{key} #{seen[key]}")
    return keys


def figures(value, path=""):
    """(path, number) of all figures."""
    if isinstance(value, dict):
        for k, v in value.items():
            # without a peer only the rate can be compared
            alone = k == "mpps" and not value.get("reference")
            if k in KEYS or (k in NOT_FIGURES and not alone):
                continue
            yield from figures(v, f"{path}/{k}" if path else k)
    elif isinstance(value, list):
        for key, v in zip(keys_of(value), value):
            yield from figures(v, f"{path}[{key}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, float(value)


def moved(old, new, percent):
    """[(change in percent, path, old, new)], the largest change first. A change from 0 is infinite."""
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
