#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The health devices of scripts/quickstart.

Without an argument: a medication dispenser, a pulse oximeter and an activity monitor associate with
the gateway and report measurements. With --summary, after the CSE has ended and written its content
(cse.json): prints the newest content instance of each object, and checks that each measurement is there once.
"""

import collections
import json
import subprocess
import sys
from pathlib import Path

from demo_lab import BIPLANE, STATE, colour, in_ns

BUILD = Path(BIPLANE).resolve().parent
KINDS = {"dispenser": "medication dispenser", "oximeter": "pulse oximeter", "activity": "activity monitor"}
REPORTS = 5
PATIENCE = 30  # timeout of a device, s; then it counts as failed
UNITS = {0: None, 544: "%", 1280: "m", 1618: "mL", 2208: "min", 2720: "bpm", 6656: "steps", 6784: "cal"}


def log_of(kind):
    return STATE / f"phd-{kind}.json"


def measure():
    devices = {kind: subprocess.Popen(
        in_ns("health", BUILD / "biplane-phd-sim", "--device", kind, "--to", "10.4.0.1:6024",
              "--confirmed", "--reports", str(REPORTS), "--rate", "3", "--timeout", "500ms", "--association-timeout", "500ms",
              "--again", "500ms", "--retries", "0", "--report-file", log_of(kind)), stdout=subprocess.PIPE, text=True)
        for kind in KINDS}
    good = True
    try:
        for kind, p in devices.items():
            out, _ = p.communicate(timeout=PATIENCE)
            said = json.loads(out.splitlines()[-1])
            good = good and p.returncode == 0
            print(f"  {KINDS[kind]:22} {said['associations']} association, {said['reports']} reports, {said['answered']} answered",
                  flush=True)
    except subprocess.TimeoutExpired:
        raise SystemExit("quickstart: the health devices did not get all of their answers") from None
    finally:
        for p in devices.values():
            p.kill()
            p.wait()
    return 0 if good else 1


def measured():
    """{device: [(value, unit)]} as the devices say; how often a report was sent does not matter."""
    values = collections.defaultdict(list)
    for kind in KINDS:
        for line in map(json.loads, log_of(kind).read_text().splitlines()):
            if line["event"] == "report":
                values[line["device"]] += [(v["value"], UNITS[v["unit"]]) for v in line["values"]]
    return values


def instances(resource, path=""):
    """(path, content) of all below, as the CSE says."""
    path = f"{path}/{resource['rn']}" if path else resource["rn"]
    if resource["ty"] == 4:
        yield path, json.loads(resource["attributes"]["con"], parse_float=str, parse_int=str)
    for child in resource.get("children", ()):
        yield from instances(child, path)


def summary():
    report = json.loads((STATE / "cse.json").read_text())
    expected, stored, newest = measured(), collections.defaultdict(list), {}
    for path, content in instances(report["tree"]):
        _, device, name, _ = path.split("/")
        stored[device].append((content["v"], content.get("u")))
        newest[device, name] = (content, path)
    print(f"\n  {'DEVICE':16}  {'OBJECT':15} {'VALUE':>6}  {'UNIT':5}  PATH OF THE NEWEST")
    for (device, name), (content, path) in sorted(newest.items()):
        print(f"  {device:16}  {name:15} {content['v']:>6}  {content.get('u') or '':5}  {path}")
    right = expected.keys() == stored.keys() and report["violations"] == 0 and all(
        sorted(map(str, expected[d])) == sorted(map(str, stored[d])) for d in expected)
    print("\n== summary")
    print(f"  measured          {sum(map(len, expected.values())):3}")
    print(f"  content instances {sum(map(len, stored.values())):3}")
    print(colour("1;32", "  each measurement is at the CSE, once") if right
          else colour("1;31", "  error: each measurement must be at the CSE exactly once"))
    return 0 if right else 1


if __name__ == "__main__":
    try:
        sys.exit(summary() if sys.argv[1:] == ["--summary"] else measure())
    except KeyboardInterrupt:
        sys.exit(130)
