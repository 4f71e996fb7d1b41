# SPDX-License-Identifier: BSD-3-Clause
"""Coordinate transformation on a gateway that routes: readings to it and through it, robots in two networks."""

import pytest

from agg_frames import read
from conftest import running_router
from lab import wait_until
from readings import ROTATED, SLANTED, UDP, Robot, Tracker, assert_exact, some, source, transform
from router_lab import host, host_mac, only_biplane, own, router_mac
from wan import Tap

pytestmark = only_biplane

ROBOT = 20000


def robots_of(address, family=4):
    return source(address, {"address": host("right", family), "udp_port": ROBOT, "matrix": ROTATED},
                  {"address": host("edge", family), "udp_port": ROBOT, "matrix": SLANTED})


ENTRIES = [transform([robots_of(host("left")), robots_of(host("left", 6), 6)], port="left"),
           transform([source("10.1.0.0/24", {"reply_to_sender": True, "matrix": ROTATED}), source("fd01::/64", {"reply_to_sender": True, "matrix": ROTATED})],
                     port="left", udp=UDP + 50)]


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    with running_router(routed_lab, tmp_path_factory.mktemp("transform"), transform={"entries": ENTRIES}) as r:
        r.settled()
        for side in ("left", "right", "edge"):
            for family in (4, 6):
                routed_lab.pings("gw", host(side, family))
                routed_lab.pings(side, own(side, family))
        yield r
        r.balanced()


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


@pytest.mark.parametrize("family", (4, 6))
@pytest.mark.parametrize("to", ("the gateway", "a robot", "nobody"))
def test_two_networks(routed_lab, router, family, to):
    """Readings to the gateway's own address, to one of the robots, and to an address that no one has: both robots have
    them in their frames, from the tracker, one hop further, and with the right MAC addresses."""
    nobody = {4: "10.2.0.200", 6: "fd02::200"}[family]
    at = {"the gateway": own("left", family), "a robot": host("right", family), "nobody": nobody}[to]
    sent = some(500, 1)
    with Robot(routed_lab, "right", ROBOT, family) as one, Robot(routed_lab, "edge", ROBOT, family) as two, \
            Tap(routed_lab, "right", "eth0") as tap, Tracker(routed_lab, "left", at) as t:
        t.send(sent)
        assert_exact(sent, one.wait(len(sent)), ROTATED)
        assert_exact(sent, two.wait(len(sent)), SLANTED)
        assert {a for a, _, _ in one.heard() + two.heard()} == {host("left", family)}
        got = [p for p in map(read, tap.frames()) if p and p.dport == ROBOT]
        assert {p.hops for p in got} == {63} and {p.macs for p in got} == {(mac(host_mac("right")), mac(router_mac("right")))}
    router.balanced()


@pytest.mark.parametrize("family", (4, 6))
@pytest.mark.parametrize("to", ("the gateway", "a robot"))
def test_result_is_sent_back_to_the_tracker(routed_lab, router, family, to):
    """Back to the tracker, from where the reading was sent to, with a TTL of its own."""
    at = own("left", family) if to == "the gateway" else host("right", family)
    sent = some(300, 2)
    with Robot(routed_lab, "left", UDP + 50, family) as back, Tracker(routed_lab, "left", at, port=20000, udp=UDP + 50) as t, \
            Tap(routed_lab, "left", "eth0") as tap:
        t.send(sent)
        assert_exact(sent, back.wait(len(sent)), ROTATED)
        assert {(a, p) for a, p, _ in back.heard()} == {(at, UDP + 50)}
        got = [p for p in map(read, tap.frames()) if p and p.sport == UDP + 50]
        assert {p.hops for p in got} <= {63, 64} and {p.macs for p in got} == {(mac(host_mac("left")), mac(router_mac("left")))}


def test_ping_is_not_a_reading(routed_lab, router):
    assert routed_lab.pings("left", own("left")) and routed_lab.pings("left", host("right"))


def test_first_reading_to_a_silent_robot(routed_lab, router):
    """A robot whose MAC address is not known: readings before the neighbor is found go the way of all such packets, and
    what comes then is right."""
    routed_lab.ip("gw", "neigh", "flush", "dev", "right")
    sent = some(200, 3)
    with Robot(routed_lab, "right", ROBOT) as one, Tracker(routed_lab, "left", own("left")) as t:
        def some_come():
            t.send(sent)
            return len(one.heard()) >= len(sent)
        wait_until("readings", some_come, 20, 0.2)
        assert all(c.off(ROTATED) < 0.2 for c in one.got())
    router.balanced()
