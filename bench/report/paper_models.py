#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What of the papers is a model or arithmetic, run on the gateway's own code; one JSON object on standard output.

    bench/report/paper_models.py aggregate BUILD [THOUSANDS]   Figures 7 and 10 of Lin et al.: of so many N-packets a run (2000)
    bench/report/paper_models.py lcl BUILD [THOUSANDS]         Figure 4 of Ma et al. in virtual time: of so many frames (1000)
    bench/report/paper_models.py accuracy BUILD [READINGS]     Table I of Kunze et al.: of so many readings (15000)
    bench/report/paper_models.py --table                       tables of a run of scripts/bench on standard input

BUILD is a build folder. None of it measures time: the same numbers come out of any machine.
"""
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import figure10
import figure4
import papers
import report_paper_tables

GAP_NS = 10000  # 1 / lambda: biplane-agg-sim sends 100,000 messages a second
BINS = 40  # of a histogram of Figure 7, over three mean gaps
SIZES = (1, 2, 4, 8)  # of Figure 10
A_MATRIX = 100  # readings that have a matrix in common


def histogram(times, width):
    """The density of the times, which are in units of 1 / lambda, in bins of a width."""
    counts = [0] * BINS
    for t in times:
        if t < BINS * width:
            counts[int(t / width)] += 1
    return [round(c / (len(times) * width), 6) for c in counts]


def departures(sim, packets):
    """Figure 7: the times between N-packets that leave a first switch whose server is behind the aggregator."""
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
    """What a picture needs, and no more."""
    for flow in run["flows"]:
        del flow["nodes"]
    return run


def lcl(build, thousands=1000):
    sim, frames = build / "apps/biplane-lcl-sim", 1000 * thousands
    runs = [without_nodes(figure4.paper(sim, frames, "1ms", "--tau", f"{tau}us")) for tau in papers.LCL_TAUS_US]
    plain = without_nodes(figure4.paper(sim, frames, "1ms", "--scheduler", "priority"))
    return {"title": "Table 1 of Ma et al., simulated", "part": "max", "plain": plain, "lcl": runs[0], "sweep": runs + [plain]}


def errors(build, folder, readings, matrix):
    """Of readings that are drawn as those of the paper's authors, with a matrix drawn as theirs: what biplane says."""
    (folder / "points.csv").write_text("r,phi,theta\n" + "".join(
        f"{random.uniform(0, 20):.9f},{random.uniform(0, 6.283185307):.9f},{random.uniform(0, 6.283185307):.9f}\n"
        for _ in range(readings)), encoding="ascii")
    (folder / "matrix.yaml").write_text(json.dumps(matrix), encoding="ascii")
    out = subprocess.run([build / "apps/biplane", "transform", "test", "--in", folder / "points.csv", "--matrix", folder / "matrix.yaml",
                          "--limit", str(papers.TRANSFORM_LIMIT_UM), "--report", "--json"], stdout=subprocess.PIPE,
                         check=True).stdout
    return json.loads(out)["methods"]


def accuracy(build, readings=15000):
    random.seed(1)
    sums, done = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        while done < readings:
            matrix = {"matrix": [[round(random.uniform(-1, 1), 9) for _ in range(3)] for _ in range(3)],
                      "translation": [round(random.uniform(0, 10), 9) for _ in range(3)]}
            for m in errors(build, Path(folder), A_MATRIX, matrix):
                name = m["method"].removeprefix("kunze2021_")
                s = sums.setdefault(name, {"method": name, "sum_um": 0.0, "worst_um": 0.0, "beyond": 0})
                s["sum_um"] += A_MATRIX * m["error"]["mean_um"]
                s["worst_um"] = max(s["worst_um"], m["error"]["worst_um"])
                s["beyond"] += m["error"]["beyond"]
            done += A_MATRIX
    return [{"method": s["method"], "mean_um": round(s["sum_um"] / done, 4), "worst_um": round(s["worst_um"], 3),
             "beyond_percent": round(100 * s["beyond"] / done, 3)} for s in sums.values()]


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
