# SPDX-License-Identifier: BSD-3-Clause
"""Changes in the kernel, or at a neighbor, are applied: links, addresses, MAC addresses, MTUs, next hops."""

import contextlib
import re

import pytest

from lab import BIPLANE, wait_until
from router_lab import (FAR, FAR6, LEFT, RIGHT, RIGHT6, host_mac, only_biplane, own, pause, router_mac,
                        send_all, takes, traffic)


def reaches(lab, address=RIGHT, ns="left"):
    return lab.pings(ns, address, "-W", "0.3", check=False, count=1)


def test_a_link_set_down_and_up(routed_lab, router):
    lab = routed_lab
    lab.pings("left", RIGHT)
    lab.ip("gw", "link", "set", "right", "down")
    try:
        router.settled()
        wait_until("forwarding to the right to stop", lambda: not reaches(lab))
        t = send_all(lab, "left", [RIGHT], ("right",), 50, rate=1000)
        assert t.got == {"right": {}}, "packets left by a link that is down"
        # Nor does anything come in by it.
        t = send_all(lab, "right", [LEFT], ("left",), 50, rate=1000)
        assert t.got == {"left": {}}, "packets came in by a link that is down"
        lab.pings("left", FAR)
    finally:
        lab.ip("gw", "link", "set", "right", "up")
        lab.ip("gw", "addr", "replace", f"{own('right', 6)}/64", "dev", "right", "nodad")
    wait_until("forwarding to be back", lambda: reaches(lab) and reaches(lab, RIGHT6), 10)
    router.settled()
    send_all(lab, "left", [RIGHT, RIGHT6], ("right",), 200, rate=2000).check_all_arrived()


def carrier(lab, side):
    (link,) = lab.ip_json("gw", "link", "show", "dev", side)
    return "LOWER_UP" in link["flags"]


def test_the_ports_carrier_is_the_interfaces(routed_lab, router):
    """The cable pulled: the kernel, and so its routing daemons, see it on the interface."""
    lab = routed_lab
    assert carrier(lab, "right")
    lab.ip("right", "link", "set", "eth0", "down")
    try:
        wait_until("the interface to lose its carrier", lambda: not carrier(lab, "right"), 10)
    finally:
        lab.ip("right", "link", "set", "eth0", "up")
        lab.ip("right", "addr", "replace", f"{RIGHT6}/64", "dev", "eth0", "nodad")
        lab.ip("right", "route", "replace", "default", "via", own("right"))
        lab.ip("right", "-6", "route", "replace", "default", "via", own("right", 6))
    wait_until("the interface to have its carrier again", lambda: carrier(lab, "right"), 10)
    wait_until("forwarding to be back", lambda: reaches(lab) and reaches(lab, RIGHT6), 10)
    router.settled()


def test_addresses_are_added_and_removed(routed_lab, router):
    lab = routed_lab
    for address, length in (("10.77.0.1", 24), ("fd77::1", 64)):
        nodad = ("nodad",) if ":" in address else ()
        assert not reaches(lab, address)
        lab.ip("gw", "addr", "add", f"{address}/{length}", "dev", "right", *nodad)
        router.settled()
        lab.pings("left", address, count=1)
        neighbor = address[:-1] + "2"
        lab.ip("right", "addr", "add", f"{neighbor}/{length}", "dev", "eth0", *nodad)
        lab.pings("left", neighbor, count=1)
        lab.ip("gw", "addr", "del", f"{address}/{length}", "dev", "right")
        router.settled()
        assert not reaches(lab, address) and not reaches(lab, neighbor)
        lab.ip("right", "addr", "del", f"{neighbor}/{length}", "dev", "eth0")


def test_the_routers_own_mac_changes(routed_lab, router):
    lab, other = routed_lab, "02:10:02:00:00:99"
    lab.ip("gw", "link", "set", "dev", "right", "address", other)
    try:
        router.settled()
        wait_until("the right side to reach the left with the new MAC",
                   lambda: lab.ip("right", "neigh", "flush", "all") == "" and reaches(lab, LEFT, "right"), 10)
        (n,) = lab.ip_json("right", "neigh", "show", own("right"))
        assert n["lladdr"] == other
        with router.counts(forwarded_ip4=200):
            send_all(lab, "left", [RIGHT], ("right",), 100, rate=2000).check_all_arrived()
            send_all(lab, "right", [LEFT], ("left",), 100, rate=2000).check_all_arrived()
    finally:
        lab.ip("gw", "link", "set", "dev", "right", "address", router_mac("right"))
        lab.ip("right", "neigh", "flush", "all")
        lab.ip("right", "-6", "neigh", "flush", "all")
    router.settled()
    wait_until("the way back with the old MAC", lambda: reaches(lab) and reaches(lab, RIGHT6), 10)


