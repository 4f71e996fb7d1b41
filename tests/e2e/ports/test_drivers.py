# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/drivers.md, the rows of drivers without a NIC. tests/vm/test_drivers.py has those of NICs."""

import contextlib
import json
import shutil
from collections import Counter
from itertools import chain

import captures
import pytest

from driver_rows import (THERE, check_row, distribution, fault_counters, flows, long_frames, mtu_limit, offload_cells, row_of, segments,
                         too_long_frame, wakeup)
from lab import wait_until
from vhost_lab import Gateway, Peer
from wan import Tap

NAMES = ("devices", "cloud")
SIDES = {"devices": "dev", "cloud": "cloud"}
MTU_MAX, JUMBO = 65000, 9000  # the maximum of the configuration


def af_packet(name, number):
    return f"net_af_packet{number},iface={name},qpairs=2"


def af_xdp(name, number):
    return f"net_af_xdp{number},iface={name}"


def tap(name, number):
    return f"net_tap{number},iface=t-{name}"


DEVICES = {"net_af_packet": af_packet, "net_af_xdp": af_xdp, "net_tap": tap}


def config(driver, mtu):
    """mtu 0: that of the interface."""
    return {"workers": 2, "mqtt": {"publisher": {"broker": "mqtt://127.0.0.1"}, "rules": []},
            "ports": [{"name": n, "device": DEVICES[driver](n, i), **({"mtu": mtu} if mtu else {})} for i, n in enumerate(NAMES)],
            "bridges": [{"name": "line", "ports": list(NAMES)}]}


def started(gateway, driver):
    """A gateway with the largest MTU that its ports take."""
    if driver == "net_af_packet":
        return gateway(config(driver, 0), start=False).start(edge=False), JUMBO
    g = gateway(config(driver, MTU_MAX), start=False)
    with pytest.raises(AssertionError, match="biplane run ended"):
        g.start(edge=False)
    mtu = mtu_limit(g.log.read_text())
    return gateway(config(driver, mtu), start=False).start(edge=False), mtu


def interface(lab, driver, name, mtu):
    """The interface on the other side of a port. A tap is its own."""
    if driver == "net_af_xdp":
        # veth has a lower limit while an XDP program receives on the other side
        (link,) = json.loads(lab.run(SIDES[name], "ip", "-d", "-j", "link", "show", "eth0").stdout)
        lab.run(SIDES[name], "ip", "link", "set", "eth0", "mtu", min(mtu, link["max_mtu"]))
    if driver != "net_tap":
        return "eth0"
    lab.run("gw", "ip", "link", "set", f"t-{name}", "netns", lab.prefix + SIDES[name])
    lab.run(SIDES[name], "ip", "link", "set", f"t-{name}", "up")
    return f"t-{name}"


@contextlib.contextmanager
def mtus(lab, driver):
    """The MTU of a port of AF_PACKET is that of its interface."""
    if driver == "net_af_packet":
        for name, ns in SIDES.items():
            lab.run(ns, "ip", "link", "set", "eth0", "mtu", 2 * JUMBO)
            lab.run("gw", "ip", "link", "set", name, "mtu", JUMBO)
    try:
        yield
    finally:
        for name, ns in SIDES.items():
            lab.run("gw", "ip", "link", "set", name, "mtu", 1500)
            lab.set_mtu(ns, 1500)


@pytest.mark.parametrize("driver", DEVICES)
def test_row_of_an_interface(lab, gateway, driver):
    with mtus(lab, driver):
        g, mtu = started(gateway, driver)
        sides = [interface(lab, driver, name, mtu) for name in NAMES]
        with Tap(lab, "dev", sides[0]) as dev, Tap(lab, "cloud", sides[1]) as cloud:
            (link,) = json.loads(lab.run("dev", "ip", "-j", "link", "show", sides[0]).stdout)
            row = row_of(g, NAMES, dev, cloud, mtu, link["mtu"])
        check_row({"Driver": driver, "Largest MTU": "of the interface" if driver == "net_af_packet" else str(mtu), **row})


