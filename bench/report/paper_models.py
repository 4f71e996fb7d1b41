#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The models of the papers, run with the code of the gateway; one JSON object on standard output.

  bench/report/paper_models.py aggregate BUILD [THOUSANDS]   Figures 7 and 10 of Lin et al.: N-packets per run (2000)
  bench/report/paper_models.py lcl BUILD [THOUSANDS]         Figure 4 of Ma et al., virtual time: frames (1000)
  bench/report/paper_models.py accuracy BUILD [READINGS]     Table I of Kunze et al.: number of readings (15000)
  bench/report/paper_models.py --table                       tables of a run of scripts/bench on standard input

BUILD is a build folder. No time is measured: the results are the same on any machine.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import figure10
import figure4
import papers
import report_paper_tables

GAP_NS = 10000  # 1 / lambda: biplane-agg-sim sends 100,000 messages a second
BINS = 40  # of a histogram of Figure 7, over three mean intervals
SIZES = (1, 2, 4, 8)  # of Figure 10


def histogram(times, width):
    """The probability density of the times, in units of 1 / lambda, in bins of a width."""
    counts = [0] * BINS
    for t in times:
        if t < BINS * width:
            counts[int(t / width)] += 1
    return [round(c / (len(times) * width), 6) for c in counts]


def departures(sim, packets):
    """Figure 7: the times between N-packets at the output of a switch after the aggregator."""
    for panel, kind, mu, n in papers.AGG_DEPARTURES:
        with tempfile.NamedTemporaryFile("r", suffix=".txt") as samples:
            out = subprocess.run([sim, "--format", "lin2018", "--messages", str(n), "--first", kind, "--first-mu", str(mu),
                                  "--first-serves", "packets", "--packets", str(packets), "--samples", samples.name],
                                 stdout=subprocess.PIPE, check=True).stdout
            times = [int(line) / GAP_NS for line in samples]
        found = json.loads(out)
        assert found["wrong"] == 0
        width = 3 * n / BINS
        yield {"name": panel, "kind": kind, "mu": mu, "messages": n, "width": width, "density": histogram(times, width),
               "distance": found["erlang"]["statistic"]}


def aggregate(build, thousands=2000):
    sim, packets = build / "apps/biplane-agg-sim", 1000 * thousands
    least = []
    for kind in figure10.SERVICES:
        for n in SIZES:
            found = figure10.measure(sim, kind, n, packets)
            least.append({"name": f"{kind} {n}", "kind": kind, "messages": n,
                          "betas": list(found), "mu": [m for m, _ in found.values()], "model": [c for _, c in found.values()]})
    return {"departures": list(departures(sim, min(packets, 500000))), "least_rates": least}


def without_nodes(run):
    """The data that a plot needs."""
    for flow in run["flows"]:
        del flow["nodes"]
    return run


def lcl(build, thousands=1000):
    sim, frames = build / "apps/biplane-lcl-sim", 1000 * thousands
    runs = [without_nodes(figure4.paper(sim, frames, "1ms", "--tau", f"{tau}us")) for tau in papers.LCL_TAUS_US]
    plain = without_nodes(figure4.paper(sim, frames, "1ms", "--scheduler", "priority"))
    return {"title": "Table 1 of Ma et al., simulated", "part": "max", "plain": plain, "lcl": runs[0], "sweep": runs + [plain]}


def accuracy(build, readings=15000):
    out = subprocess.run([build / "bench/transform_accuracy", str(readings)], stdout=subprocess.PIPE, check=True).stdout
    return [{**m, "method": m["method"].removeprefix("kunze2021_")} for m in json.loads(out)]


def tables(run):
    for title, of in (("aggregate-models", report_paper_tables.models), ("lcl-paper", report_paper_tables.lcl_paper),
                      ("transform-accuracy", report_paper_tables.accuracy)):
        lines = of(run)
        if lines:
            yield "\n".join(["", title, ""] + lines)


def main():
    if sys.argv[1:] == ["--table"]:
        print("\n".join(tables(json.load(sys.stdin))))
        return
    what = {"aggregate": aggregate, "lcl": lcl, "accuracy": accuracy}
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in what:
        sys.exit(__doc__)
    print(json.dumps(what[sys.argv[1]](Path(sys.argv[2]).absolute(), *map(int, sys.argv[3:]))))


if __name__ == "__main__":
    main()
