# SPDX-License-Identifier: BSD-3-Clause
"""A host on a routed port sends with source addresses that are not its own; and what an operator sets on the
kernel interface (rp_filter, forwarding) decides, in the data plane as in the kernel."""

import contextlib
import json
import socket

import pytest

from lab import wait_until
from router_lab import LEFT, only_biplane, own
from test_route_drops import BEYOND_SCOPE6, ICMP, ICMP6, Probe, udp4, udp6, unique

REDIRECT, REDIRECT6 = (5, 1), 137


@pytest.fixture
def probe(routed_lab, router):
    p = Probe(routed_lab, router)
    yield p
    p.close()


FORGED = {
    "the router's own": ("source_local", own("left")),
    "the router's own of another network": ("source_local", own("right")),
    "the broadcast of its network": ("source_local", "10.1.0.255"),
    "the broadcast of another network": ("source_local", "10.2.0.255"),
    "link-local": ("link_local", "169.254.7.7"),
    "loopback": ("martian", "127.0.0.1"),
    "this network": ("martian", "0.1.2.3"),
    "class E": ("martian", "240.1.2.3"),
    "multicast": ("martian", "239.1.2.3"),
}


@only_biplane
@pytest.mark.parametrize("case", FORGED)
def test_invalid_sources(probe, router, case):
    """Attack: frames that seem to come from the gateway itself, from a whole network, or from nowhere."""
    counter, source = FORGED[case]
    body = unique()
    with router.counts(**{counter: 1}):
        probe.send(udp4(body, source=source))
        probe.not_forwarded(body)
    probe.no_icmp(body)


@only_biplane
@pytest.mark.parametrize("source,counter", [("fd01::1", "source_local"), ("fd03::1", "source_local"),
                                            ("::", "martian"), ("::1", "martian"), ("ff05::9", "martian")])
def test_invalid_ip6_sources(probe, router, source, counter):
    body = unique()
    with router.counts(**{counter: 1}):
        probe.send(udp6(body, source=source))
        probe.not_forwarded(body)


def link_local(lab):
    """The address of the host at the left for its link alone."""
    (address,) = (a["local"] for i in lab.ip_json("left", "-6", "addr", "show", "scope", "link")
                  for a in i.get("addr_info", []) if "local" in a)
    return address


def test_link_local_source_keeps_its_scope(routed_lab, probe, router):
    """RFC 4443, 3.1: destination unreachable, beyond scope of source address."""
    source = link_local(routed_lab)
    body = unique()
    with router.counts(punt_scope=1):
        probe.send(udp6(body, source=source))
        probe.not_forwarded(body)
    body = unique()
    probe.send(udp6(body, source=source))
    error = probe.hear("left", lambda f: f[12:14] == b"\x86\xdd" and f[20] == ICMP6 and body in f)
    assert error and (error[54], error[55]) == BEYOND_SCOPE6


@contextlib.contextmanager
def set_to(lab, router, shown, **values):
    """Sets these sysctls of the router during the block; `shown`: the expected output of `show interfaces` for
    "left"."""
    before = {k: lab.run("gw", "sysctl", "-n", k.replace("__", ".")).stdout.decode().strip() for k in values}
    lab.sysctl("gw", **values)
    left(router, **shown)
    try:
        yield
    finally:
        lab.sysctl("gw", **before)
        left(router, ipv4_forwarding=True, ipv6_forwarding=True, ipv4_rp_filter="off")


def left(router, **shown):
    def view():
        (i,) = (i for i in router.show("interfaces")["interfaces"] if i["name"] == "left")
        return {k: i[k] for k in shown} == shown
    if router.kind == "biplane":
        wait_until(f"the interface to be {shown}", view, 30)


def arrives(probe, packet, body):
    probe.send(packet)
    assert probe.forwarded(body), "a packet that is as it should be was not forwarded"


@pytest.mark.parametrize("where", ("left", "all"))
def test_strict_reverse_path(routed_lab, probe, router, where):
    """Attack: a host of one network in the name of a host of another. rp_filter=1 on the interface or on all."""
    spoofed = unique()
    arrives(probe, udp4(spoofed, source="10.3.0.9"), spoofed)  # off, as the lab has it
    with set_to(routed_lab, router, {"ipv4_rp_filter": "strict"}, **{f"net__ipv4__conf__{where}__rp_filter": 1}):
        for source in ("10.3.0.9", "203.0.113.5"):
            body = unique()
            with router.counts(reverse_path=1):
                probe.send(udp4(body, source=source))
                probe.not_forwarded(body)
        body = unique()
        arrives(probe, udp4(body, source=LEFT), body)
    body = unique()
    arrives(probe, udp4(body, source="10.3.0.9"), body)