def test_a_larger_and_a_smaller_mtu(routed_lab, router):
    lab = routed_lab
    try:
        for mtu in (1280, 1450, 1500):
            lab.ip("gw", "link", "set", "right", "mtu", mtu)
            router.settled()
            lab.ip("left", "route", "flush", "cache")
            with router.counts(at_most={"punt_mtu_exceeded": 0}):
                lab.pings("left", RIGHT, "-M", "do", "-s", mtu - 28, count=1)
            if mtu < 1500:
                out = lab.run("left", "ping", "-M", "do", "-c1", "-W1", "-s", mtu - 27, RIGHT, check=False).stdout.decode()
                assert f"mtu = {mtu}" in out, out
    finally:
        lab.ip("gw", "link", "set", "right", "mtu", "1500")
        lab.ip("left", "route", "flush", "cache")
    router.settled()


@contextlib.contextmanager
def mac_of_host(lab, ns, mac):
    """The host's interface with another MAC address. Linux does not announce the change on the link."""
    lab.ip(ns, "link", "set", "eth0", "address", mac)
    try:
        yield
    finally:
        lab.ip(ns, "link", "set", "eth0", "address", host_mac(ns))


def announce(lab, ns, address):
    """A gratuitous ARP."""
    lab.run(ns, "arping", "-q", "-A", "-c", 1, "-I", "eth0", address, check=False)


def test_a_neighbor_that_announces_another_mac(routed_lab, router):
    lab = routed_lab
    lab.pings("left", RIGHT)
    with mac_of_host(lab, "right", "02:10:02:00:00:aa"):
        announce(lab, "right", RIGHT)
        wait_until("the new MAC in the kernel's table",
                   lambda: lab.ip_json("gw", "neigh", "show", RIGHT)[0].get("lladdr") == "02:10:02:00:00:aa", 5)
        router.settled()
        wait_until("the neighbor at its new MAC", lambda: reaches(lab), 5)
        send_all(lab, "left", [RIGHT], ("right",), 100, rate=2000).check_all_arrived()
    announce(lab, "right", RIGHT)
    wait_until("the neighbor at its old MAC", lambda: reaches(lab), 5)


@contextlib.contextmanager
def impatient(lab, interface):
    """Neighbors of this interface go stale after half a second."""
    keys = {4: {"base_reachable_time_ms": 500, "retrans_time_ms": 200, "delay_first_probe_time": 1},
            6: {"base_reachable_time_ms": 500, "retrans_time_ms": 200, "delay_first_probe_time": 1}}
    before = {}
    for f, values in keys.items():
        for k, v in values.items():
            name = f"net.ipv{f}.neigh.{interface}.{k}"
            before[name] = lab.run("gw", "sysctl", "-n", name).stdout.decode().strip()
            lab.run("gw", "sysctl", "-qw", f"{name}={v}")
    # A timer that runs keeps the time it was set to, which may be 45 s: begin with new entries.
    for f, address in ((4, RIGHT), (6, RIGHT6)):
        lab.ip("gw", f"-{f}", "neigh", "flush", "dev", interface)
        lab.pings("gw", address, count=1)
    try:
        yield
    finally:
        for name, v in before.items():
            lab.run("gw", "sysctl", "-qw", f"{name}={v}")


def test_a_busy_neighbor_never_expires(routed_lab, router):
    """The kernel sees none of the traffic; all the same its entry is confirmed again and again."""
    lab = routed_lab
    with impatient(lab, "right"):
        lab.pings("left", RIGHT)
        lab.pings("left", RIGHT6)
        with router.counts(at_most={"punt_no_neighbor": 0}), traffic(lab, "left", [RIGHT, RIGHT6], ("right",), rate=2000) as t:
            pause(4)
            t.finish()
        t.check_all_arrived()
        for address in (RIGHT, RIGHT6):
            (n,) = lab.ip_json("gw", "neigh", "show", address)
            assert n["state"][0] in ("REACHABLE", "STALE", "DELAY", "PROBE"), n


