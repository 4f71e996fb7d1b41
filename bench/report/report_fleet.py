# SPDX-License-Identifier: BSD-3-Clause
"""Tables of case fleet of scripts/bench: docs/performance/fleet-scale.md."""
import statistics

import fleet_model
from report_markdown import figure, table

STEPS = (1, 3, 10, 30, 100, 300, 1000)
RATES = (0.1, 1)  # messages per second of a device
EVERY = {0.1: "10 s", 1: "1 s"}


def whole(v):
    return f"{v:,.0f}"


def change(ratio):
    return f"{100 * (ratio - 1):+.1f} %"


def cost(run):
    c = (run.get("fleet") or {}).get("cost")
    if not c:
        return []
    rows = [[name, whole(m["values_per_s"]), figure(m["frame_us"]), figure(100 * m["control_cpu"]) + " %", whole(m["stored_per_s"]),
             whole(m["delay"]["median_us"]), whole(m["delay"]["p99_us"])]
            for name, m in (("off", c["off"]), ("on", c["on"]))]
    rows.append(["difference", "", change(statistics.median(c["frame_ratios"])) + ", by round " + ", ".join(map(change, c["frame_ratios"])), "", "",
                 change(c["on"]["delay"]["median_us"] / c["off"]["delay"]["median_us"]),
                 change(c["on"]["delay"]["p99_us"] / c["off"]["delay"]["p99_us"])])
    return table(["`fleet.state`", "Values/s", "Worker, CPU µs per frame", "Control plane, share of a core", "Records/s",
                  "Delay of an alarm, µs: median", "p99"], rows)


def engines(run):
    f = run.get("fleet")
    if not f:
        return []
    r, e, on = f["redis"], f["etcd"], f["cost"]["on"]
    n = r["connections"]["connections"]
    rows = [[f"{n:,} connections, one value per second each", "Redis, per record", figure(r["connections"]["redis_us"], 1),
             whole(r["connections"]["bytes"])],
            [f"{f['cost']['connections']:,} connections, {on['values_per_s']:,.0f} values/s", "Redis, per record", figure(on["redis_us"], 1), ""],
            ["1,000 alarms/s, the edge broker answers", "Redis, per alarm", figure(r["alarms"]["redis_us"], 1), ""],
            ["1,000 alarms/s, the edge broker is away", "Redis, per alarm", figure(r["copies"]["redis_us"], 1), whole(r["copies"]["bytes"])],
            [f"{e['poll']['agents']} agents", "etcd, per request", figure(e["poll"]["etcd_us"], 1), ""],
            [f"one rollout, {e['rollout']['calls']:.0f} requests in addition to the polls", "etcd, for all",
             whole(1e3 * e["rollout"]["etcd_ms"]), ""],
            ["no agent", "etcd, per second", whole(1e6 * e["poll"]["etcd_idle"]), ""]]
    return table(["Load", "Operation", "CPU µs", "Memory, bytes per key"], rows)


def per_load(run):
    """The same by the units of a plan."""
    f = run.get("fleet")
    if not f:
        return []
    cost_of = fleet_model.costs(f)
    rows = [["10,000 connections, one record per second each", figure(10000 * f["redis"]["connections"]["redis_us"] / 1e6, 3),
             figure(10000 * cost_of["record_bytes"] / (1 << 20), 1)],
            ["1,000 alarms/s, broker answers", figure(1000 * f["redis"]["alarms"]["redis_us"] / 1e6, 3), ""],
            ["1,000 alarms/s, broker away", figure(1000 * cost_of["copy_s"], 3), f"{1000 * cost_of['copy_bytes'] / (1 << 20):.2f} per second"],
            ["1,000 gateways that poll etcd", figure(1000 * cost_of["polls_per_s"] * cost_of["poll_s"], 3), ""]]
    return table(["Load", "CPU seconds per second (cores)", "Memory, MiB"], rows)


def gateways(run):
    rows = [[f"{g['n']}", figure(g["frame_ns"], 1), figure(g["ratio"], 3), figure(g["n"] / g["ratio"])]
            for g in (run.get("fleet") or {}).get("gateways") or []]
    return rows and table(["Gateways", "CPU ns per frame of each", "Ratio to one gateway", "Frames of all gateways, each with a CPU of its own (one gateway = 1)"], rows)


def model(run):
    f = run.get("fleet")
    if not f:
        return []
    rows = []
    for rate in RATES:
        for n in STEPS:
            s = fleet_model.step(fleet_model.costs(f), n, rate)
            rows.append([f"{n:,}", f"{s['devices']:,}", EVERY[rate], f"{s['records_per_s']:,.0f}", figure(s["redis_cpu"]), f"{s['redis_servers']:,}",
                         figure(s["redis_gib"]), f"{s['polls_per_s']:,.0f}", figure(s["etcd_cpu"])])
    return table(["Gateways", "Devices", "Each publishes every", "Records/s", "Redis, cores", "Redis masters at 70 %", "Redis memory, GiB",
                  "etcd requests/s", "etcd, cores"], rows)


def saturation(run):
    f = run.get("fleet")
    if not f:
        return []
    cost_of = fleet_model.costs(f)
    rows = [["Redis", f"each device publishes every {EVERY[rate]}", f"{fleet_model.saturation(cost_of, fleet_model.DEVICES, rate):,}"] for rate in RATES]
    rows.append(["etcd", "polls alone, one core", f"{fleet_model.etcd_saturation(cost_of):,}"])
    return table(["Engine", "Load", "Gateways at 70 % of a core"], rows)


TABLES = {"fleet-cost": cost, "fleet-engines": engines, "fleet-loads": per_load, "fleet-gateways": gateways, "fleet-model": model,
          "fleet-saturation": saturation}
CASES = {name: ["fleet"] for name in TABLES}
