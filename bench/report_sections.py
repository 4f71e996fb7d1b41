# SPDX-License-Identifier: BSD-3-Clause
"""The sections of docs/results.md: of which case, with which table and which picture."""

from dataclasses import dataclass, field
from typing import Callable

import peers_table
import services_table


@dataclass
class Section:
    title: str
    text: str
    cases: str       # as scripts/bench calls them
    table: Callable  # of the run: lines of Markdown, or none when the run does not have it
    needs: list = field(default_factory=list)     # parts of the run without which there is no picture
    pictures: list = field(default_factory=list)  # (script, [names of what it draws])


def has(run, path):
    for key in path.split("/"):
        run = run.get(key) if isinstance(run, dict) else None
        if not run:
            return False
    return True


def table(header, rows):
    rows = [[str(c) for c in r] for r in rows]
    return ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)] + ["| " + " | ".join(r) + " |" for r in rows]


def figure(v, digits=2):
    return "not measured" if v is None else f"{v:.{digits}f}"


def rates(run):
    def verdict(r):
        if r["target"] is None:
            return ""
        if r["ratio"] is None:
            return "not measured"
        return f"{r['target']:.2f}, " + ("reached" if r["ratio"] >= r["target"] else "**not reached**")

    return run["rates"] and table(
        ["case", "Mpps", "beside", "its Mpps", "ratio", "asked for"],
        [[f"`{r['case']}`", figure(r["mpps"]), r["reference"], figure(r["reference_mpps"]), figure(r["ratio"], 3), verdict(r)]
         for r in run["rates"]])


# The alarm paper's own numbers, in ms: Section 6, means
ALARM_PAPER = {"cloud_python": "61.992", "biplane": "16.464"}


def alarm(run):
    m = run.get("alarm_paper")
    if not m:
        return None

    def row(name, r, paper=""):
        return [name, figure(r["median_us"] / 1e3, 3), figure(r["mean_us"] / 1e3, 3),
                figure(r["percentiles_us"][99] / 1e3, 3), paper]

    names = {"cloud_c": "alarm decided in the cloud by a C program", "cloud_python": "in the cloud by a Python program",
             "biplane": "by biplane, from the edge's broker"}
    rows = [row(names[k], r, ALARM_PAPER.get(k, "")) for k, r in m["response"].items()]
    for place, ways in m["delay"].items():
        for way, r in ways.items():
            rows.append(row(f"PUBLISH to PUBACK, {place}, through {'a kernel bridge' if way == 'bridge' else way}", r,
                            {"bridge": "14.107", "biplane": "14.607"}[way] if place == "edge" else ""))
    traffic = [[f"{t['percent']} %", t["cloud_packets"], t["edge_packets"], t["cloud_octets"], t["edge_octets"]]
               for t in m["traffic"]]
    return table(["ms", "median", "mean", "p99", "the paper's mean"], rows) + [""] + \
        table(["of 1,000 above", "packets, cloud", "packets, edge", "octets, cloud", "octets, edge"], traffic)


def planes(run):
    rows = []
    for case, name in (("figure6", "control messages"), ("phd_figure6", "associations")):
        for r in run.get(case) or []:
            rows.append([f"{r['messages']} {name} a second", figure(r["dual_ratio"]), figure(r["single_ratio"])])
    return rows and table(["data rate beside that without", "two planes", "one plane"], rows)


def sizes(run):
    rows = [[r["apdu"], r["line_pps"], r["line_lost"], f"{r['line_single_loss_percent']} %", r["most_pps"], r["single_most_pps"]]
            for r in run.get("phd_sizes") or []]
    return rows and table(["octets of an APDU", "reports a second of 1 Gb/s", "lost", "lost in one plane", "biplane can",
                           "one plane can"], rows)


