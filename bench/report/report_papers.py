# SPDX-License-Identifier: BSD-3-Clause
"""The table at the top of docs/performance/results.md: biplane beside each of the five papers, from one run.

A row is (figure, what it shows, the paper's number, biplane's, command); rows that the run has no numbers for are not
there. The papers' numbers are those of papers.py.
"""
import papers
import phd_result

HEADER = ["figure", "what", "the paper", "biplane", "repeat"]


def ms(us):
    return f"{us / 1e3:.2f} ms"


def share(part, whole):
    return f"{part:,} of {whole:,}, {100 * part / whole:.1f} %"


def at_percent(traffic):
    """The step of as many alarms as the paper tells of, or None."""
    return next((t for t in traffic if t["percent"] == papers.ALARM_PERCENT), None)


def alarm(run):
    m = run.get("alarm_paper")
    if not m:
        return
    cloud, edge, case = m["response"]["cloud_python"], m["response"]["biplane"], "alarm-paper"
    yield ["9", "from a measurement to its alarm, mean: decided in the cloud, and at the edge",
           f"{papers.ALARM_CLOUD_MS} and {papers.ALARM_EDGE_MS} ms, {papers.ALARM_LESS_PERCENT} % less",
           f"{ms(cloud['mean_us'])} and {ms(edge['mean_us'])}, {100 * (1 - edge['mean_us'] / cloud['mean_us']):.0f} % less", case]
    within = edge["percentiles_us"][99] - edge["percentiles_us"][1]
    yield ["9", "98 % of the alarms from the edge lie within", f"{papers.ALARM_EDGE_WITHIN_MS} ms", ms(within), case]
    yield ["10", "an echo to the cloud and back, mean", f"{papers.ALARM_PING_MS} ms", ms(m["ping"]["mean_us"]), case]
    bridge, biplane = (m["delay"]["edge"][way]["mean_us"] for way in ("bridge", "biplane"))
    yield ["11b", "PUBLISH to PUBACK at the edge, mean: added to that of a bridge",
           f"{papers.ALARM_ADDED_MS} ms, to {papers.ALARM_BRIDGE_MS}",
           f"{(biplane - bridge) / 1e3:.3f} ms, to {bridge / 1e3:.3f}", case]
    t = at_percent(m["traffic"])
    if t:
        yield ["13", f"{papers.ALARM_PERCENT} % of 1,000 measurements are alarms: octets of the edge's wire beside the cloud's",
               share(papers.ALARM_EDGE_OCTETS, papers.ALARM_CLOUD_OCTETS), share(t["edge_octets"], t["cloud_octets"]), case]


def most(curves):
    """{N: goodput at most}"""
    return {c["n"]: papers.agg_share(c["n"]) * max(p["restored"] for p in c["points"]) for c in curves}


def models(run):
    m = run.get("aggregate_models")
    if not m:
        return
    d = m["departures"]
    yield ["7", "N-packets leave as Erlang-N says: the farthest of (a) to (d) (Kolmogorov-Smirnov)",
           "fits, best with fixed service times",
           f"{max(x['distance'] for x in d):.3f}; with fixed ones {d[-1]['distance']:.3f}", "aggregate-models"]
    for r in m["least_rates"]:
        if r["kind"] == "fixed" and r["messages"] == 8:
            of = dict(zip(r["betas"], r["mu"]))
            yield ["10", f"least rate of the far end, N = 8, mean wait of {papers.AGG_BETA_FLAT} to 0.5 service times",
                   f"no longer falls from {papers.AGG_BETA_FLAT}", f"falls by {of[papers.AGG_BETA_FLAT] / of[0.5]:.2f}",
                   "aggregate-models"]


def aggregation(run):
    m, case = run.get("aggregate_figure9"), "aggregate-figure9"
    rows = list(models(run))
    if m:
        ours, sockets = most(m["gateway"]), most(m["sockets"])
        n = max(ours)
        least, greatest = papers.agg_goodput(n)
        rows.insert(1, ["9", f"goodput at most with N = {n}, beside N = 1 (Equations 4 and 5)",
                        f"{least:.1f} to {greatest:.1f} times", f"{ours[n] / ours[1]:.1f} times, {ours[n] / 1e6:.1f} million/s", case])
        rows.append(["12", f"the same of programs on servers, N = {n}", "less than 1",
                     f"a program of sockets: {sockets[n] / sockets[1]:.1f} times, {sockets[n] / 1e6:.2f} million/s", case])
    yield from rows


def transform(run):
    m = run.get("transform") or {}
    for t in m.get("times") or []:
        if t["method"] == "vector":
            yield ["5", "a reading, from port to port", "milliseconds are asked for", f"{t['gateway_ns']:.0f} ns of a worker",
                   "transform-times"]
    curves = {c["who"]: max(p["transformed"] for p in c["points"]) for c in m.get("figure6") or []}
    if curves:
        yield ["6", "readings a second at most: a program of sockets (Userspace)", f"{papers.TRANSFORM_MOST:,.0f}",
               f"{curves['sockets']:,}; biplane's worker {curves['vector']:,}", "transform-figure6"]
    errors = {a["method"]: a for a in run.get("transform_accuracy") or []}
    for method, (mean, beyond) in papers.TRANSFORM_ERRORS.items():
        if method in errors:
            a = errors[method]
            yield ["Table I", f"`{method}`: mean error, beyond {papers.TRANSFORM_LIMIT_UM} um", f"{mean} um, {beyond} %",
                   f"{a['mean_um']:.2f} um, {a['beyond_percent']:.1f} %", "transform-accuracy"]


