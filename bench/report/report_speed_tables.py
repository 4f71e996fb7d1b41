# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the performance pages, docs/performance/*.md, from a result of scripts/bench: lines of Markdown, or
none if the result does not have them."""
from report_markdown import figure, ratio, table, text_of


def rates(run):
    rows = [r for r in run["rates"] if r["ratio"] is not None]
    if not rows:
        return []
    return table(["Case", "Traffic", "Mpps", "Reference, Mpps", "Ratio"],
                 [[f"`{r['case']}`", text_of(r["what"]), figure(r["mpps"], 1),
                   f"{'testpmd' if r['reference'].startswith('io') else '`' + r['reference'] + '`'} {r['reference_mpps']:.1f}",
                   ratio(r)] for r in rows])


def rates_of(*begin):
    """The table of the rates of these cases; a name that ends in - is a prefix."""
    def chosen(case):
        return any(case == b or (b.endswith("-") and case.startswith(b)) for b in begin)

    def make(run):
        return rates({"rates": [r for r in run.get("rates") or [] if chosen(r["case"])]})
    return make


def transform_times(run):
    m = run.get("transform") or {}
    beside = {r["case"]: r["ratio"] for r in run.get("rates") or []}
    rows = [[f"`{t['method']}`", figure(t["alone_ns"], 1), figure(t["full_ns"], 1), figure(t["gateway_ns"], 1),
             figure(beside.get(f"transform-{t['method']}"))] for t in m.get("times") or []]
    if rows and m.get("socket_compute_ns"):
        way = m.get("sockets") or {}
        whole = f"{1e9 / way['batches']:,.0f} (one datagram per call: {1e9 / way['one-by-one']:,.0f})" if way else "not measured"
        rows.append(["socket program", figure(m["socket_compute_ns"], 1), "", whole, ""])
    return rows and table(["Method", "One point, ns", "In a burst of 64, ns", "Through the gateway, ns", "Rate relative to testpmd io"], rows)


WAYS = {"one-by-one": "socket program, one datagram per system call, as in the paper",
        "batches": "socket program, 64 datagrams per system call (`recvmmsg`, `sendmmsg`)",
        "segments": "socket program, one send per batch (`UDP_SEGMENT`)",
        "af_packet": "biplane on the same veth, AF_PACKET", "af_xdp": "biplane on the same veth, AF_XDP",
        "memory": "biplane, ports in memory"}


def transform_sockets(run):
    m = (run.get("transform") or {}).get("sockets")
    if not m:
        return []
    rows = []
    for way, what in WAYS.items():
        rows.append([what, f"{m[way] / 1e3:,.0f}", "" if way == "memory" else f"{m['memory'] / m[way]:,.0f}"])
    return table(["System", "Thousand readings/s", "Ratio of biplane with ports in memory"], rows)


def variation(flows):
    """98 % range of the delays of the flow with the largest variation, us."""
    return max(f["p9900_ns"] - f["p0100_ns"] for f in flows) / 1e3


def lcl_hops(run):
    sweep = (run.get("lcl_hops") or {}).get("sweep") or []
    turns = sorted({r["tau_ns"] for r in sweep if r["lcl"]})
    rows = []
    for n in sorted({r["gateways"] for r in sweep}):
        of = {r["tau_ns"] if r["lcl"] else None: r["flows"] for r in sweep if r["gateways"] == n}
        inside = [100 * sum(f["inside"] for f in of[t]) / max(1, sum(f["frames"] for f in of[t])) for t in turns]
        rows.append([str(n), *(figure(i) for i in inside), *(f"{variation(of[t]):,.0f}" for t in turns), f"{variation(of[None]):,.0f}"])
    first = ["Frames inside d0 ± tau, %, tau {:g} µs", "Variation, µs, tau {:g} µs"]
    return rows and table(["Gateways", *(h.format(t / 1e3) for h in first for t in turns), "Variation without LCL, µs"], rows)


def lcl_late(run):
    """For the shortest and the longest slot."""
    sweep = [r for r in (run.get("lcl_hops") or {}).get("sweep") or [] if r["lcl"]]
    ends = [f([r["tau_ns"] for r in sweep]) for f in (min, max)] if sweep else []
    rows = []
    for r in (r for r in sweep if r["tau_ns"] in ends):
        late = [p["lateness_ns"] for p in r["ports"]]
        rows.append([r["gateways"], f"{r['tau_ns'] / 1e3:g}", *(figure(max(p[k] for p in late) / 1e3, 1)
                                                             for k in ("median", "p9999", "max"))])
    return rows and table(["Gateways", "tau, µs", "Start delay of slots, µs: median", "p99.99", "max"], rows)
