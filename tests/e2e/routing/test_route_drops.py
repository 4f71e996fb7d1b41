# SPDX-License-Identifier: BSD-3-Clause
"""Packets that a router must not forward: each has its counter, and its ICMP error where one is due."""

import itertools
import socket
import struct
import time

import pytest

from frames import BROADCAST, Wire, checksum, ethernet
from router_lab import FAR, LEFT, LEFT6, RIGHT, RIGHT6, host_mac, own, router_mac
from traced import changed, nodes, objects, tracing

_serial = itertools.count(1)
UDP, ICMP, ICMP6 = 17, 1, 58
HOST_UNREACHABLE, NET_UNREACHABLE, PROHIBITED = (3, 1), (3, 0), (3, 13)
TIME_EXCEEDED = (11, 0)
NO_ROUTE6, PROHIBITED6, BEYOND_SCOPE6, TIME_EXCEEDED6 = (1, 0), (1, 1), (1, 2), (3, 0)


def udp4(payload, source=LEFT, destination=RIGHT, *, ttl=64, wrong_sum=False, first=0x45, total=None, options=b"", more=0):
    length = 20 + len(options) + 8 + len(payload)
    head = struct.pack("!BBHHHBBH4s4s", first + len(options) // 4, 0, total or length, 7, more, ttl, UDP, 0,
                       socket.inet_aton(source), socket.inet_aton(destination)) + options
    s = checksum(head) ^ (0x1111 if wrong_sum else 0)
    return head[:10] + struct.pack("!H", s) + head[12:] + struct.pack("!HHHH", 4000, 4001, 8 + len(payload), 0) + payload


def udp6(payload, source=LEFT6, destination=RIGHT6, *, hops=64, first=0x60, length=None):
    a, b = socket.inet_pton(socket.AF_INET6, source), socket.inet_pton(socket.AF_INET6, destination)
    udp = struct.pack("!HHHH", 4000, 4001, 8 + len(payload), 0) + payload
    s = checksum(a + b + struct.pack("!II", len(udp), UDP) + udp)
    udp = udp[:6] + struct.pack("!H", s or 0xFFFF) + udp[8:]
    return struct.pack("!BBHHBB16s16s", first, 0, 0, len(udp) if length is None else length, UDP, hops, a, b) + udp


def taker(lab):
    """A socket that takes the probes at the right, so that the host there answers none with an ICMP error."""
    with lab.inside("right"):
        s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(("::", 4001))
    return s


class Probe:
    """Sends raw frames on the left; captures the output on the right, at the edge, and back on the left."""

    def __init__(self, lab, router):
        self.lab, self.router = lab, router
        self.wires = {ns: Wire(lab, ns) for ns in ("left", "right", "edge")}
        self.taker = taker(lab)
        for address in (RIGHT, RIGHT6, FAR):  # so that a probe never waits for a neighbor
            lab.pings("left", address, count=1)
        router.settled()

    def frame(self, packet, to=None, tags=()):
        return ethernet(to or router_mac("left"), host_mac("left"), 0x0800 if packet[0] >> 4 != 6 else 0x86DD, packet, tags)

    def send(self, packet, **kw):
        self.wires["left"].send(self.frame(packet, **kw))

    def hear(self, ns, wanted, seconds=5):
        """The first frame heard in `ns` for which wanted(frame)."""
        wire, end = self.wires[ns], time.monotonic() + seconds
        while time.monotonic() < end:
            wire.socket.settimeout(0.2)
            try:
                frame = wire.socket.recv(65536)
            except TimeoutError:
                continue
            if wanted(frame):
                return frame
        return None

    def forwarded(self, payload, seconds=5):
        return self.hear("right", lambda f: payload in f, seconds)

    def not_forwarded(self, payload):
        """It did not come out at the right before a good packet that was sent after it did."""
        mark = b"mark%08d" % next(_serial)
        heard = []
        self.send(udp4(mark))

        def wanted(frame):
            heard.append(frame)
            return mark in frame
        assert self.hear("right", wanted), "the good packet behind it was not forwarded"
        assert not any(payload in f for f in heard), "it was forwarded"

    def icmp(self, payload, expected, family=4):
        """The ICMP error about the packet with this payload arrives from the router's own address."""
        kind = ICMP if family == 4 else ICMP6
        offset = 34 if family == 4 else 54

        def about(f):
            return (f[12:14] == (b"\x08\x00" if family == 4 else b"\x86\xdd") and payload in f and
                    f[6:12] == bytes.fromhex(router_mac("left").replace(":", "")) and f[23 if family == 4 else 20] == kind)
        frame = self.hear("left", about)
        assert frame, f"no ICMP error; {expected} was due"
        assert (frame[offset], frame[offset + 1]) == expected
        source = frame[26:30] if family == 4 else frame[22:38]
        assert source == socket.inet_pton(socket.AF_INET if family == 4 else socket.AF_INET6, own("left", family))

    def no_icmp(self, payload):
        """By the time that a ping made after it is answered, no error has come."""
        heard = []

        def wanted(frame):
            heard.append(frame)
            return frame[12:14] == b"\x08\x00" and frame[23] == ICMP and frame[34] == 0
        self.lab.pings("left", own("left"), count=1)
        assert self.hear("left", wanted)
        assert not any(payload in f and f[:6] == bytes.fromhex(host_mac("left").replace(":", "")) for f in heard)

    def close(self):
        for w in (*self.wires.values(), self.taker):
            w.close()