def test_a_busy_neighbor_that_changes_its_mac_in_silence(routed_lab, router):
    """Only who asks it again can know."""
    lab = routed_lab
    with impatient(lab, "right"), mac_of_host(lab, "right", "02:10:02:00:00:bb"), \
            traffic(lab, "left", [RIGHT], ("right",), rate=200) as t:
        wait_until("the neighbor at its new MAC",
                   lambda: [n.get("lladdr") for n in lab.ip_json("gw", "neigh", "show", RIGHT)] == ["02:10:02:00:00:bb"], 20)
        router.settled()
        t.finish()
        send_all(lab, "left", [RIGHT], ("right",), 100, rate=2000).check_all_arrived()
    announce(lab, "right", RIGHT)
    wait_until("the neighbor at its old MAC", lambda: reaches(lab), 10)


def test_unreachable_neighbor_is_removed(routed_lab, router):
    """Traffic to a host that is not there ends at the kernel, which says so to the sender."""
    lab = routed_lab
    out = lab.run("left", "ping", "-n", "-c", 1, "-W", 5, "10.2.0.200", check=False).stdout.decode()
    assert f"From {own('left')} icmp_seq=1 Destination Host Unreachable" in out, out
    out = lab.run("left", "ping", "-n", "-c", 1, "-W", 5, "fd02::200", check=False).stdout.decode()
    assert re.search(rf"From {own('left', 6)} icmp_seq=1 Destination unreachable: Address unreachable", out), out
    router.balanced()


def test_first_packets_to_unresolved_neighbors_are_not_lost(routed_lab, router):
    """The kernel holds them while it asks."""
    lab = routed_lab
    many = [f"10.2.0.{i}" for i in range(100, 120)]
    for a in many:
        lab.ip("right", "addr", "add", f"{a}/24", "dev", "eth0")
    try:
        with router.counts(at_most={"punt_no_neighbor": 2 * len(many)}):
            send_all(lab, "left", many, ("right",), len(many), rate=1000).check_all_arrived()
        router.settled()
        with router.counts(punt_no_neighbor=0, forwarded_ip4=10 * len(many)):
            send_all(lab, "left", many, ("right",), 10 * len(many), rate=5000).check_all_arrived()
    finally:
        for a in many:
            lab.ip("right", "addr", "del", f"{a}/24", "dev", "eth0")


@pytest.fixture
def two_ways(routed_lab, router):
    """Networks that are behind right and edge both."""
    lab = routed_lab
    lab.sysctl("gw", net__ipv4__fib_multipath_hash_policy=1, net__ipv6__fib_multipath_hash_policy=1)
    for ns in ("right", "edge"):
        takes(lab, ns, "50.0.0.0/8", "fd50::/16")
    for a in (RIGHT, FAR, RIGHT6, FAR6):
        lab.pings("gw", a, count=1)
    yield lab
    for f, prefix in ((4, "50.0.0.0/8"), (6, "fd50::/16")):
        lab.ip("gw", f"-{f}", "route", "flush", "root", prefix, check=False)
    lab.ip("gw", "nexthop", "flush", check=False)
    router.settled()


def spread(lab, destination, flows=300, each=4):
    """How many of `flows` flows went to the right and how many to the edge; each to one of them."""
    t = send_all(lab, "left", [destination], ("right", "edge"), flows * each, sources=flows, rate=5000)
    t.check_all_arrived()
    right, edge = t.got["right"].keys(), t.got["edge"].keys()
    assert not right & edge, f"{len(right & edge)} flows went both ways"
    return len(right), len(edge)


ECMP = {
    4: ("50.1.2.3", ("50.0.0.0/8",), RIGHT, FAR),
    6: ("fd50::1:2", ("fd50::/16",), RIGHT6, FAR6),
}


@pytest.mark.parametrize("family", ECMP)
def test_equal_cost_paths(two_ways, router, family):
    """A flow keeps its path, many flows use both, by their weights."""
    lab, (destination, prefix, a, b) = two_ways, ECMP[family]
    for weights, least, most in (((1, 1), 100, 200), ((4, 1), 205, 275)):
        lab.ip("gw", f"-{family}", "route", "replace", *prefix, "nexthop", "via", a, "weight", weights[0],
               "nexthop", "via", b, "weight", weights[1])
        router.settled()
        right, edge = spread(lab, destination)
        assert right + edge == 300 and least <= right <= most, (weights, right, edge)
        lab.ip("gw", f"-{family}", "route", "del", *prefix)
    router.settled()


