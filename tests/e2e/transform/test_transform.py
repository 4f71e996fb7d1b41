# SPDX-License-Identifier: BSD-3-Clause
"""Trackers and two robots around a gateway that bridges: each robot gets each reading in its own frame."""

import contextlib
import csv
import json
import struct
import subprocess

import pytest

from agg_frames import frame_of, ip, read, tshark_finds_no_fault, udp
from frames import ethernet
from lab import BIPLANE, CLOUD, CLOUD6, DEVICE, EDGE, MAC, port_devices, wait_until
from readings import (HEADER, IDENTITY, ONE, ROTATED, SLANTED, TIMED_UDP, UDP, Coordinates, Reading, Robot, Tracker, assert_exact,
                      coordinates, reading, saturated, some, source, transform)
from traced import changed, nodes, objects, tracing
from wan import Tap

ROBOT, OTHER = 20000, 20001
TO_CLOUD = {"address": CLOUD, "udp_port": ROBOT, "mac": MAC["cloud"]}
TO_EDGE = {"address": EDGE, "udp_port": OTHER, "mac": MAC["edge"]}
SIM = BIPLANE.rsplit("/", 1)[0] + "/biplane-tracker-sim"


def config(*entries, **more):
    return {"ports": port_devices("af_packet"), "bridges": [{"name": "bridge0", "ports": ["devices", "cloud", "edge"]}], "transform": {"entries": list(entries)}, **more}


def two_robots(address=DEVICE, **more):
    return transform([source(address, {**TO_CLOUD, "matrix": ROTATED}, {**TO_EDGE, "matrix": SLANTED})], **more)


@pytest.fixture(scope="module")
def gw(module_gateway):
    g = module_gateway(config(two_robots()))
    # Packets that wait for neighbor resolution in the tracker's kernel may be overtaken.
    for address in (CLOUD, CLOUD6):
        assert g.lab.run("dev", "ping", "-n", "-c", 1, "-W", 5, address, check=False).returncode == 0
    yield g
    g.balanced()


@pytest.fixture
def entries(gw):
    """entries(...): reloads with these entries of transform."""
    def load(*some_entries, **more):
        p = gw.reload({**gw.config, **config(*some_entries), **more})
        assert p.returncode == 0, p.stderr
    yield load
    load(two_robots())


@pytest.fixture
def robots(lab):
    with Robot(lab, "cloud", ROBOT) as cloud, Robot(lab, "edge", OTHER) as edge:
        yield cloud, edge


@contextlib.contextmanager
def counted(gw, **expected):
    """These counters grow by exactly so much meanwhile."""
    before = {k: gw.counter(k) for k in expected}
    yield
    gw.balanced()
    wait_until(f"{expected}; it was {before}", lambda: all(gw.counter(k) == before[k] + v for k, v in expected.items()), 10, 0.1)


def send_slowly(gw, tracker, readings, each=100):
    """No more at one time than the ports' rings hold: the next when these have been read."""
    before = gw.counter("transform_reading")
    for i in range(0, len(readings), each):
        tracker.send(readings[i:i + each])
        want = before + min(i + each, len(readings))
        wait_until(f"{want} readings", lambda want=want: gw.counter("transform_reading") >= want)


def test_two_robots(lab, gw, robots):
    """15,000 readings as in the paper: one in, two out, each in its robot's frame to a fifth of a micrometre; all else of
    the datagram is kept."""
    cloud, edge = robots
    sent = some(15000)
    with counted(gw, transform_reading=len(sent), transform_copy=len(sent), transform_saturated=0), Tracker(lab, "dev", CLOUD) as t:
        for i in range(0, len(sent), 100):
            t.send(sent[i:i + 100])
            cloud.wait(i + 100)
            edge.wait(i + 100)
    assert_exact(sent, cloud.got(), ROTATED)
    assert_exact(sent, edge.got(), SLANTED)
    assert {(a, p) for a, p, _ in cloud.heard()} == {(DEVICE, t_port) for _, t_port, _ in edge.heard()}, "the source stays the tracker's"


