# SPDX-License-Identifier: BSD-3-Clause
"""The fleet test of scripts/fleet-test; see there."""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from faults import FAULTS  # noqa: E402
from fleet_lab import FleetLab  # noqa: E402
from peer_lab import PEER_FAULTS, PeerLab  # noqa: E402
from rounds import BFD_INTERVAL, Round, say, table  # noqa: E402
from under_load import RULE, Consumer  # noqa: E402


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def positive(text):
    n = int(text)
    if n < 1:
        raise argparse.ArgumentTypeError(f"'{text}': expected a number from 1")
    return n


def options():
    p = argparse.ArgumentParser(prog="scripts/fleet-test", add_help=False)
    p.add_argument("--rounds", type=positive, default=20)
    p.add_argument("--fault", action="append", choices=sorted(FAULTS), default=[])
    p.add_argument("--seeds", choices=("equal", "different"), default="equal")
    p.add_argument("--gateways", type=int, choices=(2, 3, 4), default=3)
    p.add_argument("--connections", type=int, default=300)
    p.add_argument("--rate", type=float, default=2000)
    p.add_argument("--health-devices", type=int, default=200)
    p.add_argument("--health-rate", type=float, default=100)
    p.add_argument("--hold", type=float, default=3)
    p.add_argument("--after", type=float, default=3)
    p.add_argument("--settled", type=float, default=10)
    p.add_argument("--warm-up", type=float, default=20)
    p.add_argument("--patience", type=float, default=1)
    p.add_argument("--peer", action="store_true")
    p.add_argument("--json")
    p.add_argument("--keep")
    o = p.parse_args()
    o.faults = {**(PEER_FAULTS if o.peer else FAULTS)}
    if o.peer:
        o.health_devices = 0
    unknown = [f for f in o.fault if f not in o.faults]
    if unknown:
        p.error(f"the peer has no fault {unknown[0]}; expected one of: {', '.join(PEER_FAULTS)}")
    if o.fault:
        o.faults = {f: o.faults[f] for f in o.fault}
    return o


def rounds_of(lab, o, directory, results):
    consumer = Consumer(lab, "edge")
    number = 0
    try:
        for fault in o.faults.values():
            for i in range(o.rounds):
                number += 1
                round_ = Round(lab, consumer, fault, number, o, directory)
                try:
                    result = round_.run()
                except Exception as e:
                    results.append({"fault": fault.name, "victim": round_.victim, "failures": [f"not completed: {type(e).__name__}: {e}"]})
                    raise
                results.append(result)
                failed = "; ".join(result["failures"])
                say(f"{fault.name}: round {i + 1} of {o.rounds} at {result['victim']}: {'FAILED: ' + failed if failed else 'passed'}")
    finally:
        consumer.close()


def main():
    o = options()
    for s in SIGNALS:
        signal.signal(s, signal.default_int_handler)
    name = os.environ.get("BP_LAB", "fleet")
    parts = {"cluster"} | {f.part for f in o.faults.values() if f.part} | ({"health"} if o.health_devices else set())
    lab = PeerLab(name) if o.peer else FleetLab(name, o.gateways, {"equal": "same"}.get(o.seeds, o.seeds), RULE, parts)
    results, done, interrupted = [], False, False
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="biplane-fleet-") as directory:
        try:
            lab.start()
            say(f"{'peer' if o.peer else f'{o.gateways} gateways, hash seeds {o.seeds}'}, {o.connections} connections, "
                f"{o.rate:g} publications per second, {o.health_devices} health devices")
            rounds_of(lab, o, Path(directory), results)
            done = True
        except Exception as e:  # the laboratory may be unusable: no further round, but the figures of those that ended
            traceback.print_exc()
            say(f"FAILED: {e}")
        except KeyboardInterrupt:
            say("interrupted")
            interrupted = True
        finally:
            for s in SIGNALS:
                signal.signal(s, signal.SIG_IGN)  # nothing interrupts the removal of the laboratory
            try:
                lab.stop()
            except Exception as e:
                say(f"FAILED: the laboratory is not removed: {e}")
                done = False
    completed = [r for r in results if "verdict" in r]
    if completed:
        print(table(completed))
    if o.json:
        Path(o.json).write_text(json.dumps({
            "began": began, "peer": o.peer, "seconds": time.time() - began, "gateways": o.gateways, "seeds": o.seeds, "connections": o.connections,
            "rate": o.rate, "health_devices": o.health_devices, "health_rate": o.health_rate, "bfd_interval": BFD_INTERVAL, "processors": os.cpu_count(), "complete": done, "rounds": results}, indent=1) + "\n")
    failed = sum(bool(r["failures"]) for r in results)
    say("passed" if done and not failed else f"{failed} of {len(results)} rounds failed" + ("" if done else "; not completed"))
    return 130 if interrupted else 0 if done and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