@pytest.mark.parametrize("family", ECMP)
def test_next_hop_objects(two_ways, router, family):
    """`ip nexthop`: a route by its group's number, and a group that changes under it."""
    lab, (destination, prefix, a, b) = two_ways, ECMP[family]
    lab.ip("gw", f"-{family}", "nexthop", "add", "id", "1", "via", a, "dev", "right")
    lab.ip("gw", f"-{family}", "nexthop", "add", "id", "2", "via", b, "dev", "edge")
    lab.ip("gw", "nexthop", "add", "id", "10", "group", "1/2")
    lab.ip("gw", f"-{family}", "route", "add", *prefix, "nhid", "10")
    router.settled()
    right, edge = spread(lab, destination)
    assert right + edge == 300 and 100 <= right <= 200, (right, edge)
    lab.ip("gw", "nexthop", "replace", "id", "10", "group", "2")
    router.settled()
    assert spread(lab, destination) == (0, 300)
    # A next hop that is deleted takes with it the routes that had no other.
    lab.ip("gw", "nexthop", "del", "id", "2")
    router.settled()
    t = send_all(lab, "left", [destination], ("right", "edge"), 20, rate=1000)
    assert t.together() == {}


def test_route_changes_its_next_hop_without_loss(two_ways, router):
    """`ip route replace` to and fro under traffic: each packet goes one way or the other, none is lost."""
    lab = two_ways
    takes(lab, "right", "51.0.0.0/8")
    takes(lab, "edge", "51.0.0.0/8")
    with lab_route(lab, "51.0.0.0/8", RIGHT), traffic(lab, "left", ["51.0.0.1", "51.2.3.4"], ("right", "edge"), rate=5000) as t:
        for i in range(200):
            lab.ip("gw", "route", "replace", "51.0.0.0/8", "via", (FAR, RIGHT)[i & 1])
        t.finish()
    t.check_all_arrived()
    assert all(t.got.values()), "all of it went one way"
    router.settled()


@contextlib.contextmanager
def lab_route(lab, prefix, via):
    lab.ip("gw", "route", "add", prefix, "via", via)
    try:
        yield
    finally:
        lab.ip("gw", "route", "del", prefix, check=False)


def test_longer_prefix_is_added_and_removed(two_ways, router):
    lab = two_ways
    with lab_route(lab, "50.0.0.0/8", RIGHT):
        router.settled()
        for prefix in ("50.1.0.0/16", "50.1.2.0/24", "50.1.2.3/32"):
            with lab_route(lab, prefix, FAR):
                router.settled()
                t = send_all(lab, "left", ["50.1.2.3", "50.200.0.1"], ("right", "edge"), 20, rate=2000)
                t.check_all_arrived()
                t.check_places(lambda d: {"edge"} if d == "50.1.2.3" else {"right"})
            router.settled()
            t = send_all(lab, "left", ["50.1.2.3"], ("right", "edge"), 10, rate=2000)
            t.check_all_arrived()
            t.check_places(lambda d: {"right"})


@only_biplane
def test_routes_through_other_interfaces_are_the_kernels(routed_lab, router):
    """A route that leads through an interface that is not biplane's: the kernel forwards."""
    lab = routed_lab
    lab.ip("gw", "link", "add", "other", "type", "veth", "peer", "name", "other2", "netns", lab.prefix + "edge")
    try:
        lab.ip("gw", "addr", "add", "10.66.0.1/24", "dev", "other")
        lab.ip("gw", "link", "set", "other", "up")
        lab.ip("edge", "addr", "add", "10.66.0.2/24", "dev", "other2")
        lab.ip("edge", "link", "set", "other2", "up")
        router.settled()
        with router.counts(punt_foreign_interface=3):
            lab.pings("left", "10.66.0.2", count=3)
    finally:
        lab.ip("gw", "link", "del", "other", check=False)
    router.settled()


@only_biplane
def test_other_tables_are_not_mirrored(routed_lab, router):
    lab = routed_lab
    lab.ip("gw", "route", "add", "203.0.113.0/24", "via", RIGHT, "table", "77")
    try:
        router.settled()
        assert b"203.0.113" not in lab.run("gw", BIPLANE, "show", "routes", "-c", router.identity).stdout
    finally:
        lab.ip("gw", "route", "del", "203.0.113.0/24", "table", "77", check=False)
