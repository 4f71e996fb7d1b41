# SPDX-License-Identifier: BSD-3-Clause
"""Tables of case ndr of scripts/bench: docs/performance/peers.md."""
from report_markdown import bold, table

NAMES = {"direct": "the generator alone", "kernel": "Linux kernel", "xdp": "XDP programs", "grout": "grout",
         "biplane-af_packet": "biplane, AF_PACKET", "biplane-af_xdp": "biplane, AF_XDP"}
GOALS = ("ndr", "pdr")


def results_of(run):
    """In the order of the table: by case and frame size, the systems beside each other."""
    found = (run.get("ndr") or {}).get("results") or []
    cases = list(dict.fromkeys(r["case"] for r in found))
    return sorted(found, key=lambda r: (cases.index(r["case"]), r["size"]))


def name_of(r):
    return NAMES.get(r["system"], r["system"])


def percent(value):
    return "-" if value is None else f"{100 * value:.1f} %"


def throughput(run):
    rows = []
    for r in results_of(run):
        row = [r["case"], str(r["size"]), name_of(r)]
        for goal in GOALS:
            row += ["-" if r[goal]["median"] is None else bold(f"{r[goal]['median'] / 1e3:,.0f}"), percent(r[goal]["spread"])]
        rows.append(row + ["yes" if r["limited_by_generator"] else ""])
    return rows and table(["Case", "Frame size, bytes", "System", "NDR, thousand frames/s", "spread", "PDR, thousand frames/s", "spread",
                           "Limited by the generator"], rows)


def delay(v):
    return "-" if v is None else f"{v:,.0f}"


def latency(run):
    rows = []
    for r in results_of(run):
        at = {a["percent"]: a for a in r["latency"]}
        if at:
            rows.append([r["case"], str(r["size"]), name_of(r),
                         *("{} / {} / {}".format(*(delay(at.get(p, {}).get(k)) for k in ("median_us", "p99_us", "p999_us")))
                           for p in (10, 50, 90)),
                         percent(at.get(90, {}).get("inspected")) if r["case"] == "inspect" else ""])
    return rows and table(["Case", "Frame size, bytes", "System", "Latency at 10 % of the PDR, µs: median / p99 / p99.9", "at 50 %",
                           "at 90 %", "Inspected"], rows)


TABLES = {"ndr-throughput": throughput, "ndr-latency": latency}
CASES = {name: ["ndr"] for name in TABLES}
