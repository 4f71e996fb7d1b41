#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws docs/performance/aggregation-models.svg, Figure 10 of Lin et al. (2018), from runs of biplane-agg-sim: the
minimum service rate of the decapsulating end against the allowed waiting time. Prints the tables of
docs/performance/aggregation-models.md, which compare the closed forms with the simulation.

  bench/report/figure10.py build/apps/biplane-agg-sim docs/performance/aggregation-models.svg
"""

import argparse
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

from svg_chart import STEPS, Page

BETAS = [0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5]
SHOWN = [0.005, 0.02, 0.05, 0.1, 0.2, 0.5]  # for the second row of panels, and for the tables
SIZES = range(1, 9)
SERVICES = ["fixed", "exponential"]
WIDTH, HEIGHT, LEGEND = 500, 330, 90


def measure(sim, service, n, packets):
    """beta: (simulated, closed form)"""
    out = subprocess.run([sim, "--format", "lin2018", "--messages", str(n), "--service", service, "--packets", str(packets),
                          "--seed", str(n), "--minimum-mu", ",".join(map(str, BETAS))], stdout=subprocess.PIPE, check=True).stdout
    found = json.loads(out)
    assert found["wrong"] == 0
    return {m["beta"]: (m["mu"], m["model"]) for m in found["minimum_mu"]}


def draw(rates, path):
    page = Page(2 * WIDTH, 2 * HEIGHT, "Minimum service rate against the allowed waiting time, for one to eight messages")
    for i, service in enumerate(SERVICES):
        panel = page.panel(i * WIDTH, 0, WIDTH, HEIGHT, title=f"Figure 10, {service} service times",
                           x_label="β: allowed average waiting time, in service times",
                           y_label=f"relative minimum rate; 1: β = {BETAS[0]}", aside=LEGEND)
        for n in SIZES:
            least = rates[service, n]
            panel.line(f"N = {n}", [(b, least[b][0] / least[BETAS[0]][0]) for b in BETAS], STEPS[n - 1])
        panel = page.panel(i * WIDTH, HEIGHT, WIDTH, HEIGHT, title=f"Possible load, {service} service times",
                           x_label="N: messages in an N-packet", y_label="λ / N μ*", aside=LEGEND)
        for k, b in enumerate(SHOWN):
            panel.line(f"β = {b}", [(n, 1 / (n * rates[service, n][b][0])) for n in SIZES], STEPS[k])
    page.write(path)


def tables(rates):
    worst = 0
    for service in SERVICES:
        print(f"\n{service}: minimum rate times N / lambda, simulated\n")
        print("| N | " + " | ".join(f"β = {b}" for b in SHOWN) + " |")
        print("| --- |" + " --- |" * len(SHOWN))
        for n in SIZES:
            print(f"| {n} | " + " | ".join(f"{n * rates[service, n][b][0]:.3f}" for b in SHOWN) + " |")
        print(f"\n{service}: simulated / closed form - 1, in percent\n")
        for n in SIZES:
            off = [100 * (m / c - 1) for m, c in (rates[service, n][b] for b in BETAS)]
            worst = max(worst, *map(abs, off))
            print(f"N = {n}: " + " ".join(f"{o:+.2f}" for o in off))
    print(f"\nat most {worst:.2f} %")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sim", help="biplane-agg-sim")
    p.add_argument("svg", help="where the picture goes")
    p.add_argument("--packets", type=int, default=20_000_000, help="N-packets of each of the 16 runs (%(default)s)")
    p.add_argument("--jobs", type=int, default=1,
                   help="runs at a time; each takes 32 bytes of memory an N-packet (%(default)s)")
    a = p.parse_args()
    cases = [(service, n) for service in SERVICES for n in SIZES]
    with ThreadPoolExecutor(a.jobs) as pool:
        rates = dict(zip(cases, pool.map(lambda c: measure(a.sim, *c, a.packets), cases)))
    draw(rates, a.svg)
    tables(rates)


if __name__ == "__main__":
    main()
