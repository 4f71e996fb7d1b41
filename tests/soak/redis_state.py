# SPDX-License-Identifier: BSD-3-Clause
"""Redis with the state of a fleet for the soak test: after each fault it has a record of each connection, and at rest no copy of an alarm."""

import socket
import subprocess

from lab import wait_until
from mqtt_loads import CLOUD
from periodic import Periodic

NS, PORT, FLEET = "near", 6379, "soak"
WAIT = 60


class Redis:
    def __init__(self, lab, directory):
        self.lab, self.dir, self.process = lab, directory / "redis", None
        self.dir.mkdir()

    def start(self):
        with (self.dir / "log").open("ab") as log:
            self.process = self.lab.popen(NS, "redis-server", "--port", PORT, "--bind", "127.0.0.1", "--save", "", "--dir", self.dir,
                                          stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_until("Redis to answer", lambda: self.command("PING") == "PONG", 20, 0.05)
        return self

    def stop(self):
        """By SIGKILL: it forgets all state."""
        self.process.kill()
        self.process.wait()

    def command(self, *words):
        """The status or number of the answer, or None without one."""
        request = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words)
        try:
            with self.lab.inside(NS), socket.create_connection(("127.0.0.1", PORT), 5) as s:
                s.sendall(request)
                return s.makefile("r").readline().rstrip()[1:]
        except OSError:
            return None


class FleetState(Periodic):
    """What the gateway has written to Redis, without a load of its own."""

    def __init__(self, redis, devices, gateway):
        super().__init__(1)
        self.redis, self.devices, self.gateway, self.records = redis, devices, gateway, 0

    @staticmethod
    def section():
        return {"name": FLEET, "state": {"server": f"redis://127.0.0.1:{PORT}"}}

    def begin(self):
        pass

    def check_alive(self):
        assert self.redis.process.poll() is None, "Redis ended by itself"

    def _complete(self):
        sockets = [c.socket() for c in self.devices.clients]
        if not all(sockets):
            return False
        keys = ["biplane:{}:mqtt:{}:{}-{}:1883".format(FLEET, *s.getsockname(), CLOUD) for s in sockets]
        self.records = int(self.redis.command("EXISTS", *keys) or 0)
        return self.records == len(keys)

    def settle(self):
        wait_until("a record of each connection in Redis", self._complete, WAIT, 0.1)

    def at_rest(self):
        """All alarms are acknowledged: no copy remains."""
        key = f"biplane:{FLEET}:alarms:copies:{self.gateway.config['name']}"
        wait_until("Redis to have no copy of an alarm", lambda: self.redis.command("HLEN", key) == "0", WAIT, 0.05)

    def totals(self):
        return {"records_in_redis": self.records}

    def stop(self):
        self.at_rest()
