# SPDX-License-Identifier: BSD-3-Clause
"""Format lin2018 against agg_formats.py and the vectors: the test decodes the aggregates of NEAR; FAR decodes those of
the test."""

import json
import random

import pytest

from agg_frames import agg_formats, checksum, frame_of, packets, read, tshark_finds_no_fault
from conftest import running_pair
from lab import ROOT, wait_until
from udp_peers import Receiver, Senders
from wan import Tap
from wan_lab import MAC, NETWORK, PORT, SERVER, aggregate, disaggregate, sensor

VECTORS = {v["name"]: bytes.fromhex(v["frame_hex"]) for v in json.loads((ROOT / "tests" / "fixtures" / "aggregate.json").read_text())}
SINGLE, ONE, EIGHT = (next(f for n, f in VECTORS.items() if n.startswith(start)) for start in ("single", "aggregated N=1", "aggregated N=8"))
MESSAGE, PACKET = 0xFA, 0xFC
VECTOR_TO, VECTOR_FROM = {"address": "10.0.0.2", "udp_port": 5555}, ["10.0.0.0/24"]


def near(**more):
    return aggregate(format="lin2018", **more)


def far(**more):
    return disaggregate(format="lin2018", **more)


def message(text):
    return agg_formats.paper_write(MESSAGE, [text])


def n_packet(messages, padding=bytes(5)):
    return bytes([PACKET]) + padding + b"".join(messages)


@pytest.fixture(scope="module")
def pair(wan_lab, wan, hugepages, tmp_path_factory):
    with running_pair(wan_lab, tmp_path_factory.mktemp("pair"), near=[near()], far=[far()]) as p:
        yield p
        p.balanced()


@pytest.mark.parametrize("n", (1, 2, 3, 5, 8, 91))
def test_outputs_of_near(wan_lab, pair, wan, tmp_path, n):
    """N-packets as the paper has them: N messages in the order in which they came, of the first one's source."""
    pair.services([near(max_messages=n)], [far()])
    wan.clear()
    with Senders(wan_lab, n=20) as s, Receiver(wan_lab) as r:
        for _ in range(3 * n):
            s.send(s.random.choice(s.all), message(s.random.randbytes(16)))
        r.wait(len(s.sent))
        pair.balanced()
        found = packets(wan.sent)
        at = 0
        expected = []
        for p in found:
            kind, messages = agg_formats.paper_read(p.payload, n)
            first = s.sent[at]
            assert kind == PACKET and p.payload[1:6] == bytes(5)
            assert (p.source, p.sport) == (first.source, first.port)
            assert messages == [d.payload[6:] for d in s.sent[at:at + len(messages)]]
            expected += [(p.source, p.sport, message(m)) for m in messages]
            at += len(messages)
        assert at == len(s.sent)
        if n < 91:  # fewer than 91 are sent without delay unless the machine is very busy
            assert max(len(p.payload) for p in found) == 6 + 16 * n
        assert max(len(p.payload) for p in found) <= 1500 - 28
        assert [(d.source, d.port, d.payload) for d in r.drain()] == expected
        tshark_finds_no_fault(tmp_path / "wan.pcap", [f for f in wan.sent if read(f)])


def test_far_restores_python_aggregates(wan_lab, pair):
    """Every N, with padding of zeros and of anything."""
    pair.services([near()], [far()])
    rng = random.Random(4)
    with Tap(wan_lab, "wan", "far") as out, Receiver(wan_lab) as r:
        expected = []
        for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 91):
            for padding in (bytes(5), rng.randbytes(5)):
                messages, source, port, hops = [rng.randbytes(16) for _ in range(n)], sensor(n), 10000 + n, rng.randrange(2, 255)
                out.send(frame_of(source, SERVER["bridged"][4], n_packet(messages, padding), sport=port, hops=hops, tos=0x20))
                expected += [(source, port, hops, 0x20, message(m)) for m in messages]
        r.wait(len(expected))
        pair.balanced()
        assert [tuple(d) for d in r.drain()] == expected


def without_id(frame):
    """IPv4 identification and the header checksum that covers it: each sender's own."""
    assert checksum(frame[14:34]) == 0
    return frame[:18] + frame[20:24] + frame[26:]


