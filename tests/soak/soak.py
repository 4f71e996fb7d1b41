# SPDX-License-Identifier: BSD-3-Clause
"""The soak test of scripts/soak; see there."""

import argparse
import contextlib
import datetime
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import own_copy  # noqa: F401, I001: before lab, which reads the environment
import gauges
from conftest import running_pair
from faults import CLOUD_NS, EDGE_NS, FAULTS
from lab import wait_until
from loads import CLOUD, Datagrams, MqttDevices, Routes, Visitors
from soak_report import Report
from wan_lab import WanLab, aggregate, disaggregate

UNITS = {"s": 1, "m": 60, "h": 3600}


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def duration(text):
    if text[-1:] not in UNITS or not text[:-1].isdigit() or int(text[:-1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}': expected a whole number and s, m or h, such as 24h")
    return int(text[:-1]) * UNITS[text[-1]]


def options():
    p = argparse.ArgumentParser(prog="scripts/soak", add_help=False)
    p.add_argument("--time", type=duration, default=duration("24h"))
    p.add_argument("--report", type=Path, default=Path("soak-report"))
    p.add_argument("--seed", type=int, default=int(time.time()))
    p.add_argument("--quiet", type=duration, default=duration("10s"))
    p.add_argument("--fault", choices=tuple(FAULTS), action="append")
    return p.parse_args()


class Broker:
    def __init__(self, lab, ns, directory):
        self.lab, self.ns, self.dir, self.process = lab, ns, directory / f"broker-{ns}", None
        self.dir.mkdir()
        self.file = self.dir / "mosquitto.conf"
        self.file.write_text("user root\nlistener 1883\nallow_anonymous true\nmax_queued_messages 0\npersistence true\n"
                             f"persistence_location {self.dir}/\nlog_dest file {self.dir}/log\nlog_type error\nlog_type warning\n")

    def start(self):
        self.process = self.lab.popen(self.ns, "mosquitto", "-c", self.file, stdin=subprocess.DEVNULL)

        def listening():
            assert self.process.poll() is None, f"the broker in {self.ns} ended"
            return ":1883 " in self.lab.run(self.ns, "ss", "-Hltn").stdout.decode()
        wait_until(f"the broker in {self.ns}", listening, 20)
        return self

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


def config(directory):
    """Sections of NEAR and of FAR: each value is an alarm, setpoints are refused."""
    mqtt = {"rules": [{"name": "hot", "topic": "soak/+/temperature", "value": "text", "raise": {"above": 80}, "action": "publish",
                       "payload": "envelope", "publish": {"topic": "alarm/{topic}"}}],
            "publisher": {"broker": "mqtt://127.0.0.1", "client_id": "soak"},
            "policy": {"fail": "open", "rules": [
                {"name": "setpoints", "packet": "publish", "topic": "soak/+/setpoint", "action": "blank"},
                {"name": "others", "action": "allow"}]}}
    return mqtt, directory / "near" / "spool.db"


class Soak:
    def __init__(self, lab, pair, brokers, spool, report, o):
        self.lab, self.pair, self.brokers, self.spool, self.report, self.o = lab, pair, brokers, spool, report, o
        self.random = random.Random(o.seed)
        self.datagrams = Datagrams(lab)
        self.loads = (MqttDevices(lab), Visitors(lab), self.datagrams, Routes(lab, self.random))
        self.turns = []

    def answers(self):
        return self.lab.run("sensors", "ping", "-c", 1, "-W", 1, CLOUD, check=False).returncode == 0

    def next_fault(self):
        """All of them in a random order, then again."""
        if not self.turns:
            self.turns = list(self.o.fault or FAULTS)
            self.random.shuffle(self.turns)
        return self.turns.pop()

    def settle(self):
        for load in self.loads:
            load.check_alive()
            load.settle()
            load.check()

    def once(self):
        time.sleep(self.o.quiet)
        self.settle()
        self.report.add_reading(gauges.read(self.pair, self.spool))
        name = self.next_fault()
        self.datagrams.before_fault()
        began = time.monotonic()
        FAULTS[name](self)
        wait_until("the gateways to forward", self.answers, 60)
        took = time.monotonic() - began
        self.datagrams.after_fault()
        self.report.add_fault(name, took)
        return name, took

    def run(self):
        wait_until("the gateways to forward", self.answers, 60)
        end = time.monotonic() + self.o.time
        for load in self.loads:
            load.begin()
        while time.monotonic() < end:
            name, took = self.once()
            self.report.write(self.totals())
            say(f"{len(self.report.faults)} faults, the last: {name}, {took:.1f} s; {self.loads[0].totals()['alarms']} alarms")
        time.sleep(self.o.quiet)
        self.settle()
        for load in self.loads:
            load.stop()
        self.pair.balanced()
        grown = gauges.growing([r for _, r in self.report.readings])
        assert not grown, "not flat: " + ", ".join(f"{n} {a:g} to {b:g}" for n, a, b in grown)

    def totals(self):
        return {k: v for load in self.loads for k, v in load.totals().items()}


def soak(o):
    lab = WanLab()
    report = Report(o.report, o.seed)
    error = None
    with tempfile.TemporaryDirectory(prefix="biplane-soak-") as d, contextlib.ExitStack() as stack:
        d = Path(d)
        stack.callback(lab.down)
        lab.up()
        brokers = {ns: Broker(lab, ns, d).start() for ns in (CLOUD_NS, EDGE_NS)}
        for b in brokers.values():
            stack.callback(b.stop)
        mqtt, spool = config(d)
        pair = stack.enter_context(running_pair(lab, d, "routed", [aggregate("routed", max_delay="5ms")],
                                                [disaggregate("routed", pacing_gap="5us")]))
        pair.near.config["mqtt"] = {**mqtt, "spool": {"path": str(spool)}}
        pair.near.stop()
        pair.near.start(edge=True)
        s = Soak(lab, pair, brokers, spool, report, o)
        try:
            s.run()
        except BaseException as e:  # noqa: BLE001
            error = "interrupted" if isinstance(e, KeyboardInterrupt) else "".join(traceback.format_exception_only(e)).strip()
            if not isinstance(e, KeyboardInterrupt):
                traceback.print_exc()
                for g in pair.both:
                    g.dump()
        report.write(s.totals(), error)
    return error


def main():
    o = options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    say(f"{datetime.timedelta(seconds=o.time)} of mixed traffic and faults; seed {o.seed}; report in {o.report}")
    error = soak(o)
    say(f"not passed: {error}" if error else "passed")
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
