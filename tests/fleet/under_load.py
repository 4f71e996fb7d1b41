# SPDX-License-Identifier: BSD-3-Clause
"""The devices of fleet_load.py in a namespace, the consumer of their alarms in another, and the judgement."""

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path

from judge import judge
from lab import wait_until
from peers import Collector

RULE = {"name": "overheat", "topic": "plant/+/temperature", "value": "text", "raise": {"above": 80}, "clear": {"below": 75},
        "hold": "3 samples", "repeat": "on_change", "action": "publish", "payload": "envelope", "publish": {"topic": "alarm/{topic}"}}


class Consumer(Collector):
    """Subscribes to all alarms; a persistent session, so that it misses nothing."""

    def __init__(self, lab, ns, host="127.0.0.1"):
        super().__init__(lab, ns, ("alarm/#",), qos=1, host=host, client_id="fleet-test", clean=False)

    def _on_message(self, client, userdata, message):
        self.messages.append((message.topic, message.payload))
        self.times.append(time.time())

    def alarms(self, prefix):
        """Envelopes, in the order of their arrival, of devices with this prefix."""
        got = []
        for topic, payload in list(self.messages):
            if topic.startswith(f"alarm/plant/{prefix}"):
                got.append(json.loads(payload))
        return got


class Load:
    """Devices that publish until stop()."""

    def __init__(self, lab, ns, broker, log, prefix, connections=300, rate=2000):
        self.log_file, self.prefix, self.errors = Path(log), prefix, Path(f"{log}.errors")
        with self.errors.open("wb") as errors:
            self.process = lab.popen(ns, sys.executable, Path(__file__).with_name("fleet_load.py"), "--broker", broker, "--log", log,
                                     "--prefix", prefix, "--connections", connections, "--rate", rate,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        line = self.process.stdout.readline()
        assert line == b"ready\n", f"the devices: {self.errors.read_text()[-2000:]}"

    def stop(self):
        """Returns the log once all devices have their acknowledgements."""
        self.process.stdin.close()
        assert self.process.wait(120) == 0, f"the devices: {self.errors.read_text()[-2000:]}"
        self.process.stdout.close()
        return json.loads(self.log_file.read_text())

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for f in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                f.close()


def judged(log, consumer, prefix, settled=10):
    """Waits until the consumer has all alarms that are due, or for so many seconds none."""
    last = {"n": -1, "since": time.monotonic(), "verdict": None}

    def done():
        alarms = consumer.alarms(prefix)
        if len(alarms) != last["n"]:
            last.update(n=len(alarms), since=time.monotonic(), verdict=judge(log["devices"], alarms))
        return not last["verdict"].missing or time.monotonic() - last["since"] > settled
    wait_until("the alarms to settle", done, 300, 0.25)
    return last["verdict"]
