# SPDX-License-Identifier: BSD-3-Clause
"""The second table at the top of docs/performance/results.md: biplane beside what its reader would run instead, from one run."""
import peers_table
import services_table

HEADER = ["job", "what else", "it", "biplane", "repeat"]
NAMES = {"mosquitto-c": "mosquitto and a C program", "mosquitto-python": "mosquitto and a Python program",
         "kernel-bridge": "the kernel's bridge", "kernel-route": "the kernel's routes", "aggregation-sockets": "a program of sockets",
         "coordinates-sockets": "a program of sockets", "health-sockets": "the same converter behind sockets"}
SERVICES = {"aggregation": "messages that become aggregates of eight", "coordinates": "readings that become coordinates",
            "health": "health devices' reports that become requests"}


def driver(name):
    return name.rsplit("-", 1)[-1]


def alarm_figures(a):
    median, p99, _ = peers_table.times(a["moderate"]["latency"], 1)
    return (f"{a['sustained']:,.0f}/s; {peers_table.figure(median, '.0f')} us (p99 {peers_table.figure(p99, '.0f')}); "
            f"{peers_table.whole(a['moderate'], 'sent', ('load',)):.0f} s CPU a million")


def frame_figures(w, direct):
    beyond = peers_table.beyond(w, direct, "most")
    median = peers_table.times(w["moderate"]["latency"], 1)[0]
    return (f"{w['most']['arrived_pps'] / 1e3:,.0f} thousand/s; {peers_table.figure(median, '.0f')} us; "
            f"{peers_table.figure(beyond, '.2f')} s CPU a million")


def service_figures(s):
    rate, _, median, p99, _, _, at_most, _, memory, _ = services_table.figures(s)
    return (f"{rate:,.0f}/s; {peers_table.figure(median, '.0f')} us (p99 {peers_table.figure(p99, '.0f')}); "
            f"{peers_table.figure(at_most, '.1f')} s CPU a million; {peers_table.figure(memory, '.0f')} MiB")


def by_peer(job, entries, is_ours, figures):
    """Each of the peers beside each of biplane's drivers."""
    ours = "<br>".join(f"{driver(e['name'])}: {figures(e)}" for e in entries if is_ours(e["name"]))
    for e in entries:
        if e["name"] in NAMES and ours:
            yield [job, NAMES[e["name"]], figures(e), ours, "peers"]


def peers(run):
    m = run.get("peers")
    if not m:
        return
    yield from by_peer("measurements that become alarms: a second with none lost; median", m["alarms"],
                       lambda n: n.startswith("biplane"), alarm_figures)
    direct = peers_table.direct_of(m["packets"])
    for peer, job in (("bridge", "frames bridged over veth: at most; median"),
                      ("route", "frames routed over veth: at most; median")):
        entries = [w for w in m["packets"] if w["name"] == f"kernel-{peer}" or w["name"].startswith(f"biplane-{peer}")]
        yield from by_peer(job, entries, lambda n: n.startswith("biplane"), lambda w: frame_figures(w, direct))
    for service, job in SERVICES.items():
        entries = [s for s in m.get("services", []) if s["name"].startswith(f"{service}-")]
        yield from by_peer(f"{job}: a second with none lost; median", entries, lambda n: "-biplane-" in n, service_figures)


def rates(run):
    of = {r["case"]: r for r in run["rates"]}
    for case, job in (("bridge", "frames bridged, ports in memory"), ("route4", "IPv4 routed, 16 routes, ports in memory")):
        r = of.get(case)
        if r and r["mpps"] is not None and r["reference_mpps"] is not None:
            yield [job, "`dpdk-testpmd --forward-mode=io`, which looks at nothing", f"{r['reference_mpps']:.1f} Mpps",
                   f"{r['mpps']:.1f} Mpps, {r['ratio']:.2f} of it", case]


def programs(run):
    m = run.get("transform") or {}
    s = m.get("sockets")
    if s:
        yield ["coordinates, readings a second over veth", "a program of sockets, batches", f"{s['batches']:,}",
               f"af_packet {s['af_packet']:,}, af_xdp {s['af_xdp']:,}; ports in memory {s['memory']:,}", "transform-sockets"]
    for r in run.get("phd_sizes") or []:
        if r["apdu"] == 64:
            yield ["health devices' reports of 64 octets a second of processor time", "the same converter behind sockets",
                   f"{r['single_most_pps']:,}", f"{r['most_pps']:,}, ports in memory", "phd-sizes"]
    m = run.get("aggregate_figure9")
    if m:
        best = [max(p["restored"] for c in m[side] for p in c["points"]) for side in ("sockets", "gateway")]
        yield ["aggregation, both ends on one core, messages a second", "a program of sockets", f"{best[0]:,}",
               f"{best[1]:,}, ports in memory", "aggregate-figure9"]


def lines(run):
    """Lines of Markdown."""
    rows = [*peers(run), *rates(run), *programs(run)]
    if not rows:
        return []
    return ["## biplane beside what you would run instead", "",
            "Over veth every way pays the kernel for its links; ports in memory cost nothing, and say what a worker itself takes.",
            "",
            "| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)] + \
        ["| " + " | ".join([*row[:-1], f"`scripts/bench {row[-1]}`"]) + " |" for row in rows] + [""]