def planes(run):
    parts = phd_result.overhead(run)
    if parts:
        yield ["3", "overhead: time that is not for parsing and converting", f"{papers.PHD_OVERHEAD_PERCENT} %",
               f"{parts['overhead_percent']:.1f} % of {parts['cycles']:.0f} cycles", "nodes"]
    rows = {r["apdu"]: r for r in run.get("phd_sizes") or []}
    for apdu, times in papers.PHD_BESIDE.items():
        if apdu in rows:
            yield ["4", f"throughput at {apdu} octets, two planes beside one", f"{times} times, on 1 Gb/s",
                   f"{rows[apdu]['most_pps'] / rows[apdu]['single_most_pps']:.1f} times; on 1 Gb/s "
                   f"{phd_result.beside_on_line(rows[apdu]):.1f}", "phd-sizes"]
    if 64 in rows:
        lost = phd_result.loss_percent(rows[64], "paper", run["seconds"])
        yield ["5", "lost of 1 Gb/s of 64 octets: two planes, one", f"{papers.PHD_LOSS[64][0]} %, {papers.PHD_LOSS[64][1]} %",
               f"{lost:.2f} %, {rows[64]['paper_single_loss_percent']:.2f} %", "phd-sizes"]
    for r in run.get("phd_figure6") or []:
        if r["messages"] in papers.PHD_SINGLE:
            theirs = f"{1 - papers.PHD_CONTROL_LOSS:.3f}, {phd_result.paper_single(r['messages']):.2f}"
            n, kept = r["messages"], [phd_result.kept(r, side, run["seconds"]) for side in ("dual", "single")]
            yield ["6", f"{papers.PHD_DATA_PPS:,} frames a second, {n:,} of them control messages, what is not lost: two planes, one",
                   theirs, ", ".join(f"{k:.3f}" for k in kept), "phd-figure6"]
            yield ["6", f"as many reports as a worker can do, beside those without {n:,} control messages a second: two planes, one",
                   theirs, f"{r['dual_ratio']:.3f}, {r['single_ratio']:.3f}", "phd-figure6"]


def lcl(run):
    m = run.get("lcl_paper")
    if m:
        outside = sum(f["early"] + f["late"] for f in m["lcl"]["flows"])
        received = sum(f["received"] for f in m["lcl"]["flows"])
        flow, plain = m["lcl"]["flows"][-1], m["plain"]["flows"][-1]
        yield ["4(c), (d)", "mean delay of flow 4, without LCL and with it", "much higher with it",
               f"{plain['mean_ns'] / 1e3:.1f} and {flow['mean_ns'] / 1e3:.1f} us", "lcl-paper"]
        yield ["4(e)", f"frames outside d0 +- tau, tau = {m['lcl']['tau_ns'] / 1e3:g} us", "0", f"{outside} of {received:,}",
               "lcl-paper"]
        for r in m["sweep"]:
            if r["lcl"]:
                tau = r["tau_ns"] / 1e3
                yield ["4(f)", f"variation, tau = {tau:g} us", f"below {papers.lcl_variation_us(tau):g} us, whatever the hops",
                       f"{max(f['pdv_ns'] for f in r['flows']) / 1e3:.1f} us at most", "lcl-paper"]
    yield from lcl_real(run.get("lcl_hops"))


def lcl_real(m):
    """The same of gateways on a clock, for the longest turn and the most hops."""
    runs = [r for r in (m or {"sweep": []})["sweep"] if r["lcl"]]
    if runs:
        r = max(runs, key=lambda r: (r["flows"][-1]["hops"], r["tau_ns"]))
        tau, flow = r["tau_ns"] / 1e3, r["flows"][-1]
        yield ["4(f)", f"in real time, {flow['hops']} gateways on a shared machine, tau = {tau:g} us: variation of 98 % of the "
               "frames", f"below {papers.lcl_variation_us(tau):g} us",
               f"{(flow['p9900_ns'] - flow['p0100_ns']) / 1e3:.0f} us", "lcl-hops"]


PAPERS = (
    ("Alarms: Atutxa et al. (2021)", alarm,
     "Network namespaces on one machine, mosquitto, and biplane-wan-sim's 25 ms in place of two sites 10 Gb/s apart, an ISP and a "
     "Netronome SmartNIC. Delays of a LAN are therefore smaller; shares can be compared."),
    ("Aggregation: Lin et al. (2018)", aggregation,
     "One core with both ends on it, ports in memory, in place of two Tofino switches and a generator of 100 Gb/s: what grows with "
     "N can be compared, not the rate."),
    ("Coordinates: Kunze et al. (2021)", transform,
     "A worker with ports in memory, and a program of sockets over veth, in place of an i5-4590 with 25 Gb/s NICs, SmartNICs and a "
     "Tofino."),
    ("Two planes: the gateway from 11073 to oneM2M", planes,
     "Ports in memory that offer what a wire of 1 Gb/s would; one plane is the same converter behind sockets (Figures 4, 5), or "
     "both planes' work on one core (Figure 6), in place of an i7-4770 under ESXi with an I217-V."),
    ("LCL scheduling: Ma et al.", lcl,
     "The gateway's scheduler under virtual time with Table 1's traffic, and gateways in a line in real time, in place of three "
     "FPGA nodes at 25 Gb/s. There is no frame preemption: best effort is gated."))


def lines(run):
    """Lines of Markdown."""
    out = []
    for title, rows_of, stands_in in PAPERS:
        rows = list(rows_of(run))
        if rows:
            out += [f"### {title}", "", stands_in, "", "| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)]
            out += ["| " + " | ".join([*row[:-1], f"`scripts/bench {row[-1]}`"]) + " |" for row in rows] + [""]
    return ["## biplane beside each paper", ""] + out if out else []
