# SPDX-License-Identifier: BSD-3-Clause
"""LCL scheduling through three gateways in a row, in the laboratory with a WAN, in which the third one bridges:

    sensors --- near --- wan --- far --- server

NEAR gives labels, FAR takes them off. How long anything took is nowhere asked: this machine has other work too.
"""

import struct
import time

import pytest

from agg_frames import frame_of, read, tshark_finds_no_fault
from lab import Background, Gateway, wait_until
from traced import changed, nodes, objects, tracing
from udp_peers import Going, Receiver, Senders, assert_restored
from wan import Tap
from wan_lab import SERVER, WanGateway

ETHERTYPE, LABEL = 0x88B5, 14
TIMED, PLAIN = 7000, 9000  # UDP ports
BUDGET = 6_000_000
FLOW = 42
SCHEDULED = {"slot": "1ms", "queues": 8, "link_rate": "1Gbps"}


def flow(name="arm", udp=TIMED, id_=FLOW, **more):
    return {"name": name, "match": {"port": "devices", "destination": SERVER["bridged"][4] + "/32", "udp_port": udp}, "latency_budget": "6ms", "hops": 3,
            "rate": "10Mbps", "burst": 20000, "max_frame_size": 200, "id": id_, "output_port": "wan", **more}


class Middle(WanGateway):
    """The gateway in the WAN's place, which knows no flow."""

    def __init__(self, lab, directory, **services):
        Gateway.__init__(self, lab, directory, {
            "name": f"lab-{lab.name}-wan", "bridges": [{"name": "bridge0", "ports": ["near", "far"]}],
            "ports": [{"name": n, "device": f"net_af_packet{i},iface={n},framecnt=4096"} for i, n in enumerate(("near", "far"))], **services})
        self.ns, self.kind = "wan", "bridged"


class Line:
    def __init__(self, lab, directory):
        self.lab = lab
        self.near = WanGateway(lab, "near", directory / "near", lcl={"ports": [{"port": "wan", "trust_labels": True, **SCHEDULED}], "flows": [flow()]})
        self.middle = Middle(lab, directory / "middle", lcl={"ports": [{"port": p, "trust_labels": True, **SCHEDULED} for p in ("near", "far")]})
        self.far = WanGateway(lab, "far", directory / "far", lcl={"ports": [{"port": "wan", "trust_labels": True, **SCHEDULED},
                                                                            {"port": "server", **SCHEDULED}]})
        self.all = (self.near, self.middle, self.far)

    def start(self):
        for task in [Background(g.start) for g in self.all]:
            task.start()
            task.finish()
        return self

    def stop(self):
        for g in self.all:
            g.stop()

    def counters(self):
        return [g.counters() for g in self.all]

    def balanced(self):
        for g in self.all:
            g.balanced()


@pytest.fixture(scope="module")
def line(wan_lab, hugepages, tmp_path_factory):
    the_line = Line(wan_lab, tmp_path_factory.mktemp("line"))
    try:
        yield the_line.start()
        the_line.balanced()
    finally:
        the_line.stop()


@pytest.fixture
def peers(wan_lab, line):
    with Senders(wan_lab, n=1) as senders, Receiver(wan_lab, port=TIMED) as timed, Receiver(wan_lab, port=PLAIN) as plain:
        yield senders, timed, plain


@pytest.fixture
def wires(wan_lab, line):
    """Frames received at each gateway after NEAR, and at the server."""
    with Tap(wan_lab, "wan", "near") as first, Tap(wan_lab, "far", "p-wan") as second, Tap(wan_lab, "server", "eth0") as last:
        yield first, second, last


def label_of(frame):
    """(version, n, d, flow, sequence), the frame without it; None: it has none."""
    if struct.unpack_from("!H", frame, 12)[0] != ETHERTYPE:
        return None
    return struct.unpack_from("!BBiHI", frame, 14), frame[:12] + frame[12 + LABEL:]


def labelled(tap):
    return [got for got in map(label_of, tap.frames()) if got]


