#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random rules over random streams through `biplane replay`: the same alarms, in the same order for each rule and topic, at the same times as
the model. rules_oracle.py BIPLANE [SEED [ROUNDS]]"""

import json
import math
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import capture
import model
import streams

ROUNDS, KEYS, VALUES = 15, 100, 12  # 700 streams, one for each topic, in a round
REPLAY_MAX = 120  # of replays that make a failing case smaller


def config(rules):
    return {"version": 1, "ports": [{"name": "devices", "device": "net_null0"}, {"name": "cloud", "device": "net_null1"}],
            "bridges": [{"name": "b", "ports": ["devices", "cloud"]}],
            "mqtt": {"verify_checksums": False, "max_alarm_states": 1 << 18, "max_windows": 1 << 13, "max_window_values": 296,
                     "connection_cpu_percent": 100, "worker_cpu_percent": 100,
                     "publisher": {"broker": "mqtt://127.0.0.1"}, "rules": rules}}


def replay(biplane, rules, pubs, folder):
    file, pcap = Path(folder) / "rules.yaml", Path(folder) / "in.pcap"
    file.write_text(json.dumps(config(rules)))
    pcap.write_bytes(capture.capture(pubs, streams.T0, streams.end_of(pubs)))
    p = subprocess.run([biplane, "replay", "-c", file, "--in", f"devices={pcap}", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, text=True, check=False, timeout=300)
    if p.returncode != 0:
        raise RuntimeError(f"biplane replay: {p.returncode}: {p.stderr}\n{json.dumps(config(rules))}")
    return json.loads(p.stdout)


def by_key(alarms):
    out = defaultdict(list)
    for rule, topic, *alarm in alarms:
        out[rule, topic].append(tuple(alarm))
    return out


def lost(out):
    names = ("state_evicted", "state_evicted_raised", "state_not_stored", "alarms_queue_full", "alarms_too_large",
             "window_evicted", "window_not_stored", "window_busy", "window_coarsened", "combination_evicted", "combination_not_stored",
             "sparkplug_evicted", "sparkplug_not_stored", "sparkplug_deaths_over_budget")
    return {n: out["counters"][n] for n in names if out["counters"].get(n)}


def same_value(want, got):
    if want is None or isinstance(want, (str, bool)):
        return want is None or (type(want), want) == (type(got), got)
    return math.isclose(want, got, rel_tol=1e-14, abs_tol=0)


def same(a, b):
    return len(a) == len(b) and all(x[:2] == y[:2] and same_value(x[2], y[2]) for x, y in zip(a, b))


def compare(out, rules, pubs):
    """(key, of the model, of biplane) for each key that differs, and the number of alarms of the model"""
    got = by_key((a["rule"], a["topic"], a["time_ns"] / 1000000, a["state"], a["value"]) for a in out["alarms"])
    severity = {r["name"]: r.get("severity") for r in rules}
    for a in out["alarms"]:
        assert a["severity"] == severity[a["rule"]], a
    want = by_key(model.alarms(rules, pubs, streams.end_of(pubs)))
    return [(key, want[key], got[key]) for key in sorted({*want, *got}) if not same(want[key], got[key])], sum(map(len, want.values()))


def differences(biplane, rules, pubs, folder):
    out = replay(biplane, rules, pubs, folder)
    if lost(out):
        raise RuntimeError(f"the test has not enough memory: {lost(out)}")
    return out, *compare(out, rules, pubs)


def smaller(biplane, rules, pubs, key, folder):
    """Removes all that the difference does not need: ever smaller parts of the publications."""
    rules = [r for r in rules if r["name"] == key[0]]
    group = key[1].split("/")[1]
    pubs = [p for p in pubs if p[1].split("/")[1] == group]
    size, tries = len(pubs) // 2, 0
    while size:
        for i in range(0, len(pubs), size):
            rest = pubs[:i] + pubs[i + size:]
            tries += 1
            if rest and tries < REPLAY_MAX and differences(biplane, rules, rest, folder)[1]:
                pubs = rest
                break
        else:
            size //= 2
    return rules, pubs


def report(biplane, rules, pubs, key, folder):
    rules, pubs = smaller(biplane, rules, pubs, key, folder)
    print("rule:", *map(json.dumps, rules))
    for at, topic, payload in pubs:
        print(f"  {at - streams.T0:6} ms {topic} {payload!r}")
    for key, want, got in differences(biplane, rules, pubs, folder)[1]:
        print(f"{key[0]} {key[1]}")
        for name, alarms in (("model", want), ("biplane", got)):
            print(f"  {name}:", *(f"{a[0] - streams.T0:g} ms {a[1]} {a[2]}" for a in alarms), sep="\n    ")


def main(biplane, seed=None, rounds=ROUNDS):
    seed = int(seed) if seed is not None else random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    compared = 0
    with tempfile.TemporaryDirectory(prefix="bp-oracle-") as folder:
        for number in range(int(rounds)):
            rng = random.Random(f"{seed} {number}")
            rules, pubs = streams.rules(rng), streams.publications(rng, KEYS, VALUES)
            out, found, alarms = differences(biplane, rules, pubs, folder)
            compared += alarms
            assert number or compare(out, rules, pubs[::2])[0], "the comparison finds no difference between different streams"
            if found:
                print(f"round {number}: {len(found)} keys differ")
                report(biplane, rules, pubs, found[0][0], folder)
                return 1
    print(f"{int(rounds) * KEYS * streams.TOPICS} streams, {compared} alarms")
    return 0 if compared > 10 * int(rounds) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
