# SPDX-License-Identifier: BSD-3-Clause
"""Common traffic of hosts through a router: ping, traceroute, path MTU discovery, TCP, UDP, IPv6."""

import contextlib
import json
import os
import re
import socket

import pytest

from lab import Background, wait_until
from router_lab import FAR, LEFT, LEFT6, RIGHT, RIGHT6, SIDES, host, only_biplane, own, router_mac, send_all

FAMILIES = (4, 6)


@pytest.mark.parametrize("family", FAMILIES)
def test_ping_across_and_to_the_router_itself(routed_lab, router, family):
    for side in SIDES:
        for other in SIDES:
            routed_lab.pings(side, own(other, family))
            if other != side:
                routed_lab.pings(side, host(other, family))
        routed_lab.pings("gw", host(side, family))


def test_large_pings_go_in_fragments(routed_lab, router):
    """IPv4 through taps, in test_route_ports.py: af_packet's fanout puts its fragments together."""
    routed_lab.pings("left", RIGHT6, "-s", "6000")
    routed_lab.pings("left", own("left", 6), "-s", "6000")


@only_biplane
def test_link_local_addresses_are_of_the_ports_macs(routed_lab, router):
    """A kernel interface goes up once it has its port's MAC: the same address after every start."""
    for n, side in enumerate(("left", "right", "edge"), 1):
        out = routed_lab.ip("gw", "-6", "addr", "show", "dev", side, "scope", "link")
        assert f"fe80::10:{n}ff:fe00:1/64" in out, out


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("how", ((), ("-I",)))
def test_traceroute_shows_the_router_as_a_hop(routed_lab, router, family, how):
    out = routed_lab.run("left", "traceroute", f"-{family}", "-n", "-q", 1, "-w", 2, *how, host("right", family)).stdout.decode()
    hops = re.findall(r"^ *(\d+) +(\S+)", out, re.M)
    assert hops == [("1", own("left", family)), ("2", host("right", family))], out


@contextlib.contextmanager
def right_mtu(lab, router, mtu):
    """The right network with a smaller MTU, set as an operator sets it: at both its ends."""
    lab.ip("gw", "link", "set", "right", "mtu", mtu)
    lab.ip("right", "link", "set", "eth0", "mtu", mtu)
    router.settled()
    try:
        yield
    finally:
        lab.ip("gw", "link", "set", "right", "mtu", "1500")
        lab.ip("right", "link", "set", "eth0", "mtu", "1500")
        for f in FAMILIES:
            lab.ip("left", f"-{f}", "route", "flush", "cache")
        router.settled()


def test_path_mtu_is_discovered(routed_lab, router):
    with right_mtu(routed_lab, router, 1400):
        with router.counts(punt_mtu_exceeded=1):
            p = routed_lab.run("left", "ping", "-n", "-M", "do", "-s", 1400, "-c", 1, "-W", 2, RIGHT, check=False)
        text = p.stdout.decode()
        assert re.search(rf"From {own('left')} icmp_seq=1 Frag needed and DF set \(mtu = 1400\)", text), text
        with router.counts(punt_mtu_exceeded=1):
            p = routed_lab.run("left", "ping", "-n", "-M", "do", "-s", 1400, "-c", 1, "-W", 2, RIGHT6, check=False)
        text = p.stdout.decode()
        assert re.search(rf"From {own('left', 6)} icmp_seq=1 Packet too big: mtu=1400", text), text
        routed_lab.pings("left", RIGHT, "-M", "do", "-s", 1400 - 28)
        routed_lab.pings("left", RIGHT6, "-M", "do", "-s", 1400 - 48)
        # Without DF the kernel that a router's exceptions go to cuts the packet.
        routed_lab.pings("left", RIGHT, "-M", "dont", "-s", 1440)
        for f in FAMILIES:
            routed_lab.ip("left", f"-{f}", "route", "flush", "cache")
        for f in FAMILIES:
            out = routed_lab.run("left", "tracepath", f"-{f}", "-n", host("right", f)).stdout.decode()
            assert "pmtu 1400 hops 2" in out, out


