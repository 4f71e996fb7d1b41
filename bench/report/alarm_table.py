#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints a table of the output of bench/alarm/alarm_paper (standard input) and the figures of the alarm paper."""
import json
import sys

import papers

PAPER_RESPONSE = {"cloud_python": papers.ALARM_CLOUD_MS, "biplane": papers.ALARM_EDGE_MS}
PAPER_EDGE = {"biplane": papers.ALARM_NIC_MS, "bridge": papers.ALARM_BRIDGE_MS}

RESPONSE = (("cloud_c", "cloud, decided by a C program"), ("cloud_python", "cloud, by a Python program"),
            ("biplane", "biplane, edge broker"))


def row(name, r, paper):
    print(f"{name:32} {r['median_us'] / 1e3:9.3f} {r['mean_us'] / 1e3:9.3f} {r['percentiles_us'][99] / 1e3:9.3f} "
          f"{paper if paper else '':>9}")


def main():
    m = json.load(sys.stdin)
    print("\nalarm-paper: ms; 25 ms there and back to the cloud are biplane-wan-sim's; the paper's are its means")
    print(f"{'device to alarm':32} {'median':>9} {'mean':>9} {'p99':>9} {'paper':>9}")
    for key, name in RESPONSE:
        row(name, m["response"][key], PAPER_RESPONSE.get(key))
    p = m["ping"]
    row("ping to the cloud", {"median_us": p["percentiles_us"][50], **p}, papers.ALARM_PING_MS)
    print("PUBLISH to PUBACK")
    for place in ("cloud", "edge"):
        for way, name in (("bridge", "a kernel bridge"), ("biplane", "biplane")):
            row(f"{place}, through {name}", m["delay"][place][way], PAPER_EDGE[way] if place == "edge" else None)
    print(f"{'of 1,000 measurements above':32} {'cloud':>9} {'':>9} {'edge':>9}")
    for t in m["traffic"]:
        print(f"{t['percent']:29} % {t['cloud_packets']:9} packets   {t['edge_packets']:9} packets, "
              f"{100 * t['edge_octets'] / t['cloud_octets']:.1f} % of the bytes")


if __name__ == "__main__":
    main()
