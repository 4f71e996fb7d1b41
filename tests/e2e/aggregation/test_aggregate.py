# SPDX-License-Identifier: BSD-3-Clause
"""Two hundred sensors through two bridging gateways: the server receives exactly the messages sent."""

import collections
import itertools
import random

import pytest

from agg_frames import aggregates, carried, frame_of, packets, read, sequences_unbroken, tshark_finds_no_fault
from conftest import running_pair
from lab import wait_until
from udp_peers import Receiver, Senders, assert_restored, send_and_wait
from wan import Tap
from wan_lab import PORT, SERVER, aggregate, disaggregate, sensor


@pytest.fixture(scope="module")
def pair(wan_lab, wan, hugepages, tmp_path_factory):
    with running_pair(wan_lab, tmp_path_factory.mktemp("pair")) as p:
        yield p
        p.balanced()


@pytest.mark.parametrize("family", (4, 6))
def test_two_hundred_sensors(wan_lab, pair, wan, tmp_path, family):
    """Random sizes, TTLs, three DSCPs, with and without Don't Fragment: the server gets each datagram as it was sent,
    from far fewer packets on the WAN, and every packet is accounted for."""
    pair.services([aggregate(family=family)], [disaggregate(family=family)])
    wan.clear()
    before = pair.counters()
    with Senders(wan_lab, family=family, tos=(0, 0xB8, 0x2A), fragment=(False, True)) as s, Receiver(wan_lab, family) as r, \
            Tap(wan_lab, "server", "eth0") as tap:
        send_and_wait(s, r, 8, 500, lambda: s.random.randrange(901))
        pair.balanced()
        assert_restored(s.sent, r.drain())
        found = aggregates(wan.sent)
        assert_restored(s.sent, carried(wan.sent))
        assert len(packets(wan.sent)) == len(found), "messages that were not aggregated"
        assert len(s.sent) > 2 * len(found), "that saved next to nothing"
        sequences_unbroken(found)
        streams = collections.defaultdict(set)
        for a in found:
            assert a.packet.hops == 64 and a.packet.destination == SERVER["bridged"][family]
            streams[a.stream].add((a.packet.source, a.packet.sport, a.packet.tos, a.packet.dont_fragment))
        assert all(len(heads) == 1 for heads in streams.values()), "a stream's packets differ in what routers tell flows by"
        heads = {(tos, df) for ((_, _, tos, df),) in map(tuple, streams.values())}
        assert heads == set(itertools.product((0, 0xB8, 0x2A), (False, True) if family == 4 else (True,)))
        pair.counted(before, near={"encap_message": len(s.sent), "encap_aggregate": len(found)},
                     far={"decap_aggregate": len(found), "decap_message": len(s.sent)})
        tshark_finds_no_fault(tmp_path / "wan.pcap", [f for f in wan.sent if read(f)])
        tshark_finds_no_fault(tmp_path / "server.pcap", [f for f in tap.frames() if read(f)])


def test_small_messages_save_most(wan_lab, pair, wan):
    """N = 8 and N = 60 of 16 bytes: the packets on the WAN are an eighth, and a sixtieth, but for the last of a burst."""
    with Senders(wan_lab) as s, Receiver(wan_lab) as r:
        for n in (8, 60):
            pair.services([aggregate(max_messages=n)], [disaggregate()])
            wan.clear()
            mark = len(s.sent)
            send_and_wait(s, r, 3, 10 * n, lambda: 16)
            found = aggregates(wan.sent)
            assert sum(len(a.messages) for a in found) == len(s.sent) - mark
            assert max(len(a.messages) for a in found) == n
            assert len(found) <= 3 * 10 * 2, "most of them left half empty"
        assert_restored(s.sent, r.drain())


