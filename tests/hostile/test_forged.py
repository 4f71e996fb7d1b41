# SPDX-License-Identifier: BSD-3-Clause
"""A host on a routed port sends the frames of both ends of an MQTT connection that does not exist, so it knows all
sequence numbers. Frames that the gateway drops prove nothing."""

import contextlib
import socket
import struct

import pytest

from lab import wait_until
from e2e_conftest import running_router
from router_lab import LEFT, RIGHT, only_biplane
from test_route_drops import Probe
from test_source_address import set_to

SYN, PSH, ACK = 2, 8, 16
RULE = {"name": "overheat", "topic": "plant/+/temperature", "value": "text", "raise": "> 80", "action": "publish", "publish": {"topic": "alarm/{topic}"}}


def checksum(data):
    data += b"\0" * (len(data) & 1)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return struct.pack("!H", ~total & 0xffff)


def tcp(source, target, ports, seq, ack, flags, data=b"", ttl=64):
    ends = socket.inet_aton(source) + socket.inet_aton(target)
    segment = struct.pack("!HHIIBBHHH", *ports, seq, ack, 0x50, flags, 65535, 0, 0) + data
    pseudo = ends + struct.pack("!BBH", 0, 6, len(segment))
    segment = segment[:16] + checksum(pseudo + segment) + segment[18:]
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(segment), 1, 0x4000, ttl, 6, 0) + ends
    return head[:10] + checksum(head) + head[12:] + segment


def text(value):
    return struct.pack("!H", len(value)) + value


CONNECT = bytes([0x10, 13]) + text(b"MQTT") + b"\4\2\0\x3c" + text(b"f")
CONNACK = b"\x20\2\0\0"
PUBLISH = bytes([0x30, 2 + 19 + 2]) + text(b"plant/a/temperature") + b"99"


@only_biplane
@pytest.mark.parametrize("client,broker,ttl,dropped", [("10.3.0.77", "203.0.113.5", 64, "reverse_path"), (LEFT, RIGHT, 1, "punt_ttl_expired")],
                         ids=["sources that lead elsewhere", "too few hops left"])
def test_both_ends_of_one_host(routed_lab, hugepages, tmp_path, client, broker, ttl, dropped):
    mqtt = {"publisher": {"broker": "mqtt://10.3.0.2"}, "spool": {"path": str(tmp_path / "spool.db")}, "rules": [RULE]}
    with running_router(routed_lab, tmp_path, mqtt=mqtt) as router:
        probe = Probe(routed_lab, router)
        with contextlib.closing(probe), set_to(routed_lab, router, {"ipv4_rp_filter": "strict"}, net__ipv4__conf__left__rp_filter=1):
            before = router.counters()

            def of_client(seq, ack, flags, data=b""):
                probe.send(tcp(client, broker, (5555, 1883), seq, ack, flags, data, ttl))

            def of_broker(seq, ack, flags, data=b""):
                probe.send(tcp(broker, client, (1883, 5555), seq, ack, flags, data, ttl))

            of_client(100, 0, SYN)
            of_broker(500, 101, SYN | ACK)
            of_client(101, 501, ACK)
            of_client(101, 501, PSH | ACK, CONNECT)
            of_broker(501, 101 + len(CONNECT), PSH | ACK, CONNACK)
            of_client(101 + len(CONNECT), 505, PSH | ACK, PUBLISH)
            wait_until("six segments were looked at", lambda: router.counters()["segments"] == before["segments"] + 6)
            now = router.counters()
    assert now["segments_not_forwarded"] > before["segments_not_forwarded"]
    assert now[dropped] > before[dropped]
    for none in "connections_established", "publishes", "alarms_raised":
        assert now[none] == before[none], f"{none}: of a connection of which not one frame was forwarded"
