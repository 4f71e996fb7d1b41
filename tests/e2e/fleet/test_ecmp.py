# SPDX-License-Identifier: BSD-3-Clause
"""Two gateways behind ECMP, as docs/howto/gateways-behind-ecmp.md describes them: readiness, maintenance, a dead gateway."""

import contextlib
import json
import os
import re
import signal
import socket
import sys
import threading

import pytest

from json_doc import differences
from lab import BIPLANE, LAB_NAME, ROOT, wait_until

sys.path.insert(0, str(ROOT / "tests" / "fleet"))

from fleet_lab import BROKER, FleetLab  # noqa: E402

CONNECTIONS = 16
ECHO_PORT = 7
BFD_MS = 300  # 100 detects failures that are none on a busy machine


class EcmpLab(FleetLab):
    def __init__(self):
        super().__init__(LAB_NAME[:6] + "e", 2)
        self.clients, self.server = [], None

    def _own_rules(self, gw):
        """With a port that carries no traffic: the gateway is not ready if its link is down."""
        super()._own_rules(gw)
        config = json.loads(self.file(gw).read_text())
        config["ports"].append({"name": "spare", "device": "net_af_packet2,iface=p-spare", "routed": {"addresses": ["10.29.0.1/24"]}})
        self.file(gw).write_text(json.dumps(config))
        self.run(gw, "ip", "link", "add", "p-spare", "up", "type", "veth", "peer", "name", "spare-end")
        self.spare(gw, "up")

    def spare(self, gw, state):
        self.run(gw, "ip", "link", "set", "spare-end", state)

    def vtysh(self, ns, what):
        directory = self.state / f"frr-{ns}"
        p = self.run(ns, "vtysh", "--vty_socket", directory, "--config_dir", directory, "-c", f"show {what} json")
        return json.loads(p.stdout)

    def used(self, gw):
        """Which routers have the gateway as a next hop."""
        hops = {"rl": ("10.23.0.0/24", f"via 10.21.{gw[2:]}.2 "), "rr": ("10.20.0.0/24", f"via 10.22.{gw[2:]}.2 ")}
        return {r for r, (prefix, hop) in hops.items() if hop in self.run(r, "ip", "route", "show", prefix).stdout.decode()}

    def wait_used(self, gw, routers=("rl", "rr")):
        wait_until(f"{gw} to be used by {routers}", lambda: self.used(gw) == set(routers), 40, 0.1)

    def ready(self, gw):
        p = self.run(gw, BIPLANE, "fleet", "ready", "--json", "-c", self.file(gw), check=False)
        return p.returncode, json.loads(p.stdout) if p.stdout.startswith(b"{") else p.stdout.decode()

    def connect(self):
        with self.inside("cloud"):
            self.server = socket.create_server(("", ECHO_PORT))
        threading.Thread(target=self._serve, daemon=True).start()
        with self.inside("dev"):
            self.clients = [socket.create_connection((BROKER, ECHO_PORT), 20) for _ in range(CONNECTIONS)]

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._echo, args=(self.server.accept()[0],), daemon=True).start()

    @staticmethod
    def _echo(s):
        with contextlib.suppress(OSError):
            while data := s.recv(64):
                s.sendall(data)

    def echo(self):
        """A message of every connection and its answer; raises after a reset. Returns who forwarded how many packets."""
        before = {gw: self.forwarded(gw) for gw in self.names}
        for s in self.clients:
            s.settimeout(30)
            s.sendall(b"x")
        for s in self.clients:
            assert s.recv(64) == b"x"
        return {gw: self.forwarded(gw) - before[gw] for gw in self.names}

    def forwarded(self, gw):
        return self.counters(gw).get("forwarded_ip4", 0)

    def stop(self):
        for s in (*self.clients, self.server):
            if s:
                s.close()
        super().stop()


@pytest.fixture(scope="module")
def fleet(hugepages):
    lab = EcmpLab()
    os.environ["BP_BFD_MS"] = str(BFD_MS)  # for scripts/lab
    try:
        lab.start()
        lab.connect()
        yield lab
    finally:
        del os.environ["BP_BFD_MS"]
        lab.stop()


def test_gateway_that_is_not_ready_receives_no_traffic(fleet):
    forwarded = fleet.echo()
    assert min(forwarded.values()) > 0, f"one gateway has all connections: {forwarded}"
    status, ready = fleet.ready("gw1")
    assert (status, ready["ready"]) == (0, True) and not differences("fleet ready", ready)
    fleet.spare("gw1", "down")
    fleet.wait_used("gw1", ())
    status, ready = fleet.ready("gw1")
    assert status == 2 and [c["check"] for c in ready["checks"] if not c["ok"]] == ["ports"]
    forwarded = fleet.echo()
    assert forwarded["gw1"] == 0 and forwarded["gw2"] >= 2 * CONNECTIONS, forwarded
    fleet.spare("gw1", "up")
    fleet.wait_used("gw1")
    assert min(fleet.echo().values()) > 0


def test_stopped_gateway_loses_no_packet(fleet):
    """Under traffic: `gateway stop` drains it as the unit does, before the planes end."""
    flood = fleet.popen("dev", "ping", "-n", "-q", "-i", "0.005", "-w", "60", BROKER, stdout=-1)
    try:
        fleet.script("gateway", "stop", "gw1")
        fleet.script("gateway", "start", "gw1")
    finally:
        flood.send_signal(signal.SIGINT)
        out = flood.communicate(timeout=20)[0].decode()
    sent, received = map(int, re.search(r"(\d+) packets transmitted, (\d+) received", out).groups())
    assert received >= sent - 1 > 100, out  # the last one may be on its way
    fleet.echo()


def test_bfd_removes_a_dead_gateway(fleet):
    fleet.script("gateway", "kill", "gw2")
    fleet.wait_used("gw2", ())
    bgp = fleet.vtysh("rl", "bgp neighbors 10.21.2.2")["10.21.2.2"]
    assert bgp["lastNotificationReason"] == "Cease/BFD Down", bgp
    bfd = next(p for p in fleet.vtysh("rl", "bfd peers") if p["peer"] == "10.21.2.2")
    assert (bfd["diagnostic"], bfd["receive-interval"], bfd["detect-multiplier"]) == ("control detection time expired", BFD_MS, 3)
    forwarded = fleet.echo()
    assert forwarded["gw1"] >= 2 * CONNECTIONS, forwarded
    status, text = fleet.ready("gw2")
    assert status in (2, 69), text


def test_last_gateway_is_used_although_it_is_not_ready(fleet):
    """gw2 is dead: see above."""
    fleet.spare("gw1", "down")
    for router, neighbor, prefix in ("rl", "10.21.1.2", "10.23.0.0/24"), ("rr", "10.22.1.2", "10.20.0.0/24"):
        def drained(router=router, neighbor=neighbor, prefix=prefix):
            paths = fleet.vtysh(router, f"bgp ipv4 unicast {prefix}")["paths"]
            return [p.get("locPrf") for p in paths if p["peer"]["peerId"] == neighbor] == [0]
        wait_until(f"{router} to prefer others", drained, 10, 0.1)
    fleet.wait_used("gw1")
    fleet.echo()
