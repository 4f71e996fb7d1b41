# SPDX-License-Identifier: BSD-3-Clause
"""No message is held back: waiting messages leave at a reload, at link down and at the stop; and changes by a
reload."""

import pytest

from agg_frames import aggregate_in, aggregates, packets
from conftest import running_pair
from lab import Background, wait_until
from udp_peers import Receiver, Senders, assert_restored
from wan_lab import PORT, aggregate, disaggregate

FOR_EVER = {"max_delay": "unlimited", "max_messages": 100}


@pytest.fixture(scope="module")
def pair(wan_lab, wan, hugepages, tmp_path_factory):
    with running_pair(wan_lab, tmp_path_factory.mktemp("pair")) as p:
        yield p
        p.balanced()


def flushed(pair):
    """How many aggregates left for which reason, and how many messages wait."""
    (rule,) = pair.near.show("aggregates")["encapsulate"]
    return {**rule["flush_reasons"], "queued": rule["queued"]}


def make_wait(pair, senders, n=20):
    """n messages more that wait in NEAR."""
    before = flushed(pair)["queued"]
    senders.numbered(n, lambda: 16)
    wait_until("messages to wait", lambda: flushed(pair)["queued"] == before + n, 20)


def test_reload_flushes_messages(wan_lab, pair, wan):
    """And then N, max_delay and the destinations are the new ones."""
    pair.services([aggregate(**FOR_EVER)], [disaggregate(to={"address": "10.6.0.3", "udp_port": "5555-5557"})])
    wan.clear()
    with Senders(wan_lab, tos=(0, 0xB8)) as s, Receiver(wan_lab) as r, Receiver(wan_lab, port=PORT + 1) as other:
        make_wait(pair, s)
        assert not r.drain() and not packets(wan.sent)
        pair.near.services(encapsulate=[aggregate(max_messages=3, max_delay="unlimited")])
        r.wait(20)
        assert len(aggregates(wan.sent)) == 2 and flushed(pair)["queued"] == 0
        # N is 3 now
        wan.clear()
        s.numbered(9, lambda: 16, senders=s.all[0::2])
        r.wait(29)
        assert [len(a.messages) for a in aggregates(wan.sent)] == [3, 3, 3]
        # another destination: former aggregates are plain messages, immediately
        pair.near.services(encapsulate=[aggregate(udp=PORT + 1, max_messages=4, max_delay="unlimited")])
        wan.clear()
        s.numbered(5, lambda: 16)
        r.wait(34)
        assert not any(aggregate_in(p) for p in packets(wan.sent))
        mark = len(s.sent)
        s.numbered(4, lambda: 16, PORT + 1, senders=s.all[1::2])
        other.wait(4)
        assert [len(a.messages) for a in aggregates(wan.sent, PORT + 1)] == [4]
        pair.balanced()
        assert_restored(s.sent[:mark], r.drain())
        assert_restored(s.sent[mark:], other.drain())


def test_reload_of_far_flushes_paced_messages(wan_lab, pair):
    """Paced messages leave immediately, in order."""
    pair.services([aggregate(max_messages=100)], [disaggregate(pacing_gap="1s")])
    with Senders(wan_lab) as s, Receiver(wan_lab) as r:
        s.numbered(50, lambda: 16)
        wait_until("messages to wait", lambda: pair.far.show("aggregates")["decapsulate"][0]["queued"] >= 40, 20)
        assert len(r.drain()) < 50
        pair.far.services(decapsulate=[disaggregate(pacing_gap="10us")])
        r.wait(50, 5)
        pair.balanced()
        assert r.drain() == s.sent


def test_invalid_file_has_no_effect(wan_lab, pair):
    """Neither the rules nor what waits."""
    pair.services([aggregate(**FOR_EVER)], [disaggregate()])
    with Senders(wan_lab) as s, Receiver(wan_lab) as r:
        make_wait(pair, s)
        told = pair.near.show("aggregates")
        for bad in ({"max_messages": 256}, {"port": "nowhere"}, {"to": {"address": "224.0.0.5", "udp_port": 5555}}, {"to": {"address": "10.6.0.3"}},
                    {"format": "other"}, {"max_delay": "2h"}):
            p = pair.near.reload({**pair.near.config, "aggregation": {"encapsulate": [{**aggregate(), **bad}]}})
            assert p.returncode == 78, (bad, p.returncode, p.stdout, p.stderr)
            assert str(pair.near.file) in p.stdout + p.stderr
        assert pair.near.show("aggregates") == told and flushed(pair)["queued"] == 20
        make_wait(pair, s)
        assert not r.drain()
        p = pair.near.reload(pair.near.config)
        assert p.returncode == 0, p.stderr
        pair.near.services(encapsulate=[aggregate()])
        r.wait(40)
        pair.balanced()
        assert_restored(s.sent, r.drain())