def test_loose_reverse_path(routed_lab, probe, router):
    with set_to(routed_lab, router, {"ipv4_rp_filter": "loose"}, net__ipv4__conf__left__rp_filter=2):
        body = unique()
        arrives(probe, udp4(body, source="10.3.0.9"), body)
        body = unique()
        with router.counts(reverse_path=1):
            probe.send(udp4(body, source="203.0.113.5"))
            probe.not_forwarded(body)


def silent(probe, packet, body):
    probe.send(packet)
    # a frame received after it cannot be a forwarded packet, but an answer of the router itself
    probe.no_icmp(body)
    assert not probe.hear("right", lambda f: body in f, 0.5), "it was forwarded"


def test_forwarding_off(routed_lab, probe, router):
    """An operator stops forwarding; the router itself can still be reached."""
    with set_to(routed_lab, router, {"ipv4_forwarding": False}, net__ipv4__conf__left__forwarding=0):
        body = unique()
        with router.counts(forwarding_disabled=1):
            silent(probe, udp4(body), body)
        routed_lab.pings("left", own("left"))
        body = unique()
        arrives(probe, udp6(body), body)
    if router.kind != "biplane":  # whose kernel asks `all` alone
        return
    with set_to(routed_lab, router, {"ipv6_forwarding": False}, net__ipv6__conf__left__forwarding=0):
        body = unique()
        with router.counts(forwarding_disabled=1):
            silent(probe, udp6(body), body)
        routed_lab.pings("left", own("left", 6))
        body = unique()
        arrives(probe, udp4(body), body)


def test_ip_forward_off(routed_lab, probe, router):
    """The switch for the whole machine, as `sysctl net.ipv4.ip_forward=0` has it."""
    routed_lab.sysctl("gw", net__ipv4__ip_forward=1)
    with set_to(routed_lab, router, {"ipv4_forwarding": False}, net__ipv4__ip_forward=0):
        body = unique()
        with router.counts(forwarding_disabled=1):
            silent(probe, udp4(body), body)
    body = unique()
    arrives(probe, udp4(body), body)


@only_biplane
def test_new_control_plane_keeps_set_matrices(routed_lab, probe, router):
    with set_to(routed_lab, router, {"ipv4_forwarding": False, "ipv4_rp_filter": "strict"},
                net__ipv4__conf__left__forwarding=0, net__ipv4__conf__left__rp_filter=1):
        router.kill_plane("control plane")
        router.settled()
        body = unique()
        with router.counts(forwarding_disabled=1):
            silent(probe, udp4(body), body)
        assert routed_lab.run("gw", "cat", "/proc/sys/net/ipv4/conf/left/forwarding").stdout == b"0\n"
        left(router, ipv4_forwarding=False, ipv4_rp_filter="strict")


def test_redirect_is_sent_to_the_sender(routed_lab, probe, router):
    """A packet that leaves by its input port: its sender receives an ICMP redirect (RFC 1812, 5.2.7.2)."""
    with routed_lab.extra("left", "addr", "add", "10.1.0.3/24", "dev", default_device(routed_lab)), \
            routed_lab.extra("gw", "route", "add", "198.51.100.0/24", "via", LEFT), \
            routed_lab.extra("gw", "-6", "route", "add", "2001:db8:5::/48", "via", link_local(routed_lab), "dev", "left"):
        router.settled()
        redirect(probe, lambda body: udp4(body, source="10.1.0.3", destination="198.51.100.9"),
                 lambda f: f[12:14] == b"\x08\x00" and f[23] == ICMP and (f[34], f[35]) == REDIRECT and
                 f[38:42] == socket.inet_aton(LEFT))
        redirect(probe, lambda body: udp6(body, destination="2001:db8:5::9"),
                 lambda f: f[12:14] == b"\x86\xdd" and f[20] == ICMP6 and f[54] == REDIRECT6)


def default_device(lab):
    return json.loads(lab.ip("left", "-j", "route", "get", own("left")))[0]["dev"]


def redirect(probe, packet, wanted):
    for _ in range(20):
        probe.send(packet(unique()))
        if probe.hear("left", wanted, 0.5):
            return
    raise AssertionError("no redirect")
