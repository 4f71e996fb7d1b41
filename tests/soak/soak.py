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
from datagram_loads import Datagrams, Readings
from faults import CLOUD_NS, EDGE_NS, FAULTS, LOSSLESS
from health_load import HealthDevices
from lab import wait_until
from lcl_load import Commands, LabelRelay
from mqtt_loads import CLOUD, MqttDevices, Visitors
from redis_state import FleetState, Redis
from route_changes import Routes
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


def mqtt_section(spool):
    """Each value is an alarm, setpoints are refused."""
    return {"rules": [{"name": "hot", "topic": "soak/+/temperature", "value": "text", "raise": {"above": 80}, "action": "publish",
                       "payload": "envelope", "publish": {"topic": "alarm/{topic}"}}],
            "publisher": {"broker": "mqtt://127.0.0.1", "client_id": "soak"},
            "spool": {"path": str(spool)},
            "policy": {"fail": "open", "rules": [
                {"name": "setpoints", "packet": "publish", "topic": "soak/+/setpoint", "action": "blank"},
                {"name": "others", "action": "allow"}]}}


class Soak:
    """loads: {"readings": ..., "health": ...}, which the configuration needs too."""

    def __init__(self, lab, pair, servers, spool, loads, report, o):
        self.lab, self.pair, self.servers, self.spool, self.report, self.o = lab, pair, servers, spool, report, o
        self.random = random.Random(o.seed)
        self.mqtt = MqttDevices(lab)
        self.fleet = FleetState(servers["redis"], self.mqtt, pair.near)
        # the connections must live before their records are expected
        self.loads = (self.mqtt, Visitors(lab), Datagrams(lab), *loads, Routes(lab, self.random), self.fleet)
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

    def read_gauges(self):
        self.report.add_reading(gauges.read(self.pair, self.spool))

    def inject(self, name):
        lossy = [] if name in LOSSLESS else self.loads
        for load in lossy:
            load.before_fault()
        began = time.monotonic()
        FAULTS[name](self)
        wait_until("the gateways to forward", self.answers, 60)
        took = time.monotonic() - began
        for load in lossy:
            load.after_fault()
        self.report.add_fault(name, took)
        self.report.write(self.totals())
        return f"{len(self.report.faults)} faults, the last: {name}, {took:.1f} s; {self.mqtt.totals()['alarms']} alarms"

    def work(self):
        end = time.monotonic() + self.o.time
        while time.monotonic() < end:
            time.sleep(self.o.quiet)
            self.settle()
            self.read_gauges()
            say(self.inject(self.next_fault()))
        time.sleep(self.o.quiet)

    def run(self):
        wait_until("the gateways to forward", self.answers, 60)
        for load in self.loads:
            load.begin()
        self.work()
        self.settle()
        for load in self.loads:
            load.stop()
        self.pair.balanced()
        grown = gauges.growing([r for _, r in self.report.readings])
        assert not grown, "not flat: " + ", ".join(f"{n} {a:g} to {b:g}" for n, a, b in grown)

    def totals(self):
        return {k: v for load in self.loads for k, v in load.totals().items()}


@contextlib.contextmanager
def laboratory(d):
    """(laboratory, servers, loads that the configuration names, pair of gateways)"""
    with contextlib.ExitStack() as stack:
        lab = WanLab()
        stack.callback(lab.down)
        lab.up()
        lab.ip("server", "route", "add", "10.8.0.0/24", "via", "10.10.0.1")  # to the control plane of NEAR, whose CSE is here
        servers = {ns: Broker(lab, ns, d) for ns in (CLOUD_NS, EDGE_NS)} | {"redis": Redis(lab, d)}
        for s in servers.values():
            stack.callback(s.start().stop)
        readings, health, relay = Readings(lab), HealthDevices(lab, d), stack.enter_context(LabelRelay(lab))
        stack.callback(health.close)
        pair = stack.enter_context(running_pair(lab, d, "routed", [aggregate("routed", max_delay="5ms")],
                                                [disaggregate("routed", pacing_gap="5us")],
                                                far_services={"lcl": Commands.far_section()}))
        pair.near.config |= {"mqtt": mqtt_section(d / "near" / "spool.db"), "transform": readings.section(),
                             "health_devices": health.section(), "fleet": FleetState.section(), "lcl": Commands.near_section()}
        pair.near.stop()
        pair.near.start(edge=True)
        yield lab, servers, (readings, health, Commands(lab, pair, relay)), pair


def soak(o, kind=Soak):
    report = Report(o.report, o.seed)
    error = None
    with tempfile.TemporaryDirectory(prefix="biplane-soak-") as d, laboratory(Path(d)) as (lab, servers, loads, pair):
        s = kind(lab, pair, servers, Path(d) / "near" / "spool.db", loads, report, o)
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