def test_the_simulator(lab, gw, robots, tmp_path):
    """biplane-tracker-sim: its robot records the points of its tracker, in the coordinate system of the robot."""
    receive = lab.popen("cloud", SIM, "receive", "--listen", f"{CLOUD}:{ROBOT + 7}", "--count", "2000", "--log", tmp_path / "got.csv",
                        stdout=subprocess.PIPE, text=True)
    try:
        assert receive.stdout.readline() == "ready\n"
        p = gw.reload({**gw.config, **config(transform([source(DEVICE, {**TO_CLOUD, "udp_port": ROBOT + 7, "matrix": SLANTED})]))})
        assert p.returncode == 0, p.stderr
        lab.run("dev", SIM, "send", "--to", f"{CLOUD}:{UDP}", "--path", "helix", "--rate", "2000", "--count", "2000", "--log", tmp_path / "sent.csv")
        out = json.loads(receive.communicate(timeout=30)[0])
    finally:
        receive.kill()
        receive.wait()
        assert gw.reload(gw.config).returncode == 0
    assert out["received"] == 2000 and out["too_short"] == 0
    with open(tmp_path / "sent.csv") as s, open(tmp_path / "got.csv") as g:
        for tool, seen in zip(csv.DictReader(s), csv.DictReader(g), strict=True):
            assert tool["number"] == seen["number"]
            r = reading(*(float(tool[k]) for k in ("r", "phi", "theta")))
            c = Coordinates(r, tuple(round(float(seen[k]) * ONE) for k in "xyz"))
            assert c.off(SLANTED) < 0.2


def test_headers_are_rewritten(lab, gw, robots, tmp_path):
    """Tags, DSCP, TTL and trailing bytes are kept; addresses and ports become the receiver's; tshark finds no fault."""
    sent = [r._replace(rest=bytes(range(i % 40))) for i, r in enumerate(some(60, 2))]
    tags = ((), ((0x8100, 10),), ((0x88A8, 100), (0x8100, 20)))
    with Tap(lab, "dev", "eth0") as out, Tap(lab, "cloud", "eth0") as cloud, Tap(lab, "edge", "eth0") as edge:
        for i, r in enumerate(sent):
            out.send(frame_of(DEVICE, CLOUD, r.payload(), sport=30000 + i, dport=UDP, src=MAC["dev"], dst=MAC["cloud"], tags=tags[i % 3],
                              tos=4 * i, hops=i + 33, sum_=0 if i % 5 == 4 else None))
        for tap, to, mac, port, matrix in ((cloud, CLOUD, "cloud", ROBOT, ROTATED), (edge, EDGE, "edge", OTHER, SLANTED)):
            def found(tap=tap, port=port):
                return [p for p in map(read, tap.frames()) if p and p.dport == port]
            wait_until("all frames", lambda found=found: len(found()) >= len(sent))
            got = found()
            assert_exact(sent, [coordinates(p.payload) for p in got], matrix)
            for i, p in enumerate(got):
                macs = tuple(bytes.fromhex(MAC[m].replace(":", "")) for m in (mac, "dev"))
                assert (p.macs, p.tags, p.source, p.destination) == (macs, tags[i % 3], DEVICE, to)
                assert (p.sport, p.tos, p.hops) == (30000 + i, 4 * i, i + 33)
            tshark_finds_no_fault(tmp_path / f"{mac}.pcap", [f for f in tap.frames() if (p := read(f)) and p.dport == port], port)


def test_readings_over_ipv6(lab, gw, entries, robots):
    entries(transform([source("fd99::/64", {"address": CLOUD6, "udp_port": ROBOT, "mac": MAC["cloud"], "matrix": ROTATED})]))
    sent = some(150, 3)
    robots[0].socket.close()
    with Robot(lab, "cloud", ROBOT, family=6) as r, Tracker(lab, "dev", CLOUD6) as t:
        t.send(sent)
        assert_exact(sent, r.wait(len(sent)), ROTATED)


