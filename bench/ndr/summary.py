# SPDX-License-Identifier: BSD-3-Clause
"""Merges the searches of bench/ndr/search.py, and prints them as tables.

    summary.py merge PARAMETERS FILE...    the JSON object of all: PARAMETERS is a JSON object, FILE has one search per line
    summary.py table [FILE]                the tables of such an object, by default on standard input
"""

import json
import statistics
import sys

# Of each trial of a search, as bench/ndr/search.py writes them.
TRIAL_FIELDS = ["load", "duration_s", "intended", "sent", "arrived", "sender_max_late_us", "median_us", "p99_us", "p999_us", "max_us"]
LATENCY = ("median_us", "p99_us", "p999_us", "max_us")
LATE_US = 1000  # a sender that is later has been descheduled, or cannot send as many frames
LATE_SHARE = 0.1  # of the trials, above which the table has a note
NEAR = 0.9  # of the generator's own throughput: the generator limits the result
CEILING = {"bridge": "generator", "route": "generator", "inspect": "generator-mqtt"}  # case of the generator's own throughput


def median(values):
    known = [v for v in values if v is not None]
    return statistics.median(known) if known else None


def spread(values):
    """(max - min) / median; None with fewer than two rounds, or where a round found no throughput."""
    if len(values) < 2 or None in values or not min(values) > 0:
        return None
    return (max(values) - min(values)) / statistics.median(values)


def of_rounds(values):
    s = spread(values)
    return {"median": median(values), "spread": None if s is None else round(s, 4), "rounds": values}


def latencies(searches):
    """By percent of the PDR: the medians of the rounds."""
    found = {}
    for s in searches:
        for at in s["latency"]:
            found.setdefault(at["percent"], []).append(at)
    names = ("load", "loss_ratio", *LATENCY, "inspected")
    return [{"percent": p, **{n: median([at.get(n) for at in ats]) for n in names if any(n in at for at in ats)}}
            for p, ats in sorted(found.items())]


def merge(parameters, searches):
    groups = {}
    for s in searches:
        groups.setdefault((s["case"], s["system"], s["size"]), []).append(s)
    results = [{"case": case, "system": system, "size": size, "ndr": of_rounds([s["ndr"]["throughput"] for s in group]),
                "pdr": of_rounds([s["pdr"]["throughput"] for s in group]), "latency": latencies(group),
                "failed": [f"round {s['round']}: {s['failed']}" for s in group if "failed" in s]}
               for (case, system, size), group in groups.items()]
    own = {(r["case"], r["size"]): r for r in results if r["case"] in CEILING.values()}
    for r in results:
        ceiling = own.get((CEILING.get(r["case"]), r["size"]))
        r["limited_by_generator"] = ceiling is not None and any(
            r[goal]["median"] and ceiling[goal]["median"] and r[goal]["median"] >= NEAR * ceiling[goal]["median"]
            for goal in ("ndr", "pdr"))
    return {"parameters": parameters, "results": results, "trial_fields": TRIAL_FIELDS, "searches": searches}


def late_share(searches):
    """Share of the trials in which all frames were sent, but some by more than LATE_US after their intended send time."""
    trials = [dict(zip(TRIAL_FIELDS, t)) for s in searches for t in s["trials"]]
    sent = [t for t in trials if t["sent"] == t["intended"]]
    return sum(t["sender_max_late_us"] > LATE_US for t in sent) / len(sent) if sent else 0.0


def text(value, form):
    return "-" if value is None else form.format(value)


def mbits(r):
    """Of the frames, with frame check sequence and without preamble and gap."""
    return None if r["pdr"]["median"] is None else r["pdr"]["median"] * r["size"] * 8 / 1e6


def tables(ndr):
    p = ndr["parameters"]
    yield f"ndr: throughput, frames/s: NDR (no loss) and PDR (loss of 0.5 %); {p['rounds']} round(s), goal width {100 * p['width']:g} %, " \
          f"trials of {p['trial_s']:g} s"
    yield f"{'case':<15} {'system':<19} {'size':>5} {'NDR':>11} {'spread-%':>8} {'PDR':>11} {'spread-%':>8} {'Mbit/s':>8}"
    for r in ndr["results"]:
        row = f"{r['case']:<15} {r['system']:<19} {r['size']:>5}"
        for goal in ("ndr", "pdr"):
            s = r[goal]["spread"]
            row += f" {text(r[goal]['median'], '{:,.0f}'):>11} {text(None if s is None else 100 * s, '{:.1f}'):>8}"
        yield row + f" {text(mbits(r), '{:.0f}'):>8}" + ("  limited by the generator" if r["limited_by_generator"] else "")
    for r in ndr["results"]:
        for message in r["failed"]:
            yield f"failed: {r['case']}, {r['system']}, {r['size']} bytes, {message}"
    for m in p.get("missing", []):
        yield f"not installed: {m['name']}: {m['why']}"
    late = late_share(ndr["searches"])
    if late > LATE_SHARE:
        yield f"note: in {100 * late:.0f} % of the trials the sender was more than {LATE_US / 1000:g} ms late: other programs use the " \
              "processors, and bursts of late frames lower the throughput"
    yield ""
    yield "ndr: latency at parts of the PDR, from the intended send time, us"
    yield f"{'case':<15} {'system':<19} {'size':>5} {'PDR-%':>5} {'loss-%':>7} {'p50':>9} {'p99':>9} {'p99.9':>9} {'max':>9} {'inspected-%':>11}"
    for r in ndr["results"]:
        for at in r["latency"]:
            inspected = at.get("inspected")
            yield (f"{r['case']:<15} {r['system']:<19} {r['size']:>5} {at['percent']:>5} {100 * at['loss_ratio']:>7.3f}" +
                   "".join(f" {text(at[n], '{:.1f}'):>9}" for n in LATENCY) +
                   f" {text(None if inspected is None else 100 * inspected, '{:.1f}'):>11}")


def main(argv):
    if len(argv) >= 2 and argv[0] == "merge":
        searches = []
        for name in argv[2:]:
            with open(name, encoding="utf-8") as f:
                searches += [json.loads(line) for line in f]
        json.dump(merge(json.loads(argv[1]), searches), sys.stdout)
        return 0
    if argv[:1] == ["table"] and len(argv) <= 2:
        with open(argv[1] if len(argv) == 2 else 0, encoding="utf-8") as f:
            print("\n".join(tables(json.load(f))))
        return 0
    print(__doc__, file=sys.stderr)
    return 64


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
