# SPDX-License-Identifier: BSD-3-Clause
"""A routed gateway with health devices, scraped by a real Prometheus: the queries of the dashboard that others leave empty,
and the alerts of routing and health."""

import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import running_router
from lab import BIPLANE, wait_until
from prometheus import RULES, Prometheus, hasty
from router_lab import RIGHT, only_biplane, own
from test_prometheus import NOT_HERE, queries

pytestmark = [only_biplane, pytest.mark.skipif(not shutil.which("prometheus"), reason="needs the package prometheus")]

SIM = Path(BIPLANE).parent / "biplane-phd-sim"
LISTEN = "127.0.0.1:9464"
# Only a driver of hardware reports it.
HARDWARE = ("biplane_port_speed",)


def test_queries_and_alerts_of_a_routed_gateway(routed_lab, hugepages, tmp_path):
    lab = routed_lab
    health = {"listen": {"udp_port": 6024}, "cse": {"coap": f"coap://{RIGHT}:5683"}, "store": {"path": str(tmp_path / "health.db")}}
    with contextlib.ExitStack() as stack:
        g = stack.enter_context(running_router(lab, tmp_path / "router", monitoring={"listen": LISTEN}, routing={"max_ipv4_routes": 32},
                                               netlink={"route_table": "main", "receive_buffer": "1MiB"},
                                               health_devices=health))
        p = stack.enter_context(Prometheus(lab, tmp_path / "prometheus", LISTEN, rules=hasty(RULES.read_text())))
        wait_until("scrapes", lambda: (p.value("count_over_time(biplane_up[10s])") or 0) >= 3)
        left = [(title, query) for title, query in queries() if NOT_HERE.search(query)]
        assert len(left) > 5
        assert [(title, query) for title, query in left if not p.query(query) and not query.startswith(HARDWARE)] == []

        p.quiet("BiplaneRoutesRejected", "BiplaneCseUnreachable")
        lab.batch("gw", [f"route add 10.50.{n}.0/24 via {RIGHT}" for n in range(60)])
        try:
            p.fires("BiplaneRoutesRejected")
        finally:
            lab.batch("gw", [f"route del 10.50.{n}.0/24 via {RIGHT}" for n in range(60)], force=True)

        # a device that associates while no CSE answers
        device = lab.popen("left", SIM, "--to", f"{own('left')}:6024", "--device", "oximeter", "--system-id", "0022092258017700",
                           "--confirmed", "--rate", 2, stdout=subprocess.DEVNULL)
        stack.callback(device.wait)
        stack.callback(device.kill)
        p.fires("BiplaneCseUnreachable")

        # a control plane that is stopped while it reads many routes. State "held" needs /dev/vhost-net, and ends after 30 s
        p.quiet("BiplaneNotSynchronized")
        many = [f"10.{60 + n // 256}.{n % 256}.0/24 via {RIGHT}" for n in range(30000)]
        pid = g.plane("control plane")["pid"]

        def stops_while_loading():
            before = g.status()["netlink"]["overruns"]
            lab.batch("gw", [f"route replace {route}" for route in many])
            os.kill(pid, signal.SIGCONT)
            wait_until("an overrun", lambda: g.status()["netlink"]["overruns"] > before, every=0.001)
            os.kill(pid, signal.SIGSTOP)
            return g.status()["netlink"]["state"] == "loading"
        os.kill(pid, signal.SIGSTOP)
        try:
            wait_until("a load", stops_while_loading, 60)
            p.fires("BiplaneNotSynchronized")
        finally:
            os.kill(pid, signal.SIGCONT)
            lab.batch("gw", [f"route del {route}" for route in many], force=True)
        p.quiet("BiplaneNotSynchronized")
