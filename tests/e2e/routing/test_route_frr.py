# SPDX-License-Identifier: BSD-3-Clause
"""FRR on both sides of the router and on its own interfaces: what docs/tutorials/routed-gateway.md describes."""

import json
import os
import re
import subprocess
import time

import pytest

from conftest import running_router
from frr import Frr
from lab import ROOT, wait_until
from router_lab import (LEFT, LOAD, RIGHT, only_biplane, own, pause, router_mac, send_all, takes)

ROUTES = int(os.environ.get("BP_ROUTES", "100000"))
FLOOD_SECONDS = 15
EXAMPLES = ROOT / "docs" / "examples" / "frr"
LEFT_LO, RIGHT_LO = "10.101.0.1", "10.102.0.1"


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    """With the guide's file."""
    with running_router(routed_lab, tmp_path_factory.mktemp("frr"), text=(EXAMPLES / "biplane.yaml").read_text()) as r:
        yield r


@pytest.fixture(scope="module")
def frrs(routed_lab, router):
    """FRR in left, right and the gateway, with the guide's files."""
    lab, made = routed_lab, {}
    lab.ip("left", "addr", "add", f"{LEFT_LO}/32", "dev", "lo")
    lab.ip("right", "addr", "add", f"{RIGHT_LO}/32", "dev", "lo")
    # The right side receives packets to the routes that it announces.
    takes(lab, "right", "20.0.0.0/8", "fd20::/16")
    try:
        for ns, file in (("gw", "gateway"), ("left", "left"), ("right", "right")):
            made[ns] = Frr(lab, ns, ("ospfd", "bgpd"), (EXAMPLES / f"{file}.conf").read_text())
        yield made
    finally:
        for f in made.values():
            f.stop()
        for ns in ("gw", "left", "right"):
            for family in (4, 6):
                for protocol in ("ospf", "bgp", "99"):
                    lab.ip(ns, f"-{family}", "route", "flush", "proto", protocol, check=False)
        lab.ip("left", "addr", "del", f"{LEFT_LO}/32", "dev", "lo", check=False)
        lab.ip("right", "addr", "del", f"{RIGHT_LO}/32", "dev", "lo", check=False)


@pytest.fixture(autouse=True)
def logs(request, frrs):
    failed = request.session.testsfailed
    yield
    if request.session.testsfailed > failed:
        for f in frrs.values():
            f.dump()


def down(frrs, ends=(("gw", LEFT), ("gw", RIGHT), ("left", own("left")))):
    """The sessions that are not up, of these ends."""
    return [f"{protocol} of {ns} with {peer}" for protocol, up in (("OSPF", Frr.ospf_full), ("BGP", Frr.bgp_up))
            for ns, peer in ends if not up(frrs[ns], peer)]


def sessions(frrs):
    """Whether every session is up."""
    return not down(frrs)


def dropped(frrs, peers=(LEFT, RIGHT)):
    """How often the gateway's sessions with these went down so far, as the daemons have it."""
    bgp = {a: frrs["gw"].show(f"bgp neighbors {a}")[a]["connectionsDropped"] for a in peers}
    return bgp, {a: ospf_changes(frrs["gw"], a) for a in peers}


def ospf_changes(frr, address):
    """State changes of an OSPF neighbor; a session that is lost makes the neighbor a new one."""
    text = frr.vtysh("-c", "show ip ospf neighbor detail")
    block = next(b for b in re.split(r"\n(?= Neighbor )", text) if f"interface address {address}" in b)
    state = re.search(r"State is (\S+?),.*?(\d+) state changes", block, re.S)
    return state.groups()


def gateway_routes(lab, protocol="bgp", family=4):
    p = lab.run("gw", "sh", "-c", f"ip -{family} route show proto {protocol} | wc -l")
    return int(p.stdout)


def test_sessions_are_established(routed_lab, router, frrs):
    wait_until("OSPF and BGP with both sides", lambda: sessions(frrs), 60, 0.2)
    wait_until("BGP over IPv6", lambda: (p := frrs["gw"].bgp_peer("fd02::2", "ipv6Unicast")) and p["state"] == "Established", 30, 0.2)
    assert frrs["gw"].ospf_full(LEFT) and frrs["right"].ospf_full(own("right"))


