#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Summarises several rounds of biplane-bench --mix as one JSON object, and prints that as a table.

  bench/report/mix_result.py FRACTION DIR/mix-PART... DIR/mix-all DIR/mix-paced
  bench/report/mix_result.py --table

Each file has one JSON object per line and round; mix-paced was offered FRACTION of the rate of mix-all in the same
round. --table reads the result from standard input. Rates are per second of CPU time of the worker.
"""
import json
import statistics
import sys

RING = 1024  # frames, bench/lcl/wire.h


def rounds_of(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def each_ns(runs):
    """CPU time per packet: the median of the rounds."""
    return statistics.median(run["cpu_ns"] for run in runs)


def paced(fraction, runs):
    """Offered and lost frames at the rate without overload, in all rounds together: dropped by the gateway, or lost in
    the receive ring; ring_lost_shared: those within 1 ms after a preemption of the worker (cold caches). longest_us:
    maximum time between two polls of the ring, except in those milliseconds."""
    rate = statistics.median(run["rate"] for run in runs)
    return {
        "fraction": fraction, "rate": rate, "ring_us": RING / rate * 1e6,
        "longest_us": max(run["longest_us"] for run in runs),
        "packets": sum(run["wire_offered"] for run in runs), "dropped": sum(run["dropped"] for run in runs),
        "ring_lost": sum(run["wire_lost"] for run in runs),
        "ring_lost_shared": sum(run["lost_shared"] for run in runs)}


def result(fraction, alone, everything, at_rate):
    """alone: {part: its rounds}; everything, at_rate: the rounds of the mix, and of the mix at a rate."""
    shares = {p["part"]: p["share"] for p in everything[0]["parts"]}
    together = sum(shares.values())
    mixed = each_ns(everything)
    parts = [{"part": name, "share": shares[name] / together, "alone_ns": each_ns(runs),
              "alone_mpps": 1e3 / each_ns(runs), "mixed_mpps": shares[name] / together * 1e3 / mixed}
             for name, runs in alone.items()]
    # a packet of the mix if the parts did not influence each other
    due = sum(p["share"] * p["alone_ns"] for p in parts)
    return {"parts": parts, "mixed_ns": mixed, "mixed_mpps": 1e3 / mixed, "due_ns": due, "due_mpps": 1e3 / due,
            "ratio": due / mixed, "paced": paced(fraction, at_rate)}


def table(r):
    out = ["",
           "mix: five systems on one gateway, all services on, million packets a second of one worker's processor time",
           f"{'part':<10} {'share':>6} {'alone':>8} {'in the mix':>11} {'ns alone':>9}"]
    for p in r["parts"]:
        out.append(f"{p['part']:<10} {p['share']:>6.0%} {p['alone_mpps']:>8.2f} {p['mixed_mpps']:>11.2f} "
                   f"{p['alone_ns']:>9.1f}")
    out.append(f"{'all':<10} {'':>6} {'':>8} {r['mixed_mpps']:>11.2f} {r['mixed_ns']:>9.1f}   "
               f"{r['ratio']:.2f} of what the parts' own rates make ({r['due_mpps']:.2f})")
    p = r["paced"]
    out.append(f"at {p['fraction']:.0%} of it, {p['rate'] / 1e6:.2f} million a second, of {p['packets']} packets "
               f"{p['dropped']} dropped (target 0)")
    out.append(f"lost in the receive ring: {p['ring_lost'] - p['ring_lost_shared']} (target 0), and "
               f"{p['ring_lost_shared']} just after other processes had the worker's processor; "
               f"the ring lasts {p['ring_us']:.0f} us, and a turn of the worker took {p['longest_us']:.0f} at most")
    return "\n".join(out)


def main():
    if sys.argv[1:] == ["--table"]:
        print(table(json.load(sys.stdin)))
        return
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    files = {path.rsplit("mix-", 1)[-1]: rounds_of(path) for path in sys.argv[2:]}
    everything, at_rate = files.pop("all"), files.pop("paced")
    print(json.dumps(result(float(sys.argv[1]), files, everything, at_rate)))


if __name__ == "__main__":
    main()
