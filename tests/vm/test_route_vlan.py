# SPDX-License-Identifier: BSD-3-Clause
"""VLAN subinterfaces of routed ports. The peers are VLAN interfaces of Linux; kernels without them run tests/vm only."""

import contextlib

import pytest

from conftest import running
from frames import Wire, ethernet, ip4
from lab import wait_until
from test_route import SIDES, WHERE, interfaces_up, pings, router_config, tables_equal
from wire import port

ID = {"left": 100, "right": 200}
KIND = {"left": "e1000e", "right": "virtio", "edge": "vmxnet3"}
BACKEND = {"left": "tap", "right": "virtio", "edge": "tap"}  # a virtio interface is gone while the data plane is


def there(side, family=4):
    return f"10.{SIDES[side]}.100.1" if family == 4 else f"fd0{SIDES[side]}:100::1"


def peer(side, family=4):
    return f"10.{SIDES[side]}.100.2" if family == 4 else f"fd0{SIDES[side]}:100::2"


def add_vlan(lab, ns, parent, vlan_id, *addresses):
    name = f"{parent}.{vlan_id}"
    lab.ip(ns, "link", "add", "link", parent, "name", name, "type", "vlan", "id", vlan_id)
    lab.run(ns, "sysctl", "-qw", f"net/ipv6/conf/{name}/disable_ipv6=0")
    for a in addresses:
        lab.ip(ns, "addr", "add", a, "dev", name, *(["nodad"] if ":" in a else []))
    lab.ip(ns, "link", "set", name, "up")


def add_own(lab, side, vlan_id):
    add_vlan(lab, "gw", side, vlan_id, f"{there(side)}/24", f"{there(side, 6)}/64")


def add_peer(lab, side, vlan_id):
    other = "right" if side == "left" else "left"
    add_vlan(lab, WHERE[side], "eth0", vlan_id, f"{peer(side)}/24", f"{peer(side, 6)}/64")
    lab.ip(WHERE[side], "route", "replace", f"10.{SIDES[other]}.100.0/24", "via", there(side))
    lab.ip(WHERE[side], "-6", "route", "replace", f"fd0{SIDES[other]}:100::/64", "via", there(side, 6))


def settled(lab, router):
    wait_until("the forwarding tables to be the kernel's", lambda: tables_equal(lab, router), 30)


