# SPDX-License-Identifier: BSD-3-Clause
"""An unreachable edge broker, missing files of the publisher, a full disk, a second instance on the same spool, and a
local user who floods the control socket: forwarding continues, and each fault is logged once."""

import json
import subprocess

import pytest

from conftest import config_for, overheat
from lab import BIPLANE, CLOUD, EDGE_MGMT, Gateway, wait_until
from peers import Collector, Publisher

RULES = [overheat(payload="envelope")]


@pytest.fixture(autouse=True)
def broker_back(lab):
    yield
    if not lab.run("edge", "ss", "-tlnH").stdout.count(b":1883 "):
        lab.broker("edge", "start")


def status(g):
    p = g.command("status", "-c", g.identity, "--json")
    assert p.returncode in (0, 2), p.stderr
    view = json.loads(p.stdout)
    assert view["ok"] == (p.returncode == 0) == (not view["faults"])
    return view


def faults(g):
    """Without a worker's poll gaps, which a machine with other work causes."""
    return {f["fault"]: f for f in status(g)["faults"] if f["fault"] != "poll_gaps"}


def said(g, *words):
    return [line for line in g.log.read_text().splitlines() if all(w in line for w in words)]


def publish(lab, n):
    p = Publisher(lab, CLOUD)
    p.finish([p.publish("plant/1/temperature", f"91.{i:06d}", 1) for i in range(n)])


def forwards(lab, collect):
    cloud = collect("cloud", ("plant/#",))
    publish(lab, 3)
    cloud.wait_count(3)


def test_unreachable_edge_broker(lab, gateway, tmp_path):
    config = config_for(rules=RULES, spool=tmp_path / "spool.db")
    config["mqtt"]["publisher"]["unreachable_after"] = "2s"
    config["mqtt"]["spool"]["backlog_warning"] = 100
    g = gateway(config)
    wait_until("no fault", lambda: not faults(g))
    lab.broker("edge", "stop")
    publish(lab, 200)
    wait_until("the faults", lambda: {"edge_unreachable", "spool_backlog"} <= set(faults(g)))
    f = faults(g)
    assert f["edge_unreachable"]["duration_ns"] >= 2_000_000_000
    assert f["spool_backlog"]["max"] == {"count": 200, "unit": "alarms"}
    rows = {r["fault"]: r for r in g.show("health")["faults"]}
    assert rows["edge_unreachable"]["active"] and len(g.status()["faults"]) >= 2
    assert len(said(g, "error controlplane: no connection to the edge broker", f" broker={EDGE_MGMT} tcp_port=1883 ",
                    " duration_ms=2", " fault=edge_unreachable")) == 1
    assert len(said(g, "error controlplane: alarms in the spool", " limit=100 ", " fault=spool_backlog")) == 1
    text = g.command("status", "-c", g.identity)
    assert text.returncode == 2 and "edge_unreachable" in text.stdout and "rows 200, " in text.stdout
    lab.broker("edge", "start")
    wait_until("no fault", lambda: not faults(g), 30)
    assert g.command("status", "-c", g.identity).returncode == 0
    for name in ("edge_unreachable", "spool_backlog"):
        assert [len(said(g, f" {level} controlplane: ", " duration_ms=", f" fault={name}")) for level in ("error", "info")] == [1, 1]


def test_missing_files_of_the_publisher_do_not_stop_forwarding(lab, gateway, collect, tmp_path):
    password = tmp_path / "password"
    config = config_for(rules=RULES, spool=tmp_path / "spool.db")
    config["mqtt"]["publisher"] |= {"username": "gateway", "password_file": str(password)}
    g = gateway(config, start=False)
    g.write()
    refused = g.command("config", "check", "-c", g.file)
    assert refused.returncode == 78 and str(password) in refused.stderr
    g.start(edge=False)
    wait_until("the fault", lambda: "edge_settings" in faults(g))
    assert said(g, "error controlplane: the password or TLS files", " reason=", str(password), " fault=edge_settings")
    forwards(lab, collect)
    assert not g.status()["publisher"]["connected"]
    password.write_text("secret\n")
    wait_until("the edge broker", lambda: g.status()["publisher"]["connected"], 30)
    wait_until("no fault", lambda: not faults(g), 30)
    password.chmod(0o644)
    checked = g.command("config", "check", "-c", g.file)
    assert checked.returncode == 0
    assert "accessible to every user (mode 644)" in checked.stderr and "without TLS" in checked.stderr
    password.chmod(0o640)
    assert "accessible" not in g.command("config", "check", "-c", g.file).stderr
    config["mqtt"]["publisher"] |= {"broker": "mqtts://127.0.0.1", "tls": {"ca": str(tmp_path / "ca.pem")}}
    g.write({**g.config, **config})
    refused = g.command("config", "check", "-c", g.file)
    assert refused.returncode == 78 and str(tmp_path / "ca.pem") in refused.stderr


def test_a_spool_on_a_full_disk(lab, gateway, collect, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk], check=True)
    try:
        g = gateway(config_for(rules=RULES, spool=disk / "spool.db"))
        edge = Collector(lab, "edge", ("alarm/#",), qos=1, client_id="full-disk", clean=False)
        lab.broker("edge", "stop")
        wait_until("biplane to see it", lambda: not g.status()["publisher"]["connected"])
        publish(lab, 3000)
        wait_until("the fault", lambda: "spool_error" in faults(g))
        assert len(said(g, "error controlplane: the spool cannot be read or written", " reason=", "disk", " fault=spool_error")) == 1
        forwards(lab, collect)
        lab.broker("edge", "start")
        edge.wait_subscribed()
        wait_until("all alarms", lambda: len({json.loads(p)["id"] for _, p in list(edge.messages)}) == 3003, 60)
        wait_until("no fault", lambda: not faults(g), 60)
        edge.close()
        g.stop()
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_second_instance_on_the_same_spool_is_refused(lab, gateway, collect, tmp_path):
    config = config_for(rules=RULES, spool=tmp_path / "spool.db")
    g = gateway(config)
    second = Gateway(lab, tmp_path / "second", {**config, "name": f"lab-{lab.name}-2"})
    second.write()
    p = lab.run("gw", BIPLANE, "run", "-c", second.file, check=False, timeout=60)
    text = ((p.stdout or b"") + (p.stderr or b"")).decode()
    assert p.returncode == 78
    assert f"{tmp_path / 'spool.db'} is in use by process " in text
    forwards(lab, collect)
    assert not faults(g)


def test_reloads_of_a_bad_file_do_not_fill_the_log(lab, gateway, tmp_path):
    g = gateway(config_for(rules=RULES, spool=tmp_path / "spool.db"))
    bad = g.file.read_text().replace('"overheat"', '"over heat"')
    g.file.write_text(bad)
    before = g.log.stat().st_size
    for _ in range(300):
        lab.run("gw", BIPLANE, "reload", "-c", g.identity, check=False)
    assert g.log.stat().st_size - before < 16 << 10
    assert said(g, "reload rejected, nothing changed")
    assert g.status()["reloads"]["refused"] >= 40
