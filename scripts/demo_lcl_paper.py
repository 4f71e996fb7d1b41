#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The experiment of Ma et al. ("Demonstration of Latency Control Label-Based Bounded-Jitter Scheduling"), Figure 4(e) and
(f), for scripts/quickstart: build/apps/biplane-lcl-sim, which links the scheduler of the gateway and runs in virtual time.

Exits 0 only if no frame was lost, all delays are in d0 +- tau, and with LCL the delays of each flow vary by at most 2 tau.
"""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from demo_lab import BIPLANE, colour

SIM = Path(BIPLANE).parent / "biplane-lcl-sim"
FRAMES = 200000
HOPS = (1, 2, 4, 8, 16, 32)
WIDE = 50  # characters of a picture


def simulated(*options):
    return json.loads(subprocess.run([SIM, "--json", "--frames", str(FRAMES), *options], check=True, stdout=subprocess.PIPE, text=True).stdout)


def chain(hops, scheduler):
    """The flow across all nodes of a line; best-effort traffic loads each link to 75 %."""
    return simulated("--scenario", "chain", "--hops", str(hops), "--best-effort", "18e9", "--scheduler", scheduler)["flows"][0]


def ranges(run):
    """For each flow: [ and ] at d0 +- tau, and = from the minimum to the maximum delay."""
    tau = run["tau_ns"]
    scale = (WIDE - 1) / max(f["budget_ns"] + tau for f in run["flows"])
    print(f"  {run['flows'][0]['sent'] + sum(f['sent'] for f in run['flows'][1:])} frames of four flows over one to three nodes, tau = {tau / 1e3:g} us: "
          "delay, between d0 - tau [ and d0 + tau ]")
    for f in run["flows"]:
        line = [" "] * WIDE
        for at in range(round(f["min_ns"] * scale), round(f["max_ns"] * scale) + 1):
            line[at] = "="
        for bound, mark in ((-tau, "["), (tau, "]")):
            line[max(0, round((f["budget_ns"] + bound) * scale))] = mark
        print(f"      {f['hops']} hop{'s' if f['hops'] > 1 else ' '} d0 {f['budget_ns'] / 1e3:2g} us  {''.join(line)}"
              f"  {f['min_ns'] / 1e3:5.2f} to {f['max_ns'] / 1e3:5.2f} us")


def variation(flows, tau):
    """PDV against hops, with LCL and without."""
    scale = WIDE / max(f["pdv_ns"] for pair in flows for f in pair)
    print(f"  PDV against hops: FIFO without LCL (-), and with LCL (=), at most 2 tau = {2 * tau / 1e3:g} us")
    for lcl, fifo in flows:
        print(f"      {fifo['hops']:2} hop{'s' if fifo['hops'] > 1 else ' '}  {'-' * round(fifo['pdv_ns'] * scale)} {fifo['pdv_ns'] / 1e3:.1f} us")
        print(f"               {'=' * round(lcl['pdv_ns'] * scale)} {lcl['pdv_ns'] / 1e3:.1f}")


def main():
    with ThreadPoolExecutor(2) as pool:
        paper = pool.submit(simulated)
        fifo = pool.map(lambda h: chain(h, "fifo"), HOPS)
        lcl = list(pool.map(lambda h: chain(h, "lcl"), HOPS))
        run, pairs = paper.result(), list(zip(lcl, fifo))
    ranges(run)
    variation(pairs, run["tau_ns"])
    right = all(f["lost"] == f["early"] == f["late"] == 0 for f in run["flows"] + lcl) and \
        all(f["pdv_ns"] <= 2 * run["tau_ns"] for f in run["flows"] + lcl)
    print(colour("1;32", "  with LCL each frame's delay was within d0 +- tau, over any of these numbers of hops") if right
          else colour("1;31", "  error: with LCL the delay of each frame must be within d0 +- tau"))
    return 0 if right else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
