# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a result of scripts/bench in pages other than docs/performance/results.md, each between two marks."""
import os
import re
from pathlib import Path

import peers_table
import report_fleet
import report_latency
import report_monitoring
import report_ndr
import report_paper_tables
import report_readme
import report_speed_tables as speed
import services_table
from report_markdown import bold, failed, figure, table, text_of

MARK = "<!-- bench/report/report.py, {name}: {side} here -->"
WHO = {"mosquitto-c": "mosquitto, application in C", "mosquitto-python": "mosquitto, application in Python", "direct": "direct link",
       "suricata": "Suricata, inline", "nanomq": "NanoMQ", "ekuiper": "mosquitto, eKuiper"}
ENDED = {"late": "late alarms", "lost": "loss", "offered": "sender", "none": "highest rate of the test", "": "highest rate of the test"}


def who(name):
    """biplane-route-af_xdp: biplane routing, AF_XDP"""
    words = name.replace("kernel-", "Linux ").replace("-biplane-", ", biplane, ").replace("-sockets", ", sockets")
    words = re.sub(r"-busy$", ", busy", words)
    words = re.sub(r"^xdp-", "XDP ", words)
    words = re.sub(r"^(biplane|grout)-(bridge|route)-", lambda m: f"{m[1]} {m[2]}-", words).replace("-af_", ", af_").replace("af_packet", "AF_PACKET")
    return WHO.get(name, re.sub(r"\broute\b", "routing", words).replace("af_xdp", "AF_XDP"))


def growth(run):
    rows = []
    for g in run.get("growth") or []:
        for i, s in enumerate(g["steps"]):
            last = i == len(g["steps"]) - 1
            ratio = "" if i == 0 else f"**{s['ratio']:.2f}**" if last else figure(s["ratio"])
            # the time by node is not known for several workers: each has its own
            rows.append(["" if i else text_of(g["what"]), f"{s['n']:,}", figure(s["ns"], 1) if s.get("ns") else "", figure(s["mpps"], 1), ratio])
    return rows and table(["Series", "Step", "ns per packet", "Mpps", "Ratio to the first step"], rows)


def mix(run):
    m = run.get("mix")
    if not m:
        return []
    rows = [[f"`{p['part']}`", figure(p["alone_mpps"], 1), figure(p["mixed_mpps"]), figure(p["alone_ns"], 1)] for p in m["parts"]]
    rows.append(["total", f"{m['due_mpps']:.1f} (computed)", f"{m['mixed_mpps']:.2f} ({m['ratio']:.2f} of the computed rate)",
                 f"{m['due_ns']:.1f} (computed); measured in the mix: {m['mixed_ns']:.1f}"])
    return table(["Traffic", "Alone, Mpps", "In the mix, Mpps", "Alone, ns per packet"], rows)


def paced(run):
    p = (run.get("mix") or {}).get("paced")
    return p and table([f"At {p['fraction']:.0%} of the maximum rate", "Packets"], [
        ["offered", f"{p['packets']:,}"], ["dropped by the gateway", f"{p['dropped']:,}"],
        ["lost in the receive ring while the worker was running", f"{p['ring_lost'] - p['ring_lost_shared']:,}"],
        ["lost in the receive ring immediately after the worker was descheduled", f"{p['ring_lost_shared']:,}"]])


def nodes(run, cases=None):
    rows = [[f"`{c['case']}`", figure(c["worker_cycles"], 0), figure(c["node_cycles"], 0),
             ", ".join(f"`{n['node']}` {n['cycles']:.1f}" for n in sorted(c["nodes"], key=lambda n: -n["cycles"]) if n["cycles"] >= 1)]
            for c in run.get("nodes") or [] if cases is None or c["case"] in cases]
    return rows and table(["Case", "Cycles per packet", "In graph nodes", "By node"], rows)


def at_rate(entries):
    """The rate at which latency and CPU time were measured, the same for all programs."""
    return f"at {entries[0]['moderate']['rate']:,}/s" if entries else ""


def not_installed(run, forwards):
    """Lines about the systems that the run has no figures of: those that forward, or those that evaluate values."""
    names = [who(m["name"]) for m in (run.get("peers") or {}).get("missing", [])
             if m["name"].startswith(("xdp", "grout")) == forwards]
    return ["", f"Not installed in this run: {'; '.join(names)}."] if names else []


def half_rate(entries, a):
    """Median and p99 at half of the highest rate, ms; earlier runs have none."""
    if not any("half" in e for e in entries):
        return []
    return [peers_table.figure(v, ".2f") for v in peers_table.times((a.get("half") or {}).get("latency"), 1e3)[:2]]


def after_pause(ways, w):
    """Median and p99 of frames that arrive after a pause, µs; earlier runs have none."""
    if not any("first" in e for e in ways):
        return []
    return [peers_table.figure(v, ",.0f") for v in peers_table.times((w.get("first") or {}).get("latency"), 1)[:2]]


