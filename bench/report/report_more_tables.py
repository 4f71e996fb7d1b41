# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/performance/results.md that stand beside no paper: of a run, lines of Markdown, or none where the run does not
have it."""
import peers_table
import services_table
from report_markdown import figure, table


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


def growth(run):
    return table(["what grows", "from", "to", "million a second at the first", "ratio at the last"],
                 [[g["what"], f"{g['steps'][0]['n']:,}", f"{g['steps'][-1]['n']:,}", figure(g["steps"][0]["mpps"]),
                   figure(g["steps"][-1]["ratio"])] for g in run["growth"]]) if run.get("growth") else None


def lookup(run):
    m = run.get("lookup")
    if not m:
        return None
    rows = [[name, m["routes"][k]["biplane"], m["routes"][k]["dpdk"], m["routes"][k]["ratio"]]
            for k, name in (("lpm4", "1,000,000 IPv4 routes (rte_lpm)"), ("lpm6", "250,000 IPv6 routes (rte_lpm6)"))]
    rows += [[name, m["neighbours"][k]["biplane"], m["neighbours"][k]["dpdk"], m["neighbours"][k]["ratio"]]
             for k, name in (("ip4", "IPv4 neighbours (rte_hash)"), ("ip6", "IPv6 neighbours (rte_hash)"))]
    return table(["million look-ups a second", "biplane", "DPDK's", "ratio"], rows)


def control(run):
    rows = []
    for key, name in (("cloud", "measurement to alarm, brokers connected directly, decided at the cloud's (no WAN)"),
                      ("biplane", "measurement to alarm, through biplane, at the edge's broker")):
        r = (run.get("latency") or {}).get(key)
        if r:
            rows.append([name, f"{r['median_us']:.0f} us, p99 {r['p99_us']:.0f}, p99.9 {r['p999_us']:.0f}", "latency"])
    p = run.get("publish")
    if p:
        rows.append(["alarms acknowledged by mosquitto at QoS 1",
                     f"{p['acknowledged_per_second']:,} a second, {p['dropped']:,} dropped", "publish"])
    m = run.get("sync")
    if m:
        rows += [[f"{m['routes']:,} routes of the kernel in the tables", f"{m['load_ms']['load']:,.0f} ms", "sync"],
                 ["a route's change in the kernel, until packets go by it",
                  f"{m['visible_us']['median']:.0f} us, p99 {m['visible_us']['p99']:.0f}", "sync"],
                 ["changes followed", f"{m['churn']['per_second']:,} a second, {m['churn']['resyncs']} resynchronisations",
                  "sync"],
                 ["control plane started again, until it is in step", f"{m['restart_ms']['median']:,.0f} ms", "sync"],
                 ["data plane started again, until it forwards", f"{m['forward_ms']['median']:,.0f} ms", "sync"]]
    a = run.get("phd_associations")
    if a:
        rows.append(["health devices associated",
                     f"{a['per_second']:,} a second, {a['per_second_stored']:,} with the store on disk", "phd-associations"])
        if a.get("octets_a_device"):
            rows.append(["memory of the control plane's own, a health device", f"{a['octets_a_device']:,} octets", "phd-associations"])
    return rows and table(["what", "how fast", "case"], rows)