def goodput(run):
    m = run.get("aggregate_figure9")
    if not m:
        return None
    rows = []
    for ours, theirs in zip(m["gateway"], m["sockets"]):
        n = ours["n"]
        best = [max(p["restored"] for p in c["points"]) / 1e6 for c in (ours, theirs)]
        rows.append([n] + [figure(x) for b in best for x in (b, n / (4 + n) * b)])
    return table(["N", "biplane, million messages/s", "goodput", "sockets, million messages/s", "goodput"], rows)


def transform(run):
    m = run.get("transform") or {}
    rows = [[t["method"], figure(t["full_ns"], 1), figure(t["gateway_ns"], 1)] for t in m.get("times") or []]
    return rows and table(["method", "ns, payload to payload", "ns, port to port"], rows)


def lcl(run):
    m = run.get("lcl_hops")
    if not m:
        return None
    rows = []
    for r in m["sweep"]:
        f = r["flows"][-1]
        rows.append([f["hops"], "LCL" if r["lcl"] else "FIFO", figure(r["tau_ns"] / 1e3, 0) if r["lcl"] else "",
                     figure(f["mean_ns"] / 1e3, 1), figure((f["p9900_ns"] - f["p0100_ns"]) / 1e3, 1)])
    return table(["gateways", "scheduler", "tau, us", "mean delay, us", "98 % of the frames within, us"], rows)


def lookup(run):
    m = run.get("lookup")
    if not m:
        return None
    rows = [[name, m["routes"][k]["biplane"], m["routes"][k]["dpdk"], m["routes"][k]["ratio"]]
            for k, name in (("lpm4", "1,000,000 IPv4 routes (rte_lpm)"), ("lpm6", "250,000 IPv6 routes (rte_lpm6)"))]
    rows += [[name, m["neighbours"][k]["biplane"], m["neighbours"][k]["dpdk"], m["neighbours"][k]["ratio"]]
             for k, name in (("ip4", "IPv4 neighbours (rte_hash)"), ("ip6", "IPv6 neighbours (rte_hash)"))]
    return table(["million look-ups a second", "biplane", "DPDK's", "ratio"], rows)


def growth(run):
    return table(["what grows", "from", "to", "million a second at the first", "ratio at the last"],
                 [[g["what"], f"{g['steps'][0]['n']:,}", f"{g['steps'][-1]['n']:,}", figure(g["steps"][0]["mpps"]),
                   figure(g["steps"][-1]["ratio"])] for g in run["growth"]]) if run.get("growth") else None


def mix(run):
    m = run.get("mix")
    if not m:
        return None
    rows = [[p["part"], f"{p['share']:.0%}", figure(p["alone_mpps"]), figure(p["mixed_mpps"])] for p in m["parts"]]
    p = m["paced"]
    return table(["part", "share of the packets", "alone, Mpps", "in the mix, Mpps"], rows) + [
        "", f"All of it: {m['mixed_mpps']:.2f} Mpps, {m['ratio']:.2f} of what the parts' own rates would make. At "
        f"{p['fraction']:.0%} of that: {p['packets']:,} packets, {p['dropped']:,} dropped by the gateway, "
        f"{p['ring_lost'] - p['ring_lost_shared']:,} lost in the receive ring, and {p['ring_lost_shared']:,} there just after "
        "another process had the worker's processor."]


def nodes(run):
    return table(["case", "cycles a packet", "of these in nodes", "the most"],
                 [[c["case"], figure(c["worker_cycles"], 0), figure(c["node_cycles"], 0),
                   ", ".join(f"{n['node']} {n['cycles']:.0f}" for n in sorted(c["nodes"], key=lambda n: -n["cycles"])[:4])]
                  for c in run["nodes"]]) if run.get("nodes") else None


