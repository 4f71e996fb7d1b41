# SPDX-License-Identifier: BSD-3-Clause
"""The kills of scripts/soak; see there."""

import argparse
import signal
import sys
import time
from pathlib import Path

import own_copy  # noqa: F401, I001: before lab, which reads the environment
from soak import Soak, say, soak

FAULTS = tuple(f"{gateway}: {plane} plane killed" for gateway in ("near", "far") for plane in ("data", "control"))
LATEST = 1.0  # seconds of load before a kill, at most
REPEATED = 1000  # alarms that a killed control plane may publish again: mqtt.publisher.max_inflight


def options():
    p = argparse.ArgumentParser(prog="scripts/soak kills", add_help=False)
    p.add_argument("--kills", type=int, default=1000)
    p.add_argument("--report", type=Path, default=Path("soak-report"))
    p.add_argument("--seed", type=int, default=int(time.time()))
    return p.parse_args()


class Kills(Soak):
    def at_rest(self):
        """Everything has arrived, first under load, then without; then the packet sums are exact."""
        self.settle()
        for load in self.loads:
            load.pause()
        self.settle()
        self.fleet.at_rest()
        self.pair.balanced()
        self.read_gauges()
        again = self.mqtt.totals()["alarms_again"]
        assert again <= REPEATED * len(self.report.faults) + self.mqtt.resent, f"{again} alarms arrived more than once"
        for load in self.loads:
            load.resume()

    def work(self):
        for _ in range(self.o.kills):
            time.sleep(self.random.uniform(0, LATEST))
            say(self.inject(self.random.choice(FAULTS)))
            self.at_rest()


def main():
    o = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    say(f"{o.kills} kills; seed {o.seed}; report in {o.report}")
    error = soak(o, Kills)
    say(f"not passed: {error}" if error else "passed")
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
