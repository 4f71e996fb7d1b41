# SPDX-License-Identifier: BSD-3-Clause
"""Malformed aggregates from the WAN, and ambiguous payloads from sensors. By raw sockets."""

import random
import struct

import pytest

from agg_frames import agg_formats, aggregates, frame_of, full, mac_of, packed, packets, udp
from conftest import running_pair
from frames import checksum, ethernet
from lab import wait_until
from udp_peers import Datagram, Receiver, Senders, assert_restored
from wan import Tap
from wan_lab import MAC, SERVER, aggregate, disaggregate, sensor


@pytest.fixture(scope="module")
def pair(wan_lab, wan, hugepages, tmp_path_factory):
    with running_pair(wan_lab, tmp_path_factory.mktemp("pair")) as p:
        yield p
        p.balanced()


def messages_of(family, n=4):
    return [Datagram(sensor(i, family=family), 10000 + i, 60 + i, 0, b"message %d" % i) for i in range(n)]


def for_server(tap):
    """All but what the server's kernel and its neighbors say by themselves: ARP, neighbor discovery."""
    return [f for f in tap.frames() if f[:6] == mac_of("server") and f[12:14] != b"\x08\x06" and (f[12:14] != b"\x86\xdd" or f[20] != 58)]


def spoil(data, at, value):
    return data[:at] + value + data[at + len(value):]


def signed(data, family=4):
    """With a correct checksum over header and directory, as far as present: an attacker can compute it."""
    end = agg_formats.HEADER + struct.unpack("!H", data[4:6])[0]
    return data[:12] + struct.pack("!I", agg_formats.crc32c(data[:12] + data[16:end])) + data[16:]


def hostile_payloads(family):
    """{counter: payloads} of which each is to be refused whole."""
    good = messages_of(family)
    whole = full(good, family)
    directory = struct.unpack("!H", whole[4:6])[0]
    other = 10 - family
    nobodies = {4: ("0.0.0.0", "127.0.0.1", "224.0.0.9", "255.255.255.255", "10.7.0.11", "10.6.1.1", "192.0.2.1"),
                6: ("::", "::1", "ff02::1", "fd07::11", "fd06:0:0:1::1", "2001:db8::1", "::ffff:10.6.0.11")}[family]
    forged = [full([*good[:i], good[i]._replace(source=a), *good[i + 1:]], family) for a in nobodies for i in (0, 3)]
    forged += [full([*good[:3], good[3]._replace(**{k: 0})], family) for k in ("port", "hops")]
    versions = [spoil(whole, 2, bytes([v << 4 | family])) for v in range(16) if v != 1]
    versions += [signed(v) for v in versions]
    sums = [spoil(whole, 12, b"\0\0\0\0"), spoil(whole, 12, bytes([whole[12] ^ 1]))]
    sums += [spoil(whole, i, bytes([whole[i] ^ 0x10])) for i in (3, 6, 8, 11, 16, 20, 16 + directory - 1)]
    sums += [spoil(whole, 4, struct.pack("!H", directory + 1)), spoil(whole, 4, struct.pack("!H", directory - 1))]
    counts = [signed(spoil(whole, 3, bytes([n]))) for n in (0, 1, 3, 5, 255)]
    counts += [whole[:-1], whole + b"x", whole[:16 + directory], whole[:16 + directory - 1], whole[:16], whole[:15], whole[:3]]
    counts += [signed(spoil(whole, 4, struct.pack("!H", 65535))), b"\xfd\xa6\x10" if family == 4 else b"\xfd\xa6\x16"]
    # wrong payload lengths, of the first message, whose entry begins with flags and length
    counts += [signed(spoil(whole, 17, bytes([n]))) for n in (0, 8, 10, 200)]
    entries = [signed(spoil(whole, 16, bytes([whole[16] & 0x3F | form]))) for form in (0x00, 0xC0)]
    entries += [signed(spoil(whole, 16, bytes([whole[16] & ~0x20]))), signed(spoil(whole, 16, bytes([whole[16] | 0x18]))),
                signed(spoil(whole, 16, bytes([whole[16] & ~0x07])))]
    if family == 4:
        entries += [signed(spoil(whole, 16, bytes([whole[16] & ~7 | code]))) for code in (5, 6, 7)]
    families = [full(messages_of(other), other), signed(spoil(whole, 2, bytes([0x10])))]
    return {"decap_source_not_allowed": forged, "decap_version": versions, "decap_checksum": sums, "decap_count": counts,
            "decap_directory": entries, "decap_family": families}


