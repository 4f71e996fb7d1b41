# SPDX-License-Identifier: BSD-3-Clause
"""The table at the top of docs/performance/results.md: biplane compared with each of the five papers, from one run.

A row is (figure, property, the paper's number, biplane's, command); rows without numbers in the run are omitted. The
papers' numbers are those of papers.py.
"""
import papers
import phd_result

HEADER = ["Figure", "Quantity", "Paper", "biplane", "Command"]


def ms(us):
    return f"{us / 1e3:.2f} ms"


def share(part, whole):
    return f"{part:,} of {whole:,}, {100 * part / whole:.1f} %"


def at_percent(traffic):
    """The step with the number of alarms of the paper, or None."""
    return next((t for t in traffic if t["percent"] == papers.ALARM_PERCENT), None)


def alarm(run):
    m = run.get("alarm_paper")
    if not m:
        return
    cloud, edge, case = m["response"]["cloud_python"], m["response"]["biplane"], "alarm-paper"
    yield ["9", "average time from a measurement to its alarm: evaluated in the cloud; at the edge",
           f"{papers.ALARM_CLOUD_MS} ms; {papers.ALARM_EDGE_MS} ms, {papers.ALARM_LESS_PERCENT} % less",
           f"{ms(cloud['mean_us'])}; {ms(edge['mean_us'])}, {100 * (1 - edge['mean_us'] / cloud['mean_us']):.0f} % less", case]
    within = edge["percentiles_us"][99] - edge["percentiles_us"][1]
    yield ["9", "time range that contains 98 % of the edge alarms", f"{papers.ALARM_EDGE_WITHIN_MS} ms", ms(within), case]
    yield ["10", "average round-trip time to the cloud", f"{papers.ALARM_PING_MS} ms", ms(m["ping"]["mean_us"]), case]
    bridge, biplane = (m["delay"]["edge"][way]["mean_us"] for way in ("bridge", "biplane"))
    yield ["11b", "average time from PUBLISH to PUBACK at the edge: difference to a bridge; with a bridge",
           f"{papers.ALARM_ADDED_MS} ms; {papers.ALARM_BRIDGE_MS} ms",
           f"{(biplane - bridge) / 1e3:.3f} ms; {bridge / 1e3:.3f} ms", case]
    t = at_percent(m["traffic"])
    if t:
        yield ["13", f"{papers.ALARM_PERCENT} % of 1,000 measurements are alarms: bytes on the edge link, of the bytes on the cloud link",
               share(papers.ALARM_EDGE_BYTES, papers.ALARM_CLOUD_BYTES), share(t["edge_octets"], t["cloud_octets"]), case]


def most(curves):
    """{N: maximum goodput}"""
    return {c["n"]: papers.agg_share(c["n"]) * max(p["restored"] for p in c["points"]) for c in curves}


def models(run):
    m = run.get("aggregate_models")
    if not m:
        return
    d = m["departures"]
    yield ["7", "N-packet departures compared with Erlang-N: largest Kolmogorov-Smirnov distance of (a) to (d)",
           "good fit, best with fixed service times",
           f"{max(x['distance'] for x in d):.3f}; with fixed service times {d[-1]['distance']:.3f}", "aggregate-models"]
    for r in m["least_rates"]:
        if r["kind"] == "fixed" and r["messages"] == 8:
            of = dict(zip(r["betas"], r["mu"]))
            yield ["10", f"minimum service rate of the far end, N = 8, for an average wait of {papers.AGG_BETA_FLAT} to 0.5 service times",
                   f"constant from {papers.AGG_BETA_FLAT}", f"decreases by a factor of {of[papers.AGG_BETA_FLAT] / of[0.5]:.2f}",
                   "aggregate-models"]


def aggregation(run):
    m, case = run.get("aggregate_figure9"), "aggregate-figure9"
    rows = list(models(run))
    if m:
        ours, sockets = most(m["gateway"]), most(m["sockets"])
        n = max(ours)
        least, greatest = papers.agg_goodput(n)
        rows.insert(1, ["9", f"maximum goodput with N = {n}, relative to N = 1 (Equations 4 and 5)",
                        f"{least:.1f} to {greatest:.1f} times", f"{ours[n] / ours[1]:.1f} times, {ours[n] / 1e6:.1f} million/s", case])
        rows.append(["12", f"the same, programs on servers, N = {n}", "less than 1",
                     f"socket program: {sockets[n] / sockets[1]:.1f} times, {sockets[n] / 1e6:.2f} million/s", case])
    yield from rows


def transform(run):
    m = run.get("transform") or {}
    for t in m.get("times") or []:
        if t["method"] == "vector":
            yield ["5", "time per reading, port to port", "requirement: milliseconds", f"{t['gateway_ns']:.0f} ns of worker time",
                   "transform-times"]
    curves = {c["who"]: max(p["transformed"] for p in c["points"]) for c in m.get("figure6") or []}
    if curves:
        yield ["6", "maximum readings/s: socket program (Userspace)", f"{papers.TRANSFORM_MOST:,.0f}",
               f"{curves['sockets']:,}; biplane worker: {curves['vector']:,}", "transform-figure6"]
    errors = {a["method"]: a for a in run.get("transform_accuracy") or []}
    for method, (mean, beyond) in papers.TRANSFORM_ERRORS.items():
        if method in errors:
            a = errors[method]
            yield ["Table I", f"`{method}`: average error, share beyond {papers.TRANSFORM_LIMIT_UM} µm", f"{mean} µm, {beyond} %",
                   f"{a['mean_um']:.2f} µm, {a['beyond_percent']:.1f} %", "transform-accuracy"]