@pytest.fixture(scope="module")
def router(lab, tmp_path_factory):
    """Three ports; two have a subinterface."""
    nics = {side: lab.of_kind(KIND[side])[0] for side in SIDES}
    config = router_config([nics[s] for s in SIDES])
    for p in config["ports"]:
        p["routed"]["host_interface"]["backend"] = BACKEND[p["name"]]
        p["promiscuous"] = KIND[p["name"]] == "virtio"  # else the device drops tags
    lab.run("gw", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=0")
    try:
        for side, n in SIDES.items():
            lab.give(WHERE[side], nics[side], addresses=[f"10.{n}.0.2/24", f"fd0{n}::2/64"])
            lab.ip(WHERE[side], "route", "add", "10.0.0.0/8", "via", f"10.{n}.0.1")
        with running(lab, tmp_path_factory.mktemp("router"), config, edge=False) as g:
            wait_until("the kernel interfaces", lambda: interfaces_up(lab))
            for side, vlan_id in ID.items():
                add_own(lab, side, vlan_id)
                add_peer(lab, side, vlan_id)
            settled(lab, g)
            yield g
    finally:
        for side in ID:
            for vlan_id in (ID[side], ID[side] + 1):
                lab.ip(WHERE[side], "link", "del", f"eth0.{vlan_id}", check=False)
        lab.take()
        lab.run("gw", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")


@contextlib.contextmanager
def grows(router, **least):
    """Each counter grows by at least so much; with 0, not at all."""
    before = {k: router.counter(k) for k in least}
    yield
    for name, n in least.items():
        if n:
            wait_until(f"{name} to grow by {n}", lambda k=name, n=n: router.counter(k) >= before[k] + n)
        else:
            assert router.counter(name) == before[name], name


def reaches(lab, address=None):
    return pings(lab, WHERE["left"], address or peer("right"), count=1, patience=1) is True


def test_traffic_between_vlans_and_untagged_networks(lab, router):
    for family in (4, 6):
        assert pings(lab, WHERE["left"], there("left", family), count=1) is True
        assert pings(lab, "gw", peer("left", family), count=1) is True
        assert pings(lab, WHERE["left"], peer("right", family), count=1) is True
        settled(lab, router)
        with grows(router, **{f"forwarded_ip{family}": 20, "punt_vlan": 0, "punt_foreign_interface": 0}):
            assert pings(lab, WHERE["left"], peer("right", family), "-s", "1400", count=10) is True
    assert pings(lab, WHERE["edge"], peer("right"), count=1) is True
    settled(lab, router)
    with grows(router, forwarded_ip4=20, punt_vlan=0, punt_foreign_interface=0):  # a tag one way, none the other
        assert pings(lab, WHERE["edge"], peer("right"), count=10) is True
    router.balanced()


def test_icmp_errors_come_from_the_subinterface(lab, router):
    out = lab.run(WHERE["left"], "ping", "-n", "-c1", "-W5", "-t1", peer("right"), check=False).stdout.decode()
    assert f"From {there('left')}" in out and "Time to live exceeded" in out, out
    lab.ip("gw", "link", "set", "right.200", "mtu", "1400")
    settled(lab, router)
    out = lab.run(WHERE["left"], "ping", "-n", "-M", "do", "-c1", "-W5", "-s", "1380", peer("right"), check=False).stdout.decode()
    assert f"From {there('left')}" in out and "mtu" in out, out
    lab.ip("gw", "link", "set", "right.200", "mtu", "1500")
    settled(lab, router)
    lab.ip(WHERE["left"], "route", "flush", "cache")
    assert pings(lab, WHERE["left"], peer("right"), "-M", "do", "-s", "1472", count=1) is True


def test_views(lab, router):
    assert pings(lab, WHERE["left"], peer("right"), count=1) is True
    settled(lab, router)
    (i,) = (i for i in router.show("interfaces")["interfaces"] if i["name"] == "right.200")
    assert (i["vlan"], i["port"], i["mtu"], i["up"]) == (200, "right", 1500, True)
    assert f"{there('right')}/24" in i["addresses"]
    assert any(n["dev"] == "right.200" and n["dst"] == peer("right") for n in router.show("neighbors")["neighbors"])
    assert any(r["prefix"] == "10.1.100.0/24" and r["nexthops"][0]["dev"] == "left.100" for r in router.show("routes")["routes"])


def test_frames_with_other_tags(lab, router):
    """A priority tag belongs to the port; an unknown tag, or a second one, to the kernel."""
    packet = ip4("10.1.0.2", "10.2.0.2", 17, bytes(72))
    assert pings(lab, WHERE["left"], "10.2.0.2", count=1) is True
    settled(lab, router)

    def frame(*ids):
        return ethernet(port(router, "left")["mac"], "02:00:00:00:00:02", 0x0800, packet, [(0x8100, i) for i in ids])
    wire = Wire(lab, WHERE["left"])
    try:
        with grows(router, forwarded_ip4=2, punt_vlan=0):
            wire.send(frame(0), frame(0xE064))  # priority 7 in VLAN 100
        with grows(router, punt_vlan=4, forwarded_ip4=0):
            wire.send(frame(999), frame(200), frame(100, 100), frame(4095))
    finally:
        wire.close()


def test_down_deleted_and_another_id(lab, router):
    lab.ip("gw", "link", "set", "left.100", "down")
    settled(lab, router)
    with grows(router, interface_down=1, forwarded_ip4=0):
        assert not reaches(lab)
    lab.ip("gw", "link", "set", "left.100", "up")
    settled(lab, router)
    wait_until("traffic to flow again", lambda: reaches(lab))

    lab.ip("gw", "link", "del", "right.200")
    settled(lab, router)
    assert not reaches(lab)
    add_own(lab, "right", 201)
    settled(lab, router)
    assert not reaches(lab), "the peer is in another VLAN"
    lab.ip(WHERE["right"], "link", "del", "eth0.200")
    add_peer(lab, "right", 201)
    wait_until("the peer in its new VLAN", lambda: reaches(lab))
    settled(lab, router)
    with grows(router, forwarded_ip4=20):
        assert pings(lab, WHERE["left"], peer("right"), count=10) is True


def test_the_control_plane_restarts(lab, router):
    assert pings(lab, WHERE["left"], peer("right"), count=1) is True
    router.kill_plane("control plane")
    settled(lab, router)
    with grows(router, forwarded_ip4=20, punt_vlan=0):
        assert pings(lab, WHERE["left"], peer("right"), count=10) is True


def test_the_data_plane_restarts(lab, router):
    """The subinterface of a tap remains; that of a virtio interface is gone with it."""
    (vlan_id,) = (i["vlan"] for i in router.show("interfaces")["interfaces"] if i["port"] == "right")
    router.kill_plane("data plane")
    wait_until("the kernel interfaces", lambda: interfaces_up(lab), 60)
    settled(lab, router)
    assert "right." not in lab.ip("gw", "link", "show") and "left.100" in lab.ip("gw", "link", "show")
    add_own(lab, "right", vlan_id)
    settled(lab, router)
    wait_until("traffic through subinterfaces", lambda: reaches(lab))
    settled(lab, router)
    with grows(router, forwarded_ip4=20, punt_vlan=0):
        assert pings(lab, WHERE["left"], peer("right"), count=10) is True
