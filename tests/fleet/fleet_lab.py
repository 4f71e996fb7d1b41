# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory `scripts/lab up --fleet N` as an object: gateways behind ECMP, routers with FRR, Redis, etcd and Kafka."""

import json
import os
import signal
import subprocess
import threading
import time

import yaml

from health_load import ADDRESS, health_settings
from kafka_lab import Kafka
from lab import BIPLANE, ROOT, Lab, wait_until

BROKER, EDGE = "10.23.0.2", "10.24.0.2"
ROUTERS = ("rl", "rr")
REPEATS_MAX = 256  # alarms that a gateway may have published without an acknowledgement
SPOOL_SIZE = "4m"  # of a file system of its own, which a fault fills


class FleetLab(Lab):
    broker = BROKER

    def __init__(self, name, gateways=3, seeds="same", rule=None, parts=()):
        """parts: of "cluster" (three servers of Redis with Sentinel, and of etcd), "etcd", "kafka" and "health"."""
        super().__init__(name)
        self.names = [f"gw{i + 1}" for i in range(gateways)]
        self.seeds, self.rule, self.parts, self.kafka = seeds, rule, set(parts), None

    # ------------------------------------------------------------ begin and end

    def start(self):
        self.up("--fleet", str(len(self.names)), "--seeds", self.seeds, *(f"--{p}" for p in ("cluster", "etcd") if p in self.parts))
        if "kafka" in self.parts:
            self.kafka = Kafka(self, EDGE)
        for gw in self.names:
            self._own_spool(gw)
            self._own_rules(gw)
        self.script("gateway", "start")

    def stop(self):
        if self.kafka:
            self.kafka.close()
        try:
            for gw in self.names:
                self.script("gateway", "kill", gw)
        except AssertionError as e:
            print(e)
        self.down()

    def _own_spool(self, gw):
        place = self.state / gw / "spool"
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SPOOL_SIZE}", "fleet-test", place], check=True)

    def _own_rules(self, gw):
        """The laboratory's configuration with the rule of the test; the file is kept by `gateway start`."""
        text = subprocess.run([str(ROOT / "scripts" / "lab"), "config", gw], env={**os.environ, "BP_LAB": self.name}, check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        config = yaml.safe_load(text)
        config["mqtt"]["spool"]["path"] = str(self.state / gw / "spool" / "spool.db")
        if self.rule:
            config["mqtt"]["rules"] = [self.rule]
        config["mqtt"]["publisher"]["max_inflight"] = REPEATS_MAX
        if self.kafka:
            config["mqtt"]["kafka"] = self.kafka.settings()
            for rule in config["mqtt"]["rules"]:
                rule["publish"] = {**rule["publish"], "destination": "both"}
        if "health" in self.parts:
            config["ports"][0]["routed"]["addresses"].append(f"{ADDRESS}/32")
            config["health_devices"] = health_settings(self.state / gw, EDGE)
        if "etcd" in self.parts:
            config["fleet"]["labels"]["site"] = "test"
        # the processors have other work, too: poll gaps are no sign of a bad bundle
        config["monitoring"].update(capture_buffer="off", history="off", poll_gap_warning="off")
        self.file(gw).write_text(json.dumps(config, indent=1) + "\n")

    def file(self, gw):
        return self.state / f"{gw}.yaml"

    # ------------------------------------------------------------ views

    def show(self, gw, *args):
        """The JSON of a view, or None if the gateway does not answer."""
        try:
            p = subprocess.run([BIPLANE, *args, "-c", self.file(gw), "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, text=True, check=False, timeout=10)
        except subprocess.TimeoutExpired:
            return None
        return json.loads(p.stdout) if p.stdout and p.returncode in (0, 2) else None

    def status(self, gw):
        return self.show(gw, "status")

    def counters(self, gw):
        view = self.show(gw, "show", "counters")
        return {c["name"]: c["count"] for c in view["counters"]} if view else {}

    def connections(self, gw):
        view = self.show(gw, "show", "connections", "-n", "0")
        return {c["client"]: c for c in view["connections"]} if view else {}

    def inspected(self, prefix):
        """How many connections of devices with this prefix have a PUBLISH that was inspected."""
        return len({client for gw in self.names for client, c in self.connections(gw).items()
                    if c["client_id"].startswith(prefix) and c["publishes"] > 0})

    def pids(self, gw):
        """{"data plane": pid, ...} of the running planes."""
        status = self.status(gw)
        return {p["plane"]: p["pid"] for p in status["planes"] if p["running"]} if status else {}

    def supervisor(self, gw):
        return int((self.state / f"{gw}.pid").read_text().split()[0])

    def tree(self, gw):
        """`biplane run` and its processes, the supervisor first: it starts the others again."""
        top = self.supervisor(gw)
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(top)], stdout=subprocess.PIPE, check=False, text=True).stdout
        return [top, *map(int, children.split())]

    def is_next_hop(self, gw):
        n = gw.removeprefix("gw")
        return all(f"via 10.{net}.{n}.2 " in self.run(r, "ip", "route", "show", to).stdout.decode()
                   for r, net, to in (("rl", 21, "10.23.0.0/24"), ("rr", 22, "10.20.0.0/24")))

    def signal(self, gw, number, only=None):
        for pid in [self.pids(gw)[only]] if only else self.tree(gw):
            os.kill(pid, number)

    # ------------------------------------------------------------ what can be lost

    def block(self, ns, name, rules):
        """Drops packets by nftables: rules for the hooks input and output."""
        text = "".join(f"add chain inet {name} {h} {{ type filter hook {h} priority 0; }}\n" for h in ("input", "output", "forward"))
        text += "".join(f"add rule inet {name} {hook} {match} drop\n" for hook, match in rules)
        self.run(ns, "nft", "-f", "-", input=f"add table inet {name}\n{text}".encode())

    def unblock(self, ns, name):
        self.run(ns, "nft", "delete", "table", "inet", name, check=False)


# of connections that move, and of streams that are not read
COUNTERS = ("connections_", "gaps_", "resync_", "not_inspected_", "alias_", "topics_unconfirmed", "segments_out", "segments_ack", "segments_no",
            "state_", "states_", "publishes_ack", "alarms_")
ACTIVE_MS = 1000  # a connection with a packet in this time is one of this gateway


class Watch:
    """Reads the connections of each gateway in turn, and notes when a connection appears in another one, and when that one
    first reads a PUBLISH of it."""

    def __init__(self, lab, every=0.2):
        self.lab, self.every = lab, every
        self.owner, self.moves, self.lag, self.counters = {}, [], 0.0, {}
        self._begun, self._stop = {}, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self):
        """The gateways of each connection before the fault."""
        for gw in self.lab.names:
            self.counters[gw] = self.lab.counters(gw)
            for client, c in self.lab.connections(gw).items():
                if c["idle_ms"] < ACTIVE_MS:
                    self.owner.setdefault(client, set()).add(gw)
        self._thread.start()

    def _run(self):
        while not self._stop.wait(self.every):
            for gw in self.lab.names:
                self._compare(gw, self.lab.connections(gw), time.time())
                fleet = (self.lab.status(gw) or {}).get("fleet") or {}
                self.lag = max(self.lag, (fleet.get("lag_ms") or 0) / 1000)

    def _compare(self, gw, connections, now):
        for client, c in connections.items():
            if gw in self.owner.get(client, (gw,)) or c["idle_ms"] >= ACTIVE_MS:
                continue
            move = self._begun.get((client, gw))
            if move is None:
                move = self._begun[client, gw] = {"client": client, "to": gw, "at": now, "read": None, "adopted": False}
                self.moves.append(move)
            if move["read"] is None and c["publishes"] > 0:
                move["read"], move["adopted"] = now, c["adopted"]

    def end(self):
        self._stop.set()
        self._thread.join(60)
        return self

    def counted(self):
        """What the gateways have counted about connections of others since begin(), by counter."""
        out = {}
        for gw in self.lab.names:
            now, before = self.lab.counters(gw), self.counters[gw]
            if any(now.get(name, 0) < n for name, n in before.items()):
                before = {}  # a new segment: they began at 0 again
            for name, n in now.items():
                n -= before.get(name, 0)
                if n > 0 and name.startswith(COUNTERS):
                    out.setdefault(name, {})[gw] = n
        return out


def wait_next_hop(lab, gw, there, seconds=60):
    wait_until(f"{gw} to be {'a' if there else 'no'} next hop", lambda: lab.is_next_hop(gw) == there, seconds, 0.05)


STOP, CONTINUE, KILL = signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL
