# SPDX-License-Identifier: BSD-3-Clause
"""Alerts of real gateways, scraped by a real Prometheus; further ones are in test_prometheus.py and test_routed.py."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from conftest import config_for
from frames import LOCAL_ETHERTYPE, Wire, ethernet
from lab import CLOUD, MAC, port_devices, wait_until
from peers import Publisher
from prometheus import RULES, Prometheus, hasty

pytestmark = pytest.mark.skipif(not shutil.which("prometheus"), reason="needs the package prometheus")

LISTEN = "127.0.0.1:9464"
TLS_PORT = 8883
REDIS_PORT = 6399


@pytest.fixture
def redis(lab, tmp_path):
    p = lab.popen("gw", "redis-server", "--port", REDIS_PORT, "--bind", "127.0.0.1", "--save", "", "--dir", tmp_path,
                  stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    yield p
    p.kill()
    p.wait()


@pytest.fixture
def devices():
    connected = []
    yield connected
    for d in connected:
        d.finish()


def test_alerts_of_alarms_and_connections(lab, gateway, redis, devices, tmp_path):
    config = {**config_for(tcp_ports=[1883, TLS_PORT], spool=tmp_path / "spool.db"), "monitoring": {"listen": LISTEN},
              "fleet": {"name": "plant", "state": {"server": f"redis://127.0.0.1:{REDIS_PORT}", "max_queued": 16, "timeout": "1m"}},
              "log": {"events": str(tmp_path / "no-directory" / "events.json")}}
    config["lcl"] = {"ports": [{"port": "cloud", "slot": "1ms", "queues": 8, "link_rate": "1Gbps"}],
                     "flows": [{"name": "arm", "match": {"port": "devices", "destination": f"{CLOUD}/32", "udp_port": 7000}, "hops": 1,
                                "latency_budget": "6ms", "rate": "10Mbps", "burst": 20000, "max_frame_size": 200, "id": 1,
                                "output_port": "cloud"}]}
    config["mqtt"]["spool"]["max_size"] = "64KiB"
    config["mqtt"]["policy"] = {"rules": [{"name": "ovens", "packet": "publish", "topic": "plant/#", "action": "observe"}]}
    g = gateway(config, start=False)
    g.config["runtime"]["watchdog"] = "off"
    g.start()
    wait_until("Redis", lambda: (g.show("fleet")["state"] or {"connected": False})["connected"])
    with lab.inside("cloud"):
        server = socket.create_server((CLOUD, TLS_PORT))
    with server, Prometheus(lab, tmp_path / "prometheus", LISTEN, rules=hasty(RULES.read_text())) as p:
        p.fires("BiplaneEventLogBlocked")
        p.quiet("BiplanePolicyViolations", "BiplaneConnectionsNotInspected", "BiplaneFleetStateLost", "BiplaneAlarmsLost")
        with lab.inside("dev"):
            client = socket.create_connection((CLOUD, TLS_PORT), 20)
        with client, server.accept()[0] as peer:
            hello = bytes([0x16, 3, 1, 0, 165, 1, 0, 0, 161, 3, 3]).ljust(170, b".")
            for _ in range(2):
                client.sendall(hello)
                assert peer.recv(1000) == hello
            p.fires("BiplaneConnectionsNotInspected")

        # more connections than the queue has space for, while Redis does not answer
        redis.send_signal(signal.SIGSTOP)
        for n in range(40):
            devices.append(Publisher(lab, CLOUD, client_id=f"press-{n}"))
        p.fires("BiplaneFleetStateLost", result="lost_full")

        # more alarms than the spool has space for, while the broker is away
        lab.broker("edge", "stop")
        try:
            wait_until("the publisher to be disconnected", lambda: not g.status()["publisher"]["connected"])
            device = Publisher(lab, CLOUD, client_id="ovens")
            device.finish([device.publish(f"plant/oven{n}/temperature", "81.5", 1) for n in range(1000)])
            p.fires("BiplanePolicyViolations", rule="ovens", action="observe")
            p.fires("BiplaneSpoolNearlyFull", destination="mqtt")
            p.fires("BiplaneAlarmsLost", destination="mqtt", reason="spool_max_size")
        finally:
            lab.broker("edge", "start")
        wait_until("an empty spool", lambda: (s := g.status())["publisher"]["connected"] and s["spool"]["rows"] == 0)

        # a broker that acknowledges alarms late
        broker = int(re.search(rb"pid=(\d+)", lab.run("edge", "ss", "-tlnpH", "sport = :1883").stdout)[1])
        device = Publisher(lab, CLOUD, client_id="ovens")
        os.kill(broker, signal.SIGSTOP)
        try:
            device.finish([device.publish("plant/oven/temperature", "81.5", 1)])
            time.sleep(1.5)  # longer than the alert permits
        finally:
            os.kill(broker, signal.SIGCONT)
        p.fires("BiplaneAlarmLatency", destination="mqtt")

        # frames of a flow that wait while no worker runs
        pid = g.plane("data plane")["pid"]
        with lab.inside("dev"):
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

        def late():
            os.kill(pid, signal.SIGSTOP)
            for _ in range(10):
                sender.sendto(bytes(50), (CLOUD, 7000))
                time.sleep(0.005)
            os.kill(pid, signal.SIGCONT)
            return any(a["port"] == "cloud" for a in p.alerts().get("BiplaneLclViolations", ()))
        with sender:
            wait_until("alert BiplaneLclViolations", late, 60, 0.2)

        pid = g.plane("control plane")["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            p.fires("BiplaneHeartbeatLost", plane="controlplane")
        finally:
            os.kill(pid, signal.SIGCONT)
        p.quiet("BiplaneHeartbeatLost")
    assert g.stop() == 0


def test_alert_of_mbufs(lab, gateway, tmp_path):
    """A port that sends 1 Mbit/s queues more frames than the pool has mbufs: af_xdp keeps the others for its fill ring."""
    scheduled = {"port": "cloud", "link_rate": "1Mbps", "slot": "10ms", "queues": 2, "slot_queue_len": 16,
                 "best_effort_queue_len": 4096, "handover_queue_len": 64}
    g = gateway({"ports": port_devices("af_xdp", ("devices", "cloud")), "bridges": [{"name": "bridge0", "ports": ["devices", "cloud"]}],
                 "mbufs": 512, "lcl": {"ports": [scheduled]}, "monitoring": {"listen": LISTEN}})
    frames = [ethernet(MAC["cloud"], MAC["dev"], LOCAL_ETHERTYPE, bytes(46))] * 1000
    with Prometheus(lab, tmp_path / "prometheus", LISTEN, rules=hasty(RULES.read_text())) as p:
        wait_until("the evaluation of the rules", lambda: all(
            r["health"] == "ok" for group in p.get("rules")["groups"] for r in group["rules"]), 30, 0.3)
        assert p.value("biplane_mbufs_free / biplane_mbufs") > 0.2
        p.quiet("BiplaneMbufsLow")
        wire = Wire(lab, "dev")

        def low():
            wire.send(*frames)
            return any(a["numa"] for a in p.alerts().get("BiplaneMbufsLow", ()))
        try:
            wait_until("alert BiplaneMbufsLow", low, 60, 0.1)
        finally:
            wire.close()
        p.quiet("BiplaneMbufsLow")
    assert g.stop() == 0
