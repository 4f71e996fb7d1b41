# SPDX-License-Identifier: BSD-3-Clause
"""The command as a person and a script meet it."""

import json
import os
import subprocess

import pytest

from conftest import config_for
from lab import BIPLANE, CLOUD, wait_until
from peers import Collector, Publisher

COMMANDS = ("run", "dataplane", "controlplane", "config check", "replay", "show", "reload")
VIEWS = ("ports", "nodes", "drops", "alarms", "latency", "connections", "rules", "counters", "interfaces", "neighbors",
         "routes", "health", "not-inspected")


def biplane(*args):
    return subprocess.run([BIPLANE, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, timeout=60, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help(command):
    p = biplane(*command.split(), "--help")
    assert p.returncode == 0 and f"biplane {command}" in p.stdout and not p.stderr
    assert p.stdout.count("\n") > 5


def test_unknown_word_gets_a_suggestion():
    p = biplane("config", "chek")
    assert p.returncode == 64 and "did you mean 'check'" in p.stderr


def test_config_check_lists_defaults(tmp_path):
    """For people those that decide what the gateway does, with --json all that the file does not give."""
    (tmp_path / "c.yaml").write_text(json.dumps({"version": 1, **config_for()}))
    p = biplane("config", "check", "-c", tmp_path / "c.yaml")
    assert p.returncode == 0, p.stderr
    listed = [line for line in p.stdout.splitlines() if line.endswith(" (default)")]
    assert "mqtt.connection_timeout: 1h (default)" in listed and 5 < len(listed) < 25
    assert not [line for line in listed if line.startswith(("ports", "transform", "lcl"))]
    p = biplane("config", "check", "--json", "-c", tmp_path / "c.yaml")
    defaults = {d["setting"]: d["value"] for d in json.loads(p.stdout)["defaults"]}
    assert defaults["mqtt.connection_timeout"] == "1h" and defaults["ports[devices].rx_queues"] == "auto"
    assert len(defaults) > len(listed)


def test_show_without_a_gateway(tmp_path):
    (tmp_path / "c.yaml").write_text(json.dumps({"version": 1, "name": "nobody", **config_for(),
                                                 "runtime": {"directory": str(tmp_path)}}))
    p = biplane("show", "ports", "-c", tmp_path / "c.yaml")
    assert p.returncode == 69 and p.stderr.count("\n") >= 1 and not p.stdout


@pytest.mark.parametrize("view", VIEWS)
def test_each_show_command_has_output(lab, module_cli, view):
    g = module_cli
    data = g.show(view)
    assert isinstance(data, dict) and data
    p = g.command("show", view, "-c", g.file)
    assert p.returncode == 0 and p.stdout.strip() and not p.stderr


@pytest.fixture(scope="module")
def module_cli(lab, module_gateway):
    g = module_gateway(config_for())
    cloud = Collector(lab, "cloud")
    p = Publisher(lab, CLOUD, client_id="oven-7")
    p.finish([p.publish("plant/oven/temperature", v, 1) for v in ("79", "81.5", "hot")])
    cloud.wait_count(3)
    cloud.close()
    wait_until("the alarm to be acknowledged", lambda: g.status()["alarms"]["acknowledged"] >= 1)
    yield g
    g.stop()


def test_show_matches_the_traffic(module_cli):
    g = module_cli
    rule, = g.show("rules")["rules"]
    assert (rule["name"], rule["filter"], rule["matched"], rule["value_missing"], rule["raised"]) == (
        "overheat", "plant/+/temperature", 3, 1, 1)
    alarm, = g.show("alarms")["alarms"]
    assert (alarm["rule"], alarm["state"], alarm["value"], alarm["client_id"], alarm["topic"], alarm["publish_topic"]) == (
        "overheat", "raised", 81.5, "oven-7", "plant/oven/temperature", "alarm/plant/oven/temperature")
    assert alarm["client"].startswith("10.99.0.1:")
    assert [p["name"] for p in g.show("ports")["ports"]] == ["devices", "cloud", "edge"]
    assert all(p["rx_packets"] > 0 for p in g.show("ports")["ports"] if p["name"] != "edge")
    nodes = {n["node"].split("-")[0] for n in g.show("nodes")["nodes"]}
    assert {"port_rx", "ethernet", "mqtt", "bridge", "port_tx"} <= nodes


def test_config_check_reports_errors(tmp_path):
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(json.dumps({"version": 1, **config_for()}, indent=1))
    p = biplane("config", "check", "-c", good)
    assert p.returncode == 0, p.stderr
    bad.write_text("""ports:
  - {name: a, device: "net_null0"}
  - {name: a, device: "net_null1"}
bridges: [{name: bridge0, ports: [a, nowhere]}]
workers: many
mqtt:
  max_connections: 0
  rules:
    - {name: r, topic: "a/#/b", raise: "> hot"}
surplus: 1
""")
    p = biplane("config", "check", "-c", bad)
    assert p.returncode == 78
    lines = (p.stdout + p.stderr).splitlines()
    places = {line.split(": ")[0] for line in lines if line.startswith(f"{bad}:")}
    for number in (3, 4, 5, 7, 9, 10):
        assert any(place.startswith(f"{bad}:{number}:") for place in places), f"line {number} is wrong too: {lines}"


def test_run_prints_its_plan(module_cli):
    text = module_cli.log.read_text()
    for word in ("devices", "net_af_packet", "rxq", "worker", "hugepage", "NUMA", "learning switch"):
        assert word.lower() in text.lower(), f"'{word}' is not in what run prints at start"
    assert os.path.getsize(module_cli.log) < 100_000, "and it doesn't chatter"
