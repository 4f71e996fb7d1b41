# SPDX-License-Identifier: BSD-3-Clause
"""A router on three kinds of NIC, with kernel interfaces by virtio-user and vhost-net, and OSPF over them."""

import hashlib
import os
import socket

import pytest

from conftest import running
from frr import Frr
from guest import KINDS
from lab import BIPLANE, Background, wait_until
from wire import port

SIDES = {"left": 1, "right": 2, "edge": 3}  # names of ports, and networks 10.N.0.0/24 and fd0N::/64
WHERE = {"left": "dev", "right": "cloud", "edge": "edge"}  # the networks behind them
LOOPBACK = "10.101.0.1"  # of the left side, which announces it by OSPF

OSPF = """frr defaults traditional
ip forwarding
{interfaces}router ospf
 ospf router-id {id}
exit
"""
INTERFACE = """interface {name}
 ip ospf area 0
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 8
exit
"""


def router_config(nics):
    return {"ports": [{"name": s, "device": nic.address,
                       "routed": {"addresses": [f"10.{n}.0.1/24", f"fd0{n}::1/64"], "host_interface": {"backend": "virtio"}}}
                      for (s, n), nic in zip(SIDES.items(), nics, strict=True)],
            "netlink": {"route_table": "main"}, "routing": {"max_ipv4_routes": 4096, "max_ipv6_routes": 4096, "max_neighbors": 1024}}


def own(lab, ns, *args):
    return lab.run(ns, *args).stdout.decode()


def interfaces_up(lab):
    return all("LOWER_UP" in lab.ip("gw", "link", "show", "dev", s, check=False) and
               {f"10.{n}.0.1", f"fd0{n}::1"} <= set(lab.ip("gw", "addr", "show", "dev", s).replace("/", " ").split())
               for s, n in SIDES.items())


def tables_equal(lab, g):
    """Whether biplane forwards as the kernel would."""
    return all(lab.run("gw", BIPLANE, "show", view, "--diff", "-c", g.identity, check=False).returncode == 0
               for view in ("interfaces", "neighbors", "routes"))


def pings(lab, ns, address, *options, count=2, patience=5):
    p = lab.run(ns, "ping", "-n", "-i", "0.05", "-W", patience, "-c", count, *options, address, check=False)
    return p.returncode == 0 or p.stdout.decode()


