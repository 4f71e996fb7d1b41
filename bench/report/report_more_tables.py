# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/performance/results.md without a paper: lines of Markdown for a run, or none if the run does not
have the case."""
import peers_table
import services_table
from report_markdown import figure, ratio, table, text_of


def rates(run):
    return run["rates"] and table(
        ["Case", "Mpps", "Reference", "Mpps of the reference", "Ratio", "Target ratio"],
        [[f"`{r['case']}`", figure(r["mpps"]), r["reference"], figure(r["reference_mpps"]), ratio(r),
          "" if r["target"] is None else figure(r["target"])]
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
    return table(["Alarm system", "Messages/s without loss", "Median, ms", "p99, ms", "p99.9, ms",
                  "CPU s per million", "Memory, MiB", "Hugepages, MiB"], alarms) + [""] + table(
        ["Forwarding system", "Median, µs", "p99, µs", "p99.9, µs", "Highest rate, thousand/s", "Additional CPU s per million"],
        packets) + [""] + table(
        ["Service", "Messages/s without loss", "Median, µs", "p99, µs", "p99.9, µs", "CPU s per million", "CPU s per million, highest rate",
         "Memory, MiB", "Hugepages, MiB"], services)


def mix(run):
    m = run.get("mix")
    if not m:
        return None
    rows = [[p["part"], f"{p['share']:.0%}", figure(p["alone_mpps"]), figure(p["mixed_mpps"])] for p in m["parts"]]
    p = m["paced"]
    return table(["Traffic", "Share of the packets", "Alone, Mpps", "In the mix, Mpps"], rows) + [
        "", f"Total: {m['mixed_mpps']:.2f} Mpps, {m['ratio']:.2f} of the rate computed from the separate rates. At "
        f"{p['fraction']:.0%} of this total: {p['packets']:,} packets, {p['dropped']:,} dropped by the gateway, "
        f"{p['ring_lost'] - p['ring_lost_shared']:,} lost in the receive ring, and {p['ring_lost_shared']:,} lost in the receive ring "
        "immediately after the worker was descheduled."]


def nodes(run):
    return table(["Case", "Cycles per packet", "In graph nodes", "Nodes with the most cycles"],
                 [[c["case"], figure(c["worker_cycles"], 0), figure(c["node_cycles"], 0),
                   ", ".join(f"{n['node']} {n['cycles']:.0f}" for n in sorted(c["nodes"], key=lambda n: -n["cycles"])[:4])]
                  for c in run["nodes"]]) if run.get("nodes") else None


def growth(run):
    return table(["Quantity", "From", "To", "Mpps at the first step", "Ratio at the last step"],
                 [[text_of(g["what"]), f"{g['steps'][0]['n']:,}", f"{g['steps'][-1]['n']:,}", figure(g["steps"][0]["mpps"]),
                   figure(g["steps"][-1]["ratio"])] for g in run["growth"]]) if run.get("growth") else None


def lookup(run):
    m = run.get("lookup")
    if not m:
        return None
    rows = [[name, m["routes"][k]["biplane"], m["routes"][k]["dpdk"], m["routes"][k]["ratio"]]
            for k, name in (("lpm4", "1,000,000 IPv4 routes (rte_lpm)"), ("lpm6", "250,000 IPv6 routes (rte_lpm6)"))]
    rows += [[name, m["neighbours"][k]["biplane"], m["neighbours"][k]["dpdk"], m["neighbours"][k]["ratio"]]
             for k, name in (("ip4", "IPv4 neighbors (rte_hash)"), ("ip6", "IPv6 neighbors (rte_hash)"))]
    return table(["Table", "biplane, million lookups/s", "DPDK, million lookups/s", "Ratio"], rows)


def control(run):
    rows = []
    p = run.get("publish")
    if p:
        rows.append(["alarms that mosquitto acknowledged, QoS 1",
                     f"{p['acknowledged_per_second']:,}/s, {p['dropped']:,} dropped", "publish"])
    m = run.get("sync")
    if m:
        rows += [[f"time to load {m['routes']:,} kernel routes", f"{m['load_ms']['load']:,.0f} ms", "sync"],
                 ["delay from a route change in the kernel to forwarding",
                  f"median {m['visible_us']['median']:.0f} µs, p99 {m['visible_us']['p99']:.0f} µs", "sync"],
                 ["rate of route changes", f"{m['churn']['per_second']:,}/s, {m['churn']['resyncs']} resynchronizations",
                  "sync"],
                 ["restart of the control plane, until the tables are synchronized", f"{m['restart_ms']['median']:,.0f} ms", "sync"],
                 ["restart of the data plane, until it forwards", f"{m['forward_ms']['median']:,.0f} ms", "sync"]]
        k = m.get("kernel_delays")
        if k:
            rows += [["ping to the address of a routed port: round trip through the kernel interface",
                      f"median {k['adaptive']['median']:.0f} µs, p99 {k['adaptive']['p99']:.0f} µs; poll_mode busy "
                      f"{k['busy']['median']:.0f} and {k['busy']['p99']:.0f} µs; the kernel alone {k['kernel']['median']:.0f} and {k['kernel']['p99']:.0f} µs", "sync"],
                     ["reply to a request on the control socket",
                      f"median {k['control_socket']['median']:.0f} µs, p99 {k['control_socket']['p99']:.0f} µs", "sync"]]
    a = run.get("phd_associations")
    if a:
        rows.append(["associations of health devices",
                     f"{a['per_second']:,}/s, {a['per_second_stored']:,}/s with the store on disk", "phd-associations"])
        if a.get("octets_a_device"):
            rows.append(["private memory of the control plane per health device", f"{a['octets_a_device']:,} bytes", "phd-associations"])
    return rows and table(["Quantity", "Result", "Case"], rows)