def alarms(run):
    entries = (run.get("peers") or {}).get("alarms") or []
    rows = []
    for a in entries:
        most = peers_table.best(a)
        rows.append([who(a["name"]), bold(f"{a['sustained']:,.0f}"), ENDED.get(a["limit"], a["limit"]),
                     *(peers_table.figure(v, ".2f") for v in peers_table.times(a["moderate"]["latency"], 1e3)),
                     f"{peers_table.whole(a['moderate'], 'sent', ('load',)):.0f}",
                     bold(peers_table.figure(peers_table.whole(most, "sent", ("load",)) if most else None, ".1f")),
                     f"{a['idle_cpu']:.3f}", *half_rate(entries, a), f"{a['memory']['memory_mib']:.0f}", f"{a['memory']['hugepages_mib']:.0f}"])
    return rows and table(["System", "Highest rate without loss, messages/s", "Limit", "Alarm delay, ms: median", "p99", "p99.9",
                           "CPU s per million, " + at_rate(entries), "at the highest rate", "CPU s per second, idle",
                           *(["Alarm delay at half of the highest rate, ms: median", "p99"] if half_rate(entries, entries[0]) else []),
                           "Memory, MiB", "Hugepages, MiB"], rows) + not_installed(run, forwards=False)


def frames(run):
    ways = (run.get("peers") or {}).get("packets") or []
    direct = peers_table.direct_of(ways)
    rows = []
    for w in ways:
        def cpu(which):
            if w is direct:
                return f"({peers_table.whole(w[which], 'arrived'):.1f})"
            return peers_table.figure(peers_table.beyond(w, direct, which), ".1f")
        m, most = w["moderate"], w["most"]
        rows.append([who(w["name"]), f"{m['lost']:,.0f}", *(peers_table.figure(v, ",.0f") for v in peers_table.times(m["latency"], 1)),
                     *after_pause(ways, w), cpu("moderate"), f"{most['offered_pps'] / 1e3:.0f}", bold(f"{most['arrived_pps'] / 1e3:.0f}"),
                     f"{100 * most['lost'] / max(most['sent'], 1):.1f} %", cpu("most")])
    return rows and table(["System", "Lost " + at_rate(ways), "Delay, µs: median", "p99", "p99.9",
                           *(["Delay after a pause of 0.5 s, µs: median", "p99"] if after_pause(ways, ways[0]) else []),
                           "Additional CPU s per million",
                           "Highest rate, thousand/s: offered", "received", "lost", "Additional CPU s per million"], rows) + not_installed(run, forwards=True)


def services(run):
    entries = (run.get("peers") or {}).get("services") or []
    rows = []
    for s in entries:
        rate, limit, *latency, moderate, most, idle, memory, huge = services_table.figures(s)
        rows.append([who(s["name"]), bold(f"{rate:,.0f}"), ENDED.get(limit, limit), *(peers_table.figure(v, ",.0f") for v in latency),
                     peers_table.figure(moderate, ".1f"), bold(peers_table.figure(most, ".1f")), f"{idle:.2f}", f"{memory:.0f}",
                     f"{huge:.0f}"])
    return rows and table(["System", "Highest rate without loss, messages/s", "Limit", "Delay, µs: median", "p99", "p99.9",
                           "CPU s per million, " + at_rate(entries), "at the highest rate", "CPU s per second, idle", "Memory, MiB",
                           "Hugepages, MiB"], rows)


TABLES = {"growth": growth, "mix": mix, "paced": paced, "nodes": nodes, "alarms": alarms, "frames": frames, "services": services,
          "aggregation-rates": speed.rates_of("aggregate-paper", "aggregate", "disaggregate", "aggregate-streams"),
          "transform-rates": speed.rates_of("transform", "transform-of-"), "transform-times": speed.transform_times,
          "transform-sockets": speed.transform_sockets, "lcl-rates": speed.rates_of("lcl"), "lcl-hops": speed.lcl_hops,
          "lcl-late": speed.lcl_late, "aggregation-nodes": lambda run: nodes(run, ("bridge", "aggregate", "disaggregate")),
          "transform-accuracy": report_paper_tables.accuracy,
          "transform-nodes": lambda run: nodes(run, ("bridge", "transform")), **report_latency.TABLES, **report_monitoring.TABLES,
          **report_fleet.TABLES,
          **report_ndr.TABLES}
# the cases of scripts/bench that a table contains; by default the case with the name of the table
CASES = {"paced": ["mix"], "alarms": ["peers"], "frames": ["peers"], "services": ["peers"],
         "aggregation-rates": ["aggregate-paper", "aggregate", "disaggregate", "aggregate-streams"],
         "transform-rates": ["transform", "transform-sources"], "lcl-rates": ["lcl"], "lcl-late": ["lcl-hops"],
         "aggregation-nodes": ["nodes"], "transform-nodes": ["nodes"], **report_latency.CASES, **report_monitoring.CASES, **report_fleet.CASES,
         **report_ndr.CASES}


def renew(text, run, report):
    """Replaces the tables between marks in the text of a page; tables that the run does not have are not changed,
    except for failures in it. report: docs/performance/results.md as the page links to it."""
    found = re.findall(MARK.format(name="(.*?)", side="from"), text)
    if not found:
        raise ValueError(f"expected marks such as '{MARK.format(name='growth', side='from')}'")
    for name in found:
        begin, end = (MARK.format(name=name, side=side) for side in ("from", "to"))
        before, _, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not ended:
            raise ValueError(f"expected the mark '{end}'")
        if name == "speed":
            lines = report_readme.block(run, report)
        else:
            lines = TABLES[name](run)
            for why in failed(run, CASES.get(name, [name])):
                lines = [*(lines or []), *([""] if lines else []), why]
        if lines:
            text = "\n".join([before + begin, "", *lines, "", end]) + after
    return text


def renew_file(page, run, report):
    """Updates the page at this path; report: path of the report."""
    link = os.path.relpath(Path(report).resolve(), page.resolve().parent)
    page.write_text(renew(page.read_text(encoding="utf-8"), run, link), encoding="utf-8")