def test_the_vectors(wan_lab, pair, wan):
    """Eight single messages become the vector of N = 8, and one that of N = 1; and back."""
    rule = {"to": VECTOR_TO}
    messages = [EIGHT[48 + 16 * i:64 + 16 * i] for i in range(8)]
    singles = [frame_of("10.0.0.1", "10.0.0.2", message(m), src="02:00:00:00:00:01", dst="02:00:00:00:00:02", dont_fragment=False, id_=1)
               for m in messages]
    assert singles[0] == SINGLE, "the vector's message is as this test makes them"

    def restored(tap):
        return [f for f in tap.frames() if f[:6] == SINGLE[:6]]
    for n, vector, sent in ((8, EIGHT, singles), (1, ONE, singles[:1])):
        pair.services([near(max_messages=n, max_delay="unlimited", **rule)], [far(allowed_senders=VECTOR_FROM, **rule)])
        wan.clear()
        with Tap(wan_lab, "sensors", "eth0") as out, Tap(wan_lab, "server", "eth0") as tap:
            out.send(*sent)
            wait_until("the messages", lambda: len(restored(tap)) >= len(sent), 20)
            pair.balanced()
            (made,) = [f for f in wan.sent if f[:6] == SINGLE[:6]]
            assert without_id(made) == without_id(vector)
            assert [without_id(f) for f in restored(tap)] == [without_id(f) for f in sent]
        # And the vector itself, which no gateway made.
        with Tap(wan_lab, "wan", "far") as out, Tap(wan_lab, "server", "eth0") as tap:
            out.send(vector)
            wait_until("the messages", lambda: len(restored(tap)) >= len(sent), 20)
            pair.balanced()
            assert [without_id(f) for f in restored(tap)] == [without_id(f) for f in sent]


def test_other_messages_pass_in_order(wan_lab, pair, wan):
    """Other datagrams than messages of 22 bytes with type fa are forwarded unchanged, and overtake no message."""
    pair.services([near()], [far()])
    before = pair.counters()
    with Senders(wan_lab, n=10) as s, Receiver(wan_lab) as r:
        rng = s.random
        for i in range(300):
            other = rng.choice((b"", b"\xfa", rng.randbytes(21)[:21], b"\xfb" + rng.randbytes(21), b"\xfa" + rng.randbytes(22),
                                b"\xfa" + rng.randbytes(37), b"text of any length, %d" % i))
            s.send(rng.choice(s.all), message(rng.randbytes(16)) if i % 3 else (other if other[:1] != b"\xfc" else b"\xfd" + other[1:]))
        r.wait(len(s.sent))
        pair.balanced()
        assert [d.payload for d in r.drain()] == [d.payload for d in s.sent]
        passed = [d for i, d in enumerate(s.sent) if i % 3 == 0]
        # but those that are messages after all, by the bounds of what is random
        assert all(len(d.payload) != 22 or d.payload[0] != MESSAGE for d in passed)
        assert [d for d in r.got if d.payload in {p.payload for p in passed}] == passed, "what passes keeps its sender"
        pair.counted(before, near={"encap_message": 200, "encap_bypass_format": 100}, far={"decap_message": 200, "decap_bypass": 100})


def test_bad_n_packets_are_dropped_whole(wan_lab, pair):
    """Count and length that disagree, wrong checksums, senders that are not allowed: no message of them arrives."""
    pair.services([near()], [far(allowed_senders=[f"{sensor(5)}/32", NETWORK["bridged"][4]][:1])])
    there, good = SERVER["bridged"][4], [bytes([i]) * 16 for i in range(8)]
    whole = n_packet(good)
    bad = {
        "decap_count": [frame_of(sensor(5), there, p) for p in (whole[:-1], whole + b"x", n_packet([]), whole[:21])],
        "decap_source_not_allowed": [frame_of(sensor(6), there, whole), frame_of("10.7.0.5", there, whole),
                          frame_of("0.0.0.0", there, whole), frame_of(sensor(5), there, whole, sport=0)],
        "decap_udp_checksum": [frame_of(sensor(5), there, whole, sum_=0x1234)],
        "decap_length": [frame_of(sensor(5), there, whole, length=8 + len(whole) - 16),
                           frame_of(sensor(5), there, whole, length=8 + len(whole) + 16),
                           frame_of(sensor(5), there, whole, total=28 + len(whole) + 16)],
    }
    before = pair.counters()
    with Tap(wan_lab, "wan", "far") as out, Receiver(wan_lab) as r, Tap(wan_lab, "server", "eth0") as tap:
        for frames in bad.values():
            out.send(*frames)
        # Without a UDP checksum, as the format allows over IPv4, and at the end.
        out.send(frame_of(sensor(5), there, whole, sum_=0))
        r.wait(8)
        pair.balanced()
        assert [d.payload for d in r.drain()] == [message(m) for m in good]
        assert len([f for f in tap.frames() if f[:6] == bytes.fromhex(MAC["server"].replace(":", ""))]) == 8
        pair.counted(before, far={**{k: len(v) for k, v in bad.items()}, "decap_aggregate": 1, "decap_message": 8})
        assert PORT == packets(tap.heard)[0].dport