def send(senders, n, port=TIMED, each=50, size=64):
    """No more at one time than rings and queues hold."""
    for i in range(0, n, each):
        senders.numbered(min(each, n - i), lambda: size, port)
        time.sleep(0.002)


def grown(before, after):
    return [{k: a[k] - b[k] for k in a} for b, a in zip(before, after, strict=True)]


def test_labels_on_every_link(line, peers, wires, tmp_path):
    """Each link carries the label as it is documented; the server gets the datagrams, without."""
    senders, timed, plain = peers
    before = line.counters()
    send(senders, 500)
    assert_restored(senders.sent, timed.wait(500))
    wait_until("the last link's frames", lambda: len([f for f in map(read, wires[2].frames()) if f and f.dport == TIMED]) >= 500)
    first, second = (labelled(w) for w in wires[:2])
    assert len(first) == len(second) == 500
    sequence = [s for (_, _, _, _, s), _ in first]
    assert sequence == list(range(sequence[0], sequence[0] + 500))
    for n, wire in ((2, first), (1, second)):
        assert {(v, hops, f) for (v, hops, _, f, _), _ in wire} == {(1, n, FLOW)}
    # NEAR subtracts the waiting time of a frame from d, the next link adds to it; the datagram is the same everywhere.
    at_server = [f for f in wires[2].frames() if (p := read(f)) and p.dport == TIMED]
    assert not labelled(wires[2])
    for ((_, _, d1, _, s1), f1), ((_, _, d2, _, s2), f2), f3 in zip(first, second, at_server, strict=True):
        assert s1 == s2 and d2 <= d1 <= BUDGET
        assert f1 == f2 == f3
    tshark_finds_no_fault(tmp_path / "server.pcap", at_server, TIMED)
    line.balanced()
    near, middle, far = grown(before, line.counters())
    assert (near["lcl_added"], middle["lcl_added"], far["lcl_removed"]) == (500, 0, 500)
    assert all(g[k] == 0 for g in (near, middle, far) for k in g if k.startswith(("lcl_bad", "lcl_untrusted", "lcl_lost_label", "lcl_unlabeled")))


def test_with_best_effort_traffic(line, peers, wires):
    """Frames without a matching rule have no label on any link."""
    senders, timed, plain = peers
    sent = {TIMED: [], PLAIN: []}
    for _ in range(20):
        for port, receiver in ((TIMED, timed), (PLAIN, plain)):
            sent[port] += senders.numbered(20, lambda port=port: 64 if port == TIMED else 1000, port)
            receiver.wait(len(sent[port]))
    assert_restored(sent[TIMED], timed.got)
    assert_restored(sent[PLAIN], plain.got)
    for wire in wires[:2]:
        assert len(labelled(wire)) == 400
        assert len([p for p in map(read, wire.frames()) if p and p.dport == PLAIN]) == 400
    line.balanced()


def test_an_untrusted_label(wan_lab, line, wires):
    """A sensor that labels its own frames gets none of what it asks for."""
    frame = frame_of("10.6.0.11", SERVER["bridged"][4], b"a label of my own", sport=40000, dport=PLAIN)
    own = frame[:12] + struct.pack("!HBBiHI", ETHERTYPE, 1, 3, 1000, 7, 0)
    before = line.counters()
    with Tap(wan_lab, "sensors", "eth0") as sensor:
        sensor.send(own + frame[12:], own + own[12:] + frame[12:], own[:12] + struct.pack("!HBBiHI", ETHERTYPE, 9, 0, -1, 7, 0) + frame[12:])
        wait_until("three frames", lambda: wires[2].frames().count(frame) >= 3)
    assert not [f for w in wires for f in labelled(w)]
    line.balanced()
    near = grown(before, line.counters())[0]
    assert (near["lcl_untrusted"], near["lcl_bad_nested"]) == (3, 1)


