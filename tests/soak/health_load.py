# SPDX-License-Identifier: BSD-3-Clause
"""Health devices of the soak test, and the sink in place of a CSE: each measurement is stored once, over all faults."""

import collections
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from lab import BIPLANE, wait_until
from mqtt_loads import CLOUD
from periodic import Periodic

PROGRAMS = Path(os.environ.get("BP_PROGRAMS") or Path(BIPLANE).resolve().parent)
MANAGER = "10.7.0.1:6024"
COAP = f"{CLOUD}:5683"
WAIT = 120  # seconds for what devices and CoAP repeat after a fault


class HealthDevices(Periodic):
    """Simulated oximeters. At this rate the sink keeps all values of 24 hours."""

    def __init__(self, lab, directory, devices=2, rate=4):
        super().__init__(1)
        self.lab, self.dir, self.devices, self.rate = lab, directory, devices, rate
        self.log, self.tree = directory / "health.log", directory / "sink.json"
        self.at, self.rest = 0, b""
        self.current = {}                                          # of each device: time and values of its last report
        self.values = collections.defaultdict(collections.Counter)  # that were sent
        self.answered_at = {}                                      # of each device: when its last answered report was sent first
        self.reports, self.stored, self.paused = 0, 0, False

    def section(self):
        return {"listen": {"udp_port": 6024}, "ack": "stored", "store": {"path": str(self.dir / "near" / "health.db")},
                "cse": {"coap": f"coap://{COAP}", "path": "cse-in/{system_id}/{object}"}}

    def begin(self):
        self.sink = self.lab.popen("server", PROGRAMS / "biplane-cse-sink", "--listen", COAP, "--report-file", self.tree,
                                   stdout=subprocess.PIPE, text=True)
        assert self.sink.stdout.readline().startswith("ready")
        self.simulator = self.lab.popen(
            "sensors", PROGRAMS / "biplane-phd-sim", "--to", MANAGER, "--report-file", self.log, "--device", "oximeter", "--system-id", "00220922580e0100",
            "--count", self.devices, "--confirmed", "--reports", 0, "--rate", self.rate, "--retries", 0, "--timeout", "500ms",
            "--association-timeout", "500ms", stdout=subprocess.PIPE, text=True)

    def close(self):
        """After a failure."""
        for p in (getattr(self, "simulator", None), getattr(self, "sink", None)):
            if p and p.poll() is None:
                p.send_signal(signal.SIGCONT)
                p.kill()
                p.wait()

    def pause(self):
        self.paused = True
        self.simulator.send_signal(signal.SIGSTOP)

    def resume(self):
        self.paused = False
        self.simulator.send_signal(signal.SIGCONT)

    def check_alive(self):
        for p in (self.simulator, self.sink):
            assert p.poll() is None, f"{p.args[4]} ended with {p.returncode}"

    def _read(self):
        """The new lines of the devices' log."""
        if not self.log.exists():
            return
        with self.log.open("rb") as f:
            f.seek(self.at)
            new = f.read()
        self.at += len(new)
        *lines, self.rest = (self.rest + new).split(b"\n")
        for line in lines:
            e = json.loads(line, parse_float=str)
            if e["event"] == "report":
                values = [str(v["value"]) for v in e["values"]]
                self.values[e["device"]].update(values)
                self.current[e["device"]] = float(e["time"])
                self.reports += 1
            elif e["event"] == "answer" and e["kind"] == "rors":
                self.answered_at[e["device"]] = self.current[e["device"]]

    def settle(self):
        if self.paused:
            return
        began = time.time()

        def all_answered():
            self._read()
            return sum(at > began for at in self.answered_at.values()) == self.devices
        wait_until("a stored report of each health device", all_answered, WAIT, 0.05)

    def totals(self):
        return {"health_reports": self.reports, "health_values_stored": self.stored}

    def stop(self):
        self.resume()
        self.simulator.send_signal(signal.SIGTERM)
        out, _ = self.simulator.communicate(timeout=WAIT)
        self._read()
        s = json.loads(out.splitlines()[-1])
        assert s["reports"] == s["answered"] == self.reports > 0, f"not all reports were answered: {s}"
        assert s["associations"] == s["released"] == self.devices, f"devices lost their associations: {s}"
        assert s["refused"] == s["given_up"] == s["aborted"] == 0, s
        self.sink.send_signal(signal.SIGTERM)
        self.sink.communicate(timeout=WAIT)
        said = json.loads(self.tree.read_text())
        assert self.sink.returncode == 0 and said["violations"] == 0, f"invalid messages to the CSE: {str(said)[:2000]}"
        found = collections.defaultdict(collections.Counter)
        for entity in said["tree"]["children"]:
            for container in entity["children"]:
                for i in container.get("children", ()):
                    found[entity["rn"]][str(json.loads(i["attributes"]["con"], parse_float=str, parse_int=str)["v"])] += 1
        self.stored = sum(sum(c.values()) for c in found.values())
        for device, values in self.values.items():
            assert not values - found[device], f"{device}: not stored: {values - found[device]}"
            assert not found[device] - values, f"{device}: stored more than once: {found[device] - values}"
