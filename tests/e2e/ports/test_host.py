# SPDX-License-Identifier: BSD-3-Clause
"""A bridge with `host:`: the gateway has an address on the segment that it bridges, and its control
plane reaches the edge broker through biplane's own ports. Bridging next to it is as without."""

import contextlib
import re

import pytest

from conftest import config_for, overheat
from frames import LOCAL_ETHERTYPE, Wire, ethernet
from lab import CLOUD, CLOUD6, DEVICE, EDGE, MAC, wait_until
from peers import Publisher, usual_value
from traffic import Watch

HOST, HOST6 = "10.99.0.100", "fd99::100"
DRIVERS = ("af_packet", "af_xdp")
EVERYBODY = {"dev": DEVICE, "cloud": CLOUD, "edge": EDGE}


def config(driver="af_packet", **host):
    c = config_for(driver, [overheat()])
    c["bridges"] = [{"name": "plant", "ports": ["devices", "cloud", "edge"],
                     "host_interface": {"addresses": [f"{HOST}/24", f"{HOST6}/64"], **host}}]
    c["mqtt"]["publisher"]["broker"] = f"mqtt://{EDGE}"  # through the bridge, not by the management link
    return c


def flush(lab):
    """The neighbor entries of the hosts are from another gateway."""
    for ns in EVERYBODY:
        for f in (4, 6):
            lab.run(ns, "ip", f"-{f}", "neigh", "flush", "dev", "eth0")


def ping(lab, ns, address, *options):
    p = lab.run(ns, "ping", "-n", "-i", "0.05", "-W", "2", "-c", 3, *options, address, check=False)
    assert p.returncode == 0, f"{ns} got no answer from {address}:\n{p.stdout.decode()}"


def link(lab, interface):
    return lab.run("gw", "ip", "-o", "link", "show", "dev", interface).stdout.decode()


def test_without_a_kernel_interface(lab, gateway):
    """No kernel interface: the data plane answers ARP and ND for the host's addresses; no one is behind them."""
    c = config(backend="off")
    del c["mqtt"]["publisher"], c["mqtt"]["spool"], c["mqtt"]["rules"]
    g = gateway(c)
    flush(lab)
    p = lab.run("dev", "arping", "-c", 2, "-w", 5, "-I", "eth0", HOST, check=False)
    assert p.returncode == 0, p.stdout.decode()
    assert g.counter("arp_replies") >= 2
    ping(lab, "dev", CLOUD)
    g.balanced()
    flush(lab)


@contextlib.contextmanager
def behind_the_gateway(lab):
    """The edge on a network of its own, 10.97.0.0/24, which the others reach through the host."""
    changes = [("edge", "addr", "10.97.0.3/24", "dev", "eth0"),
               *(("edge", "route", f"{a}/32", "via", "10.97.0.1") for a in (DEVICE, CLOUD)),
               *((ns, "route", "10.97.0.0/24", "via", HOST) for ns in ("dev", "cloud"))]
    try:
        for ns, what, *args in changes:
            lab.run(ns, "ip", what, "add", *args)
        yield
    finally:
        for ns, what, *args in reversed(changes):
            lab.run(ns, "ip", what, "del", *args, check=False)


def test_routes_between_its_bridge_and_a_port(lab, gateway):
    """devices and cloud are bridged, the edge is behind a port that routes; alarms leave by that."""
    c = config()
    c["ports"][2].update(name="uplink", routed={"addresses": ["10.97.0.1/24"]})
    c["bridges"][0]["ports"] = ["devices", "cloud"]
    c["mqtt"]["publisher"]["broker"] = "mqtt://10.97.0.3"
    with behind_the_gateway(lab):
        flush(lab)
        g = gateway(c)
        wait_until("the interfaces with their addresses", lambda: g.show("interfaces")["interfaces"] and all(
            i["up"] and len([a for a in i["addresses"] if not a.startswith("fe80:")]) >= 1 for i in g.show("interfaces")["interfaces"]), 10)
        for ns in ("dev", "cloud"):
            ping(lab, ns, "10.97.0.3")
            ping(lab, ns, "10.97.0.1")
            ping(lab, "edge", EVERYBODY[ns])
        before = g.counter("forwarded_ip4")
        ping(lab, "dev", "10.97.0.3")
        assert g.counter("forwarded_ip4") == before + 6
        ping(lab, "dev", CLOUD)
        watch = Watch(lab, g)
        try:
            p = Publisher(lab, CLOUD, watch.expected, "5")
            p.finish([p.publish("plant/oven/temperature", f"{60 + i}.5", i % 3) for i in range(60)])
            watch.check()
        finally:
            watch.close()
        g.balanced()
        assert g.stop() == 0
    flush(lab)


