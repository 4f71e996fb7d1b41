#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Summarises several runs of bench/peers/peers as one, and prints tables.

  bench/report/peers_table.py --merge RUN.json...    one run, of medians, on standard output
  bench/report/peers_table.py                        tables of the run on standard input
"""
import json
import statistics
import sys

import services_table


def merge(runs):
    """The median of each figure. Other values are those of the first run."""
    first = runs[0]
    if isinstance(first, dict):
        return {k: merge([r[k] for r in runs if isinstance(r, dict) and k in r]) for k in first}
    if isinstance(first, list):
        if first and all(isinstance(e, dict) and "rate" in e for e in first):
            return by_rate(runs)
        if all(isinstance(r, list) and len(r) == len(first) for r in runs):
            return [merge(list(each)) for each in zip(*runs)]
        return first
    if isinstance(first, (int, float)) and not isinstance(first, bool):
        median = statistics.median([r for r in runs if isinstance(r, (int, float))])
        return int(median) if isinstance(first, int) and median == int(median) else median
    return first


def by_rate(runs):
    """Merges lists with one element per rate into one with every rate that occurs in any of them."""
    rates = dict.fromkeys(e["rate"] for run in runs for e in run)
    return [merge([e for run in runs for e in run if e["rate"] == rate]) for rate in sorted(rates)]


def per_million(measured, count, but=()):
    """CPU time of each participant, in seconds per million frames."""
    return {who: s * 1e6 / max(measured[count], 1) for who, s in measured["cpu_s"].items() if who not in but}


def whole(measured, count, but=()):
    return sum(per_million(measured, count, but).values())


def beyond(way, direct, which):
    """CPU time per million frames that arrived, without that of the link between the two ends; None: no reference, or
    no frames arrived."""
    if direct is None or not way[which]["arrived"]:
        return None
    return whole(way[which], "arrived") - whole(direct[which], "arrived")


def best(alarms):
    """The step with the highest rate without loss, or None."""
    return max((s for s in alarms["steps"] if s["lost"] == 0), key=lambda s: s["finished_per_second"], default=None)


def direct_of(packets):
    return next((w for w in packets if w["name"] == "direct"), None)


def figure(v, form):
    return "-" if v is None else format(v, form)


def times(latency, scale):
    """Median, p99, p99.9."""
    if latency is None:
        return [None] * 3
    return [latency[k] / scale for k in ("median_us", "p99_us", "p999_us")]


def alarm_rows(alarms):
    yield (f"{'who decides':18} {'kept up':>9} {'limit':>8} {'median':>9} {'p99':>9} {'p99.9':>9} {'CPU':>8} "
           f"{'at most':>8} {'idle':>6} {'load':>8} {'MiB':>7} {'huge':>6}")
    for a in alarms:
        m, most = a["moderate"], best(a)
        latency = " ".join(f"{figure(v, '.3f'):>9}" for v in times(m["latency"], 1e3))
        yield (f"{a['name']:18} {a['sustained']:9.0f} {a['limit']:>8} {latency} "
               f"{whole(m, 'sent', ('load',)):8.1f} "
               f"{figure(whole(most, 'sent', ('load',)) if most else None, '.1f'):>8} {a['idle_cpu']:6.3f} {per_million(m, 'sent')['load']:8.1f} "
               f"{a['memory']['memory_mib']:7.1f} {a['memory']['hugepages_mib']:6.0f}")


def shares(alarms):
    for a in alarms:
        parts = per_million(a["moderate"], "sent", ("load",))
        yield f"{a['name']:18} " + ", ".join(f"{who.replace('_', ' ')} {s:.1f}" for who, s in parts.items())


def packet_rows(packets):
    direct = direct_of(packets)
    yield (f"{'between the ends':25} {'lost':>7} {'median':>8} {'p99':>9} {'p99.9':>9} {'CPU':>7} {'beyond':>7}   "
           f"{'offered':>8} {'arrived':>8} {'lost, %':>8} {'CPU':>7} {'beyond':>7} {'idle':>6} {'huge':>6}")
    for w in packets:
        m, most = w["moderate"], w["most"]
        latency = " ".join(f"{figure(v, '.1f'):>{n}}" for v, n in zip(times(m["latency"], 1), (8, 9, 9)))
        yield (f"{w['name']:25} {m['lost']:7.0f} {latency} {whole(m, 'arrived'):7.2f} "
               f"{figure(beyond(w, direct, 'moderate'), '.2f'):>7}   {most['offered_pps'] / 1e3:8.0f} "
               f"{most['arrived_pps'] / 1e3:8.0f} {100 * most['lost'] / max(most['sent'], 1):8.1f} "
               f"{whole(most, 'arrived'):7.2f} {figure(beyond(w, direct, 'most'), '.2f'):>7} "
               f"{w['idle_cpu']:6.3f} {w['memory']['hugepages_mib']:6.0f}")


def missing_lines(run):
    """Of the systems that are not installed; results before there were any have no such member."""
    return [f"not installed: {m['name']}: {m['why']}" for m in run.get("missing", [])]


def tables(run):
    rate = run["alarms"][0]["moderate"]["rate"] if run["alarms"] else 0
    frames = run["packets"][0]["moderate"]["rate"] if run["packets"] else 0
    yield ""
    yield f"peers: measurements over veth pairs, {run['percent']} % of them alarms; latency in ms and CPU at {rate:.0f} a second"
    yield from alarm_rows(run["alarms"])
    yield "kept up: measurements a second, from the first one to the last alarm, none lost; limit: what ended it; offered:"
    yield "the load could send no more. CPU: seconds a million measurements, of all but the load, and the same at the most"
    yield "that was kept up with; idle: seconds a second with nothing to do; MiB: without hugepages, which are apart"
    yield from shares(run["alarms"])
    yield ""
    yield f"peers: frames of 64 bytes over veth pairs; at {frames:.0f} a second (latency in us), and as fast as they can be sent"
    yield from packet_rows(run["packets"])
    yield "offered, arrived: thousand a second. CPU: seconds a million that arrived, of all: sender, receiver, kernel,"
    yield "biplane; beyond: more than with nothing between the ends. Frames pass through the kernel on every way."
    yield from services_table.tables(run.get("services", []))
    yield from missing_lines(run)


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--merge":
        runs = []
        for name in sys.argv[2:]:
            with open(name, encoding="utf-8") as f:
                runs.append(json.load(f))
        print(json.dumps(merge(runs)))
    elif len(sys.argv) == 1:
        print("\n".join(tables(json.load(sys.stdin))))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