def test_ospf_route_changes_are_forwarded(routed_lab, router, frrs):
    """Left and right learn each other's loopback networks through the gateway."""
    wait_until("the left side's route to the right's loopback",
               lambda: any(r.get("gateway") == own("left") for r in routed_lab.ip_json("left", "route", "show", RIGHT_LO)), 30, 0.1)
    wait_until("the way back", lambda: routed_lab.ip_json("right", "route", "show", LEFT_LO), 30, 0.1)
    router.settled()
    routed_lab.pings("left", RIGHT_LO, "-I", LEFT_LO)
    with router.counts(forwarded_ip4=1000):
        send_all(routed_lab, "left", [RIGHT_LO], ("right",), 1000, rate=5000).check_all_arrived()


def test_router_solicitation(routed_lab, router, frrs):
    """The left host asks, and zebra on the gateway's interface answers with the prefix."""
    p = routed_lab.run("left", "rdisc6", "-1", "-w", 2000, "-r", 5, "eth0", check=False)
    text = p.stdout.decode()
    assert p.returncode == 0 and "fd01::/64" in text, text
    assert re.search(r"from fe80::", text) and router_mac("left").upper() in text.upper(), text


def test_router_advertisements(routed_lab, router, frrs):
    """The left host makes itself an address of the advertised prefix, and it is reached there."""
    def made():
        (link,) = routed_lab.ip_json("left", "-6", "addr", "show", "dev", "eth0")
        return next((a["local"] for a in link["addr_info"] if a.get("dynamic") and a["local"].startswith("fd01:")), None)
    address = wait_until("an address of the left host's own making", made, 20, 0.1)
    wait_until("it to be usable", lambda: routed_lab.pings("right", address, check=False, count=1), 10)


def full_table(n):
    """n prefixes of 20.0.0.0/8, each of four addresses."""
    return [f"20.{i >> 14 & 255}.{i >> 6 & 255}.{(i & 63) << 2}/30" for i in range(n)]


def inside(prefix):
    """An address of such a prefix."""
    a = prefix.split("/")[0].split(".")
    return ".".join((*a[:3], str(int(a[3]) + 1)))


def announce(lab, prefixes, how="add", family=4):
    lab.batch("right", [f"route {how} {p} dev lo proto 99" for p in prefixes], family)


def timed(what, condition, seconds=60):
    begin = time.monotonic()
    wait_until(what, condition, seconds, 0.1)
    return time.monotonic() - begin


