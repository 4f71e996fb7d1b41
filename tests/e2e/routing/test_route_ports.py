# SPDX-License-Identifier: BSD-3-Clause
"""Routers of other kinds: ports of AF_XDP, a tap, none in the kernel; tables that are too small."""

import contextlib
import subprocess

from conftest import running_router
from lab import wait_until
from router_lab import (FAR, LEFT, LEFT6, RIGHT, RIGHT6, SIDES, host, host_mac, only_biplane, own, routed_config, router_mac,
                        send_all, takes)

pytestmark = only_biplane


def test_af_xdp(routed_lab, hugepages, tmp_path):
    lab = routed_lab
    with running_router(lab, tmp_path, driver="af_xdp") as r:
        for address in (own("left"), own("left", 6), RIGHT, RIGHT6, FAR):
            lab.pings("left", address)
        with r.counts(forwarded_ip4=2000, forwarded_ip6=2000):
            send_all(lab, "left", [RIGHT, RIGHT6], ("right",), 4000, rate=10000).check_all_arrived()
        r.balanced()


def carrier(lab, interface):
    (link,) = lab.ip_json("gw", "link", "show", "dev", interface)
    return "LOWER_UP" in link["flags"]


def test_the_carrier_of_a_port_is_its_interfaces(routed_lab, hugepages, tmp_path):
    """With a tap as the port. (test_route_changes.py has it with a cable that is pulled.)"""
    lab = routed_lab
    ports = routed_config()["ports"][:2]
    ports[1]["device"] = "net_tap0,iface=t-right"
    with running_router(lab, tmp_path, ports=ports) as r:
        for _ in range(2):
            lab.ip("gw", "link", "set", "t-right", "down")
            wait_until("the interface to lose its carrier", lambda: not carrier(lab, "right"), 10)
            assert carrier(lab, "left")
            lab.ip("gw", "link", "set", "t-right", "up")
            wait_until("the interface to have its carrier again", lambda: carrier(lab, "right"), 10)
        r.settled()
        lab.pings("left", own("right"))


@contextlib.contextmanager
def behind_taps(lab, sides):
    """Hosts tap-SIDE in namespaces of their own, each with the port's tap as its interface."""
    try:
        for side in sides:
            ns, device = f"tap-{side}", f"t-{side}"
            subprocess.run(["ip", "netns", "add", lab.prefix + ns], check=True)
            lab.ip("gw", "link", "set", device, "netns", lab.prefix + ns)
            lab.ip(ns, "link", "set", device, "address", host_mac(side), "up")
            lab.ip(ns, "link", "set", "lo", "up")
            for f, length in ((4, 24), (6, 64)):
                lab.ip(ns, "addr", "add", f"{host(side, f)}/{length}", "dev", device, *(["nodad"] if f == 6 else []))
                lab.ip(ns, f"-{f}", "route", "add", "default", "via", own(side, f))
        yield
    finally:
        for side in sides:
            subprocess.run(["ip", "netns", "del", f"{lab.prefix}tap-{side}"], check=False)


def test_fragments_through_taps(routed_lab, hugepages, tmp_path):
    """Large IPv4 pings go in fragments; af_packet's fanout would put those together before the gateway."""
    lab = routed_lab
    ports = routed_config()["ports"][:2]
    for i, p in enumerate(ports):
        p["device"] = f"net_tap{i},iface=t-{p['name']},mac={router_mac(p['name'])}"
    with running_router(lab, tmp_path, ports=ports) as r, behind_taps(lab, ("left", "right")):
        for address in (RIGHT, RIGHT6, own("left"), own("left", 6)):
            lab.pings("tap-left", address, "-s", "6000")
        with r.counts(forwarded_ip4=50):
            lab.pings("tap-left", RIGHT, "-s", "6000", count=5)
        r.balanced()


def test_without_the_kernel(routed_lab, gateway_for, hugepages):
    """No kernel interface, static routes and neighbors: biplane answers ARP and ND for its addresses itself."""
    lab = routed_lab
    ports = [{**p, "routed": {**p["routed"], "host_interface": {"backend": "off"}}} for p in routed_config()["ports"]]
    neighbors = [{"address": host(s, f), "mac": host_mac(s), "interface": s} for s in SIDES for f in (4, 6)]
    takes(lab, "edge", "52.0.0.0/8", "fd52::/16")
    g = gateway_for({"ports": ports, "routing": {
        "static_neighbors": neighbors,
        "static_routes": [{"prefix": "52.0.0.0/8", "via": FAR, "interface": "edge"}, {"prefix": "fd52::/16", "via": host("edge", 6), "interface": "edge"}]}})
    assert not lab.run("gw", "ip", "link", "show", "dev", "left", check=False).returncode == 0
    wait_until("the interfaces to be up", lambda: all(i["up"] for i in g.show("interfaces")["interfaces"]), 10)
    for ns in SIDES:
        for family in (4, 6):
            lab.ip(ns, f"-{family}", "neigh", "flush", "dev", "eth0")
    t = send_all(lab, "left", [RIGHT, RIGHT6, "52.1.2.3", "fd52::1"], ("right", "edge"), 4000, rate=5000)
    t.check_all_arrived()
    t.check_places(lambda d: {"right"} if d in (RIGHT, RIGHT6) else {"edge"})
    send_all(lab, "right", [LEFT, LEFT6], ("left",), 1000, rate=5000).check_all_arrived()
    counters = {c["name"]: c["count"] for c in g.show("counters")["counters"]}
    assert counters["arp_replies"] >= 2 and counters["nd_advertisements"] >= 2
    # Packets that only the kernel could answer are dropped and counted.
    lab.pings("left", own("left"), count=1, check=False)
    wait_until("a drop for want of a kernel", lambda: g.counter("no_host_interface") >= 1, 5)
    g.balanced()


def test_more_routes_than_the_table_takes(routed_lab, hugepages, tmp_path):
    """The kernel forwards to routes that do not fit; a fault reports it, and ends when there is space again."""
    lab = routed_lab
    takes(lab, "right", "53.0.0.0/8")
    prefixes = [f"53.{i >> 8}.{i & 255}.0/24" for i in range(3000)]
    # Room for all of it: on a busy machine the data plane may find much of it at once.
    other = {"rate_pps": 5000, "queue_len": 4096}
    with running_router(lab, tmp_path, routing={"max_ipv4_routes": 1024}, punt={"policers": {"other": other}}) as r:
        try:
            lab.pings("left", RIGHT)
            lab.batch("gw", [f"route add {p} via {RIGHT}" for p in prefixes])
            wait_until("a warning", lambda: "max_ipv4_routes" in r.log.read_text(), 10)
            all_of_them = [p.replace(".0/24", ".7") for p in prefixes]
            t = send_all(lab, "left", all_of_them, ("right",), len(all_of_them), rate=500)
            t.check_all_arrived()
            lab.ip("gw", "route", "flush", "root", "53.0.0.0/8")
            r.settled(20)
            lab.batch("gw", [f"route add {p} via {RIGHT}" for p in prefixes[:100]])
            r.settled(20)
            with r.counts(forwarded_ip4=1000):
                send_all(lab, "left", all_of_them[:100], ("right",), 1000, rate=5000).check_all_arrived()
        finally:
            lab.ip("gw", "route", "flush", "root", "53.0.0.0/8", check=False)
        r.balanced()