def test_frames_are_restored_to_the_byte(wan_lab, pair, wan):
    """Untagged, tagged, priority-tagged and doubly tagged, of both IP versions: with Don't Fragment, and identification
    0, a restored frame has the very bytes of the one that was sent."""
    pair.services([aggregate(), aggregate(family=6)], [disaggregate(), disaggregate(family=6)])
    wan.clear()
    rng = random.Random(9)
    tags = ((), ((0x8100, 10),), ((0x8100, 0x6000 | 20),), ((0x8100, 0xE000),), ((0x88A8, 100), (0x8100, 20)))
    sent = []
    for _ in range(400):
        family = rng.choice((4, 6))
        sent.append(frame_of(sensor(rng.randrange(200), family=family), SERVER["bridged"][family], rng.randbytes(rng.randrange(200)),
                             sport=rng.randrange(1, 65536), tags=rng.choice(tags), tos=rng.choice((0, 0xB8)), hops=rng.randrange(1, 256)))
    with Tap(wan_lab, "sensors", "eth0") as out, Tap(wan_lab, "server", "eth0") as tap:
        out.send(*sent)
        wait_until("all frames", lambda: len(packets(tap.frames())) >= len(sent), 20)
        pair.balanced()
        got = [f for f in tap.frames() if read(f)]

    def by_stream(frames):
        streams = collections.defaultdict(list)
        for f in frames:
            p = read(f)
            streams[p.family, p.tags, p.tos].append(f)
        return streams
    assert by_stream(got) == by_stream(sent)
    found = aggregates(wan.sent)
    assert {a.packet.tags for a in found} == set(tags), "aggregates have the tags of their messages"
    assert len(found) * 3 < len(sent)


def test_other_traffic_is_forwarded_unchanged(wan_lab, pair, wan):
    """Another port, another host, broadcast, TCP and ping next to aggregated traffic; and an answer of the server."""
    pair.services([aggregate()], [disaggregate()])
    wan.clear()
    beside = [frame_of(sensor(1), SERVER["bridged"][4], b"another port", dport=PORT + 1),
              frame_of(sensor(1), "10.6.0.99", b"another host"),
              frame_of(sensor(1), "10.6.0.255", b"broadcast", dst="ff:ff:ff:ff:ff:ff"),
              frame_of(sensor(1), SERVER["bridged"][4], b"to the right host and to no host's MAC", dst="ff:ff:ff:ff:ff:ff"),
              frame_of(sensor(1), SERVER["bridged"][4], b"to a group's MAC", dst="01:00:5e:00:00:05")]
    with Senders(wan_lab) as s, Receiver(wan_lab) as r, Receiver(wan_lab, port=PORT + 1) as other, \
            Tap(wan_lab, "sensors", "eth0") as out, Tap(wan_lab, "server", "eth0") as tap:
        for f in beside:
            s.numbered(50, lambda: 30)
            out.send(f)
        mark = len(s.sent)
        s.numbered(50, lambda: 30, PORT + 1)
        r.wait(mark)
        other.wait(50 + 1)
        passed = wan_lab.run("sensors", "ping", "-n", "-c", 3, "-i", "0.05", "-W", 2, SERVER["bridged"][4], check=False)
        assert passed.returncode == 0, passed.stdout
        pair.balanced()
        # The server also receives messages to multicast groups: they are not aggregated.
        assert_restored(s.sent[:mark], [d for d in r.drain() if not d.payload.startswith(b"to ") and d.payload != b"broadcast"])
        assert_restored(s.sent[mark:], [d for d in other.drain() if d.payload != b"another port"])
        assert [f for f in tap.frames() if f in beside] == beside
        assert len([f for f in wan.sent if f in beside]) == len(beside)
    assert not aggregates(wan.sent, PORT + 1)


def test_paced_messages_keep_their_order(wan_lab, pair, wan):
    """With a pacing gap of 200 µs: complete, in order, and they did wait. How long is for tests under virtual time."""
    pair.services([aggregate(max_messages=32)], [disaggregate(pacing_gap="200us")])
    wan.clear()
    with Senders(wan_lab) as s, Receiver(wan_lab) as r:
        send_and_wait(s, r, 3, 320, lambda: s.random.randrange(4, 30))
        pair.balanced()
        # One DSCP, one stream: the messages are received in the order in which all sensors sent them.
        assert r.drain() == s.sent
        (rule,) = pair.far.show("aggregates")["decapsulate"]
        assert rule["paced"] > len(s.sent) // 2 and rule["queued"] == 0 and rule["early_flush"] == 0, rule