def test_invalid_labels_on_a_trusted_link(wan_lab, line, wires):
    """Counted, and best effort."""
    frame = frame_of("10.6.0.11", SERVER["bridged"][4], b"not so", sport=40000, dport=PLAIN)
    bad = {"lcl_bad_hops": (1, 0, 5), "lcl_bad_delay": (1, 3, 1_000_000_001), "lcl_bad_version": (2, 3, 5)}
    before = line.counters()
    with Tap(wan_lab, "near", "p-wan") as near:
        near.send(*(frame[:12] + struct.pack("!HBBiHI", ETHERTYPE, *b, 7, 0) + frame[12:] for b in bad.values()))
        wait_until("three frames", lambda: wires[2].frames().count(frame) >= 3)
    line.balanced()
    middle = grown(before, line.counters())[1]
    assert {k: middle[k] for k in bad} == dict.fromkeys(bad, 1)


def test_flows_are_reloaded(line, peers, wires):
    """Flows are added and removed under traffic: no frame is lost, and the counters of a remaining flow continue."""
    senders, timed, _ = peers
    lcl = line.near.config["lcl"]
    going = Going(senders)
    going.senders.numbered = lambda n, size, port=TIMED, senders=None, send=senders.numbered: send(n, size, port, senders)
    with going:
        for flows in ([flow(), flow("other", 7001, 43)], [flow("other", 7001, 43), flow()], [flow()]):
            p = line.near.reload({**line.near.config, "lcl": {**lcl, "flows": flows}})
            assert p.returncode == 0, p.stdout + p.stderr
            there = len(senders.sent)
            wait_until("traffic to go on", lambda there=there: len(senders.sent) > there + 100)
    assert_restored(senders.sent, timed.wait(len(senders.sent)))
    got = labelled(wires[0])
    sequence = [s for (_, _, _, f, s), _ in got if f == FLOW]
    assert sequence == list(range(sequence[0], sequence[0] + len(senders.sent)))
    line.balanced()


def test_the_control_plane_is_killed(line, peers):
    """It schedules without: not a datagram is missing, and its successor changes nothing."""
    senders, timed, _ = peers
    going = Going(senders)
    going.senders.numbered = lambda n, size, port=TIMED, senders=None, send=senders.numbered: send(n, size, port, senders)
    with going:
        for g in line.all:
            g.kill_plane("control plane")
        there = len(senders.sent)
        wait_until("traffic to go on", lambda: len(senders.sent) > there + 100)
    assert_restored(senders.sent, timed.wait(len(senders.sent)))
    line.balanced()


def test_it_is_shown(line, peers):
    """biplane show lcl knows the flow at each gateway."""
    senders, timed, _ = peers
    send(senders, 100)
    timed.wait(100)
    line.balanced()
    for g, port, hop in zip(line.all, ("wan", "far", "server"), (1, 2, 3), strict=True):
        view = g.show("lcl")
        p = next(p for p in view["ports"] if p["port"] == port)
        assert (p["owner"], p["slot_ns"], p["queues"], p["queued"]) == (0, 1_000_000, 8, 0)
        assert p["sent"] >= 100 and p["slots"] > 0 and p["slot_jitter_max_ns"] >= p["slot_jitter_min_ns"] >= 0
        assert p["poll_gap_max_ns"] > 0 and p["seconds"] >= p["violations"]
        f = next(f for f in view["flows"] if f["id"] == FLOW and f["port"] == port)
        assert (f["flow"], f["node"]) == ("arm" if hop == 1 else None, "last" if hop == 3 else "transit")
        assert f["frames"] >= 100 and (f["missing"], f["reordered"]) == (0, 0)
        assert f["labeled"] == (f["frames"] if hop == 1 else 0)


def test_trace_names_the_scheduler(line, peers):
    senders, timed, plain = peers
    with tracing(line.near, "-n", 1, "--json", "-i", "devices", f"udp dst port {TIMED}") as near, \
            tracing(line.far, "-n", 1, "--json", "-i", "wan", "ether proto 0x88b5") as far:
        send(senders, 1)
        first, = objects(near)
        last, = objects(far)
    assert len(nodes(first)) == 1 and nodes(first)[0].startswith("lcl-") and first["outcome"] == "sent on wan"
    assert "lcl_added" in changed(first, nodes(first)[0])
    assert last["outcome"] == "sent on server" and "lcl_removed" in changed(last, nodes(last)[0])
