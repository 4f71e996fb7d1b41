# SPDX-License-Identifier: BSD-3-Clause
"""Two isolated bridges of one gateway, with the same addresses and TCP ports at both: two networks for inspection."""

import contextlib
import json
import subprocess

import paho.mqtt.client as mqtt
import pytest

from conftest import overheat
from json_doc import differences
from lab import BIPLANE, CLOUD, DEVICE, EDGE_MGMT, MAC, ROOT, port_devices, wait_until
from peers import Collector
from traced import objects, tracing

TCP_PORT = 40123  # of each client
VALUES = [f"{70 + i % 30}.5" for i in range(90)]
RAISED = [v for v in VALUES if float(v) > 80]


def netns(lab, action, ns):
    subprocess.run(["ip", "netns", action, lab.prefix + ns], check=action == "add")


def veth(lab, ns, device, mac):
    """eth0 of the namespace, and its other end in the gateway."""
    lab.run("gw", "ip", "link", "add", device, "numtxqueues", "1", "numrxqueues", "1", "type", "veth", "peer", "name", "eth0",
            "netns", lab.prefix + ns, "address", mac, "numtxqueues", "1", "numrxqueues", "1")
    plain(lab, "gw", device)
    plain(lab, ns, "eth0")


def plain(lab, ns, device):
    lab.run(ns, "ethtool", "-K", device, "tx", "off", "rx", "off", "tso", "off", "gso", "off", "gro", "off")
    lab.run(ns, "ip", "link", "set", device, "up")


@contextlib.contextmanager
def second_cell(lab, directory):
    """A copy of the namespaces dev and cloud, with a broker, at the devices devices2 and cloud2 of the gateway."""
    broker = None
    conf = directory / "mosquitto.conf"
    conf.write_text("listener 1883\nallow_anonymous true\n")
    try:
        for ns, device, address, mac in (("srv1", "devices2", DEVICE, MAC["dev"]), ("srv2", "cloud2", CLOUD, MAC["cloud"])):
            netns(lab, "add", ns)
            veth(lab, ns, device, mac)
            lab.run(ns, "ip", "link", "set", "lo", "up")
            lab.run(ns, "ip", "addr", "add", f"{address}/24", "dev", "eth0")
        broker = lab.popen("srv2", "mosquitto", "-c", conf)
        yield
    finally:
        if broker is not None:
            broker.terminate()
            broker.wait()
        for ns in ("srv1", "srv2"):
            netns(lab, "del", ns)


@contextlib.contextmanager
def client(lab, ns, client_id, tcp_port=TCP_PORT):
    """An MQTT client there, from this TCP port."""
    c = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=client_id, clean_session=True)

    def begin():
        with contextlib.suppress(OSError), lab.inside(ns):  # until the broker listens
            c.connect(CLOUD, 1883, bind_address=DEVICE, bind_port=tcp_port)
            return True
        return False
    wait_until("the broker", begin)
    with lab.inside(ns):
        c.loop_start()
    wait_until("a CONNACK", c.is_connected)
    try:
        yield c
    finally:
        c.disconnect()
        c.loop_stop()


def config(names, bridges, spool):
    return {"ports": port_devices("af_packet", names), "bridges": bridges,
            "mqtt": {"publisher": {"broker": f"mqtt://{EDGE_MGMT}", "client_id": "biplane-e2e"}, "spool": {"path": str(spool)},
                     "rules": [overheat(publish={"topic": "alarm/{client}"})]}}


def publish(c, topic, value):
    c.publish(topic, value, 1).wait_for_publish(20)


def told(edge, client_id):
    return [p.decode() for t, p in list(edge.messages) if t == f"alarm/{client_id}"]