def test_timing_header_is_kept(lab, gw, entries, robots):
    """The 57 bytes with the timing header, which is kept."""
    entries(transform([source(DEVICE, {**TO_CLOUD, "matrix": SLANTED})], udp=TIMED_UDP, layout="kunze2021_timed"))
    sent = some(150, 4, timed=True)
    robots[0].timed = True
    with Tracker(lab, "dev", CLOUD, udp=TIMED_UDP) as t:
        t.send(sent)
        assert_exact(sent, robots[0].wait(len(sent)), SLANTED)
    assert len(sent[0].payload()) == 40 + HEADER


def test_result_is_sent_back_to_the_tracker(lab, gw, entries):
    """As the paper's testbed: back to the sender's address, to the port that the reading came to."""
    entries(transform([source(DEVICE, {"reply_to_sender": True, "matrix": ROTATED})]))
    sent = some(150, 5)
    with Tracker(lab, "dev", CLOUD, port=20000) as t, Robot(lab, "dev", UDP) as back, Tap(lab, "cloud", "eth0") as cloud:
        t.send(sent)
        assert_exact(sent, back.wait(len(sent)), ROTATED)
        assert {(a, p) for a, p, _ in back.heard()} == {(CLOUD, UDP)}, "from the address and port that the reading was sent to"
        gw.balanced()
        assert not [p for p in map(read, cloud.frames()) if p and UDP in (p.sport, p.dport)], "the server is not bothered"
    entries(transform([source(DEVICE, {"reply_to_sender": True, "udp_port": 12345})]))
    with Tracker(lab, "dev", CLOUD) as t, Robot(lab, "dev", 12345) as back:
        t.send(sent)
        assert_exact(sent, back.wait(len(sent)), IDENTITY)


def test_longest_prefix(lab, gw, entries, robots):
    """The entry of a source has precedence over those of its network; readings of other sources are dropped, or sent
    without a matrix."""
    lab.run("dev", "ip", "addr", "add", "10.99.0.77/24", "dev", "eth0")
    try:
        everyone = [source("10.99.0.0/24", {**TO_CLOUD, "matrix": ROTATED}), source(DEVICE, {**TO_CLOUD, "matrix": SLANTED})]
        sent = some(50, 6)
        for sources, matrices, unknown in ((everyone, (SLANTED, ROTATED), "drop"), (everyone[1:], (SLANTED, None), "drop"),
                                           (everyone[1:], (SLANTED, IDENTITY), "forward")):
            entries(transform(sources, unknown_source=unknown, receiver=TO_CLOUD))
            robots[0].clear()
            lost = len(sent) if None in matrices else 0
            with counted(gw, transform_unknown_source=lost, transform_no_matrix=len(sent) if unknown == "forward" else 0), \
                    Tracker(lab, "dev", CLOUD, source=DEVICE) as one, Tracker(lab, "dev", CLOUD, source="10.99.0.77") as two:
                one.send(sent)
                two.send(sent)
                robots[0].wait(2 * len(sent) - lost)
            for address, matrix in zip((DEVICE, "10.99.0.77"), matrices):
                assert_exact(sent if matrix else [], robots[0].got(address), matrix)
    finally:
        lab.run("dev", "ip", "addr", "del", "10.99.0.77/24", "dev", "eth0")


@pytest.mark.parametrize("overflow", ("saturate", "drop"))
def test_result_out_of_range(lab, gw, entries, robots, overflow):
    """Beyond 64 m: the end of the range, or nothing; and it is said whose reading it was."""
    far = [[1, 0, 0, 60], [0, 1, 0, -60], [0, 0, 1, 0]]
    entries(transform([source(DEVICE, {**TO_CLOUD, "matrix": far})], overflow=overflow))
    sent = some(1000, 7)
    over = [r for r in sent if any(abs(c) >= 64 for c in r.seen(far))]
    assert 100 < len(over) < 900
    with counted(gw, transform_reading=len(sent), transform_saturated=len(over) if overflow == "saturate" else 0,
                 transform_overflow=len(over) if overflow == "drop" else 0), Tracker(lab, "dev", CLOUD) as t:
        send_slowly(gw, t, sent)
        got = robots[0].wait(len(sent) - (len(over) if overflow == "drop" else 0))
    for c in got:
        assert all(abs(a - b) <= 8 for a, b in zip(c.xyz, saturated(c.reading.seen(far)))), c
    assert [c.reading for c in got] == [r for r in sent if overflow == "saturate" or r not in over]


