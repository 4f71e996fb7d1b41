# SPDX-License-Identifier: BSD-3-Clause
"""Attacks of a client that wants a refused publication to reach its broker, as frames; see policy_evasion.py."""

import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))
import mqtt_packets
from policy_sessions import ACK, CONNACK, FIN, PSH, RST, SYN, complement

REFUSED = "plant/secret"
MARK = b"REFUSED!"  # the payload of each refused publication: with close, no frame to the broker has it
SECRET = mqtt_packets.publish(4, REFUSED, MARK)
OPEN = mqtt_packets.publish(4, "plant/open01", b"ALLOWED!")  # as long as the refused one
assert len(OPEN) == len(SECRET)
PORT, WEBSOCKET_PORT, URG = 1883, 8083, 32
CLIENT_MAC, BROKER_MAC = b"\2\0\0\0\0\1", b"\2\0\0\0\0\2"
BROKER_ISN = 90000
DESTINATION_OPTIONS, HOP_BY_HOP, FRAGMENT = 60, 0, 44


def timestamps(value, echo=1):
    return struct.pack("!BBBBII", 1, 1, 8, 10, value, echo)


class Network:
    """The frames of all attacks, in order; each arrives where `at_client` says."""

    def __init__(self):
        self.frames, self.peers = [], {}

    def add(self, peer, frame, at_client):
        self.frames.append((frame, at_client))
        self.peers[len(self.frames) - 1] = peer