@pytest.fixture
def probe(routed_lab, router):
    p = Probe(routed_lab, router)
    yield p
    p.close()


def unique():
    return b"probe%08d" % next(_serial)


def test_forwarded_packets_are_correct(probe, router):
    """TTL one less, the checksum right, MACs of the next link, everything else as it was."""
    for make, address in ((udp4, RIGHT), (udp6, RIGHT6)):
        body = unique() + bytes(range(100))
        packet = make(body)
        with router.counts(**{"forwarded_ip4" if make is udp4 else "forwarded_ip6": 1}):
            probe.send(packet)
            frame = probe.forwarded(body)
        assert frame, f"a good packet to {address} was not forwarded"
        due = make(body, **({"ttl": 63} if make is udp4 else {"hops": 63}))
        assert frame == ethernet(host_mac("right"), router_mac("right"), 0x0800 if make is udp4 else 0x86DD, due)


def test_padding_of_a_short_frame_is_not_the_packet(probe, router):
    body = unique()
    frame = probe.frame(udp4(body))
    probe.wires["left"].send(frame + bytes(range(60 - len(frame))) + b"more")
    out = probe.forwarded(body)
    assert out and out[14:] [: len(frame) - 14] == udp4(body, ttl=63)


DROPPED4 = {
    "checksum": ("ip_checksum", {"wrong_sum": True}),
    "version": ("ip_header", {"first": 0x55}),
    "header length": ("ip_header", {"first": 0x44}),
    "total length": ("ip_header", {"total": 1400}),
    "total below header": ("ip_header", {"total": 19}),
    "from loopback": ("martian", {"source": "127.0.0.1"}),
    "to loopback": ("martian", {"destination": "127.0.0.1"}),
    "from multicast": ("martian", {"source": "224.0.0.5"}),
    "from broadcast": ("martian", {"source": "255.255.255.255"}),
    "from zero": ("martian", {"source": "0.0.0.0"}),
    "to zero net": ("martian", {"destination": "0.1.2.3"}),
}


@pytest.mark.parametrize("case", DROPPED4)
def test_bad_ip4_is_dropped_and_counted(probe, router, case):
    counter, how = DROPPED4[case]
    body = unique()
    with router.counts(**{counter: 1}):
        probe.send(udp4(body, **how))
        probe.not_forwarded(body)
    probe.no_icmp(body)


DROPPED6 = {
    "version": ("ip_header", {"first": 0x50}),
    "payload length": ("ip_header", {"length": 1400}),
    "from loopback": ("martian", {"source": "::1"}),
    "to loopback": ("martian", {"destination": "::1"}),
    "from multicast": ("martian", {"source": "ff02::5"}),
}


@pytest.mark.parametrize("case", DROPPED6)
def test_bad_ip6_is_dropped_and_counted(probe, router, case):
    counter, how = DROPPED6[case]
    body = unique()
    packet = udp6(body, **how)
    with router.counts(**{counter: 1}):
        # The EtherType says IPv6 whatever the first byte says.
        probe.wires["left"].send(ethernet(router_mac("left"), host_mac("left"), 0x86DD, packet))
        probe.not_forwarded(body)
    probe.no_icmp(body)


def test_link_local_addresses_stay_on_their_link(probe, router):
    for how in ({"source": "fe80::1234"}, {"destination": "fe80::1234"}):
        body = unique()
        probe.send(udp6(body, **how))
        probe.not_forwarded(body)


def test_frame_for_another_station_is_dropped(probe, router):
    body = unique()
    with router.counts(dst_mac_mismatch=1):
        probe.send(udp4(body), to="02:10:01:00:00:77")
        probe.not_forwarded(body)


