# SPDX-License-Identifier: BSD-3-Clause
"""The second table at the top of docs/performance/results.md: biplane compared with alternative programs, from one
run."""
import peers_table
import services_table

HEADER = ["Task", "Alternative", "Result of the alternative", "Result of biplane", "Command"]
NAMES = {"mosquitto-c": "mosquitto and a C program", "mosquitto-python": "mosquitto and a Python program",
         "suricata": "Suricata inline and a program that publishes its alerts", "nanomq": "NanoMQ and its rule engine",
         "ekuiper": "mosquitto and eKuiper", "kernel-bridge": "Linux bridge", "kernel-route": "Linux routing",
         "xdp-bridge": "XDP programs that redirect", "xdp-route": "XDP programs that route by the kernel's tables",
         "grout-route-af_packet": "grout, AF_PACKET", "grout-route-af_xdp": "grout, AF_XDP", "aggregation-sockets": "socket program",
         "coordinates-sockets": "socket program", "health-sockets": "the same converter with sockets"}
SERVICES = {"aggregation": "aggregation of 8 messages", "coordinates": "coordinate transformation",
            "health": "conversion of health device reports"}


def driver(name):
    """biplane-bridge-af_xdp-busy: af_xdp, busy"""
    name, busy = name.removesuffix("-busy"), ", busy" if name.endswith("-busy") else ""
    return name.rsplit("-", 1)[-1] + busy


def alarm_figures(a):
    median, p99, _ = peers_table.times(a["moderate"]["latency"], 1)
    return (f"{a['sustained']:,.0f}/s; {peers_table.figure(median, '.0f')} µs (p99 {peers_table.figure(p99, '.0f')}); "
            f"{peers_table.whole(a['moderate'], 'sent', ('load',)):.0f} s CPU per million")


def frame_figures(w, direct):
    beyond = peers_table.beyond(w, direct, "most")
    median = peers_table.times(w["moderate"]["latency"], 1)[0]
    return (f"{w['most']['arrived_pps'] / 1e3:,.0f} thousand/s; {peers_table.figure(median, '.0f')} µs; "
            f"{peers_table.figure(beyond, '.2f')} s CPU per million")


def service_figures(s):
    rate, _, median, p99, _, _, at_most, _, memory, _ = services_table.figures(s)
    return (f"{rate:,.0f}/s; {peers_table.figure(median, '.0f')} µs (p99 {peers_table.figure(p99, '.0f')}); "
            f"{peers_table.figure(at_most, '.1f')} s CPU per million; {peers_table.figure(memory, '.0f')} MiB")


def by_peer(job, entries, is_ours, figures):
    """Each of the peers compared with each of biplane's drivers."""
    ours = "<br>".join(f"{driver(e['name'])}: {figures(e)}" for e in entries if is_ours(e["name"]))
    for e in entries:
        if e["name"] in NAMES and ours:
            yield [job, NAMES[e["name"]], figures(e), ours, "peers"]


def peers(run):
    m = run.get("peers")
    if not m:
        return
    yield from by_peer("MQTT alarms over veth: highest rate without a lost alarm; median delay", m["alarms"],
                       lambda n: n.startswith("biplane"), alarm_figures)
    direct = peers_table.direct_of(m["packets"])
    for peer, job in (("bridge", "bridge over veth: highest rate; median delay"),
                      ("route", "routing over veth: highest rate; median delay")):
        entries = [w for w in m["packets"] if peer in w["name"].split("-")]
        yield from by_peer(job, entries, lambda n: n.startswith("biplane"), lambda w: frame_figures(w, direct))
    for service, job in SERVICES.items():
        entries = [s for s in m.get("services", []) if s["name"].startswith(f"{service}-")]
        yield from by_peer(f"{job} over veth: highest rate without loss; median delay", entries, lambda n: "-biplane-" in n, service_figures)


def rates(run):
    of = {r["case"]: r for r in run["rates"]}
    for case, job in (("bridge", "bridge, ports in memory"), ("route4", "IPv4 routing, 16 routes, ports in memory")):
        r = of.get(case)
        if r and r["mpps"] is not None and r["reference_mpps"] is not None:
            yield [job, "`dpdk-testpmd --forward-mode=io`, which does not read the frames", f"{r['reference_mpps']:.1f} Mpps",
                   f"{r['mpps']:.1f} Mpps, ratio {r['ratio']:.2f}", case]


def programs(run):
    m = run.get("transform") or {}
    s = m.get("sockets")
    if s:
        yield ["coordinate transformation over veth, readings/s", "socket program with batches", f"{s['batches']:,}",
               f"af_packet {s['af_packet']:,}, af_xdp {s['af_xdp']:,}; ports in memory {s['memory']:,}", "transform-sockets"]
    for r in run.get("phd_sizes") or []:
        if r["apdu"] == 64:
            yield ["conversion of 64-byte health device reports, reports per second of CPU time", "the same converter with sockets",
                   f"{r['single_most_pps']:,}", f"{r['most_pps']:,}, ports in memory", "phd-sizes"]
    m = run.get("aggregate_figure9")
    if m:
        best = [max(p["restored"] for c in m[side] for p in c["points"]) for side in ("sockets", "gateway")]
        yield ["aggregation, both ends on one core, messages/s", "socket program", f"{best[0]:,}",
               f"{best[1]:,}, ports in memory", "aggregate-figure9"]


def lines(run):
    """Lines of Markdown."""
    rows = [*peers(run), *rates(run), *programs(run)]
    if not rows:
        return []
    return ["## Comparison with alternatives", "",
            "Over veth, the CPU time that the kernel spends on the links is included for all systems. "
            "Ports in memory show the CPU time of the biplane worker alone.",
            "",
            "| " + " | ".join(HEADER) + " |", "|" + " --- |" * len(HEADER)] + \
        ["| " + " | ".join([*row[:-1], f"`scripts/bench {row[-1]}`"]) + " |" for row in rows] + [""]