class Peer:
    """A client and its broker. Positions are bytes of the stream; 0 is the first one."""

    def __init__(self, network, number, ip6=False, port=PORT, vlan=(), isn=1000, source=20000):
        self.network, self.ip6, self.port, self.vlan, self.isn, self.source = network, ip6, port, vlan, isn, source
        self.client = bytes.fromhex("fd00") + bytes(12) + struct.pack("!H", number) if ip6 else bytes((10, 2, number >> 8, number & 255))
        self.broker = bytes.fromhex("fd00") + bytes(13) + b"\xff" if ip6 else b"\x0a\0\0\x09"
        self.at = self.told = 0  # positions of both streams
        self.isns = []  # of its connections

    def tcp(self, from_client, flags, seq, ack, data=b"", options=b"", urgent=0, window=65535, bad_sum=False):
        ports = (self.source, self.port) if from_client else (self.port, self.source)
        ips = self.client + self.broker if from_client else self.broker + self.client
        head = struct.pack("!HHIIBBHHH", *ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, (5 + len(options) // 4) << 4, flags, window, 0, urgent)
        segment = head + options + data
        pseudo = ips + (struct.pack("!II", len(segment), 6) if self.ip6 else struct.pack("!HH", 6, len(segment)))
        sum_ = int.from_bytes(complement(pseudo + segment), "big") ^ (0x1111 if bad_sum else 0)
        return segment[:16] + struct.pack("!H", sum_) + segment[18:]

    def ip(self, from_client, payload, ttl=64, options=b"", fragment=0, bad_sum=False, extensions=(), protocol=6):
        ips = self.client + self.broker if from_client else self.broker + self.client
        if self.ip6:
            for kind, body in reversed(extensions):
                payload, protocol = bytes((protocol,)) + body + payload, kind
            return struct.pack("!IHBB", 6 << 28, len(payload), protocol, ttl) + ips + payload
        head = struct.pack("!BBHHHBBH", 0x40 | 5 + len(options) // 4, 0, 20 + len(options) + len(payload), 7, fragment, ttl, protocol, 0)
        sum_ = int.from_bytes(complement(head + ips + options), "big") ^ (0x1111 if bad_sum else 0)
        return head[:10] + struct.pack("!H", sum_) + ips + options + payload

    def frame(self, from_client, packet, at_client=None, link=b"", trailer=b""):
        tags = b"".join(struct.pack("!HH", *tag) for tag in self.vlan)
        macs = BROKER_MAC + CLIENT_MAC if from_client else CLIENT_MAC + BROKER_MAC
        head = macs + tags + (link or (b"\x86\xdd" if self.ip6 else b"\x08\0"))
        self.network.add(self, head + packet + trailer, from_client if at_client is None else at_client)

    def send(self, data, at=None, flags=ACK | PSH, ip=None, link=b"", trailer=b"", move=True, **tcp):
        """A segment of the client. Without a position it continues the stream."""
        begin = self.at if at is None else at
        if at is None and move:
            self.at += len(data)
        self.frame(True, self.ip(True, self.tcp(True, flags, self.isn + 1 + begin, BROKER_ISN + 1 + self.told, data, **tcp), **(ip or {})),
                   link=link, trailer=trailer)

    def answer(self, data=b"", at_client=False, flags=ACK | PSH, ack=None, seq=None, **tcp):
        """A segment of the broker, or one that the client sends in its name."""
        seq = BROKER_ISN + 1 + self.told if seq is None else seq
        self.frame(False, self.ip(False, self.tcp(False, flags, seq, self.isn + 1 + (self.at if ack is None else ack), data, **tcp)), at_client)
        if not at_client:
            self.told += len(data)

    def handshake(self, data=b"", options=b"", answered=True):
        self.isns.append(self.isn)
        self.frame(True, self.ip(True, self.tcp(True, SYN, self.isn, 0, data, options)))
        if answered:
            self.frame(False, self.ip(False, self.tcp(False, SYN | ACK, BROKER_ISN, self.isn + 1, b"", options)))
            self.send(b"", options=timestamps(1) if options else b"")

    def connect(self, version=4, options=b""):
        self.handshake(options=options)
        self.send(mqtt_packets.connect(version, "pump"), options=timestamps(1) if options else b"")
        self.answer(CONNACK[version], options=timestamps(1) if options else b"")
        return self


def fragments(peer, segment, size, order=None):
    """A datagram in pieces; the first one has the offset 0."""
    pieces = [(i, segment[i:i + size]) for i in range(0, len(segment), size)]
    for i, piece in order(pieces) if order else pieces:
        more = i + size < len(segment)
        if peer.ip6:
            extension = b"\0" + struct.pack("!HI", i | more, 99)
            peer.frame(True, peer.ip(True, piece, extensions=[(FRAGMENT, extension)]))
        else:
            peer.frame(True, peer.ip(True, piece, fragment=i // 8 | more << 13))


def padding(n):
    """An IPv6 extension header with n times 8 bytes more, all of them padding"""
    return bytes((n,)) + bytes(6 + 8 * n)


# ---- the attacks: each gets a new peer; what it returns are the publications that must arrive ----

ALLOWED = [("plant/open01", b"ALLOWED!")]


def no_evasion(p):
    """What these attacks disguise"""
    p.connect().send(OPEN)
    p.send(SECRET)
    p.send(OPEN)
    return ALLOWED


def single_bytes(p):
    p.connect().send(OPEN)
    for i in range(len(SECRET)):
        p.send(SECRET[i:i + 1])
    return ALLOWED


def last_byte_first(p):
    p.connect().send(OPEN)
    for i in reversed(range(len(SECRET))):
        p.send(SECRET[i:i + 1], at=p.at + i)
    p.send(SECRET)
    return ALLOWED


def overlap_with_what_was_forwarded(p):
    """The head is allowed; a segment that begins in it makes another topic of it."""
    p.connect().send(OPEN + OPEN[:10])
    p.send(SECRET[2:], at=p.at - 8)
    p.send(OPEN[10:])
    return ALLOWED


def retransmission_with_other_bytes(p):
    p.connect().send(OPEN)
    p.send(SECRET, at=p.at - len(OPEN))
    p.send(SECRET, at=p.at - len(OPEN))
    return ALLOWED


def behind_acknowledged_bytes(p):
    """One segment, of bytes that the broker has and a refused packet"""
    p.connect().send(OPEN)
    p.answer()
    p.send(OPEN[-5:] + SECRET, at=p.at - 5)
    p.send(SECRET)
    return ALLOWED


def retransmission_of_a_part_ahead(p):
    """What was ahead and dropped is not what is read later."""
    p.connect().send(SECRET[9:], at=p.at + 9)
    p.send(OPEN[:9])
    p.send(OPEN[9:])
    p.send(SECRET[9:], at=p.at - len(OPEN) + 9)
    return ALLOWED


def connect_and_publish_in_one_segment(p):
    connect = mqtt_packets.connect(4, "pump")
    p.handshake()
    p.send(connect + SECRET, move=False)
    p.at = len(connect)
    p.answer(CONNACK[4])
    p.send(OPEN)
    p.send(SECRET)
    return ALLOWED


def data_in_the_syn(p):
    """TCP Fast Open: other bytes than those that come again"""
    connect = mqtt_packets.connect(4, "pump")
    p.handshake(data=connect + OPEN)
    p.send(connect)
    p.answer(CONNACK[4])
    p.send(SECRET)
    return []


def refused_data_in_the_syn(p):
    p.handshake(data=mqtt_packets.connect(4, "pump") + SECRET)
    p.send(mqtt_packets.connect(4, "pump"))
    p.answer(CONNACK[4])
    p.send(OPEN)
    return ALLOWED


def behind_a_disconnect(p):
    p.connect().send(OPEN)
    p.send(b"\xe0\0" + SECRET, move=False)
    p.at += 2
    p.send(SECRET)
    p.send(b"", flags=FIN | ACK)
    return ALLOWED


def topic_alias(p):
    p.connect(5).send(mqtt_packets.publish(5, "plant/open01", b"ALLOWED!", alias=1))
    p.send(mqtt_packets.publish(5, REFUSED, MARK, alias=1))
    p.send(mqtt_packets.publish(5, "", MARK, alias=1))
    return ALLOWED


def urgent_byte(p):
    """A receiver without SO_OOBINLINE removes one byte: the topic is another one with it."""
    p.connect().send(OPEN)
    p.send(SECRET[:10] + b"x" + SECRET[10:], flags=ACK | PSH | URG, urgent=11)
    p.send(b"", flags=ACK | URG, urgent=3)
    p.send(SECRET)
    return ALLOWED


def low_ttl(p):
    """It expires, and other bytes follow."""
    p.connect().send(OPEN, ip={"ttl": 4}, move=False)
    p.send(SECRET, move=False)
    return []


def refused_with_low_ttl(p):
    p.connect().send(OPEN)
    p.send(SECRET, ip={"ttl": 4})
    return ALLOWED


def connection_with_low_ttl(p):
    for data, flags in ((b"", SYN), (b"", ACK), (mqtt_packets.connect(4, "pump"), ACK), (SECRET, ACK)):
        p.send(data, flags=flags, ip={"ttl": 4})
    return []


def wrong_tcp_checksum(p):
    """The broker drops it: other bytes follow, or it does not drop it."""
    p.connect().send(OPEN, bad_sum=True, move=False)
    p.send(SECRET, bad_sum=True, move=False)
    p.send(OPEN)
    p.send(SECRET)
    return ALLOWED


def wrong_ip_checksum(p):
    p.connect().send(OPEN, ip={"bad_sum": True}, move=False)
    p.send(SECRET, move=False)
    p.send(OPEN)
    return []


def old_timestamp(p):
    """PAWS: the broker drops it, and other bytes follow."""
    p.connect(options=timestamps(1000)).send(OPEN, options=timestamps(3), move=False)
    p.send(SECRET, options=timestamps(1001), move=False)
    p.send(OPEN, options=timestamps(1002))
    p.send(SECRET, options=timestamps(1003))
    return ALLOWED


def beyond_the_window(p):
    """The broker takes a part of it."""
    p.connect()
    p.answer(window=10)
    p.send(OPEN + OPEN, move=False)
    p.send(OPEN + SECRET, move=False)
    p.send(SECRET, at=p.at + len(OPEN))
    return 2 * ALLOWED


def old_acknowledgement(p):
    """RFC 5961: the broker drops it, and other bytes follow."""
    p.connect().answer(b"\xd0\0" * 3000)
    p.told -= 5000
    p.send(OPEN, move=False)
    p.told += 5000
    p.send(SECRET, move=False)
    p.send(OPEN)
    return ALLOWED


def acknowledgement_of_the_future(p):
    p.connect().told += 1 << 20
    p.send(SECRET, move=False)
    p.told -= 1 << 20
    p.send(OPEN)
    p.send(SECRET)
    return ALLOWED


def without_the_ack_flag(p):
    p.connect()
    for flags in (0, PSH, FIN, SYN, SYN | ACK, SYN | FIN | ACK, RST, RST | PSH):
        p.send(SECRET, at=p.at + 1 if flags & RST else p.at, flags=flags)
    p.send(OPEN)
    p.send(SECRET)
    return ALLOWED


def reset_with_data(p):
    p.connect().send(OPEN)
    p.send(SECRET, flags=RST | ACK, move=False)
    p.send(SECRET)
    return ALLOWED


def reset_that_the_broker_ignores(p):
    p.connect().send(OPEN)
    p.send(b"", flags=RST | ACK, bad_sum=True)
    p.send(b"", flags=RST | ACK, at=p.at + 1)
    p.send(b"", flags=RST | ACK, ip={"ttl": 4})
    p.send(OPEN)
    p.send(SECRET)
    return 2 * ALLOWED


def end_that_the_broker_ignores(p):
    p.connect().send(OPEN)
    p.send(b"", flags=FIN | ACK, bad_sum=True)
    p.send(b"", flags=FIN | ACK, ip={"ttl": 4})
    p.send(b"", flags=FIN | ACK, at=p.at + len(OPEN))
    p.send(OPEN)
    p.send(SECRET)
    return 2 * ALLOWED


def data_behind_the_end(p):
    p.connect().send(OPEN, flags=FIN | ACK | PSH)
    p.send(SECRET, move=False)
    p.send(SECRET, at=p.at + 1)
    return ALLOWED


def second_connection_of_the_same_ports(p):
    """Its numbers are those of bytes that the policy allowed before."""
    p.connect().send(OPEN)
    p.send(b"", flags=FIN | ACK)
    p.answer(flags=FIN | ACK, ack=p.at + 1)
    p.isn, p.at, p.told = p.isn - 5, 0, 0
    p.connect().send(SECRET)
    return None


def unconfirmed_second_connection(p):
    """The broker does not answer the SYN: the numbers of the first connection still are the right ones."""
    p.connect().send(OPEN)
    p.frame(True, p.ip(True, p.tcp(True, SYN, p.isn + 500000, 0)))
    p.send(mqtt_packets.connect(4, "pump"), at=500000)
    p.send(SECRET, at=500000 + len(mqtt_packets.connect(4, "pump")))
    p.send(OPEN)
    p.send(SECRET)
    return 2 * ALLOWED


def after_the_connection_was_ended(p):
    p.connect().send(SECRET)
    p.send(OPEN)
    p.send(SECRET, at=p.at - 10)
    p.answer()
    p.send(SECRET)
    return []


def ip_options(p):
    p.connect().send(OPEN, ip={"options": b"\1" * 8})
    p.send(SECRET, ip={"options": b"\1" * 40})
    return ALLOWED


def tcp_options(p):
    p.connect().send(OPEN, options=b"\1" * 40)
    p.send(SECRET, options=b"\1" * 40)
    return ALLOWED


def padding_of_the_frame(p):
    p.connect().send(OPEN, trailer=SECRET[:-len(MARK)])
    p.send(SECRET, trailer=b"\0" * 20)
    return ALLOWED


def snap(p):
    n = 8 + (40 if p.ip6 else 20) + 20 + len(SECRET)
    p.connect().send(OPEN)
    p.send(SECRET, link=struct.pack("!H", n) + b"\xaa\xaa\3\0\0\0" + (b"\x86\xdd" if p.ip6 else b"\x08\0"))
    return ALLOWED


def refused_in_fragments(size, order=None):
    def attack(p):
        p.connect().send(OPEN)
        fragments(p, p.tcp(True, ACK | PSH, p.isn + 1 + p.at, BROKER_ISN + 1 + p.told, SECRET), size, order)
        p.send(OPEN)
        return 2 * ALLOWED
    return attack


def atomic_fragment(p):
    """RFC 6946: a whole datagram"""
    p.connect().send(OPEN, ip={"extensions": [(FRAGMENT, b"\0" * 7)]})
    p.send(SECRET, ip={"extensions": [(FRAGMENT, b"\0" * 7)]})
    return ALLOWED


def extension_headers(n):
    def attack(p):
        p.connect().send(OPEN)
        p.send(SECRET, ip={"extensions": [(DESTINATION_OPTIONS, padding(0))] * n})
        return ALLOWED
    return attack


def long_extension_header(p):
    p.connect().send(OPEN)
    p.send(SECRET, ip={"extensions": [(HOP_BY_HOP, padding(9)), (DESTINATION_OPTIONS, padding(200))]})
    return ALLOWED


def fragment_behind_extension_headers(p):
    """RFC 7112: the first fragment does not have the ports."""
    p.connect().send(OPEN)
    segment = p.tcp(True, ACK | PSH, p.isn + 1 + p.at, BROKER_ISN + 1 + p.told, SECRET)
    options = bytes((6,)) + padding(0)
    for i, piece in ((0, options), (8, segment)):
        extension = b"\0" + struct.pack("!HI", i | (i == 0), 98)
        protocol = DESTINATION_OPTIONS
        p.frame(True, p.ip(True, piece, extensions=[(FRAGMENT, extension)], protocol=protocol))
    return ALLOWED


def in_a_tunnel(p):
    """For a broker that is the end of the tunnel itself"""
    p.connect().send(OPEN)
    inner = p.ip(True, p.tcp(True, ACK | PSH, p.isn + 1 + p.at, BROKER_ISN + 1 + p.told, SECRET))
    p.frame(True, p.ip(True, inner, protocol=41 if p.ip6 else 4))
    return ALLOWED


def between_inspected_ports(p):
    """The client's own port is one of the brokers: its segments look like those of a broker"""
    if p.port == WEBSOCKET_PORT:
        in_websocket(p)
    else:
        no_evasion(p)
    return []


def mask(data):
    key = b"\x12\x34\x56\x78"
    return key + bytes(b ^ key[i % 4] for i, b in enumerate(data))


def websocket_frame(data, first=0x82):
    return bytes((first, 0x80 | len(data))) + mask(data)


def websocket(p, frames):
    p.handshake()
    p.send(b"GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
           b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n")
    p.answer(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n")
    p.send(websocket_frame(mqtt_packets.connect(4, "pump")))
    p.answer(bytes((0x82, 4)) + CONNACK[4])
    p.send(websocket_frame(OPEN))
    for f in frames:
        p.send(f)
    p.send(websocket_frame(OPEN))
    return ALLOWED


def in_websocket(p):
    return websocket(p, [websocket_frame(SECRET)])


def in_websocket_in_single_bytes(p):
    frame = websocket_frame(SECRET)
    return websocket(p, [frame[:6], *(bytes((b,)) for b in frame[6:])])


def in_frames_of_websocket(p):
    """One packet in many frames, with pings in between"""
    frames = [websocket_frame(SECRET[:5], 0x02)] + [f for i in range(5, len(SECRET) - 1) for f in (
        websocket_frame(b"x", 0x89), websocket_frame(SECRET[i:i + 1], 0x00))]
    return websocket(p, [*frames, websocket_frame(SECRET[-1:], 0x80)])


def websocket_header_in_single_bytes(p):
    return websocket(p, [bytes((b,)) for b in websocket_frame(SECRET)])


def websocket_header_with_each_cut(p):
    """A header in two parts, which comes again as a whole"""
    websocket(p, [])
    for cut in range(1, 6):
        frame = websocket_frame(OPEN)
        p.send(frame[:cut], move=False)
        p.send(frame[cut:], at=p.at + cut)
        p.send(frame)
    p.send(websocket_frame(SECRET))
    p.send(websocket_frame(OPEN))
    return None


def in_a_pong(p):
    """mosquitto 2.1 reads its payload as MQTT"""
    return websocket(p, [websocket_frame(SECRET, 0x8a)])


def reverse(pieces):
    return reversed(pieces)


def twice(pieces):
    return pieces + pieces


def tail_first(pieces):
    return pieces[1:] + pieces[:1]


TAGGED = {"vlan": [(0x8100, 5)]}
PRIORITY = {"vlan": [(0x8100, 0xE000)]}
STACKED = {"vlan": [(0x88A8, 7), (0x8100, 5)]}
IP6 = {"ip6": True}
ATTACKS = [(f, {}) for f in (
    no_evasion, single_bytes, last_byte_first, overlap_with_what_was_forwarded, retransmission_with_other_bytes, behind_acknowledged_bytes,
    retransmission_of_a_part_ahead,
    connect_and_publish_in_one_segment, data_in_the_syn, refused_data_in_the_syn, behind_a_disconnect, topic_alias, urgent_byte, low_ttl,
    refused_with_low_ttl, connection_with_low_ttl, wrong_tcp_checksum, wrong_ip_checksum, old_timestamp, beyond_the_window, old_acknowledgement,
    acknowledgement_of_the_future, without_the_ack_flag, reset_with_data, reset_that_the_broker_ignores, end_that_the_broker_ignores,
    data_behind_the_end, second_connection_of_the_same_ports, unconfirmed_second_connection, after_the_connection_was_ended, ip_options,
    tcp_options, padding_of_the_frame, snap, in_a_tunnel)]
NAMED = {f.__name__: (f, with_) for f, with_ in ATTACKS}
NAMED |= {
    "fragments": (refused_in_fragments(24), {}), "tiny_first_fragment": (refused_in_fragments(8), {}),
    "fragments_in_reverse": (refused_in_fragments(16, reverse), {}), "fragments_twice": (refused_in_fragments(24, twice), {}),
    "first_fragment_last": (refused_in_fragments(32, tail_first), {}),
    "fragments_ip6": (refused_in_fragments(24), IP6), "tiny_first_fragment_ip6": (refused_in_fragments(8), IP6),
    "first_fragment_last_ip6": (refused_in_fragments(32, tail_first), IP6),
    "atomic_fragment": (atomic_fragment, IP6), "extension_header": (extension_headers(1), IP6),
    "eight_extension_headers": (extension_headers(8), IP6), "twenty_extension_headers": (extension_headers(20), IP6),
    "long_extension_header": (long_extension_header, IP6), "fragment_behind_extension_headers": (fragment_behind_extension_headers, IP6),
    "in_a_tunnel_ip6": (in_a_tunnel, IP6),
    "websocket": (in_websocket, {"port": WEBSOCKET_PORT}), "websocket_single_bytes": (in_websocket_in_single_bytes, {"port": WEBSOCKET_PORT}),
    "websocket_frames": (in_frames_of_websocket, {"port": WEBSOCKET_PORT}),
    "header_of_websocket_in_single_bytes": (websocket_header_in_single_bytes, {"port": WEBSOCKET_PORT}),
    "header_of_websocket_with_each_cut": (websocket_header_with_each_cut, {"port": WEBSOCKET_PORT}),
    "pong_of_websocket": (in_a_pong, {"port": WEBSOCKET_PORT}),
    "from_the_port_of_the_broker": (between_inspected_ports, {"source": PORT}),
    "from_the_port_of_websocket": (between_inspected_ports, {"source": WEBSOCKET_PORT}),
    "from_the_port_of_the_broker_to_websocket": (between_inspected_ports, {"port": WEBSOCKET_PORT, "source": PORT}),
}
for name_, link_ in (("ip6", IP6), ("vlan", TAGGED), ("priority_tag", PRIORITY), ("two_tags", STACKED)):
    for f_ in (no_evasion, single_bytes, overlap_with_what_was_forwarded, retransmission_with_other_bytes, connect_and_publish_in_one_segment,
               data_in_the_syn, behind_a_disconnect, urgent_byte, low_ttl, wrong_tcp_checksum, tcp_options):
        NAMED[f"{f_.__name__}_{name_}"] = (f_, link_)
# With `fail: open`, biplane forwards what it cannot read: docs/howto/refuse-packets.md.
OPEN_PASSES = {"in_a_tunnel", "in_a_tunnel_ip6", "twenty_extension_headers", "pong_of_websocket"}
# A part of the refused topic left before the rest arrived: it cannot be overwritten.
FALLBACKS = ("single_bytes", "overlap_with_what_was_forwarded", "websocket_")