def test_link_broadcasts_are_not_forwarded(probe, router):
    """RFC 1812, 5.3.4: not as a link-layer broadcast; and the limited and directed broadcasts stay here."""
    for destination, to in ((RIGHT, BROADCAST), ("255.255.255.255", BROADCAST), ("10.1.0.255", BROADCAST),
                            ("10.2.0.255", None), ("224.0.0.251", "01:00:5e:00:00:fb")):
        body = unique()
        probe.send(udp4(body, destination=destination), to=to)
        probe.not_forwarded(body)


def test_time_to_live_used_up(probe, router):
    for ttl in (1, 0):
        body = unique()
        with router.counts(punt_ttl_expired=1):
            probe.send(udp4(body, ttl=ttl))
            probe.icmp(body, TIME_EXCEEDED)
        probe.not_forwarded(body)
        body = unique()
        with router.counts(punt_ttl_expired=1):
            probe.send(udp6(body, hops=ttl))
            probe.icmp(body, TIME_EXCEEDED6, 6)
        probe.not_forwarded(body)


def test_no_route(probe, router):
    body = unique()
    with router.counts(punt_no_route=1):
        probe.send(udp4(body, destination="203.0.113.1"))
        probe.icmp(body, NET_UNREACHABLE)
    body = unique()
    with router.counts(punt_no_route=1):
        probe.send(udp6(body, destination="2001:db8::1"))
        probe.icmp(body, NO_ROUTE6, 6)


REFUSED = {  # type of route: counter, ICMP error of either family
    "blackhole": ("blackhole", None, None),
    "unreachable": ("punt_unreachable", HOST_UNREACHABLE, NO_ROUTE6),
    "prohibit": ("punt_unreachable", PROHIBITED, PROHIBITED6),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_routes_that_refuse(routed_lab, probe, router, kind):
    counter, error4, error6 = REFUSED[kind]
    with routed_lab.extra("gw", "route", "add", kind, "198.51.100.0/24"), \
            routed_lab.extra("gw", "-6", "route", "add", kind, "2001:db8:1::/48"):
        router.settled()
        for make, destination, error, family in ((udp4, "198.51.100.9", error4, 4), (udp6, "2001:db8:1::9", error6, 6)):
            body = unique()
            with router.counts(**{counter: 1}):
                probe.send(make(body, destination=destination))
                if error:
                    probe.icmp(body, error, family)
                probe.not_forwarded(body)
            if not error:
                probe.no_icmp(body)


def test_options_go_to_the_kernel(routed_lab, probe, router):
    """A record-route option is filled in by who knows how: the kernel, which forwards the packet."""
    body = unique()
    with router.counts(punt_ip_options=1):
        probe.send(udp4(body, options=bytes((7, 11, 4)) + bytes(9)))
        frame = probe.forwarded(body)
    assert frame and socket.inet_aton(own("right")) in frame[34:46], "the router is not in the record"
    # Loose source route: Linux refuses to forward it by default. First a packet to our own address, then a transit
    # packet with options.
    for destination, counter in ((own("left"), "punt_local"), (RIGHT, "punt_ip_options")):
        body = unique()
        with router.counts(**{counter: 1}):
            probe.send(udp4(body, destination=destination, options=bytes((131, 7, 4)) + socket.inet_aton(RIGHT) + b"\0"))
            probe.not_forwarded(body)


def test_unknown_ethertypes_are_punted(probe, router):
    with router.counts(punt_ethertype=3):
        for _ in range(3):
            probe.wires["left"].send(ethernet(router_mac("left"), host_mac("left"), 0x88B5, bytes(46)))


def test_packet_counters_balance_after_all_tests(router):
    router.balanced()


def test_trace_names_the_route(probe, router):
    with tracing(router, "-n", 2, "--json", "-i", "left", "udp dst port 4001") as t:
        probe.send(udp4(unique()))
        probe.send(udp4(unique(), destination="203.0.113.1"))
        sent, none = objects(t)
    assert nodes(sent) == ["ip4", "port_tx-1"] and sent["outcome"] == "sent on right" and changed(sent, "ip4") == {"forwarded_ip4"}
    route = next(s["route"] for s in sent["steps"] if s["node"] == "ip4")
    assert route["route_text"].startswith("10.2.0.0/24 dev right") and route["nexthops"][0]["action"] == "forward"
    assert nodes(none) == ["ip4", "exception"] and none["outcome"] == "queued for the kernel: punt_no_route"
