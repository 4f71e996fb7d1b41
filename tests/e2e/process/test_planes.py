# SPDX-License-Identifier: BSD-3-Clause
"""Either plane killed under load, and an orderly end."""

import fcntl
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from conftest import config_for, overheat
from lab import BIPLANE, CLOUD, wait_until
from load import Load
from peers import Collector, Expected, Publisher
from test_outage import ENVELOPE, due, nothing_lost, values


FLOCK = {"x86_64": "73", "aarch64": "32"}[os.uname().machine]


def test_control_plane_killed_under_load(lab, gateway, tmp_path):
    g = gateway(config_for(rules=ENVELOPE, spool=tmp_path / "spool.db"))
    expected = Expected()
    cloud, edge = Collector(lab, "cloud"), Collector(lab, "edge", ("alarm/#",))
    data_plane = g.plane("data plane")
    load = Load(lab, expected, rate=500)
    for _ in range(3):
        load.go_on(400)
        g.kill_plane("control plane")
        load.go_on(200)
    load.finish()
    nothing_lost(g, expected, edge)
    cloud.wait_count(len(expected.published))
    assert cloud.counts() == expected.cloud(), "forwarding was disturbed"
    assert g.plane("data plane")["pid"] == data_plane["pid"] and g.plane("data plane")["restarts"] == 0
    assert g.plane("control plane")["restarts"] == 3
    g.balanced()
    cloud.close()
    edge.close()


def test_control_plane_killed_while_the_edge_broker_is_away(lab, gateway, tmp_path):
    g = gateway(config_for(rules=ENVELOPE, spool=tmp_path / "spool.db"))
    expected = Expected()
    edge = Collector(lab, "edge", ("alarm/#",), qos=1, client_id="keeper4", clean=False)
    load = Load(lab, expected)
    load.go_on(100)
    lab.broker("edge", "stop")
    try:
        load.go_on(300)
        g.kill_plane("control plane")
        load.go_on(100)
    finally:
        lab.broker("edge", "start")
    wait_until("biplane to connect again", lambda: g.status()["publisher"]["connected"], 30)
    load.go_on(100)
    load.finish()
    nothing_lost(g, expected, edge)
    edge.close()


def test_lock_of_the_segment_held_by_a_stopped_process(lab, gateway, tmp_path):
    """Both planes wait for it when they start. The supervisor waits for nothing: it restarts what dies."""
    g = gateway(config_for(rules=ENVELOPE, spool=tmp_path / "spool.db"))

    def logged(pattern):
        return re.findall(pattern, g.log.read_text())

    (lock,) = (g.dir / "run").rglob("biplane-*.lock")
    with lock.open("r+b") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        pid = g.plane("control plane")["pid"]
        for kills in (1, 2, 3):
            os.kill(int(pid), signal.SIGKILL)
            wait_until("its end in the log", lambda n=kills: len(logged("control plane was killed by signal 9")) == n, 10)
            pid = wait_until("its restart in the log", lambda n=kills: logged(r"control plane restarted.*pid=(\d+)")[n - 1:], 10)[0]
        # the new control plane has read its file, and waits: a reload is not lost
        wait_until("it to wait for the lock", lambda: Path(f"/proc/{pid}/syscall").read_text().split()[0] == FLOCK, 20)
        rules = g.config["mqtt"]["rules"]  # those of the other tests, too
        g.write({**g.config, "mqtt": {**g.config["mqtt"], "rules": [*rules, {**rules[0], "name": "added"}]}})
        g.process.send_signal(signal.SIGHUP)
        time.sleep(0.2)  # biplane run forwards it
    wait_until("the counts of restarts", lambda: (p := g.plane("control plane"))["running"] and p["restarts"] == 3, 30)
    wait_until("the added rule", lambda: [r["name"] for r in g.show("rules")["rules"]] == ["overheat", "added"], 10)
    assert g.plane("data plane")["restarts"] == 0


@pytest.mark.parametrize("driver", ("af_packet", "af_xdp"))
def test_data_plane_killed_under_load(lab, gateway, tmp_path, driver):
    g = gateway(config_for(driver, ENVELOPE, tmp_path / "spool.db"))
    expected = Expected()
    cloud, edge = Collector(lab, "cloud"), Collector(lab, "edge", ("alarm/#",))
    control_plane = g.plane("control plane")
    load = Load(lab, expected)
    load.go_on(300)
    g.kill_plane("data plane")
    load.go_on(300)  # TCP sends again what the dead plane lost
    load.finish()
    cloud.wait_count(len(expected.published), 60)
    assert cloud.counts() == expected.cloud(), "traffic did not resume"
    assert g.plane("control plane")["pid"] == control_plane["pid"] and g.plane("data plane")["restarts"] == 1
    # The connection was met in its middle, so alarms may be missing, but none may be wrong.
    due_before = due(expected)
    assert {a["value"] for a in values(edge).values()} <= set(due_before)
    # A new connection is read from its first byte.
    fresh = Publisher(lab, CLOUD, Expected())
    fresh.finish([fresh.publish("plant/fresh/temperature", f"90.{i:03d}", i % 3) for i in range(50)])
    wait_until("the alarms of a new connection", lambda: {90 + i / 1000 for i in range(50)} <= {
        a["value"] for a in values(edge).values() if a["topic"] == "plant/fresh/temperature"})
    ids = [a["id"] for a in values(edge).values()]
    assert len(ids) == len(set(ids))
    cloud.close()
    edge.close()


