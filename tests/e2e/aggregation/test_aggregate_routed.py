# SPDX-License-Identifier: BSD-3-Clause
"""Aggregation between gateways that route, with a WAN that routes too."""

import pytest

from agg_frames import aggregates, carried, frame_of, longest, mac_of, packets, read, sequences_unbroken, tshark_finds_no_fault
from conftest import running_pair
from lab import wait_until
from traced import nodes, objects, tracing
from udp_peers import Receiver, Senders, assert_restored, send_and_wait
from wan import Tap
from wan_lab import SERVER, aggregate, disaggregate, sensor

KIND = "routed"
ROUTERS = 3  # NEAR, the WAN and FAR


@pytest.fixture(scope="module")
def pair(wan_lab, hugepages, tmp_path_factory):
    with running_pair(wan_lab, tmp_path_factory.mktemp("pair"), KIND) as p:
        yield p
        p.balanced()


@pytest.mark.parametrize("family", (4, 6))
def test_two_hundred_sensors(wan_lab, pair, tmp_path, family):
    """Aggregated messages pass two routers inside an aggregate; FAR routes each restored one: one TTL less."""
    pair.services([aggregate(KIND, family)], [disaggregate(KIND, family)])
    before = pair.counters()
    with Senders(wan_lab, KIND, family, tos=(0, 0xB8, 0x2A), fragment=(False, True)) as s, Receiver(wan_lab, family) as r, \
            Tap(wan_lab, "server", "eth0") as tap, Tap(wan_lab, "wan", "near") as wan:
        send_and_wait(s, r, 8, 500, lambda: s.random.randrange(901))
        pair.balanced()
        assert_restored(s.sent, r.drain(), less=1)
        found = aggregates(wan.frames())
        assert_restored(s.sent, carried(wan.frames()))
        assert len(packets(wan.frames())) == len(found) and len(s.sent) > 2 * len(found)
        assert {a.packet.hops for a in found} == {63}, "NEAR has routed them"
        assert {a.packet.macs for a in found} == {(mac_of("near at wan"), mac_of("near"))}
        sequences_unbroken(found)
        ways = {4: ("forwarded_ip4", "forwarded_ip6"), 6: ("forwarded_ip6", "forwarded_ip4")}[family]
        pair.counted(before, near={"encap_message": len(s.sent), "encap_aggregate": len(found), ways[0]: len(found)},
                     far={"decap_aggregate": len(found), "decap_message": len(s.sent), ways[0]: len(s.sent)})
        tshark_finds_no_fault(tmp_path / "wan.pcap", [f for f in wan.frames() if read(f)])
        tshark_finds_no_fault(tmp_path / "server.pcap", [f for f in tap.frames() if read(f)])


@pytest.mark.parametrize("family", (4, 6))
def test_a_source_of_their_own(wan_lab, pair, family):
    """source: aggregates have an address of the gateway; the senders in them stay what they are."""
    source = {"address": {4: "10.8.0.1", 6: "fd08::1"}[family], "udp_port": 4444}
    pair.services([{**aggregate(KIND, family), "source": source}], [disaggregate(KIND, family)])
    with Senders(wan_lab, KIND, family) as s, Receiver(wan_lab, family) as r, Tap(wan_lab, "wan", "near") as wan:
        send_and_wait(s, r, 2, 100, lambda: 20)
        assert_restored(s.sent, r.drain(), less=1)
        found = aggregates(wan.frames())
        assert {(a.packet.source, a.packet.sport) for a in found} == {(source["address"], source["udp_port"])}
        assert len(found) < len(s.sent) // 4


