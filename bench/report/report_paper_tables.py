# SPDX-License-Identifier: BSD-3-Clause
"""The tables of docs/performance/results.md with figures of a paper: lines of Markdown for a run, or none if the run
does not have the case."""
import papers
import phd_result
from report_markdown import figure, table


def alarm(run):
    m = run.get("alarm_paper")
    if not m:
        return None

    def row(name, r, paper=""):
        return [name, figure(r["percentiles_us"][50] / 1e3, 3), figure(r["mean_us"] / 1e3, 3),
                figure(r["percentiles_us"][99] / 1e3, 3), paper]

    names = {"cloud_c": "9: alarm, evaluated in the cloud by a C program", "cloud_python": "9: alarm, in the cloud by a Python program",
             "biplane": "9: alarm, by biplane, from the edge broker"}
    theirs = {"cloud_python": papers.ALARM_CLOUD_MS, "biplane": papers.ALARM_EDGE_MS}
    rows = [row(names[k], r, theirs.get(k, "")) for k, r in m["response"].items()]
    rows.append(row("10: round trip to the cloud", m["ping"], papers.ALARM_PING_MS))
    for figure_of, place in (("11a", "cloud"), ("11b", "edge")):
        for way, paper in (("bridge", papers.ALARM_BRIDGE_MS), ("biplane", papers.ALARM_NIC_MS)):
            rows.append(row(f"{figure_of}: PUBLISH to PUBACK, {place}, through {'a Linux bridge' if way == 'bridge' else way}",
                            m["delay"][place][way], paper if place == "edge" else ""))
    traffic = [[f"{t['percent']} %", t["cloud_packets"], t["edge_packets"], t["cloud_octets"], t["edge_octets"]]
               for t in m["traffic"]]
    traffic.append([f"{papers.ALARM_PERCENT} %, paper", papers.ALARM_CLOUD_PACKETS, papers.ALARM_EDGE_PACKETS,
                    papers.ALARM_CLOUD_BYTES, papers.ALARM_EDGE_BYTES])
    return table(["Figure: time in ms", "Median", "Average", "p99", "Average in the paper"], rows) + [""] + \
        table(["13: share of alarms in 1,000 measurements", "Packets, cloud", "Packets, edge", "Bytes, cloud", "Bytes, edge"], traffic)


def goodput(run):
    m = run.get("aggregate_figure9")
    if not m:
        return None
    sides = [{c["n"]: max(p["restored"] for p in c["points"]) / 1e6 for c in m[k]} for k in ("gateway", "sockets")]
    rows = []
    for n in sides[0]:
        row = [n]
        for most in sides:
            row += [figure(most[n]), figure(papers.agg_share(n) * most[n]),
                    figure(papers.agg_share(n) * most[n] / (papers.agg_share(1) * most[1]))]
        rows.append(row + [f"{papers.agg_goodput(n)[0]:.2f} to {papers.agg_goodput(n)[1]:.2f}", "1" if n == 1 else "below 1"])
    return table(["N", "biplane, million messages/s", "Goodput", "Relative to N = 1", "Sockets, million messages/s", "Goodput",
                  "Relative to N = 1", "Switches in the paper, relative to N = 1", "Servers in the paper"], rows)


def models(run):
    m = run.get("aggregate_models")
    if not m:
        return None
    departures = [[f"7{d['name']}", d["kind"], d["mu"], d["messages"], figure(d["distance"], 4)] for d in m["departures"]]
    shown = (0.02, 0.05, 0.1, 0.5)
    least = []
    for r in m["least_rates"]:
        of = dict(zip(r["betas"], zip(r["mu"], r["model"])))
        least.append([r["kind"], r["messages"]] + [figure(r["messages"] * of[b][0]) for b in shown] +
                     [f"{max(abs(100 * (a / c - 1)) for a, c in of.values()):.2f} %"])
    return table(["Figure", "Service times", "mu / lambda", "N", "Kolmogorov-Smirnov distance from Erlang-N"],
                 departures) + [""] + \
        table(["10: service times", "N"] + [f"Minimum rate, beta {b}" for b in shown] + ["Maximum deviation from the closed form"], least)


def transform(run):
    m = run.get("transform") or {}
    most = {c["who"]: max(p["transformed"] for p in c["points"]) for c in m.get("figure6") or []}
    rows = [[t["method"], figure(t["full_ns"], 1), figure(t["gateway_ns"], 1),
             f"{most[t['method']]:,}" if t["method"] in most else ""] for t in m.get("times") or []]
    for way, name in (("sockets", "socket program, batches"), ("one-by-one", "socket program, one datagram per call")):
        if rows and way in most:
            rows.append([name, figure(m["socket_compute_ns"], 1) if m.get("socket_compute_ns") else "", "", f"{most[way]:,}"])
    if rows:
        rows.append(["socket program of the paper (Userspace)", "", "", f"{papers.TRANSFORM_MOST:,.0f}"])
    return rows and table(["Method", "Payload to payload, ns", "Port to port, ns", "Maximum readings/s"], rows)


