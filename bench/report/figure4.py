#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the figures of docs/performance/lcl-simulation.md from runs of biplane-lcl-sim: Figure 4(c) to (f) of Ma et
al., and (f) for 1 to 64 hops with crossing flows. Prints the tables of that page.

  bench/report/figure4.py build/apps/biplane-lcl-sim docs/performance/lcl-simulation.svg docs/performance/lcl-hops.svg
"""

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from svg_chart import STEPS, Page

TAUS = [8, 10, 12]
HOPS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
LOADS = [1, 2]
COLOURS = {8: STEPS[0], 10: STEPS[3], 12: STEPS[6]}
RED = "#b0413e"
WIDTH, HEIGHT, LEGEND = 560, 340, 150


def measure(sim, *args):
    out = subprocess.run([sim, "--json", *map(str, args)], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def paper(sim, frames, window, *args):
    return measure(sim, "--frames", frames, "--series", window, *args)


def figure(sim, frames, window, path):
    """The paper's figure, drawn by the program that draws the figure of real gateways."""
    runs = [paper(sim, frames, window, "--tau", f"{tau}us") for tau in TAUS]
    plain = paper(sim, frames, window, "--scheduler", "priority")
    run = {"title": "Table 1 of Ma et al., simulated", "part": "max", "plain": plain, "lcl": runs[0], "sweep": runs + [plain]}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(run, f)
        f.flush()
        subprocess.run([sys.executable, Path(__file__).with_name("plot_lcl"), f.name, path], check=True)
    print("| Scheduler | Flow | Hops | d0, µs | Min | Average | Max | PDV | Outside d0 ± τ |\n" + "| --- " * 9 + "|")
    for r in runs + [plain]:
        name = f"LCL, τ = {r['tau_ns'] / 1000:g} µs" if r["lcl"] else "without LCL"
        for f in r["flows"]:
            numbers = " | ".join(f"{f[k] / 1000:.2f}" for k in ("min_ns", "mean_ns", "max_ns", "pdv_ns"))
            outside = f"{f['early'] + f['late']} of {f['received']}" if r["lcl"] else "-"
            print(f"| {name} | {f['name']} | {f['hops']} | {f['budget_ns'] / 1000:g} | {numbers} | {outside} |")


def chain(sim, frames, load, hops, scheduling):
    how = ["--scheduler", "priority"] if scheduling is None else ["--tau", f"{scheduling}us"]
    return measure(sim, "--scenario", "chain", "--flows", 1, "--load", load, "--hops", hops, "--frames", frames, *how)


def many_hops(sim, frames, jobs, path):
    page = Page(2 * WIDTH, HEIGHT, "Delay variation over 1 to 64 hops, with and without LCL")
    for i, load in enumerate(LOADS):
        panel = page.panel(i * WIDTH, 0, WIDTH, HEIGHT, f"slots loaded to {load} times the guaranteed load", "hops",
                           "max - min delay, µs", aside=LEGEND)
        for scheduling in TAUS + [None]:
            with ThreadPoolExecutor(jobs) as pool:
                runs = list(pool.map(lambda h: chain(sim, frames, load, h, scheduling), HOPS))
            points = [(h, r["flows"][0]["pdv_ns"] / 1000) for h, r in zip(HOPS, runs)]
            name = "without LCL" if scheduling is None else f"LCL, tau = {scheduling} us"
            panel.line(name, points, RED if scheduling is None else COLOURS[scheduling])
            outside = sum(f["early"] + f["late"] for r in runs for f in r["flows"])
            received = sum(f["received"] for r in runs for f in r["flows"])
            print(f"load {load}, {name}: " + " ".join(f"{h}:{v:.1f}" for h, v in points)
                  + ("" if scheduling is None else f"; outside {outside} of {received}"))
    page.write(path)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sim", help="biplane-lcl-sim")
    p.add_argument("svg", help="where the paper's figure goes")
    p.add_argument("hops_svg", help="where that for 1 to 64 hops goes")
    p.add_argument("--frames", type=int, default=5_000_000, help="of each run of the paper's four (%(default)s)")
    p.add_argument("--hops-frames", type=int, default=500_000, help="of each run of the other 96 (%(default)s)")
    p.add_argument("--window", default="10ms", help="of mean, least and greatest delay in (c) and (d) (%(default)s)")
    p.add_argument("--jobs", type=int, default=1, help="runs at a time (%(default)s)")
    a = p.parse_args()
    figure(a.sim, a.frames, a.window, a.svg)
    many_hops(a.sim, a.hops_frames, a.jobs, a.hops_svg)


if __name__ == "__main__":
    main()