def test_long_messages_are_routed_unchanged(wan_lab, pair):
    """Longer than max_message: through three routers, in order with the others of its sender."""
    pair.services([aggregate(KIND, max_message_size=500)], [disaggregate(KIND)])
    with Senders(wan_lab, KIND, n=20) as s, Receiver(wan_lab) as r:
        send_and_wait(s, r, 2, 200, lambda: s.random.choice((40, 40, 40, 501, 1400)))
        pair.balanced()
        got = [d._replace(hops=d.hops + (ROUTERS if len(d.payload) > 500 else 1)) for d in r.drain()]
        assert_restored(s.sent, got)
        # all of one stream: the server receives them in the order in which they were sent, over all senders
        assert got == s.sent


def test_frames_for_another_station_are_not_inspected(wan_lab, pair):
    """Flooded by a switch: the router neither aggregates messages for other MAC addresses nor decapsulates their
    aggregates."""
    pair.services([aggregate(KIND)], [disaggregate(KIND)])
    with Tap(wan_lab, "sensors", "eth0") as out, Senders(wan_lab, KIND, n=10) as s, Receiver(wan_lab) as r:
        before = pair.counters()
        foreign = [frame_of(sensor(i, KIND), SERVER[KIND][4], b"for another", dst=dst)
                   for i, dst in enumerate(("02:77:00:00:00:01", "01:00:5e:01:02:03", "ff:ff:ff:ff:ff:ff"))]
        for f in foreign:
            out.send(f)
            s.numbered(8, lambda: 8)
        r.wait(len(s.sent))
        pair.balanced()
        assert_restored(s.sent, [d for d in r.drain() if d.payload != b"for another"], less=1)
        pair.counted(before, near={"encap_message": len(s.sent), "dst_mac_mismatch": 1}, far={"decap_message": len(s.sent)})


def test_min_mtu_of_the_ports_is_followed(wan_lab, pair):
    """Set in the kernel while biplane runs: aggregates are as long as the new one allows."""
    pair.services([aggregate(KIND, max_messages=255)], [disaggregate(KIND)])
    with Senders(wan_lab, KIND) as s, Receiver(wan_lab) as r:
        try:
            for mtu in (1300, 1500):
                wan_lab.ip("near", "link", "set", "wan", "mtu", mtu)
                wait_until("the ports to have that MTU", lambda mtu=mtu: min(p["mtu"] for p in pair.near.show("ports")["ports"]) == mtu, 20)
                send_and_wait(s, r, 1, 100, lambda: 16)  # begun by the old one at the latest before these
                with Tap(wan_lab, "wan", "near") as wan:
                    send_and_wait(s, r, 2, 400, lambda: 16)
                    assert mtu - 40 < longest(wan.frames()) <= mtu
        finally:
            wan_lab.ip("near", "link", "set", "wan", "mtu", 1500)
        pair.balanced()
        assert_restored(s.sent, r.drain(), less=1)


def test_trace_names_the_message_and_its_aggregate(wan_lab, pair):
    """NEAR ends the trace of a message where it joins an aggregate; FAR follows each message of the aggregate."""
    pair.services([aggregate(KIND)], [disaggregate(KIND)])
    with Senders(wan_lab, KIND, n=3) as s, Receiver(wan_lab) as r, \
            tracing(pair.near, "-n", 3, "--json", "-i", "devices", "udp") as near, \
            tracing(pair.far, "-n", 1, "--json", "-i", "wan", "udp") as far:
        send_and_wait(s, r, 1, 3, lambda: 40)
        for trace in objects(near):
            assert nodes(trace) == ["aggregate"] and trace["outcome"] == "terminated: encap_message"
        aggregate_of, = objects(far)
    assert nodes(aggregate_of)[:2] == ["disaggregate", "ip4"]
    step = next(s for s in aggregate_of["steps"] if s["node"] == "disaggregate")
    messages = next(c["count"] for c in step["counters"] if c["name"] == "decap_message")
    assert step["next"] == [{"node": "ip4", "frames": messages}]
    assert nodes(aggregate_of).count("ip4") == nodes(aggregate_of).count("port_tx-1") == messages
    assert aggregate_of["outcome"] == "terminated: decap_aggregate; sent on server"