def test_a_full_exchange_over_bgp_is_mirrored(routed_lab, router, frrs):
    wait_until("sessions", lambda: sessions(frrs), 60, 0.2)
    prefixes = full_table(ROUTES)
    announce(routed_lab, prefixes)
    took = timed(f"{ROUTES} routes in the gateway's kernel", lambda: gateway_routes(routed_lab) >= ROUTES, 120)
    begin = time.monotonic()
    router.settled(20)
    print(f"{ROUTES} routes over BGP: {took:.1f} s to the kernel, then {time.monotonic() - begin:.2f} s until biplane had them all")
    some = [inside(p) for p in prefixes[:: max(ROUTES // 500, 1)]]
    with router.counts(forwarded_ip4=10000):
        t = send_all(routed_lab, "left", some, ("right",), 10000, rate=10000)
    t.check_all_arrived()


def test_routes_of_ip6_too(routed_lab, router, frrs):
    wait_until("BGP over IPv6", lambda: (p := frrs["gw"].bgp_peer("fd02::2", "ipv6Unicast")) and p["state"] == "Established", 30, 0.2)
    prefixes = [f"fd20:{i >> 8:x}:{i & 255:x}::/48" for i in range(2000)]
    announce(routed_lab, prefixes, family=6)
    timed("2,000 IPv6 routes in the gateway's kernel", lambda: gateway_routes(routed_lab, family=6) >= 2000)
    router.settled()
    some = [p.replace("::/48", "::7") for p in prefixes[::20]]
    # Their gateway may be the neighbor's link-local address, which no one has asked for yet.
    send_all(routed_lab, "left", some[:1], ("right",), 1, rate=1000).check_all_arrived()
    router.settled()
    with router.counts(forwarded_ip6=2000):
        send_all(routed_lab, "left", some, ("right",), 2000, rate=5000).check_all_arrived()


def test_withdrawing_and_flapping_converge(routed_lab, router, frrs):
    prefixes = full_table(ROUTES)
    half = prefixes[::2]
    present = gateway_routes(routed_lab)
    assert present >= ROUTES
    announce(routed_lab, half, "del")
    timed("half of the routes to be withdrawn", lambda: gateway_routes(routed_lab) == present - len(half), 120)
    router.settled(20)
    flapping = prefixes[: ROUTES // 20]
    gone = set(half)
    for _ in range(3):
        announce(routed_lab, [p for p in flapping if p not in gone], "del")
        announce(routed_lab, flapping)
        gone -= set(flapping)
        announce(routed_lab, flapping[::2], "del")
        gone |= set(flapping[::2])
    timed("the flapping routes to be as they were left",
          lambda: gateway_routes(routed_lab) == present - len(gone), 120)
    router.settled(20)
    # A session that goes takes all its routes.
    frrs["gw"].configure("router bgp 65000", "neighbor 10.2.0.2 shutdown")
    timed("the routes of a session that ended to go", lambda: gateway_routes(routed_lab) == 0, 120)
    router.settled(20)
    frrs["gw"].configure("router bgp 65000", "no neighbor 10.2.0.2 shutdown")
    timed("them to be back", lambda: gateway_routes(routed_lab) == present - len(gone), 120)
    router.settled(20)
    announce(routed_lab, [p for p in prefixes if p not in gone], "del")
    timed("the last to be withdrawn", lambda: gateway_routes(routed_lab) == 0, 120)
    router.settled(20)


@only_biplane
@pytest.mark.parametrize("plane", ("control plane", "data plane"))
def test_sessions_survive_a_plane(routed_lab, router, frrs, plane):
    """The kernel's interfaces stay, so to FRR there is at most a second of silence."""
    wait_until("sessions", lambda: sessions(frrs), 60, 0.2)
    before = dropped(frrs)
    for _ in range(3):
        router.kill_plane(plane)
        router.settled(20)
        # An outage is shorter than the hold times; two of them without a hello between them are not.
        pause(2.5)
        assert not down(frrs), "sessions went down"
    end = time.monotonic() + 5  # longer than the hold times
    while time.monotonic() < end:
        pause(0.5)
        assert not down(frrs), "sessions went down"
    assert dropped(frrs) == before, "a session went down and came back"


def flood_left(lab, kind, watch):
    """As fast as they can be made, frames for the gateway from the left; watch() each second."""
    flood = lab.popen("left", LOAD, "flood", "--interface", "eth0", "--to", router_mac("left"), "--source", LEFT,
                      "--destination", own("left"), "--kind", kind, stdout=subprocess.PIPE)
    try:
        end = time.monotonic() + FLOOD_SECONDS
        while time.monotonic() < end:
            pause(1)
            watch()
    finally:
        flood.terminate()
        out, _ = flood.communicate(timeout=20)
    sent = json.loads(out)
    print(f"flooded with {sent['sent'] / sent['seconds'] / 1e6:.2f} million frames a second")


def none_down(frrs, *ends):
    gone = down(frrs, *ends)
    assert not gone, f"sessions went down: {gone}"


@only_biplane
def test_arp_flood_does_not_affect_the_other_port(routed_lab, router, frrs):
    """ARP is of the class of OSPF and BGP. It can cost the flooded port its sessions, not the other port."""
    wait_until("sessions", lambda: sessions(frrs), 60, 0.2)
    before, first = dropped(frrs, (RIGHT,)), router.counters()
    flood_left(routed_lab, "arp", lambda: none_down(frrs, (("gw", RIGHT), ("right", own("right")))))
    assert dropped(frrs, (RIGHT,)) == before, "a session went down and came back"
    assert router.counters()["punt_queue_full_routing"] > first["punt_queue_full_routing"], "the flood was none"
    wait_until("all sessions", lambda: sessions(frrs), 60, 0.2)
    router.balanced()


def test_a_flood_does_not_starve_the_sessions(routed_lab, router, frrs):
    """Frames for the gateway's own address."""
    wait_until("sessions", lambda: sessions(frrs), 60, 0.2)
    before = dropped(frrs)
    first = router.counters() if router.kind == "biplane" else {}
    flood_left(routed_lab, "udp", lambda: none_down(frrs))
    assert dropped(frrs) == before, "a session went down and came back"
    if first:
        grown = {k: v - first[k] for k, v in router.counters().items() if v != first[k]}
        print(grown)
        assert grown.get("punt_queue_full_local", 0) > 0, "the class of local services had nothing to drop"
        assert grown.get("punt_queue_full_routing", 0) == 0, "the class of routing protocols dropped something"
        assert grown.get("punted_routing", 0) > 0
    router.balanced()
