# SPDX-License-Identifier: BSD-3-Clause
"""MQTT connections with the same addresses and TCP ports in two VRFs: two networks for inspection."""

import contextlib
import subprocess

import paho.mqtt.client as mqtt
import pytest

from conftest import running
from lab import wait_until
from test_route import SIDES, WHERE, interfaces_up, router_config
from test_route_vlan import add_vlan, settled
from test_route_vrf import BACKEND, TABLE, add_vrf, master
from wire import OVERHEAT

DEVICE, BROKER, TCP_PORT = "10.1.0.2", "10.2.0.2", 40123  # in both cells
CELL = "cell2"  # the devices of the second cell, behind VLAN ID of port left
ID = 300
VALUES = [f"{70 + i % 30}.5" for i in range(30)]
ALARMS = sum(float(v) > 80 for v in VALUES)


@contextlib.contextmanager
def second_cell(lab):
    """A namespace of the guest whose interface has a VLAN of the NIC of the first cell, and the same address."""
    subprocess.run(["ip", "netns", "add", lab.prefix + CELL], check=True)
    try:
        lab.ip("dev", "link", "add", "link", "eth0", "name", "v", "type", "vlan", "id", ID)
        lab.ip("dev", "link", "set", "v", "netns", lab.prefix + CELL)
        lab.ip(CELL, "addr", "add", f"{DEVICE}/24", "dev", "v")
        for name in ("lo", "v"):
            lab.ip(CELL, "link", "set", name, "up")
        lab.ip(CELL, "route", "add", "10.0.0.0/8", "via", "10.1.0.1")
        yield
    finally:
        subprocess.run(["ip", "netns", "del", lab.prefix + CELL], check=False)


@pytest.fixture(scope="module")
def router(lab, tmp_path_factory):
    """Ports left and right are in blue; edge, with the addresses of right, and left.300, with those of left, in red."""
    nics = [lab.of_kind(kind)[0] for kind in ("e1000e", "virtio", "vmxnet3")]
    config = router_config(nics)
    for p in config["ports"]:
        p["routed"]["host_interface"]["backend"] = BACKEND[p["name"]]
    config["mqtt"] = {"publisher": {"broker": "mqtt://127.0.0.1", "client_id": "biplane-vm"}, "rules": [OVERHEAT]}
    lab.broker("gw")
    try:
        for (side, n), nic in zip(SIDES.items(), nics, strict=True):
            at = 2 if side == "edge" else n
            lab.give(WHERE[side], nic, addresses=[f"10.{at}.0.2/24"])
            lab.ip(WHERE[side], "route", "add", "10.0.0.0/8", "via", f"10.{at}.0.1")
        for side in ("right", "edge"):
            lab.broker(WHERE[side])
        lab.run("gw", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=0")
        with second_cell(lab), running(lab, tmp_path_factory.mktemp("router"), config, edge=False) as g:
            wait_until("the kernel interfaces", lambda: interfaces_up(lab))
            for vrf in TABLE:
                add_vrf(lab, vrf)
            add_vlan(lab, "gw", "left", ID, "10.1.0.1/24")
            for side, vrf in (("left", "blue"), ("right", "blue"), ("edge", "red"), (f"left.{ID}", "red")):
                master(lab, side, vrf)
            lab.ip("gw", "addr", "add", "10.2.0.1/24", "dev", "edge")
            settled(lab, g)
            yield g
    finally:
        for vrf in TABLE:
            lab.ip("gw", "link", "del", vrf, check=False)
        lab.take()
        lab.run("gw", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")


@contextlib.contextmanager
def client(lab, ns, client_id):
    """An MQTT client there."""
    c = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=client_id, clean_session=True)

    def begin():
        with contextlib.suppress(OSError), lab.inside(ns):
            c.connect(BROKER, 1883, bind_address=DEVICE, bind_port=TCP_PORT)
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


def networks(router):
    return sorted((c.get("network"), c["client_id"], c["to_broker"]) for c in router.show("connections")["connections"])


def test_cells_with_the_same_addresses(lab, router):
    """The publications of both are interleaved. A connection of one cell does not disturb that of the other, also after a
    restart of the data plane."""
    expected = [("vrf:10", "blue", "inspecting"), ("vrf:20", "red", "inspecting")]
    with client(lab, "dev", "blue") as blue, client(lab, CELL, "red") as red:
        for v in VALUES:
            for c, topic in ((blue, "plant/b/temperature"), (red, "plant/r/temperature")):
                c.publish(topic, v, 1).wait_for_publish(20)
        wait_until("all alarms", lambda: router.counter("alarms_raised") == 2 * ALARMS)
        assert networks(router) == expected
        for name in ("connections_midstream", "resync_started", "segments_out_of_window"):
            assert router.counter(name) == 0, name
        router.kill_plane("data plane")
        settled(lab, router)
        for c, topic in ((blue, "plant/b/temperature"), (red, "plant/r/temperature")):
            c.publish(topic, "99.5", 1).wait_for_publish(20)
        assert networks(router) == expected
    router.balanced()