FLOATS = {"radius": {"offset": 3, "type": "float32"}, "phi": {"offset": 8, "type": "float64"}, "theta": {"offset": 17, "type": "float32"},
          "x": {"offset": 21, "type": "float64"}, "y": {"offset": 30, "type": "float64"}, "z": {"offset": 39, "type": "float32"}, "byte_order": "little"}


def test_a_layout_of_ones_own(lab, gw, entries, robots):
    """Floats of both sizes, little-endian, at odd offsets; values that are not finite are dropped and counted."""
    entries(transform([source(DEVICE, {**TO_CLOUD, "matrix": SLANTED})], layout=FLOATS))
    sent = some(200, 8)

    def payload(r, radius=None, phi=None):
        p = bytearray(range(50))
        p[3:7] = struct.pack("<f", r.radius / ONE if radius is None else radius)
        p[8:16] = struct.pack("<d", r.phi / ONE if phi is None else phi)
        p[17:21] = struct.pack("<f", r.theta / ONE)
        return bytes(p)
    bad = [payload(sent[0], radius=float("nan")), payload(sent[0], radius=float("-inf")), payload(sent[0], phi=1e300)]
    with counted(gw, transform_reading=len(sent), transform_invalid=len(bad)), Tracker(lab, "dev", CLOUD) as t:
        t.send([payload(r) for r in sent] + bad)
        robots[0].wait(len(sent))
    for r, (_, _, p) in zip(sent, robots[0].heard(), strict=True):
        x, y, z = struct.unpack("<d", p[21:29])[0], struct.unpack("<d", p[30:38])[0], struct.unpack("<f", p[39:43])[0]
        exact = Reading(round(struct.unpack("<f", struct.pack("<f", r.radius / ONE))[0] * ONE), r.phi,
                        round(struct.unpack("<f", struct.pack("<f", r.theta / ONE))[0] * ONE)).seen(SLANTED)
        assert all(abs(a - b) < 2e-6 for a, b in zip((x, y, z), exact))
        whole = bytearray(payload(r))
        whole[21:29], whole[30:38], whole[39:43] = p[21:29], p[30:38], p[39:43]
        assert p == bytes(whole), "the bytes between the fields are kept"


def test_already_cartesian(lab, gw, entries, robots):
    """For the affine part alone."""
    layout = {"from_x": {"offset": 0, "type": "float64"}, "from_y": {"offset": 8, "type": "float64"}, "from_z": {"offset": 16, "type": "float64"},
              "x": {"offset": 24, "type": "float64"}, "y": {"offset": 32, "type": "float64"}, "z": {"offset": 40, "type": "float64"}}
    entries(transform([source(DEVICE, {**TO_CLOUD, "matrix": SLANTED})], layout=layout))
    with Tracker(lab, "dev", CLOUD) as t:
        t.send([struct.pack("!6d", i, -i / 3, 1000 * i, 0, 0, 0) for i in range(100)])
        robots[0].wait(100)
    for i, (_, _, p) in enumerate(robots[0].heard()):
        want = [sum(m * c for m, c in zip(row, (i, -i / 3, 1000 * i, 1))) for row in SLANTED]
        assert struct.unpack("!6d", p)[3:] == pytest.approx(want, rel=1e-12, abs=1e-12)