# From here on the module's gateway runs: tests with a gateway of their own are above.


@pytest.fixture(scope="module", params=DRIVERS)
def gw(lab, module_gateway, request):
    flush(lab)
    g = module_gateway(config(request.param))
    yield g
    g.balanced()
    assert g.stop() == 0
    flush(lab)


@pytest.mark.parametrize("ns", EVERYBODY)
def test_the_host_is_reached_from_every_port(lab, gw, ns):
    for address in (HOST, HOST6):
        ping(lab, ns, address)
        ping(lab, ns, address, "-s", "1400")


@pytest.mark.parametrize("ns", EVERYBODY)
def test_the_host_reaches_every_port(lab, gw, ns):
    ping(lab, "gw", EVERYBODY[ns], "-I", "plant")
    ping(lab, "gw", f"fd99::{EVERYBODY[ns][-1]}", "-I", "plant")


def test_arp_is_answered_once_and_with_the_hosts_mac(lab, gw):
    mac = re.search(r"link/ether (\S+)", link(lab, "plant"))[1]
    for ns in EVERYBODY:
        # Every answer is printed: a second station with the address would be seen.
        p = lab.run(ns, "arping", "-b", "-c", 3, "-w", 3, "-I", "eth0", HOST, check=False)
        answers = re.findall(r"reply from \S+ \[([0-9A-F:]+)\]", p.stdout.decode())
        assert len(answers) == 3 and {a.lower() for a in answers} == {mac}, p.stdout.decode()


def test_frames_for_others_are_bridged_normally(lab, gw):
    for ns, address in (("dev", CLOUD), ("cloud", EDGE), ("edge", DEVICE), ("dev", CLOUD6)):
        ping(lab, ns, address)
    a, b = MAC["dev"], MAC["cloud"]
    wires = {ns: Wire(lab, ns) for ns in EVERYBODY}
    try:
        marks = [ethernet(b, a, LOCAL_ETHERTYPE, bytes((i,)) * 60) for i in range(20)]
        end = ethernet("ff:ff:ff:ff:ff:ff", a, LOCAL_ETHERTYPE, b"end" * 20)
        before = gw.show("drops")["punted"]
        wires["dev"].send(*marks, end)
        heard = wires["cloud"].listen(end)
        assert [f for f in heard if f in marks] == marks, "unicast between two ports"
        assert not [f for f in wires["edge"].listen(end) if f in marks], "a known address is not flooded"
        # The kernel also receives broadcasts, but not the frames between two stations.
        wait_until("the broadcast in the kernel", lambda: gw.show("drops")["punted"] >= before + 1, 5)
        assert gw.show("drops")["punted"] < before + len(marks)
    finally:
        for w in wires.values():
            w.close()


def test_alarms_reach_the_edge_broker_through_the_bridge(lab, gw):
    assert lab.run("gw", "ip", "route", "get", EDGE).stdout.decode().split()[:3] == [EDGE, "dev", "plant"]
    peers = lab.run("gw", "ss", "-tnH", "dst", EDGE).stdout.decode()
    assert f"{HOST}:" in peers, f"no connection from the host's address: {peers}"
    watch = Watch(lab, gw)
    try:
        p = Publisher(lab, CLOUD, watch.expected, "5")
        p.finish([p.publish(f"plant/oven{i % 3}/temperature", f"{60 + i}.5", i % 3) for i in range(60)])
        alarms = watch.check()
        assert sum(alarms.values()) == sum(1 for t, v in watch.expected.published if usual_value(t, v) > 80) > 0
    finally:
        watch.close()


def test_the_host_survives_either_plane(lab, gw):
    """The kernel interface stays, with its addresses; the publisher is back on the broker by itself."""
    before = re.match(r"(\d+):", link(lab, "plant"))[1]
    for plane in ("data plane", "control plane"):
        gw.kill_plane(plane)
        gw.wait_ready()
        assert re.match(r"(\d+):", link(lab, "plant"))[1] == before, "another interface"
        ping(lab, "dev", HOST)
        ping(lab, "cloud", HOST6)
