#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Demonstration of coordinate transformation for scripts/quickstart: scripts/demo_transform.py, in the laboratory of
scripts/lab with its gateway running.

A tracker in namespace dev follows a tool on a helix and sends distances and angles; a robot in namespace cloud and one
in edge receive coordinates, each in its own frame. Exits 0 only if both received every reading once, in order, and
with the coordinates that Python computes.
"""

import csv
import json
import math
import subprocess
import sys
from pathlib import Path

from demo_lab import BIPLANE, STATE, colour, in_ns

SIM = str(Path(BIPLANE).parent / "biplane-tracker-sim")
TO, COUNT = "10.99.0.2:10000", 1000
ROBOTS = {"cloud": ("A", "10.99.0.2:20000"), "edge": ("B", "10.99.0.3:20000")}
OFF = 0.2  # micrometres that a coordinate may be off
WIDE, HIGH = 44, 13  # characters of a picture


def matrices():
    """Of both robots, as the gateway says it has them."""
    view = json.loads(subprocess.run([BIPLANE, "show", "transform", "--json", "-c", STATE / "biplane.yaml"], check=True,
                                     capture_output=True, text=True).stdout)
    a, b = view["sources"][0]["receivers"]
    return {"cloud": a["matrix"], "edge": b["matrix"]}


def start(ns):
    p = subprocess.Popen(in_ns(ns, SIM, "receive", "--listen", ROBOTS[ns][1], "--count", str(COUNT), "--idle", "3s", "--log", log(ns)),
                         stdout=subprocess.PIPE, text=True)
    if p.stdout.readline() != "ready\n":
        raise SystemExit(f"demo_transform: no robot in {ns}")
    return p


def log(ns):
    return str(STATE / f"transform-{ns}.csv")


def rows(ns):
    with open(log(ns), encoding="ascii") as f:
        return [{k: v if k == "source" else float(v) for k, v in row.items()} for row in csv.DictReader(f)]


def seen(row, matrix):
    """Position of the tool in the coordinate frame of a robot, from the numbers of the reading."""
    r, phi, theta = row["r"], row["phi"], row["theta"]
    v = (r * math.sin(theta) * math.cos(phi), r * math.sin(theta) * math.sin(phi), r * math.cos(theta), 1)
    return [sum(m * c for m, c in zip(line, v)) for line in matrix]


def off(row, matrix):
    return math.dist((row["x"], row["y"], row["z"]), seen(row, matrix)) * 1e6


def picture(points, title):
    """View from above and slightly from the front: x to the right, z up; nearer points (smaller y) are bolder."""
    low = [min(p[i] for p in points) for i in range(3)]
    span = [max(max(p[i] for p in points) - low[i], 1e-9) for i in range(3)]
    grid = [[" "] * WIDE for _ in range(HIGH)]
    for p in sorted(points, key=lambda p: -p[1]):
        x = round((p[0] - low[0]) / span[0] * (WIDE - 1))
        z = round((p[2] - low[2]) / span[2] * (HIGH - 1))
        grid[HIGH - 1 - z][x] = "o" if (p[1] - low[1]) / span[1] < 0.5 else "."
    return [title.ljust(WIDE)] + ["".join(line) for line in grid] + \
        [f"x {low[0]:.2f} to {low[0] + span[0]:.2f}, z {low[2]:.2f} to {low[2] + span[2]:.2f} m".ljust(WIDE)]


def show(frames):
    got = {ns: rows(ns) for ns in ROBOTS}
    print(f"  the tracker sent {COUNT} readings to {TO}; the robots have")
    print("      " + "r, phi, theta".ljust(30) + "".join(f"robot {name}: x, y, z".ljust(32) for name, _ in ROBOTS.values()))
    for i in range(0, COUNT, COUNT // 5):
        lines = [rows_[i] for rows_ in got.values() if i < len(rows_)]
        if lines:
            print("      " + " ".join(f"{lines[0][k]:9.5f}" for k in ("r", "phi", "theta")) + "".join(
                "  " + " ".join(f"{row[k]:9.5f}" for k in "xyz") for row in lines))
    pictures = [picture([(r["x"], r["y"], r["z"]) for r in got[ns]] or [(0, 0, 0)], f"as robot {ROBOTS[ns][0]} sees it, from the front")
                for ns in ROBOTS]
    for line in zip(*pictures):
        print("      " + "   ".join(line).rstrip())
    worst = {ns: max((off(row, frames[ns]) for row in got[ns]), default=math.inf) for ns in ROBOTS}
    right = all([row["number"] for row in got[ns]] == list(range(COUNT)) and worst[ns] < OFF for ns in ROBOTS)
    print(f"  maximum deviation from the result of Python: {max(worst.values()):.3f} micrometres")
    print(colour("1;32", "  each reading reached both robots once, in order, each in its own frame") if right
          else colour("1;31", "  error: both robots must have all readings, each in its own frame"))
    if not right:  # diagnostics for a failed run
        for view in ("ports", "drops", "transform"):
            subprocess.run([BIPLANE, "show", view, "-c", STATE / "biplane.yaml"], check=False)
    return 0 if right else 1


def main():
    frames = matrices()
    robots = [start(ns) for ns in ROBOTS]
    try:
        subprocess.run(in_ns("dev", SIM, "send", "--to", TO, "--path", "helix", "--rate", "1000", "--count", str(COUNT)), check=True,
                       stdout=subprocess.DEVNULL)
        for p in robots:
            p.wait(20)
    finally:
        for p in robots:
            p.terminate()
            p.wait()
    return show(frames)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