@pytest.mark.parametrize("how", (signal.SIGTERM, signal.SIGINT))
def test_orderly_end(lab, gateway, tmp_path, how):
    """Drains: every alarm that was raised is delivered or in the spool, and the status is 0."""
    g = gateway(config_for(rules=ENVELOPE, spool=tmp_path / "spool.db"))
    edge, expected = Collector(lab, "edge", ("alarm/#",)), Expected()
    p = Publisher(lab, CLOUD, expected)
    p.finish([p.publish("plant/oven/temperature", f"81.{i:04d}", 1) for i in range(500)])
    pids = [p["pid"] for p in g.status()["planes"]]
    g.process.send_signal(how)
    assert g.process.wait(30) == 0
    for pid in pids:
        assert not os.path.exists(f"/proc/{pid}"), "a process was left behind"
    text = g.log.read_text()
    for port in ("devices", "cloud", "edge"):
        assert port in text, "the totals per port are printed at exit"
    # Alarms not delivered before the stop are delivered after the next start.
    g.process = None
    g.start()
    wait_until("the rest of the alarms", lambda: len(values(edge)) >= 500, 30)
    assert sorted(a["value"] for a in values(edge).values()) == due(expected)
    edge.close()


def test_a_second_instance_is_refused(lab, gateway):
    g = gateway(config_for())
    # by their names: not "exe", by which biplane run starts the planes
    assert {Path(f"/proc/{p['pid']}/comm").read_text() for p in g.status()["planes"]} == {"biplaned\n"}
    p = lab.run("gw", BIPLANE, "run", "-c", g.file, check=False)
    assert p.returncode != 0
    assert g.plane("data plane")["running"] and g.plane("control plane")["running"]


def test_state_of_rules_outlives_the_data_plane(lab, gateway, tmp_path):
    """The segment outlives either process: an alarm that was raised is not raised again on_change."""
    rules = [overheat(payload="envelope", repeat="on_change", clear="< 75")]
    g = gateway(config_for(rules=rules, spool=tmp_path / "spool.db"))
    edge = Collector(lab, "edge", ("alarm/#",))

    def send(value):
        p = Publisher(lab, CLOUD)
        p.finish([p.publish("plant/oven/temperature", value, 1), p.publish(f"plant/mark{value}/temperature", "200", 1)])
        edge.wait_for_topic(f"alarm/plant/mark{value}/temperature")

    send("90")
    g.kill_plane("data plane")
    g.wait_ready()
    send("91")
    send("70")
    send("92")
    got = [(a["value"], a["state"]) for _, m in edge.messages
           if (a := json.loads(m))["topic"] == "plant/oven/temperature"]
    assert got == [(90, "raised"), (70, "cleared"), (92, "raised")]
    edge.close()


@pytest.mark.parametrize("name", ("data plane", "control plane"))
def test_hung_plane_is_restarted(lab, gateway, tmp_path, name):
    """A stopped process is what every defect of which a plane hangs looks like from outside."""
    g = gateway(config_for(rules=ENVELOPE, spool=tmp_path / "spool.db"), start=False)
    g.config["runtime"]["watchdog"] = "3s"
    g.start()
    before = {p: g.plane(p) for p in ("data plane", "control plane")}
    edge = Collector(lab, "edge", ("alarm/#",))
    text = f"error run: {name} does not respond: no heartbeat; killing it pid={before[name]['pid']} timeout_ms=3000"
    # before its first heartbeat it starts, for as long as that takes
    wait_until("its first heartbeats", lambda: g.plane(name)["uptime_s"] >= 4, 30)
    os.kill(before[name]["pid"], signal.SIGSTOP)
    wait_until("the supervisor to notice", lambda: text in g.log.read_text(errors="replace"), 30)
    wait_until("another one", lambda: g.try_status() and g.plane(name)["pid"] != before[name]["pid"], 60)
    g.wait_ready()
    now = {p: g.plane(p) for p in before}
    assert (now[name]["restarts"], now[name]["restarts_hung"]) == (1, 1)
    (other,) = set(before) - {name}
    assert now[other]["pid"] == before[other]["pid"] and now[other]["restarts"] == 0
    p = Publisher(lab, CLOUD, Expected())
    p.finish([p.publish("plant/oven/temperature", "90", 1)])
    edge.wait_for_topic("alarm/plant/oven/temperature")
    edge.close()