def test_cells_with_the_same_addresses(lab, gateway, tmp_path):
    """The publications of both are interleaved. A connection of one cell does not disturb that of the other."""
    bridges = [{"name": "cell-1", "ports": ["devices", "cloud"]}, {"name": "cell-2", "ports": ["devices2", "cloud2"]}]
    with second_cell(lab, tmp_path):
        gw = gateway(config(("devices", "cloud", "devices2", "cloud2"), bridges, tmp_path / "spool.db"))
        edge = Collector(lab, "edge", ("alarm/#",))
        with client(lab, "dev", "pump-1") as one, client(lab, "srv1", "pump-2") as two:
            for v in VALUES:
                publish(one, "plant/a/temperature", v)
                publish(two, "plant/b/temperature", v)
            wait_until("all alarms", lambda: len(edge.messages) >= 2 * len(RAISED))
            assert told(edge, "pump-1") == RAISED
            assert told(edge, "pump-2") == RAISED
            shown = gw.show("connections")
            assert not differences("show connections", shown)
            assert gw.command("show", "connections", "-c", gw.identity).stdout.startswith("NETWORK")
            connections = shown["connections"]
            assert sorted((c["network"], c["client_id"]) for c in connections) == [("cell-1", "pump-1"), ("cell-2", "pump-2")]
            assert {(c["client"], c["broker"]) for c in connections} == {(f"{DEVICE}:{TCP_PORT}", f"{CLOUD}:1883")}
            assert all(c["to_broker"] == "inspecting" for c in connections)
            for port, c, name in (("devices", one, "pump-1"), ("devices2", two, "pump-2")):
                with tracing(gw, "-n", 1, "--json", "-i", port, "tcp dst port 1883 and greater 90") as t:
                    publish(c, "plant/none/temperature", "20")
                    trace, = objects(t)
                step = next(s for s in trace["steps"] if s["node"] == "mqtt")
                assert step["connection"]["client_id"] == name
        edge.close()
        for name in ("connections_midstream", "resync_started", "segments_out_of_window"):
            assert gw.counter(name) == 0, name
        gw.balanced()


@pytest.mark.parametrize("shared", (True, False), ids=("shared", "separate"))
def test_connection_through_two_bridges(lab, gateway, tmp_path, shared):
    """As in front of and behind a firewall: with one network for both, the second pass is a retransmission. With a network
    each, there are two connections, and each value is evaluated twice."""
    network = {"network": "plant"} if shared else {}
    bridges = [{"name": "front", "ports": ["devices", "outer"], **network}, {"name": "back", "ports": ["inner", "cloud"], **network}]
    lab.run("gw", "ip", "link", "add", "outer", "type", "veth", "peer", "name", "inner")
    try:
        for device in ("outer", "inner"):
            plain(lab, "gw", device)
        gw = gateway(config(("devices", "outer", "inner", "cloud"), bridges, tmp_path / "spool.db"))
        edge = Collector(lab, "edge", ("alarm/#",))
        with client(lab, "dev", "pump", 0) as c:
            for v in VALUES:
                publish(c, "plant/a/temperature", v)
            expected = sorted(RAISED * (1 if shared else 2))
            wait_until("all alarms", lambda: len(edge.messages) >= len(expected))
            connections = gw.show("connections")["connections"]
            assert sorted(x["network"] for x in connections) == (["plant"] if shared else ["back", "front"])
        edge.close()
        assert sorted(told(edge, "pump")) == expected
        assert (gw.counter("segments_duplicate") > len(VALUES)) == shared
        gw.balanced()
    finally:
        gw.stop()
        lab.run("gw", "ip", "link", "del", "outer")


@pytest.mark.parametrize("capture", ("v311_qos012", "v5_alias"))
def test_replay_of_the_same_capture_at_two_bridges(tmp_path, capture):
    """Bursts have frames of both bridges: each gives the alarms of the capture, and with one network for both, the second
    copy is a retransmission."""
    def alarms(inputs, **network):
        names = ("a", "b", "c", "d")
        conf = config(names, [{"name": "cell-1", "ports": ["a", "b"], **network}, {"name": "cell-2", "ports": ["c", "d"], **network}],
                      tmp_path / "spool.db")
        conf["ports"] = [{"name": n, "device": f"net_null{i}"} for i, n in enumerate(names)]
        conf["mqtt"]["rules"] = [{"name": "r", "topic": "#", "raise": "> 50"}]
        (tmp_path / "replay.yaml").write_text(json.dumps({"version": 1, **conf}))
        argv = [BIPLANE, "replay", "-c", tmp_path / "replay.yaml", "--json"]
        for port in inputs:
            argv += ["--in", f"{port}={ROOT / 'tests' / 'fixtures' / capture}.pcap"]
        p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        assert p.returncode == 0, p.stderr
        return json.loads(p.stdout)["alarms"]
    once = len(alarms("a"))
    assert once != 0
    assert len(alarms("ac")) == 2 * once
    assert len(alarms("ac", network="plant")) == once
