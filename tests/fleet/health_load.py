# SPDX-License-Identifier: BSD-3-Clause
"""Health devices of the fleet test, the CSE that stores their measurements, and the judgement of both.

The devices send to one address, which all gateways have and announce. Each report is confirmed: a device repeats it, also in its
next association, until a gateway answers that the CSE has stored it."""

import json
import os
import signal
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from lab import BIPLANE, wait_until

ADDRESS = "10.26.0.1"
PORT = 6024
PROGRAMS = Path(BIPLANE).resolve().parent
FIRST = 0x0022092260000000  # system-id; each round has 65,536
# Source ports of the devices. Each round has other ones: a gateway keeps the session of a device that has moved away, and takes another
# device with the same address and port that moves there for it.
PORTS = range(2048, 32768)


@dataclass
class HealthVerdict:
    reports: int = 0
    answered: int = 0
    associations_again: int = 0  # of devices that were associated already
    aborted: int = 0  # associations by a gateway
    repeats: int = 0  # further instances of a measurement: only of reports that were sent more than once
    missing: list = field(default_factory=list)  # measurements of answered reports without an instance
    wrong: list = field(default_factory=list)  # instances that no device has measured, or twice without a repetition
    unanswered: int = 0  # reports at the end
    violations: int = 0  # found by the CSE in requests

    def summary(self):
        return {k: len(v) if isinstance(v, list) else v for k, v in vars(self).items()}

    def failures(self):
        out = [f"health devices: {len(v)} {name}, the first: {v[0]}" for name, v in
               (("measurements missing at the CSE", self.missing), ("wrong instances", self.wrong)) if v]
        out += [f"health devices: {n} {name}" for n, name in
                ((self.unanswered, "reports without an answer"), (self.violations, "invalid requests to the CSE")) if n]
        return out


def _instances(said):
    """Counter of (device, value)."""
    found = Counter()
    for device in said["tree"].get("children", ()):
        for container in device.get("children", ()):
            for instance in container.get("children", ()):
                found[device["rn"], str(json.loads(instance["attributes"]["con"], parse_float=str, parse_int=str)["v"])] += 1
    return found


def judge_health(lines, said):
    """lines: the log of biplane-phd-sim, the last one its summary; said: the report of biplane-cse-sink."""
    summary = lines[-1]
    v = HealthVerdict(reports=summary["reports"], aborted=summary["aborted"], violations=said["violations"])
    due, allowed, again = Counter(), Counter(), Counter()  # measurements: of answered reports, of all, of those sent more than once
    last = {}  # device: [measurements of its last report, how often it was sent again, whether it was answered]

    def settle(device):
        values, repeated, answered = last.pop(device)
        for value in values:
            allowed[value] += 1
            due[value] += answered
            again[value] += repeated
    for line in lines[:-1]:
        device, event = line["device"], line["event"]
        if event == "report":
            if device in last:
                settle(device)
            last[device] = [[(device, str(x["value"])) for x in line["values"]], 0, False]
        elif event in ("repeat", "again") and device in last:
            last[device][1] += 1
        elif event == "answer" and line["kind"] == "rors":
            last[device][2] = True
            v.answered += 1
        elif event == "aare" and line["result"] in (0, 3):
            v.associations_again += 1
    for device in list(last):
        settle(device)
    v.associations_again -= len({line["device"] for line in lines[:-1] if line["event"] == "aare" and line["result"] in (0, 3)})
    v.unanswered = v.reports - v.answered
    found = _instances(said)
    v.missing = [f"{d}: {value}" for (d, value), n in (due - found).items() for _ in range(n)]
    more = found - allowed
    v.wrong = [f"{d}: {value}" for (d, value), n in (more - again).items() for _ in range(n)]
    v.repeats = sum((more & again).values())
    return v


class HealthLoad:
    """Oximeters that report until stop(), and their CSE."""

    def __init__(self, lab, directory, number, count, rate, cse):
        self.count, self.cse_file, self.file = count, directory / f"cse-{number}.json", directory / f"health-{number}"
        self.cse = lab.popen("edge", PROGRAMS / "biplane-cse-sink", "--listen", f"{cse}:5683", "--report-file", self.cse_file,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self.cse.stdout.readline().startswith(b"ready"), "no CSE"
        self.cse.stdout.close()
        self.file.touch()
        self.devices = lab.popen("dev", PROGRAMS / "biplane-phd-sim", "--device", "oximeter", "--to", f"{ADDRESS}:{PORT}", "--count", count,
                                 "--confirmed", "--reports", 0, "--rate", rate, "--associations", 100, "--retries", 0, "--timeout", "500ms",
                                 "--association-timeout", "1s", "--again", "500ms", "--report-file", self.file,
                                 "--source-port", PORTS[number * count % (len(PORTS) - count)],
                                 "--system-id", f"{FIRST + (number << 16):016x}", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def lines(self):
        whole = self.file.read_text().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def wait(self):
        """Until each device has an answer to a report."""
        def answered():
            return len({x["device"] for x in self.lines() if x["event"] == "answer" and x["kind"] == "rors"})
        wait_until("a stored report of each health device", lambda: answered() == self.count, 60, 0.5)

    def stop(self):
        """Once all reports are answered. The judgement."""
        self.devices.send_signal(signal.SIGTERM)
        self.devices.wait(60)
        self.cse.send_signal(signal.SIGTERM)
        self.cse.wait(60)
        return judge_health(self.lines(), json.loads(self.cse_file.read_text()))

    def kill(self):
        for p in (self.devices, self.cse):
            if p.poll() is None:
                os.kill(p.pid, signal.SIGKILL)
            p.wait()


def health_settings(place, cse):
    """health_devices of a gateway. The originator is the device: each gateway can then use the containers that another has created."""
    return {"listen": {"udp_port": PORT, "tcp_port": "off"}, "max_sessions": 65536, "store": {"path": str(place / "health.db")},
            "limits": {"sessions_per_address": 65536},
            "cse": {"coap": f"coap://{cse}:5683", "originator": "C{system_id}", "path": "cse-in/{system_id}/{object}",
                    "max_retry_interval": "1s"}}