def test_bad_readings_reach_no_robot(lab, gw, robots):
    """Short, damaged and fragmented readings: dropped, each with its reason; no untransformed reading is forwarded."""
    good = some(1, 9)[0].payload()
    heads = {"sport": 5000, "dport": UDP, "src": MAC["dev"], "dst": MAC["cloud"]}
    # of IPv6, since the kernel puts those of IPv4 together before biplane has them
    datagram = udp("fd99::1", CLOUD6, 5000, UDP, good)
    first = ethernet(MAC["cloud"], MAC["dev"], 0x86DD, ip("fd99::1", CLOUD6, struct.pack("!BBHI", 17, 0, 1, 7) + datagram, protocol=44))
    bad = {
        "transform_length": [frame_of(DEVICE, CLOUD, good[:n], **heads) for n in (0, 1, 39)] +
                            [frame_of(DEVICE, CLOUD, good, length=n, **heads) for n in (7, 8, 47, 49, 1000)],
        "transform_checksum": [frame_of(DEVICE, CLOUD, good, sum_=n, **heads) for n in (1, 0xFFFF, 0xBAD)],
        "transform_unsupported": [first],
    }
    with counted(gw, transform_reading=0, **{k: len(v) for k, v in bad.items()}), Tap(lab, "dev", "eth0") as out, \
            Tap(lab, "cloud", "eth0") as cloud, Tap(lab, "edge", "eth0") as edge:
        for frames in bad.values():
            out.send(*frames)
        gw.balanced()
        wait_until("the drops", lambda: gw.counter("transform_unsupported") >= 1)
        for tap in (cloud, edge):
            assert not [f for f in tap.frames() if DEVICE.encode() in f or f[26:30] == bytes([10, 99, 0, 1]) and f[23] == 17]
    assert not robots[0].heard() and not robots[1].heard()


def test_other_frames_pass(lab, gw, robots):
    """Other ports, TCP, ping: as if there were no transform."""
    with Robot(lab, "cloud", UDP + 5) as plain, Tracker(lab, "dev", CLOUD, udp=UDP + 5) as t, counted(gw, transform_reading=0):
        sent = some(50, 10)
        t.send(sent)
        wait_until("the datagrams", lambda: len(plain.heard()) == 50)
        assert [p for _, _, p in plain.heard()] == [r.payload() for r in sent]
        assert lab.run("dev", "ping", "-n", "-c", 2, "-i", "0.05", "-W", 2, CLOUD, check=False).returncode == 0


def test_a_reload_changes_all_at_once(lab, gw, entries, robots):
    """While readings flow, back and forth between two matrices: each result is by the one or the other, whole."""
    cloud, _ = robots
    rounds, sent = 20, some(20 * 200, 11)
    matrices = (ROTATED, SLANTED)
    with Tracker(lab, "dev", CLOUD) as t:
        for i in range(rounds):
            entries(transform([source(DEVICE, {**TO_CLOUD, "matrix": matrices[i % 2]})]))
            part = sent[i * 200:(i + 1) * 200]
            t.send(part)
            cloud.wait((i + 1) * 200)
            assert_exact(part, cloud.got()[i * 200:], matrices[i % 2]), "in force when the reload's answer came"


@pytest.mark.parametrize("plane", ("control plane", "data plane"))
def test_a_plane_dies(lab, gw, robots, plane):
    """The control plane's death costs nothing; the data plane continues with the rules that are active. Never does an
    untransformed reading pass."""
    cloud, _ = robots
    sent = some(400, 12)
    with Tap(lab, "cloud", "eth0") as tap, Tracker(lab, "dev", CLOUD) as t:
        t.send(sent[:100])
        cloud.wait(100)
        gw.kill_plane(plane)
        if plane == "data plane":
            wait_until("the line", lambda: lab.run("dev", "ping", "-n", "-c", 1, "-W", 1, CLOUD, check=False).returncode == 0, 30)
        t.send(sent[100:])
        assert_exact(sent, cloud.wait(400), ROTATED)
        assert not [p for p in map(read, tap.frames()) if p and p.dport == UDP]


def test_trace_names_the_receivers(lab, gw, robots):
    with tracing(gw, "-n", 1, "--json", "-i", "devices", f"udp dst port {UDP}") as t, Tracker(lab, "dev", CLOUD) as tracker:
        tracker.send(some(1, 5))
        trace, = objects(t)
    assert set(nodes(trace)[:2]) == {"transform", "bridge"} and changed(trace, "transform") == {"transform_reading", "transform_copy"}
    assert trace["steps"][1]["next"] == [{"node": "bridge", "frames": 2}]
    assert set(trace["outcome"].split("; ")) == {"sent on cloud", "sent on edge"}
