# SPDX-License-Identifier: BSD-3-Clause
"""LCL scheduling under replay, whose output's time stamps are the scheduler's departures: captures through the example
configurations of three gateways in a row, and what `check` says of flows that cannot be kept."""

import json
import random
import struct
import subprocess

import pytest

import captures
from agg_frames import frame_of, tshark_finds_no_fault
from lab import BIPLANE, ROOT

EXAMPLES = ROOT / "docs" / "examples"
EDGE, NODE = "lcl-edge.yaml", "lcl-node.yaml"
TAU, BUDGET, RATE = 8000, 15000, 25
LABEL = 14
T0 = 1_700_000_000 * captures.SECOND


def biplane(*args):
    return subprocess.run([BIPLANE, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=120,
                          stdin=subprocess.DEVNULL)


def replay(directory, config, in_port, source, out_port, name, *args):
    """The output frames, and the report."""
    captures.write(directory / "in.pcap", source)
    p = biplane("replay", "-c", config, "--in", f"{in_port}={directory}/in.pcap", "--out", f"{out_port}={directory}/{name}", *args)
    assert p.returncode == 0, p.stderr
    return captures.read(directory / name), p.stdout


def wire(frame):
    """Nanoseconds of a frame of 25 Gb/s."""
    return (len(frame) + 24) * 8 / RATE


def commands(n, seed=1):
    """Bursts of up to 40 commands, as fast as their wire goes, at any time."""
    rng, at, out = random.Random(seed), 0, []
    while len(out) < n:
        at += rng.choice([2_000, 9_000, 31_000, 250_000])
        for _ in range(rng.randint(1, 40)):
            frame = frame_of("10.0.0.5", "10.1.0.9", struct.pack("!I", len(out)) + rng.randbytes(rng.randint(30, 200)), dport=7000)
            out.append((T0 + round(at), frame))
            at += wire(frame) + LABEL * 8 / RATE
    return out


def label(frame):
    assert frame[12:14] == b"\x88\xb5"
    version, n, d, flow, sequence = struct.unpack("!BBiHI", frame[14:26])
    assert version == 1
    return n, d, flow, sequence


def plain(frame):
    return frame[:12] + frame[12 + LABEL:]


@pytest.fixture(scope="module")
def hops(tmp_path_factory):
    """The input, and the output of each of the three."""
    directory = tmp_path_factory.mktemp("lcl")
    sent = commands(3000)
    first, _ = replay(directory, EXAMPLES / EDGE, "devices", sent, "wan", "1.pcap")
    second, _ = replay(directory, EXAMPLES / NODE, "in", first, "out", "2.pcap")
    third, report = replay(directory, EXAMPLES / NODE, "in", second, "out", "3.pcap", "--json")
    return sent, first, second, third, json.loads(report)


def test_the_bound_end_to_end(hops):
    sent, _, _, third, _ = hops
    delays = [out[0] - in_[0] for in_, out in zip(sent, third)]
    assert len(third) == len(sent)
    assert BUDGET - TAU <= min(delays) <= max(delays) <= BUDGET + TAU
    assert len(set(delays)) > 100


def test_each_node_waits_its_share(hops):
    """Within d/n +- tau at each, which the label says."""
    sent, first, second, third, _ = hops
    for i, (start, one, two, end) in enumerate(zip(sent, first, second, third)):
        assert abs(one[0] - start[0] - BUDGET // 3) <= TAU, i
        assert abs(two[0] - one[0] - label(one[1])[1] / 2) <= TAU, i
        assert abs(end[0] - two[0] - label(two[1])[1]) <= TAU, i


def test_labels_say_what_was_waited(hops):
    sent, first, second, _, _ = hops
    for i, (start, one, two) in enumerate(zip(sent, first, second)):
        assert label(one[1]) == (2, BUDGET - (one[0] - start[0]), 1, i)
        assert label(two[1]) == (1, BUDGET - (two[0] - start[0]), 1, i)


def test_frames_arrive_as_they_were_sent(hops, tmp_path):
    sent, first, _, third, _ = hops
    assert [frame for _, frame in third] == [frame for _, frame in sent]
    assert [plain(frame) for _, frame in first] == [frame for _, frame in sent]
    tshark_finds_no_fault(tmp_path / "left.pcap", [frame for _, frame in third[:200]], 7000)


def test_nothing_overlaps_on_the_wire(hops):
    for left in hops[1:4]:
        ends = 0
        for at, frame in left:
            assert at - T0 >= ends - 1
            ends = at - T0 + wire(frame)


def test_the_report(hops):
    sent, *_, report = hops
    assert report["totals"]["balanced"]
    flow, = report["lcl"]["flows"]
    assert (flow["frames"], flow["out_of_bound"], flow["missing"], flow["reordered"]) == (len(sent), 0, 0, 0)
    out = next(p for p in report["lcl"]["ports"] if p["port"] == "out")
    assert (out["sent"], out["queue_full"], out["queued"], out["out_of_bound"]) == (len(sent), 0, 0, 0)
    assert out["violations"] == 0


def test_text_report(tmp_path):
    _, text = replay(tmp_path, EXAMPLES / EDGE, "devices", commands(50), "wan", "1.pcap")
    assert "arm-3" in text
    assert "deviation from the share of the latency budget" in text


def test_best_effort_does_not_delay_slots(tmp_path):
    """As much of it as the wire holds: commands leave as without, or up to one longest frame later, and none of it is lost that
    has a place in its queue."""
    rng, sent = random.Random(2), commands(1000, seed=3)
    other, at = [], 0
    while T0 + at < sent[-1][0]:
        frame = frame_of("10.0.0.6", "10.1.0.7", rng.randbytes(rng.randint(18, 1400)), dport=80)
        other.append((T0 + round(at), frame))
        at += wire(frame) / 0.6
    # turns begin with a capture's first frame
    first, *alone = replay(tmp_path, EXAMPLES / EDGE, "devices", other[:1] + sent, "wan", "alone.pcap")[0]
    assert first[1] == other[0][1]
    both, text = replay(tmp_path, EXAMPLES / EDGE, "devices", sorted(sent + other, key=lambda f: f[0]), "wan", "both.pcap", "--json")
    beside = [f for f in both if f[1][12:14] == b"\x88\xb5"]
    assert [label(f[1])[3] for f in beside] == list(range(len(sent)))
    longest = (1514 + 8 + 24) * 8 / RATE
    for a, b in zip(alone, beside):
        assert -1 <= b[0] - a[0] <= longest
    report = json.loads(text)
    assert report["totals"]["balanced"]
    port, = report["lcl"]["ports"]
    assert port["best_effort"] + port["best_effort_queue_full"] == len(other)
    assert len(both) == len(beside) + port["best_effort"]
    assert port["gated"] > 0 and port["gated_bytes"] > 0


@pytest.mark.parametrize("change,said", [
    (("latency_budget: 15us", "latency_budget: 5us"), "budget"),
    (("rate: 6Gbps", "rate: 26Gbps"), "rate"),
    (("queues: 4", "queues: 2"), "more queues"),
    (("slot: 8us", "slot: 10s"), "slot"),
    (("hops: 3", "hops: 65"), "hops"),
    (("25Gbps", "fast"), "rate"),
])
def test_check_rejects_unsatisfiable_bounds(tmp_path, change, said):
    text = (EXAMPLES / EDGE).read_text()
    assert change[0] in text
    (tmp_path / "c.yaml").write_text(text.replace(*change))
    p = biplane("config", "check", "-c", tmp_path / "c.yaml")
    assert p.returncode == 78
    assert f"{tmp_path}/c.yaml:" in p.stderr and said in p.stderr and "expected" in p.stderr


@pytest.mark.parametrize("name", [EDGE, NODE])
def test_check_admits_the_examples(name):
    p = biplane("config", "check", "-c", EXAMPLES / name)
    assert p.returncode == 0, p.stderr
    assert (name == EDGE) == ("arm-3" in p.stdout)