def test_unreloadable_settings_are_rejected_or_named(wan_lab, pair):
    """The bounds, and the first or the last entry: they need a restart, and it is said."""
    pair.services([aggregate()], [disaggregate()])
    for change in ({"max_streams": 77}, {"pacing_queue_len": 128}, {"encapsulate": []}):
        p = pair.near.reload({**pair.near.config, "aggregation": {**pair.near.config["aggregation"], **change}})
        assert f"aggregation.{next(iter(change))}" in p.stdout + p.stderr, (change, p.returncode, p.stdout, p.stderr)
        assert "restart" in p.stdout + p.stderr, (p.stdout, p.stderr)
    with Senders(wan_lab) as s, Receiver(wan_lab) as r:
        pair.services([aggregate()], [disaggregate()])
        s.numbered(20, lambda: 16)
        r.wait(20)
        pair.balanced()
        assert_restored(s.sent, r.drain())


def test_link_down_flushes_aggregates(wan_lab, pair):
    """Link down at the sensors: their messages are not held back."""
    pair.services([aggregate(**FOR_EVER)], [disaggregate()])
    with Senders(wan_lab, tos=(0, 0xB8)) as s, Receiver(wan_lab) as r:
        make_wait(pair, s)
        wan_lab.ip("near", "link", "set", "p-devices", "down")
        try:
            r.wait(20)
            assert flushed(pair)["link"] == 2 and flushed(pair)["queued"] == 0
        finally:
            wan_lab.ip("near", "link", "set", "p-devices", "up")
        wait_until("the link to be up again", lambda: all(p["link_up"] for p in pair.near.show("ports")["ports"]), 20)
        make_wait(pair, s)
        pair.near.services(encapsulate=[aggregate()])
        r.wait(40)
        pair.balanced()
        assert_restored(s.sent, r.drain())


def test_link_down_ends_the_pacing_delay(wan_lab, pair):
    """Link down between FAR and the WAN: restored messages are sent to the server without pacing."""
    pair.services([aggregate()], [disaggregate(pacing_gap="1s")])
    with Senders(wan_lab) as s, Receiver(wan_lab) as r:
        s.numbered(64, lambda: 16)
        wait_until("messages to wait in FAR", lambda: pair.far.show("aggregates")["decapsulate"][0]["queued"] >= 50, 20)
        wan_lab.ip("far", "link", "set", "p-wan", "down")
        try:
            r.wait(64, 10)
            assert pair.far.show("aggregates")["decapsulate"][0]["queued"] == 0
        finally:
            wan_lab.ip("far", "link", "set", "p-wan", "up")
        wait_until("the link to be up again", lambda: all(p["link_up"] for p in pair.far.show("ports")["ports"]), 20)
        pair.services([aggregate()], [disaggregate()])
        s.numbered(8, lambda: 16)
        r.wait(72)
        pair.balanced()
        assert_restored(s.sent, r.drain())


def test_stop_flushes_messages(wan_lab, pair):
    """biplane is stopped: NEAR's waiting messages leave as aggregates, FAR's without their gap."""
    pair.services([aggregate(**FOR_EVER)], [disaggregate(pacing_gap="1s")])
    with Senders(wan_lab, tos=(0, 0xB8)) as s, Receiver(wan_lab) as r:
        make_wait(pair, s, 60)
        assert not r.drain()
        # next to it, since FAR lets a message go each second
        end = Background(pair.near.stop)
        end.start()
        wait_until("messages to wait in FAR", lambda: pair.far.show("aggregates")["decapsulate"][0]["queued"] >= 50, 20)
        assert end.finish() == 0
        assert len(r.drain()) < 60
        assert pair.far.stop() == 0
        r.wait(60, 5)
        assert_restored(s.sent, r.drain())
        for g in pair.both:
            g.start()
        pair.services([aggregate()], [disaggregate()])
        s.numbered(20, lambda: 16)
        r.wait(80)
        assert_restored(s.sent, r.drain())
