# SPDX-License-Identifier: BSD-3-Clause
"""Fewer streams and queue entries than the traffic needs: evicted aggregates leave early, and no message is lost."""

import pytest

from agg_frames import aggregates, frame_of, longest, packets, read
from conftest import running_pair
from lab import wait_until
from udp_peers import Receiver, Senders, assert_restored, send_and_wait
from wan import Tap
from wan_lab import NETWORK, SERVER, aggregate, disaggregate, sensor


@pytest.fixture(scope="module")
def pair(wan_lab, wan, hugepages, tmp_path_factory):
    with running_pair(wan_lab, tmp_path_factory.mktemp("pair"), limits={"max_streams": 16, "pacing_queue_len": 64}) as p:
        yield p
        p.balanced()


def test_full_queue_loses_no_report(wan_lab, pair):
    """Fewer places than messages wait: the oldest leave early, in order."""
    pair.services([aggregate(max_messages=64)], [disaggregate(pacing_gap="2ms")])
    with Senders(wan_lab) as s, Receiver(wan_lab) as r:
        s.numbered(640, lambda: 16)
        r.wait(640)
        assert r.got == s.sent
        pair.balanced()
        (rule,) = pair.far.show("aggregates")["decapsulate"]
        assert rule["early_flush"] > 0, rule


def test_several_destinations_of_one_entry(wan_lab, pair, wan):
    """A prefix and a range of ports: each destination has streams of its own, more of them than the table holds."""
    pair.services([aggregate(to={"address": NETWORK["bridged"][4], "udp_port": "5000-5999"})],
                  [disaggregate(to={"address": NETWORK["bridged"][4], "udp_port": "5000-5999"})])
    wan.clear()
    ports = tuple(range(5000, 5040))
    sent = [frame_of(sensor(i % 200), SERVER["bridged"][4], b"%d" % i, dport=ports[i * 7 % len(ports)]) for i in range(800)]
    with Tap(wan_lab, "sensors", "eth0") as out, Tap(wan_lab, "server", "eth0") as tap:
        out.send(*sent)
        wait_until("all of them", lambda: len(packets(tap.frames(), ports)) >= len(sent), 20)
        pair.balanced()
        got = [f for f in tap.frames() if f in set(sent)]
    for p in ports:
        assert [f for f in got if read(f).dport == p] == [f for f in sent if read(f).dport == p]
    found = aggregates(wan.sent, ports)
    assert {a.packet.dport for a in found} == set(ports)
    streams = pair.near.show("aggregates")["encapsulate"][0]
    assert streams["streams"] <= 16 and streams["streams_evicted"] > 0 and streams["flush_reasons"]["evicted"] > 0, streams


@pytest.mark.parametrize("family", (4, 6))
@pytest.mark.parametrize("mtu", (600, "auto"))
def test_no_packet_is_longer_than_the_mtu(wan_lab, pair, wan, family, mtu):
    """mtu of the entry, and else that of the ports, 1500: the longest aggregate fills it, none exceeds it."""
    pair.services([aggregate(family=family, max_messages=255, max_message_size=400, mtu=mtu)], [disaggregate(family=family)])
    wan.clear()
    with Senders(wan_lab, family=family) as s, Receiver(wan_lab, family) as r:
        send_and_wait(s, r, 2, 400, lambda: s.random.randrange(30))
        most = 1500 if mtu == "auto" else mtu
        assert most - 60 < longest(wan.sent) <= most
        pair.balanced()
        assert_restored(s.sent, r.drain())
