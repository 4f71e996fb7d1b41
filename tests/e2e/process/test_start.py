# SPDX-License-Identifier: BSD-3-Clause
"""Start: with and without hugepages, with options for DPDK, and start failures."""

import json

from conftest import config_for, overheat
from lab import BIPLANE, CLOUD, LAB_NAME, remove_segment, wait_until
from peers import Collector, Expected, Publisher, usual_value


def test_missing_interface_is_one_error(lab, tmp_path):
    config = config_for()
    config["ports"][1]["device"] = "net_af_packet1,iface=nowhere"
    (tmp_path / "c.yaml").write_text(json.dumps({"version": 1, "name": "nowhere", "runtime": {"directory": str(tmp_path)}, **config}))
    p = lab.run("gw", BIPLANE, "dataplane", "-c", tmp_path / "c.yaml", check=False, timeout=60)
    assert p.returncode not in (0, 139, 134)
    remove_segment("/dev/hugepages/biplane-nowhere.seg")
    assert b"nowhere" in p.stdout and b"cloud" in p.stdout, p.stdout


def test_without_hugepages(lab, gateway):
    g = gateway({**config_for(), "runtime": {"directory": f"/run/biplane-lab-{LAB_NAME}/nohuge", "hugepages": "never",
                                             "memory": "256MiB"}})
    edge = Collector(lab, "edge", ("alarm/#",))
    p = Publisher(lab, CLOUD)
    p.finish([p.publish("plant/oven/temperature", "81", 1)])
    assert edge.wait_for_topic("alarm/plant/oven/temperature") == b"81"
    assert not g.status()["segment"]["hugepages"]
    edge.close()


def test_stats_period_prints_rates(lab, gateway):
    g = gateway(config_for(), "--stats-period", "1")
    wait_until("rates in the log", lambda: sum(
        "devices" in line and any(c.isdigit() for c in line) for line in g.log.read_text().splitlines()) >= 3, 30)


def test_eal_options_after_the_dashes(lab, gateway):
    g = gateway(config_for(rules=[overheat()]), "--", "--log-level=lib.eal:debug")
    assert "EAL:" in g.log.read_text()


def test_two_workers(lab, gateway):
    """Two queues a port, spread by the kernel's symmetric hash: a connection's two directions meet."""
    config = {**config_for(), "workers": 2}
    for p in config["ports"]:
        p["device"] += ",qpairs=2"
    g = gateway(config)
    assert g.status()["workers"] == 2
    edge, expected = Collector(lab, "edge", ("alarm/#",)), Expected()
    cloud = Collector(lab, "cloud")
    for n in range(24):
        p = Publisher(lab, CLOUD, expected, ("3.1.1", "5")[n % 2])
        p.finish([p.publish(f"plant/oven{n}/temperature", f"{70 + i}.{n}", i % 3) for i in range(25)])
    due = expected.alarms(usual_value)
    edge.wait_count(sum(due.values()))
    cloud.wait_count(len(expected.published))
    assert edge.counts() == due and cloud.counts() == expected.cloud()
    g.balanced()
    busy = {n["worker"] for n in g.show("nodes")["nodes"] if n["node"].startswith("mqtt") and n["packets"] > 0}
    assert busy == {0, 1}, "both workers had connections"
    edge.close()
    cloud.close()