def memif(directory, name, role, number):
    return f"net_memif{number},role={role},socket={directory / name},socket-abstract=no"


# {driver: (ports of the gateway, peers that read a capture into the first and write what comes from the second)}
SHARED = {
    "net_pcap": lambda d: ((f"net_pcap0,rx_pcap={d / 'in.pcap'}", f"net_pcap1,tx_pcap={d / 'out.pcap'}"), ()),
    "net_memif": lambda d: ((memif(d, "in.sock", "server", 0), memif(d, "out.sock", "server", 1)),
                            (memif(d, "in.sock", "client", 0), memif(d, "out.sock", "client", 0))),
}


def peer(directory, side, device):
    """A testpmd, which reads a capture when it is started, or writes one."""
    capture = f"net_pcap0,{'rx' if side == 'in' else 'tx'}_pcap={directory / side}.pcap"
    return Peer(directory, side, "set fwd io\n" + ("start\n" if side == "out" else ""), *([capture, device] if side == "in" else [device, capture]))


def shared_gateway(directory, ports, mtu):
    return Gateway(directory, *({"device": p, "mtu": mtu} for p in ports), workers=2,
                   runtime={"directory": str(directory), "hugepages": "never", "memory": "1GiB"},
                   mqtt={"publisher": {"broker": "mqtt://127.0.0.1"}, "rules": []})


def largest_mtu(directory, ports):
    """What the ports take, in a word and as the number of the test."""
    g = shared_gateway(directory, ports, MTU_MAX)
    try:
        wait_until("the gateway to start or to fail", lambda: g.process.poll() is not None or len(g.ports()) == 2, 60)
        if g.process.poll() is None:
            return "any", JUMBO
        mtu = mtu_limit(g.log.read_text())
        return str(mtu), mtu
    finally:
        g.stop()


@pytest.mark.skipif(shutil.which("dpdk-testpmd") is None, reason="dpdk-testpmd (package dpdk-dev) is missing")
@pytest.mark.parametrize("driver", SHARED)
def test_row_of_shared_memory_or_files(tmp_path, driver):
    """From a capture through two ports of the driver to another capture."""
    ports, devices = SHARED[driver](tmp_path)
    captures.write(tmp_path / "in.pcap", [])
    largest, mtu = largest_mtu(tmp_path, ports)
    longer = too_long_frame(THERE, mtu)
    frames = [longer, *segments(), *chain(*flows()), *long_frames(THERE, mtu)]
    captures.write(tmp_path / "in.pcap", [(i * 1000, f) for i, f in enumerate(frames)])
    made = []
    try:
        g = shared_gateway(tmp_path, ports, mtu)
        made.append(g)
        made += [peer(tmp_path, side, d) for side, d in zip(("in", "out"), devices, strict=False)]
        wait_until("the peers", lambda: all(p.ready() for p in made if isinstance(p, Peer)), 60)
        wait_until("the gateway", lambda: len(g.ports()) == 2 and all(p["link_up"] for p in g.ports().values()), 60)
        row = {"Driver": driver, "Largest MTU": largest}
        if devices:
            row["Wakeup"] = wakeup(g)
            made[1].tell("start")
        wait_until("the frames", lambda: g.ports()["b"]["tx_packets"] >= len(frames) - 1, 60)
        if not devices:
            row["Wakeup"] = wakeup(g)
        row["Two workers"] = distribution(g)
        counted = g.counted()
        assert (counted["segments"], counted["segments_bad_checksum"]) == (1, 1)
        faults = fault_counters(g, ("a", "b"))
        row |= offload_cells(g)
    finally:
        for m in made:
            m.stop()
    left = Counter(frames) - Counter(f for _, f in captures.read(tmp_path / "out.pcap"))
    assert not left - Counter([longer]), left
    row["Longer frames"] = "dropped: " + ", ".join(k for k, n in faults.items() if n) if left else "forwarded"
    check_row(row)