def accuracy(run):
    rows = []
    for a in run.get("transform_accuracy") or []:
        paper = papers.TRANSFORM_ERRORS.get(a["method"], ("", ""))
        rows.append([f"`{a['method']}`", paper[0], figure(a["mean_um"]), f"{paper[1]} %" if paper[1] != "" else "",
                     f"{a['beyond_percent']:.2f} %", figure(a["worst_um"], 1)])
    return rows and table(["Method", "Average error, µm: paper", "biplane", f"Beyond {papers.TRANSFORM_LIMIT_UM} µm: paper", "biplane",
                           "Maximum, µm"], rows)


def planes(run):
    rows = []
    for case, name in (("phd_figure6", "associations"), ("figure6", "route changes")):
        for r in run.get(case) or []:
            n, kept = r["messages"], [phd_result.kept(r, side, run["seconds"]) for side in ("dual", "single")]
            theirs = [figure(1 - papers.PHD_CONTROL_LOSS, 3), figure(phd_result.paper_single(n), 3)] \
                if case == "phd_figure6" and n in papers.PHD_SINGLE else ["", ""]
            rows.append([f"{n:,} {name}/s", figure(r["dual_ratio"], 3), theirs[0], figure(r["single_ratio"], 3), theirs[1],
                         *("" if k is None else figure(k, 4) for k in kept)])
    return rows and table(["Control load: relative data rate", "Two planes", "Two planes, paper", "One plane", "One plane, paper",
                           f"Share of {papers.PHD_DATA_PPS:,}/s not lost: two planes", "One plane"], rows)


def sizes(run):
    def percent(v):
        return "" if v is None else f"{v:.2f} %"

    rows = []
    for r in run.get("phd_sizes") or []:
        theirs = papers.PHD_LOSS.get(r["apdu"], (None, None))
        rows.append([r["apdu"], r["paper_pps"], percent(phd_result.loss_percent(r, "paper", run["seconds"])), percent(theirs[0]),
                     percent(r["paper_single_loss_percent"]), percent(theirs[1]), r["line_pps"],
                     percent(phd_result.loss_percent(r, "line", run["seconds"])), r["most_pps"], r["single_most_pps"],
                     figure(r["most_pps"] / r["single_most_pps"], 1), papers.PHD_BESIDE.get(r["apdu"], "")])
    out = rows and table(["APDU, bytes", "Reports/s in the paper", "Loss", "Loss, two planes, paper", "Loss, one plane",
                          "Loss, one plane, paper", "Reports/s at 1 Gbit/s with headers", "Loss", "Maximum reports/s", "Maximum, one plane",
                          "Ratio", "Ratio in the paper"], rows)
    parts = phd_result.overhead(run)
    if out and parts:
        out += ["", f"A report takes {parts['cycles']:.0f} cycles of a worker. The nodes that parse and convert messages take "
                f"{parts['message_cycles']:.0f} of them; the other {parts['overhead_percent']:.1f} % are overhead (Figure 3; paper: "
                f"{papers.PHD_OVERHEAD_PERCENT} %). The ports are in memory here and have less overhead than a NIC."]
    return out


def lcl_paper(run):
    m = run.get("lcl_paper")
    if not m:
        return None
    rows = []
    for r in m["sweep"]:
        for f in r["flows"]:
            tau = r["tau_ns"] / 1e3
            rows.append([f"LCL, {tau:g}" if r["lcl"] else "without LCL", f["name"], f["hops"]] +
                        [figure(f[k] / 1e3) for k in ("min_ns", "mean_ns", "max_ns")] +
                        ([f"{max(0, f['budget_ns'] / 1e3 - tau):g} to {f['budget_ns'] / 1e3 + tau:g}", figure(f["pdv_ns"] / 1e3),
                          f"{papers.lcl_variation_us(tau):g}", f"{f['early'] + f['late']} of {f['received']:,}"] if r["lcl"]
                         else ["", figure(f["pdv_ns"] / 1e3), "", ""]))
    return table(["Scheduler, tau in µs", "Flow", "Hops", "Min, µs", "Average, µs", "Max, µs", "Bounds in the paper, µs", "Variation, µs",
                  "Bound in the paper, µs", "Frames outside d0 ± tau"], rows)


def lcl(run):
    m = run.get("lcl_hops")
    if not m:
        return None
    rows = []
    for r in m["sweep"]:
        f = r["flows"][-1]
        rows.append([f["hops"], "LCL" if r["lcl"] else "FIFO", figure(r["tau_ns"] / 1e3, 0) if r["lcl"] else "",
                     figure(f["mean_ns"] / 1e3, 1), figure((f["p9900_ns"] - f["p0100_ns"]) / 1e3, 1)])
    return table(["Gateways", "Scheduler", "tau, µs", "Average delay, µs", "Range of 98 % of the frames, µs"], rows)
