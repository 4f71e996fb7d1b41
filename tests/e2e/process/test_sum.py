# SPDX-License-Identifier: BSD-3-Clause
"""Mixed traffic for BP_E2E_SECONDS, then the packet counters balance."""

import hashlib
import os
import time

import pytest

from conftest import config_for, overheat
from lab import CLOUD, CLOUD6, EDGE, MAC, Background
from peers import Collector, Expected, Publisher, usual_value

SECONDS = float(os.environ.get("BP_E2E_SECONDS", "10"))


@pytest.mark.parametrize("driver", ("af_packet", "af_xdp"))
def test_packet_counters_balance(lab, gateway, tmp_path, driver):
    rules = [overheat(), overheat(name="kiln", topic="kiln/+/state", value={"json": "$.celsius"}),
             overheat(name="clone", topic="clone/#", action="mirror")]
    g = gateway(config_for(driver, rules, tmp_path / "spool.db",
                           mirror={"port": "edge", "mac": MAC["edge"], "ipv4_address": EDGE, "ipv6_address": "fd99::3"}))
    expected = Expected()
    cloud, edge = Collector(lab, "cloud"), Collector(lab, "edge", ("alarm/#",))
    end = time.monotonic() + SECONDS

    def device(n):
        clients = 0
        while time.monotonic() < end:  # a new connection every 300 publications
            p = Publisher(lab, CLOUD6 if n % 2 else CLOUD, expected, ("3.1.1", "5")[n % 2], f"d{n}-{clients}")
            infos = []
            for i in range(300):
                match (n + i) % 5:
                    case 0:
                        fill = hashlib.shake_128(bytes([n, i & 255])).hexdigest(i * 20)
                        m = ("kiln/k/state", '{"celsius": %d.5, "t": "%s"}' % (70 + i % 20, fill))
                    case 1:
                        m = ("clone/a", f"{75 + i % 10}")
                    case _:
                        m = (f"plant/oven{n}/temperature", f"{60 + i % 40}.{clients:03d}")
                infos.append(p.publish(*m, qos=i % 3))
                if i % 20 == 0:
                    time.sleep(0.01)
            p.finish(infos)
            clients += 1
    jobs = [Background(device, n) for n in range(4)]
    for j in jobs:
        j.start()
    for j in jobs:
        j.finish(SECONDS + 120)

    cloud.wait_count(len(expected.published), 240)  # a Python subscriber on a busy machine
    assert cloud.counts() == expected.cloud()
    due = expected.alarms(usual_value)
    edge.wait_count(sum(due.values()), 240)
    drops = g.balanced()
    assert drops["difference"] == 0
    assert drops["rx"] + drops["originated"] == drops["tx"] + drops["drops"] + drops["punted"]
    assert sum(r["count"] for r in drops["reasons"]) == drops["drops"]
    ports = {p["name"]: p for p in g.show("ports")["ports"]}
    assert sum(p["rx_packets"] for p in ports.values()) == drops["rx"]
    assert sum(p["tx_packets"] for p in ports.values()) == drops["tx"]
    assert drops["rx"] > 100 * SECONDS, "that was no traffic"
    assert edge.counts() == due
    clones = sum(1 for t, p in expected.published if t == "clone/a" and float(p) > 80)
    assert g.counter("mirror_frame") == clones
    assert g.counter("publishes") >= len(expected.published)
    cloud.close()
    edge.close()