def peers(run):
    m = run.get("peers")
    if not m:
        return None
    alarms = []
    for a in m["alarms"]:
        latency = peers_table.times(a["moderate"]["latency"], 1e3)
        alarms.append([a["name"], f"{a['sustained']:,.0f}", *(figure(v, 3) for v in latency),
                       figure(peers_table.whole(a["moderate"], "sent", ("load",)), 1),
                       figure(a["memory"]["memory_mib"], 0), figure(a["memory"]["hugepages_mib"], 0)])
    direct = peers_table.direct_of(m["packets"])
    packets = [[w["name"], *(figure(v, 1) for v in peers_table.times(w["moderate"]["latency"], 1)),
                f"{w['most']['arrived_pps'] / 1e3:,.0f}", figure(peers_table.beyond(w, direct, "most"))] for w in m["packets"]]
    services = []
    for s in m.get("services", []):
        rate, _, *latency, moderate, most, _, memory, huge = services_table.figures(s)
        services.append([s["name"], f"{rate:,.0f}", *(figure(v, 1) for v in (*latency, moderate, most)), figure(memory, 0),
                         figure(huge, 0)])
    return table(["alarms decided by", "measurements a second, none lost", "median ms", "p99", "p99.9",
                  "CPU s a million", "MiB", "hugepages"], alarms) + [""] + table(
        ["frames passed on by", "median us", "p99", "p99.9", "thousand a second at most", "CPU s a million beyond the ends'"],
        packets) + [""] + table(
        ["made of messages, by", "messages a second, none lost", "median us", "p99", "p99.9", "CPU s a million", "at most", "MiB",
         "hugepages"], services)


SECTIONS = [
    Section("Rates beside testpmd", "One worker, input and output in memory, in turn with `dpdk-testpmd` or with another "
            "case of biplane's own.", "bridge text json ...", rates),
    Section("Alarms (Unamuno et al., Figures 9, 10, 11 and 13)", "25 ms there and back to the cloud are those of "
            "biplane-wan-sim, between two interfaces; the paper's testbed has virtual machines and a SmartNIC.", "alarm-paper",
            alarm, ["alarm_paper"], [("plot_alarm", ["alarm-paper"])]),
    Section("Aggregation (Lin et al., Figures 9 and 12)", "Both ends on one processor; goodput is the part of an N-packet "
            "that is messages. Figures 7 and 10 are models, run on the gateway's own code: "
            "[aggregation-models.md](aggregation-models.md).", "aggregate-figure9", goodput, ["aggregate_figure9"],
            [("plot_goodput", ["aggregation-goodput"])]),
    Section("Coordinates (Kunze et al., Figures 5 and 6)", "Table I is in [transform-accuracy.md](transform-accuracy.md).",
            "transform-times transform-figure6 transform-sockets", transform,
            ["transform/times", "transform/figure6", "transform/sockets"],
            [("plot_transform", ["transform-times", "transform-throughput"])]),
    Section("Two planes (dual-plane gateway, Figure 6)", "User data while control messages come, in two planes and in one.",
            "figure6 phd-figure6", planes),
    Section("Health devices by size (dual-plane gateway, Figures 3 to 5)", "Reports at the rate of a 1 Gb/s wire, and "
            "what a gateway of one plane over sockets converts.", "phd-sizes", sizes),
    Section("LCL scheduling (Ma et al., Figure 4(c) to (f))", "Gateways in a line, in real time, on a shared machine. "
            "In virtual time: [lcl-simulation.md](lcl-simulation.md).", "lcl-hops", lcl, ["lcl_hops"],
            [("plot_lcl", ["lcl-real"])]),
    Section("All five at once", "One gateway, all services on, one worker: [mix.md](mix.md).", "mix", mix, ["mix"],
            [("plot_mix", ["mix"])]),
    Section("Where a packet's cycles go", "By graph node, of the time-stamp counter.", "nodes", nodes, ["nodes"],
            [("plot_nodes", ["nodes"])]),
    Section("Cost as work grows", "Each step in turn with the least of its series: [growth.md](growth.md).", "growth",
            growth, ["growth"], [("plot_growth", ["growth"])]),
    Section("What else a user would take", "On the same veth pairs, whose cost is the kernel's: [peers.md](peers.md).",
            "peers", peers, ["peers"], [("plot_peers", ["peers"])]),
    Section("Forwarding tables", "Random look-ups, beside DPDK's own tables.", "lookup", lookup),
]