class IperfServer:
    def __init__(self, lab, ns):
        self.process = lab.popen(ns, "iperf3", "-s", "-p", 5201, stdout=-3, stderr=-3)
        wait_until("iperf3 to listen", lambda: b":5201" in lab.run(ns, "ss", "-tlnH").stdout)

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def iperf_server(routed_lab):
    s = IperfServer(routed_lab, "right")
    yield s
    s.close()


def iperf(lab, address, *options):
    # Small buffers: packets in flight when the sender ends are in its count, not in the receiver's.
    p = lab.run("left", "iperf3", "-J", "-c", address, "-p", 5201, "-w", "256K", *options, check=False)
    result = json.loads(p.stdout)
    assert p.returncode == 0, result.get("error")
    return result["end"]


@pytest.mark.parametrize("address", (RIGHT, RIGHT6))
@pytest.mark.parametrize("reverse", ((), ("-R",)), ids=("there", "back"))
def test_tcp_at_full_speed(routed_lab, router, iperf_server, address, reverse):
    end = iperf(routed_lab, address, "-n", "64M", "-P", 2, *reverse)
    assert end["sum_sent"]["bytes"] >= 64 << 20 and end["sum_received"]["bytes"] >= 60 << 20
    print(f"{end['sum_received']['bits_per_second'] / 1e6:.0f} Mbit/s")


@pytest.mark.parametrize("family", FAMILIES)
def test_tcp_bytes_arrive_as_they_were(routed_lab, router, family):
    """8 MiB each way at one time over one connection."""
    text = [os.urandom(1 << 20) * 8, os.urandom(1 << 20) * 8]
    kind = socket.AF_INET if family == 4 else socket.AF_INET6
    with routed_lab.inside("right"):
        server = socket.create_server((host("right", family), 0), family=kind)
    with routed_lab.inside("left"):
        ends = [socket.create_connection(server.getsockname()[:2], timeout=30)]
    ends.append(server.accept()[0])

    def send(i):
        ends[i].sendall(text[i])
        ends[i].shutdown(socket.SHUT_WR)

    def receive(i):
        return b"".join(iter(lambda: ends[i].recv(1 << 20), b""))
    tasks = [Background(call, i) for call in (send, receive) for i in (0, 1)]
    for t in tasks:
        t.start()
    got = [t.finish(60) for t in tasks]
    for s in (*ends, server):
        s.close()
    assert got[2:] == text[::-1]


def test_tcp_goes_through_a_smaller_mtu(routed_lab, router, iperf_server):
    with right_mtu(routed_lab, router, 1300):
        for address in (RIGHT, RIGHT6):
            end = iperf(routed_lab, address, "-n", "8M")
            assert end["sum_received"]["bytes"] >= 6 << 20


def test_udp_is_counted_exactly(routed_lab, router):
    there = [RIGHT, RIGHT6, FAR]
    routed_lab.pings("left", RIGHT6, count=1)
    with router.counts(forwarded_ip4=20000, forwarded_ip6=10000):
        t = send_all(routed_lab, "left", there, ("right", "edge"), 30000, rate=20000, sources=10)
    t.check_all_arrived()
    t.check_places(lambda d: {"edge" if d == FAR else "right"})
    t = send_all(routed_lab, "right", [LEFT, LEFT6], ("left",), 20000, rate=20000, size=1400)
    t.check_all_arrived()
    router.balanced()


def test_neighbors_are_rediscovered(routed_lab, router):
    """From nothing in any cache: ARP and neighbor discovery both ways, and no first packet is lost."""
    for ns, device in (("left", "eth0"), ("right", "eth0"), ("gw", "left"), ("gw", "right")):
        for f in FAMILIES:
            routed_lab.ip(ns, f"-{f}", "neigh", "flush", "dev", device)
    router.settled()
    for there in (RIGHT, RIGHT6):
        t = send_all(routed_lab, "left", [there], ("right",), 3, rate=1000)
        t.check_all_arrived()
    for f in FAMILIES:
        (n,) = routed_lab.ip_json("left", "neigh", "show", own("left", f), "dev", "eth0")
        assert n["lladdr"] == router_mac("left")
    seen = {n["dst"] for n in routed_lab.ip_json("gw", "neigh", "show", "dev", "right")}
    assert {RIGHT, RIGHT6} <= seen
