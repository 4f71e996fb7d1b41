# SPDX-License-Identifier: BSD-3-Clause
"""Routed ports in VRFs, with the same prefix and the same neighbor address in two of them."""

import json

import pytest

from conftest import running
from lab import BIPLANE, wait_until
from test_route import SIDES, WHERE, interfaces_up, pings, router_config
from test_route_vlan import add_vlan, grows, settled

TABLE = {"blue": 10, "red": 20}
BACKEND = {"left": "tap", "right": "virtio", "edge": "tap"}  # a virtio interface is gone while the data plane is
SHARED = "10.2.0.2", "fd02::2"  # behind port right, and behind port edge
FAR = 4278198272  # metric of the default route that ends a VRF, as the kernel's documentation has it


def master(lab, side, vrf):
    lab.ip("gw", "link", "set", side, *(["master", vrf] if vrf else ["nomaster"]))


def add_vrf(lab, vrf):
    lab.ip("gw", "link", "add", vrf, "type", "vrf", "table", TABLE[vrf])
    lab.ip("gw", "link", "set", vrf, "up")


@pytest.fixture(scope="module")
def router(lab, tmp_path_factory):
    """Ports left and right are in blue, edge is in red and has the addresses of right, too."""
    nics = [lab.of_kind(kind)[0] for kind in ("e1000e", "virtio", "vmxnet3")]
    config = router_config(nics)
    for p in config["ports"]:
        p["routed"]["host_interface"]["backend"] = BACKEND[p["name"]]
    lab.run("gw", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=0")
    try:
        for (side, n), nic in zip(SIDES.items(), nics, strict=True):
            lab.give(WHERE[side], nic, addresses=[f"10.{n}.0.2/24", f"fd0{n}::2/64"])
        for address in ("10.2.0.2/24", "fd02::2/64"):
            lab.ip(WHERE["edge"], "addr", "add", address, "dev", "eth0", *(["nodad"] if ":" in address else []))
        for side in SIDES:
            n = 2 if side == "edge" else SIDES[side]
            lab.ip(WHERE[side], "route", "add", "10.0.0.0/8", "via", f"10.{n}.0.1")
            lab.ip(WHERE[side], "-6", "route", "add", "fd00::/8", "via", f"fd0{n}::1")
        with running(lab, tmp_path_factory.mktemp("router"), config, edge=False) as g:
            wait_until("the kernel interfaces", lambda: interfaces_up(lab))
            for vrf in TABLE:
                add_vrf(lab, vrf)
            master(lab, "left", "blue")
            master(lab, "right", "blue")
            master(lab, "edge", "red")
            for address in ("10.2.0.1/24", "fd02::1/64"):
                lab.ip("gw", "addr", "add", address, "dev", "edge", *(["nodad"] if ":" in address else []))
            settled(lab, g)
            yield g
    finally:
        for vrf in TABLE:
            lab.ip("gw", "link", "del", vrf, check=False)
        lab.take()
        lab.run("gw", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")


def echoes(lab, side, family):
    """Echo requests that the peer behind a port received."""
    if family == 6:
        text = lab.run(WHERE[side], "cat", "/proc/net/snmp6").stdout.decode()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Icmp6InEchos "))
    names, values = [line.split() for line in lab.run(WHERE[side], "cat", "/proc/net/snmp").stdout.decode().splitlines()
                     if line.startswith("Icmp:")]
    return int(values[names.index("InEchos")])


def reaches(lab, address):
    return pings(lab, WHERE["left"], address, count=1, patience=1) is True


def leads_to(lab, router, side):
    """The peer on the left reaches the shared address behind this port, by biplane's own tables."""
    for family, address in zip((4, 6), SHARED, strict=True):
        wait_until(f"{address} to answer", lambda a=address: reaches(lab, a))
        settled(lab, router)
        before = {s: echoes(lab, s, family) for s in ("right", "edge")}
        with grows(router, **{f"forwarded_ip{family}": 20, "punt_no_route": 0, "punt_foreign_interface": 0}):
            assert pings(lab, WHERE["left"], address, count=10) is True
        assert {s: echoes(lab, s, family) - n for s, n in before.items()} == {"right": 0, "edge": 0, side: 10}


def show_routes(lab, router, *args):
    return json.loads(lab.run("gw", BIPLANE, "show", "routes", "--json", "-c", router.identity, *args).stdout)


def vrf_of(router):
    return {i["name"]: i["vrf"] for i in router.show("interfaces")["interfaces"]}


def test_the_same_addresses_in_two_vrfs(lab, router):
    assert vrf_of(router) == {"left": "blue", "right": "blue", "edge": "red"}
    leads_to(lab, router, "right")
    master(lab, "left", "red")
    settled(lab, router)
    leads_to(lab, router, "edge")
    master(lab, "left", "blue")
    settled(lab, router)
    leads_to(lab, router, "right")
    router.balanced()


def test_the_gateway_itself(lab, router):
    for address in ("10.1.0.1", "10.2.0.1", "fd01::1"):
        assert pings(lab, WHERE["left"], address, count=1) is True
    for vrf, address in (("blue", "10.1.0.2"), ("red", "10.3.0.2")):
        assert pings(lab, "gw", address, "-I", vrf, count=1) is True
    out = lab.run(WHERE["left"], "ping", "-n", "-c1", "-W5", "-t1", SHARED[0], check=False).stdout.decode()
    assert "From 10.1.0.1" in out and "Time to live exceeded" in out, out


def test_unreachable_default_and_leaked_routes(lab, router):
    for family, default in ((4, "10.77.0.1"), (6, "fd77::1")):
        lab.ip("gw", f"-{family}", "route", "add", "vrf", "blue", "unreachable", "default", "metric", FAR)
        settled(lab, router)
        with grows(router, punt_unreachable=1):
            out = lab.run(WHERE["left"], "ping", "-n", "-c1", "-W5", default, check=False).stdout.decode()
        assert "nreachable" in out, out
    lab.ip("gw", "route", "add", "vrf", "blue", "10.3.0.0/24", "dev", "edge")
    lab.ip("gw", "route", "add", "vrf", "red", "10.1.0.0/24", "dev", "left")
    settled(lab, router)
    wait_until("the leaked route", lambda: reaches(lab, "10.3.0.2"))
    settled(lab, router)
    with grows(router, forwarded_ip4=20, punt_no_route=0):
        assert pings(lab, WHERE["left"], "10.3.0.2", count=10) is True


def test_views(lab, router):
    blue, red, main = (show_routes(lab, router, "--vrf", v)["routes"] for v in ("blue", "red", "main"))
    assert {r["vrf"] for r in blue} == {"blue"} and {r["vrf"] for r in red} == {"red"} and {r["vrf"] for r in main} <= {None}
    for routes, side in ((blue, "right"), (red, "edge")):
        assert [n["dev"] for r in routes if r["prefix"] == "10.2.0.0/24" for n in r["nexthops"]] == [side]
        (found,) = show_routes(lab, router, "--vrf", routes[0]["vrf"], SHARED[0])["nexthops"]
        assert found["dev"] == side
    assert lab.run("gw", BIPLANE, "show", "routes", "--vrf", "green", "-c", router.identity, check=False).returncode != 0


def spread(lab, family, prefix):
    """Of 32 echo requests from the left to different addresses, those that right and edge received."""
    before = {s: echoes(lab, s, family) for s in ("right", "edge")}
    lab.run(WHERE["left"], "sh", "-c", f"for i in $(seq 32); do ping -n -c1 -W5 {prefix}$i >/dev/null & done; wait", check=False)
    return {s: echoes(lab, s, family) - n for s, n in before.items()}


@pytest.mark.parametrize("family,prefix,length,hops", [(4, "10.55.0.", "0/16", ("10.2.0.2", "10.3.0.2")),
                                                       (6, "fd55::", "/32", ("fd02::2", "fd03::2"))])
def test_several_next_hops_in_a_vrf(lab, router, family, prefix, length, hops):
    """Flows use both, and all of them use the other one while one is down. VRF red has the same prefix."""
    def ip(*args, ns="gw"):
        lab.ip(ns, f"-{family}", "route", "replace", *args)

    def both():
        got = spread(lab, family, prefix)
        return sum(got.values()) == 32 and min(got.values()) >= 4

    for side in ("right", "edge"):
        ip("local", prefix + length, "dev", "lo", ns=WHERE[side])
    ip("vrf", "red", "10.1.0.0/24" if family == 4 else "fd01::/64", "dev", "left")
    ip("vrf", "red", prefix + length, "via", hops[1], "dev", "edge")
    ip("vrf", "blue", prefix + length, "nexthop", "via", hops[0], "dev", "right", "nexthop", "via", hops[1], "dev", "edge", "onlink")
    settled(lab, router)
    wait_until("both next hops", both)
    settled(lab, router)
    with grows(router, **{f"forwarded_ip{family}": 64, "punt_no_route": 0, "punt_foreign_interface": 0}):
        assert both()
    lab.ip("gw", "link", "set", "right", "down")
    settled(lab, router)
    assert spread(lab, family, prefix) == {"right": 0, "edge": 32}
    (found,) = show_routes(lab, router, "--vrf", "red", f"{prefix}1")["nexthops"]
    assert found["dev"] == "edge"
    lab.ip("gw", "link", "set", "right", "up")
    wait_until("both next hops again", both, 40)
    settled(lab, router)


def forwarding(router, name):
    return next(i["ipv4_forwarding"] for i in router.show("interfaces")["interfaces"] if i["name"] == name)


def test_more_vrfs_than_are_copied(lab, router):
    """With blue and red, there are 33. The kernel forwards in the last one, as the setting of its device has it."""
    ids = range(100, 131)
    last = f"left.{ids[-1]}"
    try:
        for n in ids:
            lab.ip("gw", "link", "add", f"v{n}", "type", "vrf", "table", n)
            lab.ip("gw", "link", "set", f"v{n}", "up")
            add_vlan(lab, "gw", "left", n, *(["10.99.0.1/24"] if n == ids[-1] else []))
            master(lab, f"left.{n}", f"v{n}")
        add_vlan(lab, WHERE["left"], "eth0", ids[-1], "10.99.0.2/24")
        settled(lab, router)
        vrf = vrf_of(router)
        assert [vrf[f"left.{n}"] for n in ids] == [f"v{n}" for n in ids[:-1]] + ["unsupported"]
        lab.run("gw", "sysctl", "-qw", f"net/ipv4/conf/v{ids[-1]}/forwarding=1")
        lab.run("gw", "sysctl", "-qw", f"net/ipv4/conf/{last}/forwarding=0")
        wait_until("the setting of the device", lambda: forwarding(router, last) is True)
        wait_until("the gateway to answer", lambda: reaches(lab, "10.99.0.1"))
        lab.run("gw", "sysctl", "-qw", f"net/ipv4/conf/v{ids[-1]}/forwarding=0")
        wait_until("the setting of the device", lambda: forwarding(router, last) is False)
        with grows(router, forwarding_disabled=0):
            assert pings(lab, WHERE["left"], "10.99.0.1", count=5) is True
    finally:
        lab.ip(WHERE["left"], "link", "del", f"eth0.{ids[-1]}", check=False)
        for n in ids:
            lab.ip("gw", "link", "del", f"left.{n}", check=False)
            lab.ip("gw", "link", "del", f"v{n}", check=False)
    settled(lab, router)


def test_planes_restart(lab, router):
    router.kill_plane("control plane")
    settled(lab, router)
    leads_to(lab, router, "right")
    router.kill_plane("data plane")
    settled(lab, router)
    leads_to(lab, router, "right")
    assert vrf_of(router) == {"left": "blue", "right": "blue", "edge": "red"}


def test_a_vrf_is_deleted(lab, router):
    """Its interfaces return to the main table; and a VRF of the same name gets another table."""
    lab.ip("gw", "link", "del", "blue")
    settled(lab, router)
    assert vrf_of(router) == {"left": None, "right": None, "edge": "red"}
    leads_to(lab, router, "right")
    lab.ip("gw", "link", "add", "blue", "type", "vrf", "table", 30)
    lab.ip("gw", "link", "set", "blue", "up")
    master(lab, "left", "blue")
    master(lab, "right", "blue")
    settled(lab, router)
    leads_to(lab, router, "right")
