# SPDX-License-Identifier: BSD-3-Clause
"""Tables of case monitoring of scripts/bench: docs/performance/monitoring.md."""
from report_latency import percentiles
from report_markdown import figure, table

MODES = {"plain": "not watched", "watched": "watched"}
CAPTURES = {"nothing": "matches nothing", "sample": "matches 1 % of the frames", "interpreter": "matches nothing, interpreted",
            "return": "one instruction (`ret 0`)"}


def change(now, before):
    return f"{100 * (now / before - 1):+.1f} %"


def delays(run):
    m = run.get("monitoring") or {}
    rows = [[name, *percentiles(m[mode]), *percentiles(m[mode]["load"]), f"{m[mode]['load']['lost']:,}", f"{m[mode]['cycles_per_frame']:,.0f}"]
            for mode, name in MODES.items() if mode in m]
    if len(rows) == len(MODES):
        plain, watched = m["plain"], m["watched"]
        rows.append(["difference", change(watched["median_us"], plain["median_us"]), "", "",
                     change(watched["load"]["median_us"], plain["load"]["median_us"]), "", "", "",
                     change(watched["cycles_per_frame"], plain["cycles_per_frame"])])
    return rows and table(["Gateway", "100 values/s: median, µs", "p99", "p99.9", "20,000 values/s: median, µs", "p99", "p99.9", "Lost",
                           "Cycles per frame"], rows)


def captures(run):
    rows = [[CAPTURES[c["capture"]], figure(c["ratio"], 3), change(c["ratio"], 1), figure(c["ns"], 1), figure(c["added_ns"], 2)]
            for c in (run.get("monitoring") or {}).get("captures") or []]
    return rows and table(["Filter of the capture", "Rate, ratio to the rate without", "Difference", "ns per frame without", "Added, ns per frame"], rows)


TABLES = {"monitoring-delays": delays, "monitoring-captures": captures}
CASES = {name: ["monitoring"] for name in TABLES}