def planes(run):
    parts = phd_result.overhead(run)
    if parts:
        yield ["3", "overhead: time outside parsing and conversion", f"{papers.PHD_OVERHEAD_PERCENT} %",
               f"{parts['overhead_percent']:.1f} % of {parts['cycles']:.0f} cycles", "nodes"]
    rows = {r["apdu"]: r for r in run.get("phd_sizes") or []}
    for apdu, times in papers.PHD_BESIDE.items():
        if apdu in rows:
            yield ["4", f"throughput at {apdu} bytes, two planes relative to one", f"{times} times, on 1 Gbit/s",
                   f"{rows[apdu]['most_pps'] / rows[apdu]['single_most_pps']:.1f} times; on 1 Gbit/s "
                   f"{phd_result.beside_on_line(rows[apdu]):.1f}", "phd-sizes"]
    if 64 in rows:
        lost = phd_result.loss_percent(rows[64], "paper", run["seconds"])
        yield ["5", "loss at 1 Gbit/s of 64-byte APDUs: two planes, one plane", f"{papers.PHD_LOSS[64][0]} %, {papers.PHD_LOSS[64][1]} %",
               f"{lost:.2f} %, {rows[64]['paper_single_loss_percent']:.2f} %", "phd-sizes"]
    for r in run.get("phd_figure6") or []:
        if r["messages"] in papers.PHD_SINGLE:
            theirs = f"{1 - papers.PHD_CONTROL_LOSS:.3f}, {phd_result.paper_single(r['messages']):.2f}"
            n, kept = r["messages"], [phd_result.kept(r, side, run["seconds"]) for side in ("dual", "single")]
            yield ["6", f"share of {papers.PHD_DATA_PPS:,} frames/s that is not lost, with {n:,} control messages/s: two planes, one plane",
                   theirs, ", ".join(f"{k:.3f}" for k in kept), "phd-figure6"]
            yield ["6", f"maximum report rate with {n:,} control messages/s, relative to none: two planes, one plane",
                   theirs, f"{r['dual_ratio']:.3f}, {r['single_ratio']:.3f}", "phd-figure6"]


def lcl(run):
    m = run.get("lcl_paper")
    if m:
        outside = sum(f["early"] + f["late"] for f in m["lcl"]["flows"])
        received = sum(f["received"] for f in m["lcl"]["flows"])
        flow, plain = m["lcl"]["flows"][-1], m["plain"]["flows"][-1]
        yield ["4(c), (d)", "average delay of flow 4: without LCL, with LCL", "much higher with LCL",
               f"{plain['mean_ns'] / 1e3:.1f} µs, {flow['mean_ns'] / 1e3:.1f} µs", "lcl-paper"]
        yield ["4(e)", f"frames outside d0 ± tau, tau = {m['lcl']['tau_ns'] / 1e3:g} µs", "0", f"{outside} of {received:,}",
               "lcl-paper"]
        for r in m["sweep"]:
            if r["lcl"]:
                tau = r["tau_ns"] / 1e3
                yield ["4(f)", f"delay variation, tau = {tau:g} µs", f"below {papers.lcl_variation_us(tau):g} µs, for any number of hops",
                       f"{max(f['pdv_ns'] for f in r['flows']) / 1e3:.1f} µs at most", "lcl-paper"]
    yield from lcl_real(run.get("lcl_hops"))


def lcl_real(m):
    """The same for gateways in real time, for the longest slot and the maximum number of hops."""
    runs = [r for r in (m or {"sweep": []})["sweep"] if r["lcl"]]
    if runs:
        r = max(runs, key=lambda r: (r["flows"][-1]["hops"], r["tau_ns"]))
        tau, flow = r["tau_ns"] / 1e3, r["flows"][-1]
        yield ["4(f)", f"in real time, {flow['hops']} gateways on a shared machine, tau = {tau:g} µs: delay variation of 98 % of the "
               "frames", f"below {papers.lcl_variation_us(tau):g} µs",
               f"{(flow['p9900_ns'] - flow['p0100_ns']) / 1e3:.0f} µs", "lcl-hops"]


PAPERS = (
    ("Alarms: Atutxa et al. (2021)", alarm,
     "Setup: network namespaces on one machine, mosquitto, and 25 ms of biplane-wan-sim. The paper uses two sites with links of "
     "10 Gbit/s, an ISP and a Netronome SmartNIC. LAN delays are smaller here; compare only the ratios."),
    ("Aggregation: Lin et al. (2018)", aggregation,
     "Setup: both ends on one core, ports in memory. The paper uses two Tofino switches and a generator of 100 Gbit/s. Compare the "
     "growth with N, not the rates."),
    ("Coordinates: Kunze et al. (2021)", transform,
     "Setup: one worker with ports in memory, and a socket program over veth. The paper uses an i5-4590 with 25 Gbit/s NICs, "
     "SmartNICs and a Tofino."),
    ("Health devices: the dual-plane gateway", planes,
     "Setup: ports in memory that offer the load of a link of 1 Gbit/s. One plane is the same converter with sockets (Figures 4 "
     "and 5), or the work of both planes on one core (Figure 6). The paper uses an i7-4770 under ESXi with an I217-V NIC."),
    ("LCL scheduling: Ma et al.", lcl,
     "Setup: the gateway's scheduler in virtual time with the traffic of Table 1, and a chain of gateways in real time. The paper "
     "uses three FPGA nodes at 25 Gbit/s. biplane has no frame preemption; best effort is gated."))


def lines(run):
    """Lines of Markdown."""
    out = []
    for title, rows_of, stands_in in PAPERS:
        rows = list(rows_of(run))
        if rows:
            out += [f"### {title}", "", stands_in, "", "| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)]
            out += ["| " + " | ".join([*row[:-1], f"`scripts/bench {row[-1]}`"]) + " |" for row in rows] + [""]
    return ["## Comparison with the papers", ""] + out if out else []