@pytest.mark.parametrize("family", (4, 6))
def test_refused_whole_and_counted_by_reason(wan_lab, pair, family):
    pair.services([aggregate()], [disaggregate(), disaggregate(family=6)])
    source, there = sensor(0, family=family), SERVER["bridged"][family]
    frames = {k: [frame_of(source, there, p) for p in payloads] for k, payloads in hostile_payloads(family).items()}
    whole = full(messages_of(family), family)
    frames["decap_udp_checksum"] = [frame_of(source, there, whole, sum_=s) for s in (0, 0x1234)]
    frames["decap_length"] = [frame_of(source, there, whole, length=8 + len(whole) + d) for d in (-9, -1, 1, 500)]
    sent = [(k, f) for k, fs in frames.items() for f in fs]
    random.Random(family).shuffle(sent)
    before = pair.counters()
    with Tap(wan_lab, "wan", "far") as out, Receiver(wan_lab, family) as r, Tap(wan_lab, "server", "eth0") as tap:
        out.send(*(f for _, f in sent))
        out.send(frame_of(source, there, whole))
        r.wait(4)
        pair.balanced()
        assert r.drain() == messages_of(family), "but for the last, which was good"
        assert len(for_server(tap)) == 4
    now = pair.counters()
    grown = {k: now["far"][k] - before["far"][k] for k in frames}
    assert grown == {k: len(v) for k, v in frames.items()}


def test_invalid_data_after_the_magic(wan_lab, pair):
    """For any counter: no message arrives, each frame is counted, and biplane continues."""
    pair.services([aggregate()], [disaggregate(), disaggregate(family=6)])
    rng = random.Random(8)
    restarts, before = pair.far.plane("data plane")["restarts"], pair.far.show("aggregates")["decapsulate"][0]["dropped"]
    with Tap(wan_lab, "wan", "far") as out, Receiver(wan_lab) as r, Tap(wan_lab, "server", "eth0") as tap:
        refused = 0
        for _ in range(10):
            for _ in range(200):
                payload = b"\xfd\xa6" + rng.randbytes(rng.choice((0, 1, 5, 14, 30, 100, 1400)))
                if rng.random() < 0.6 and len(payload) >= 16:
                    payload = payload[:2] + bytes([0x14, rng.randrange(20)]) + struct.pack("!H", rng.randrange(len(payload) - 15)) + payload[6:]
                    payload = signed(payload) if rng.random() < 0.8 else payload
                out.send(frame_of(sensor(0), SERVER["bridged"][4], payload))
                refused += 1
            mark = len(r.got)
            out.send(frame_of(sensor(0), SERVER["bridged"][4], full(messages_of(4))))
            r.wait(mark + 4)
        pair.balanced()
        assert r.drain() == messages_of(4) * 10
        assert len(for_server(tap)) == 40
        assert pair.far.show("aggregates")["decapsulate"][0]["dropped"] - before == refused
    assert pair.far.plane("data plane")["restarts"] == restarts


@pytest.mark.parametrize("senders", ({}, {"allowed_senders": []}), ids=("missing", "empty"))
def test_allowed_senders_must_be_given(pair, senders):
    """Closed by default: a configuration that does not say whose messages are restored is an error."""
    rule = {k: v for k, v in disaggregate().items() if k != "allowed_senders"}
    p = pair.far.reload({**pair.far.config, "aggregation": {"decapsulate": [{**rule, **senders}]}})
    assert p.returncode == 78 and "allowed_senders" in p.stdout + p.stderr, (p.returncode, p.stdout, p.stderr)
    pair.services([aggregate()], [disaggregate()])


@pytest.mark.parametrize("family", [4, 6])
def test_spoofed_sensor_address(wan_lab, pair, wan, family):
    """FAR refuses all that is in one aggregate with it; NEAR with the same `allowed_senders` keeps it out, and all arrive, in order."""
    there, lies = SERVER["bridged"][family], {4: "192.0.2.66", 6: "2001:db8::66"}[family]
    frames = [frame_of(sensor(i, family=family), there, b"message %d" % i) for i in range(8)]
    frames.insert(5, frame_of(lies, there, b"a lie"))
    allowed = disaggregate(family=family)
    for senders, passed in (None, 0), (allowed["allowed_senders"], 1):
        pair.services([aggregate(family=family, max_messages=9 - passed, max_delay="unlimited", **({"allowed_senders": senders} if senders else {}))], [allowed])
        wan.clear()
        before = pair.counters()
        with Tap(wan_lab, "sensors", "eth0") as out, Tap(wan_lab, "server", "eth0") as tap:
            out.send(*frames)
            if passed:
                # Earlier messages leave immediately, the others when the aggregate is full.
                wait_until("the lie", lambda: len(for_server(tap)) == 6, 20)
                out.send(*frames[:5])
                wait_until("all", lambda: len(for_server(tap)) == 9 + 5, 20)
            else:
                wait_until("the refusal", lambda: pair.far.counters()["decap_source_not_allowed"] > before["far"]["decap_source_not_allowed"], 20)
            pair.balanced()
            assert for_server(tap) == (frames + frames[:5] if passed else [])
        assert [len(a.messages) for a in aggregates(wan.sent)] == ([5, 8] if passed else [9])
        pair.counted(before, near={"encap_bypass_source": passed, "encap_message": 13 if passed else 9},
                     far={"decap_source_not_allowed": 1 - passed, "decap_bypass": passed, "decap_message": 13 if passed else 0})