@pytest.fixture(scope="module")
def router(lab, tmp_path_factory):
    nics = [lab.of_kind(k)[0] for k in KINDS]
    lab.run("gw", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=0")
    try:
        for (side, n), nic in zip(SIDES.items(), nics, strict=True):
            ns = WHERE[side]
            lab.give(ns, nic, addresses=[f"10.{n}.0.2/24", f"fd0{n}::2/64"])
            if side != "left":
                lab.ip(ns, "route", "add", "10.0.0.0/8", "via", f"10.{n}.0.1")
            lab.ip(ns, "-6", "route", "add", "fd00::/8", "via", f"fd0{n}::1")
        with running(lab, tmp_path_factory.mktemp("router"), router_config(nics), edge=False) as g:
            g.nics = dict(zip(SIDES, nics, strict=True))
            wait_until("the kernel interfaces", lambda: interfaces_up(lab))
            yield g
    finally:
        lab.take()
        lab.run("gw", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")


def test_kernel_interfaces_are_of_vhost_net(lab, router):
    """Names, MAC and MTU of the ports; and the kernel's threads that carry the frames."""
    for side in SIDES:
        words = lab.ip("gw", "link", "show", "dev", side).split()
        assert port(router, side)["mac"] in words and words[words.index("mtu") + 1] == "1500"
    assert own(lab, "gw", "ps", "-e", "-o", "comm=").count("vhost-") == len(SIDES)
    assert tables_equal(lab, router)


def test_the_gateway_itself_answers(lab, router):
    """ARP, neighbor discovery and ping, both ways, on each kind of NIC."""
    for side, n in SIDES.items():
        ns = WHERE[side]
        p = lab.run(ns, "arping", "-c", 1, "-w", 10, "-I", "eth0", f"10.{n}.0.1", check=False)
        assert port(router, side)["mac"].upper() in p.stdout.decode().upper(), p.stdout
        for family, address in ((4, f"10.{n}.0.1"), (6, f"fd0{n}::1")):
            assert pings(lab, ns, address, count=1) is True
            assert port(router, side)["mac"] in lab.ip(ns, f"-{family}", "neigh", "show", address)
        for address in (f"10.{n}.0.2", f"fd0{n}::2"):
            assert pings(lab, "gw", address, count=1) is True
    assert router.counter("from_kernel") > 0


def test_packets_are_routed_between_nics(lab, router):
    lab.ip("dev", "route", "replace", "10.3.0.0/24", "via", "10.1.0.1")
    for address in ("10.3.0.2", "fd03::2"):
        wait_until(f"{address} to answer", lambda a=address: pings(lab, "dev", a, count=1, patience=1) is True)
        wait_until("the forwarding tables to be the kernel's", lambda: tables_equal(lab, router))
        name = "forwarded_ip6" if ":" in address else "forwarded_ip4"
        before = router.counter(name)
        assert pings(lab, "dev", address, "-s", 1400, count=5) is True
        assert router.counter(name) >= before + 10, "they did not pass by biplane's own tables"
    router.balanced()


def test_tcp_to_the_gateway_itself(lab, router):
    """Its kernel's checksums and segments arrive whole, in both directions."""
    data = os.urandom(300_000)
    with lab.inside("gw"):
        server = socket.create_server(("10.1.0.1", 7777))

    def echo():
        s, _ = server.accept()
        with s:
            while part := s.recv(65536):
                s.sendall(part)

    task = Background(echo)
    task.start()
    with lab.inside("dev"):
        client = socket.create_connection(("10.1.0.1", 7777), 20)
    with client, server:
        sender = Background(lambda: (client.sendall(data), client.shutdown(socket.SHUT_WR)))
        sender.start()
        got = b""
        while part := client.recv(65536):
            got += part
        sender.finish()
    task.finish()
    assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()


def test_the_link_becomes_the_carrier(lab, router):
    lab.link(router.nics["edge"], False)
    try:
        wait_until("no carrier", lambda: "NO-CARRIER" in lab.ip("gw", "link", "show", "dev", "edge"))
    finally:
        lab.link(router.nics["edge"], True)
    wait_until("carrier", lambda: "LOWER_UP" in lab.ip("gw", "link", "show", "dev", "edge"))
    wait_until("an answer", lambda: pings(lab, "edge", "10.3.0.1", count=1, patience=1) is True)


def test_removed_kernel_interface_is_created_again(lab, router):
    lab.ip("gw", "link", "del", "edge")
    wait_until("the kernel interfaces", lambda: interfaces_up(lab), 30)
    assert port(router, "edge")["mac"] in lab.ip("gw", "link", "show", "dev", "edge").split()
    wait_until("an answer", lambda: pings(lab, "edge", "10.3.0.1", count=1, patience=1) is True, 30)
    wait_until("the forwarding tables to be the kernel's", lambda: tables_equal(lab, router))


@pytest.fixture(scope="module")
def frrs(lab, router):
    """OSPF in the gateway, and on the left, where a loopback address is announced."""
    made = {}
    try:
        lab.ip("dev", "addr", "add", f"{LOOPBACK}/32", "dev", "lo")
        for ns, name in (("gw", "left"), ("dev", "eth0")):
            # Announced routes: the gateway's other network, and the loopback address.
            interfaces = INTERFACE.format(name=name) + f"interface {'edge' if ns == 'gw' else 'lo'}\n ip ospf area 0\nexit\n"
            made[ns] = Frr(lab, ns, ("ospfd",), OSPF.format(id=f"10.0.0.{len(made) + 1}", interfaces=interfaces))
        yield made
    finally:
        for f in made.values():
            f.stop()
        lab.ip("dev", "addr", "del", f"{LOOPBACK}/32", "dev", "lo", check=False)


def adjacent(frrs):
    return frrs["gw"].ospf_full("10.1.0.2") and frrs["dev"].ospf_full("10.1.0.1")


def learnt(lab):
    """Whether the gateway has the loopback address by OSPF."""
    return LOOPBACK in lab.ip("gw", "route", "show", "proto", "ospf")


def looked_up(g):
    p = g.command("show", "routes", LOOPBACK, "-c", g.identity)
    return p.stdout + p.stderr


def test_ospf_routes_are_forwarded(lab, router, frrs):
    wait_until("OSPF with the left side", lambda: adjacent(frrs), 60, 0.2)
    wait_until("the route", lambda: learnt(lab), 30, 0.2)
    wait_until("the forwarding tables to be the kernel's", lambda: tables_equal(lab, router))
    assert "10.1.0.2" in looked_up(router), looked_up(router)
    # From a network that the left side knows by OSPF.
    wait_until("an answer", lambda: pings(lab, "edge", LOOPBACK, count=1, patience=1) is True)
    wait_until("the forwarding tables to be the kernel's", lambda: tables_equal(lab, router))
    before = router.counter("forwarded_ip4")
    assert pings(lab, "edge", LOOPBACK, count=5) is True
    assert router.counter("forwarded_ip4") >= before + 10
    # A network that goes away does so in biplane's tables too, and one that comes back.
    lab.ip("dev", "addr", "del", f"{LOOPBACK}/32", "dev", "lo")
    wait_until("the route to be withdrawn", lambda: not learnt(lab), 30, 0.2)
    wait_until("the forwarding tables to be the kernel's", lambda: tables_equal(lab, router))
    assert "10.1.0.2" not in looked_up(router), looked_up(router)
    lab.ip("dev", "addr", "add", f"{LOOPBACK}/32", "dev", "lo")
    wait_until("it to be back", lambda: learnt(lab), 30, 0.2)


def test_a_data_plane_that_dies(lab, router, frrs):
    """Its kernel interfaces go with it, and come back with what they had; OSPF finds its neighbor again."""
    wait_until("OSPF with the left side", lambda: adjacent(frrs), 60, 0.2)
    router.kill_plane("data plane")
    wait_until("the kernel interfaces", lambda: interfaces_up(lab), 60)
    wait_until("OSPF with the left side", lambda: adjacent(frrs), 60, 0.2)
    wait_until("the route", lambda: learnt(lab), 30, 0.2)
    wait_until("the forwarding tables to be the kernel's", lambda: tables_equal(lab, router))
    wait_until("answers", lambda: pings(lab, "edge", LOOPBACK, count=2, patience=1) is True)