def test_ambiguous_payloads(wan_lab, pair, wan):
    """A payload that begins with the magic number is aggregated, and arrives; if that is not possible it is dropped, so
    that FAR never decapsulates it."""
    pair.services([aggregate(max_message_size=200)], [disaggregate()])
    wan.clear()
    before = pair.counters()
    real = full([Datagram("10.6.0.77", 7, 7, 0, b"forged by a sensor")])
    with Senders(wan_lab, n=10) as s, Receiver(wan_lab) as r:
        for i in range(100):
            sender = s.random.choice(s.all)
            match i % 4:
                case 0:
                    s.send(sender, real)
                case 1:
                    s.send(sender, b"\xfd\xa6" + s.random.randbytes(50))
                case 2:
                    s.send(sender, b"%d" % i)
                case 3:
                    sender.socket.sendto(b"\xfd\xa6" + s.random.randbytes(300), (SERVER["bridged"][4], 5555))
        r.wait(75)
        pair.balanced()
        assert_restored(s.sent, r.drain())
        assert r.got == s.sent
        assert len(packets(wan.sent)) == len(aggregates(wan.sent))
        pair.counted(before, near={"encap_message": 75, "encap_ambiguous_payload": 25}, far={"decap_message": 75})


def test_bypassed_messages_stay_in_order(wan_lab, pair, wan):
    """Long messages, IP options, wrong lengths, a wrong checksum and invalid senders are forwarded unchanged, after
    earlier messages."""
    pair.services([aggregate(max_message_size=100)], [disaggregate()])
    wan.clear()
    there, rng = SERVER["bridged"][4], random.Random(3)
    plain = frame_of(sensor(1), there, b"y" * 20, hops=9)
    odd = {
        "encap_bypass_length": [frame_of(sensor(1), there, rng.randbytes(n)) for n in (101, 1000, 1472)],
        "encap_bypass_unsupported": [frame_of(sensor(1), there, b"x" * 20, length=20), frame_of(sensor(1), there, b"x" * 20, length=500),
                             with_options(sensor(1), there, b"options")],
        "encap_bypass_source": [frame_of(sensor(1), there, b"x", sport=0), frame_of("0.0.0.0", there, b"x"), frame_of("127.0.0.9", there, b"x"),
                              frame_of("224.1.2.3", there, b"x"), frame_of(sensor(1), there, b"x", hops=0)],
    }
    # These reach no one, so they need not keep their place.
    damaged = [frame_of(sensor(1), there, b"x" * 20, sum_=0x1111), spoil(plain, 24, b"\x12\x34")]
    between = [[frame_of(sensor(i % 7), there, struct.pack("!II", j, i), sport=20000 + i) for i in range(5)]
               for j in range(sum(map(len, odd.values())) + 1)]
    no_sum = [frame_of(sensor(2), there, struct.pack("!I", i), sum_=0) for i in range(5)]
    order = [f for group in zip(between, [x for v in odd.values() for x in v]) for f in (*group[0], group[1])] + between[-1]
    before = pair.counters()
    with Tap(wan_lab, "sensors", "eth0") as out, Tap(wan_lab, "server", "eth0") as tap:
        for f in order[:10], damaged, order[10:], no_sum:
            out.send(*f)
        wait_until("the last of them", lambda: len(for_server(tap)) >= len(order) + len(damaged) + len(no_sum), 20)
        pair.balanced()
        got = [f for f in for_server(tap) if f not in damaged]
        assert got[:len(order)] == order and len(for_server(tap)) == len(got) + len(damaged)
        # A missing UDP checksum is added: the format does not record that it was missing.
        assert got[len(order):] == [frame_of(sensor(2), there, struct.pack("!I", i)) for i in range(5)]
    pair.counted(before, near={**{k: len(v) for k, v in odd.items()}, "encap_bypass_checksum": 2, "encap_message": 5 * len(between) + 5})


def with_options(source, destination, payload):
    body = udp(source, destination, 4000, 5555, payload)
    head = struct.pack("!BBHHHBBH", 0x47, 0, 28 + len(body), 0, 0x4000, 64, 17, 0) + packed(source) + packed(destination) + b"\x01" * 8
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return ethernet(MAC["server"], MAC["sensors"], 0x0800, head + body)
