# SPDX-License-Identifier: BSD-3-Clause
"""Random sessions of MQTT clients as frames: every packet split at every byte, segments in any order, again, overlapping, with other bytes, and
lost behind biplane; and the broker that acknowledges what has reached it."""

import struct
from typing import NamedTuple

import mqtt_packets

SYN, FIN, RST, PSH, ACK = 2, 1, 4, 8, 16
CONNACK = {4: b"\x20\2\0\0", 5: b"\x20\6\0\0\3\x22\0\x10"}  # 16 topic aliases
CLIENT_MACS = (b"\2\0\0\0\0\1", b"\2\0\0\0\0\3")  # behind the two ports of the devices
BROKER_MACS = (b"\2\0\0\0\0\2", b"\2\0\0\0\0\4")  # and the two ports of the broker
BROKER_IP, BROKER_PORT = b"\x0a\0\0\x09", 1883
PINGREQ = b"\xc0\0"
REFUSED = {4: 0x80, 5: 0x87}  # a filter, in the SUBACK


class Step(NamedTuple):
    """A frame that arrives"""
    frame: bytes
    of_client: bool = False
    lost: bool = False     # behind biplane
    acknowledged: int = 0  # position up to which the broker has acknowledged the client's stream before
    judged: int = 0        # position up to which biplane has seen it before
    seen: int = 0          # position up to which the client has acknowledged the broker's stream before
    empty: bool = False    # it begins with acknowledged bytes: only its header leaves,
    end: int = 0           # and those up to this position are judged


class Endpoint:
    """The two addresses of a connection: frames of them, with checksums. The device has one of two ports; the broker has two, and answers some
    clients by another one than that to which they send."""

    def __init__(self, number):
        self.device, self.broker, self.answers = number % 2, int(number % 3 == 1), int(number % 3 != 0)

        self.ip, self.port = struct.pack("!BBH", 10, 1, number // 40000 + 1), 20000 + number % 40000
        self.key = (self.ip, self.port)

    def frame(self, from_client, flags, seq, ack, payload=b""):
        ips = self.ip + BROKER_IP if from_client else BROKER_IP + self.ip
        ports = (self.port, BROKER_PORT) if from_client else (BROKER_PORT, self.port)
        tcp = struct.pack("!HHIIBBHI", *ports, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags, 65535, 0) + payload
        head = struct.pack("!BBHIBBH", 0x45, 0, 20 + len(tcp), 0x10000, 64, 6, 0) + ips
        head = head[:10] + complement(head) + head[12:]
        macs = BROKER_MACS[self.broker] + CLIENT_MACS[self.device] if from_client else CLIENT_MACS[self.device] + BROKER_MACS[self.answers]
        return macs + b"\x08\0" + head + tcp[:16] + complement(ips + struct.pack("!HH", 6, len(tcp)) + tcp) + tcp[18:]


def complement(data):
    """The Internet checksum: the sum of 16 bits with end-around carry is the remainder by 65535."""
    return struct.pack("!H", 0xFFFF - int.from_bytes(data + b"\0" * (len(data) % 2), "big") % 0xFFFF)


def payload(rng):
    return bytes(rng.choices(b"0123456789\x30\0\x82", k=rng.choice((0, 1, 2, 5, 5, 9, 150))))


class Policy(NamedTuple):
    """What is done with what the ACL refuses"""
    action: str
    fallback: str = "close"
    quarantine: str = "$refused"

    def topic(self, topic):
        """The one of the same length that the broker has instead"""
        return f"{self.quarantine}/".ljust(len(topic), "-")[:len(topic)]


class Text(NamedTuple):
    """A refused topic or filter in the client's stream, and what it becomes"""
    begin: int
    new: bytes
    index: int = 0  # of the filter in its SUBSCRIBE


class Packet(NamedTuple):
    begin: int
    decided: int  # position behind the last byte that is needed for a decision: of the head of a PUBLISH
    end: int
    refused: bool = False
    texts: tuple = ()
    topic: str = None  # of a PUBLISH, also of its alias
    message: bytes = b""
    alias: int = None
    defines: bool = False  # the alias
    retain: bool = False
    header_end: int = 0  # of the fixed header
    identifier: int = 0  # of a SUBSCRIBE


class Script:
    """The packets of a client, and what the ACL says about them"""

    def __init__(self, rng, policy, allowed, may_read):
        self.policy, self.version = policy, rng.choice((4, 5))
        self.client, self.user = rng.choice(list(allowed))
        self.allowed, self.may_read = allowed[self.client, self.user], may_read[self.client, self.user]
        self.packets, self.stream, self.aliases, self.identifier = [], b"", {}, rng.randrange(65536)
        chance = rng.choice((0, 0.05, 0.2) if policy.action == "close" else (0, 0.2, 0.6))  # of what is refused
        will = self.one(rng, self.allowed, chance / 4) if rng.random() < 0.2 else None
        self.add(mqtt_packets.connect(self.version, self.client, self.user, will), refused=will is not None and not self.allowed[will])
        for _ in range(rng.randint(1, 7)):
            what = rng.random()
            if what < 0.1:
                self.add(PINGREQ)
            elif what < 0.2:
                self.subscribe(rng, chance)
            else:
                self.publish(rng, chance)
        self.connect_end = self.packets[0].end

    @staticmethod
    def one(rng, answers, chance):
        is_allowed = rng.random() >= chance
        return rng.choice([t for t, a in answers.items() if a == is_allowed] or list(answers))

    def add(self, data, decided=None, **what):
        begin = len(self.stream)
        self.stream += data
        header = next(i for i in range(1, 5) if not data[i] & 128) + 1
        end = len(self.stream)
        self.packets.append(Packet(begin, end if decided is None else begin + decided, end, header_end=begin + header, **what))

    def next_identifier(self):
        """A broker has not answered the others yet."""
        self.identifier = self.identifier % 65535 + 1
        return self.identifier

    def publish(self, rng, chance):
        topic, alias, sent = self.one(rng, self.allowed, chance), None, None
        if self.version == 5 and rng.random() < 0.4:
            alias = rng.randint(1, 3)
            if alias in self.aliases and rng.random() < 0.7:
                topic, sent = self.aliases[alias], ""
            self.aliases[alias] = topic
        qos, data, retain = rng.choice((0, 0, 1, 2)), payload(rng), rng.random() < 0.2
        packet = mqtt_packets.publish(self.version, topic if sent is None else sent, data, qos, retain, False, self.next_identifier(), alias)
        refused, texts = not self.allowed[topic], ()
        if refused and sent is None:
            at = len(self.stream) + packet.index(mqtt_packets.text(topic)) + 2
            texts = (Text(at, self.policy.topic(topic).encode()),)
        self.add(packet, len(packet) - len(data), refused=refused, texts=texts, topic=topic, message=data, alias=alias,
                 defines=alias is not None and sent is None, retain=retain)

    def subscribe(self, rng, chance):
        filters = [(self.one(rng, self.may_read, chance), rng.randint(0, 2)) for _ in range(rng.choice((1, 1, 2, 4)))]
        shares = [rng.choice(("", "", "$share/g/", "$share/plant/")) for _ in filters]
        if rng.random() < 0.2:
            self.add(mqtt_packets.unsubscribe(self.version, [f for f, _ in filters], self.next_identifier()))
        given = [(share + f, qos) for share, (f, qos) in zip(shares, filters)]
        packet, texts = mqtt_packets.subscribe(self.version, given, self.next_identifier()), []
        at = len(self.stream) + len(packet)
        for i, (share, (f, _)) in reversed(list(enumerate(zip(shares, filters)))):
            at -= len(f) + 1
            if not self.may_read[f]:
                texts.insert(0, Text(at, b"$" + b"-" * (len(f) - 1), i))
            at -= len(share) + 2
        self.add(packet, refused=texts != [], texts=tuple(texts), identifier=self.identifier)


class Arrived:
    """The stream as the policy lets it pass. What it was asked about leaves at once, so a topic can be overwritten only with the segment whose
    bytes decide about its packet."""

    def __init__(self, script):
        self.script, self.data = script, bytearray(script.stream)
        self.at = 0         # bytes before that were judged
        self.ended = None   # the position before which the connection ends
        self.filed = set()  # aliases that the broker has for a quarantine topic
        self.published = []
        self.filters = {}  # by the identifier of a SUBSCRIBE: indices of filters that were overwritten
        self.blanked = self.passed = self.codes = 0

    def judge(self, end):
        for p in self.script.packets:
            if self.at < p.decided <= end and self.ended is None:
                self.decide(p)
        self.at = end

    def may_end(self, end):
        """A packet up to this position is refused, so it may end the connection."""
        return any(p.refused and self.at < p.decided <= end for p in self.script.packets)

    def overwrite(self, text):
        self.data[text.begin:text.begin + len(text.new)] = text.new
        self.blanked += 1

    def fall_back(self, p):
        if self.script.policy.action == "blank" and self.script.policy.fallback == "pass" and p.begin != 0:
            self.passed += 1
        else:
            # the rest of a fixed header that was cut leaves
            self.ended = p.header_end if p.begin < self.at < p.header_end else max(p.begin, self.at)

    def decide(self, p):
        if p.topic is not None:
            self.publication(p)
        elif p.refused and not p.texts:  # the will
            self.fall_back(p)
        for text in p.texts if p.topic is None else ():
            if self.ended is None and self.can_overwrite(text):
                self.overwrite(text)
                self.filters.setdefault(p.identifier, set()).add(text.index)
            elif self.ended is None:
                self.fall_back(p)

    def answer(self, packet):
        """A packet of the broker, as it reaches the client"""
        if packet[:1] != b"\x90":
            return packet
        codes, identifier = 5 if self.script.version == 5 else 4, struct.unpack("!H", packet[2:4])[0]
        for i in self.filters.get(identifier, ()):
            if packet[codes + i] < 0x80:
                packet = packet[:codes + i] + bytes((REFUSED[self.script.version],)) + packet[codes + i + 1:]
                self.codes += 1
        return packet

    def can_overwrite(self, text):
        return self.script.policy.action == "blank" and text.begin >= self.at

    def can_blank(self, p):
        if p.retain and p.begin < self.at:
            return False
        if not p.texts:
            return p.alias in self.filed
        return self.can_overwrite(p.texts[0]) and len(p.texts[0].new) >= 2

    def publication(self, p):
        topic = p.topic
        if p.defines:
            self.filed.discard(p.alias)
        if p.refused and self.can_blank(p):
            for text in p.texts:
                self.overwrite(text)
            if p.retain:
                self.data[p.begin] &= 0xFE
            if p.defines:
                self.filed.add(p.alias)
            topic = self.script.policy.topic(topic)
        elif p.refused:
            self.fall_back(p)
            if p.alias in self.filed:
                topic = self.script.policy.topic(topic)
        if self.ended is None:
            self.published.append((topic, p.message))


def cuts(rng, packets, number):
    """Ends of segments: each packet is split at byte `number` of it, or all are split in another way."""
    ends, at = [], 0
    how = rng.choice(("split", "split", "split", "bytes", "random", "whole", "joined"))
    for p in packets:
        size = p.end - p.begin
        if how == "split" and number % size:
            ends.append(at + number % size)
        elif how == "bytes":
            ends += range(at + 1, at + size)
        elif how == "random":
            ends += sorted({at + rng.randint(1, size) for _ in range(3)})
        at += size
        if how != "joined" or rng.random() < 0.2:
            ends.append(at)
    return sorted({*ends, at})


class Session:
    """One TCP connection, in steps"""

    def __init__(self, rng, endpoint, script, number):
        self.rng, self.endpoint, self.script = rng, endpoint, script
        # numbers that wrap early; a broker never has the number of its connection before
        self.isn, self.broker_isn = rng.choice((0xFFFFFFF0, rng.randrange(1 << 32))), rng.randrange(1 << 32)
        self.data, self.arrived = script.stream, Arrived(script)
        self.ends = cuts(rng, script.packets, number)
        self.steps, self.told, self.reaches = [], b"", b""  # the broker's stream, and what of it reaches the client
        self.answered = self.seen = 0  # positions up to which the broker has answered, and the client has acknowledged
        self.acknowledged = 0  # by the broker
        self.has = bytearray(len(self.data))
        self.tidy = rng.random() < 0.15  # nothing is reordered
        self.open()
        self.transfer()
        self.close()

    def of_client(self, flags, at, data=b"", lost=False):
        self.seen = len(self.told)
        ack = self.broker_isn + 1 + self.seen
        self.steps.append(Step(self.endpoint.frame(True, flags, self.isn + 1 + at, ack, data), True, lost, self.acknowledged, self.judged, self.seen,
                               data != b"" and at < self.acknowledged, self.before_end(min(at + len(data), self.limit()))))

    def of_broker(self, at, data=b""):
        self.steps.append(Step(self.endpoint.frame(False, ACK | PSH if data else ACK, self.broker_isn + 1 + at, self.isn + 1 + self.acknowledged,
                                                   data), seen=self.seen))

    def tell(self, data):
        """In segments of any size, of which some come again."""
        rng, begin = self.rng, len(self.told)
        self.told += data
        ends = {len(data), *(range(len(data)) if rng.random() < 0.1 else (rng.randint(0, len(data)) for _ in range(rng.choice((0, 0, 1, 3)))))}
        at = begin
        for end in sorted(begin + e for e in ends):
            if end > at or not data:
                self.of_broker(at, self.told[at:end])
                at = end
            if rng.random() < 0.15 and end > 0:
                again = rng.randint(begin if rng.random() < 0.8 else 0, end)
                self.of_broker(again, self.told[again:end])

    def answers(self):
        """Of the broker, to what it has"""
        out = b""
        for first, body, _, end in mqtt_packets.split(bytes(self.arrived.data[:self.acknowledged])):
            if end > self.answered:
                packet = mqtt_packets.answer(self.script.version, first, body, lambda: self.rng.random() < 0.1)
                out += packet
                self.reaches += self.arrived.answer(packet) if packet else b""
                self.answered = end
        return out


    def open(self):
        self.steps.append(Step(self.endpoint.frame(True, SYN, self.isn, 0), True))
        self.steps.append(Step(self.endpoint.frame(False, SYN | ACK, self.broker_isn, self.isn + 1)))
        self.of_client(ACK, 0)

    @property
    def judged(self):
        """Bytes that biplane was shown in sequence"""
        return self.arrived.at

    def before_end(self, at):
        return at if self.arrived.ended is None else min(at, self.arrived.ended)

    def limit(self):
        """Before the CONNACK nothing behind the CONNECT leaves."""
        return len(self.data) if self.told else self.script.connect_end

    def send(self, begin, end, data=None, lost=False):
        self.of_client(ACK | PSH, begin, self.data[begin:end] if data is None else data, lost)
        if begin > self.judged:
            return
        leaves = max(self.judged, min(end, self.limit()))
        if not lost and begin >= self.acknowledged:
            self.has[begin:min(end, leaves)] = b"\1" * (min(end, leaves) - begin)
        self.arrived.judge(leaves)

    def received(self):
        n = self.has.find(0)
        return self.before_end(len(self.data) if n < 0 else n)

    def broker(self):
        """It acknowledges what it has, and answers."""
        self.acknowledged = self.received()
        accepts = not self.told and self.acknowledged >= self.script.connect_end
        if accepts:
            self.answered, self.reaches = self.script.connect_end, CONNACK[self.script.version]
            self.tell(CONNACK[self.script.version])
        else:
            self.tell(self.answers() if self.told and self.rng.random() < 0.8 else b"")

    def other(self, begin, end):
        """Other bytes: a bit, or a publication that is refused."""
        data = bytearray(self.data[begin:end])
        refused = [t for t, is_allowed in self.script.allowed.items() if not is_allowed]
        if self.rng.random() < 0.5 and refused:
            forged = mqtt_packets.publish(self.script.version, self.rng.choice(refused), b"1")
            data[:len(forged)] = forged[:len(data)]
        elif data:
            data[self.rng.randrange(len(data))] ^= 1 << self.rng.randrange(8)
        return bytes(data)

    def end_behind(self, at):
        return next((e for e in self.ends if e > at), len(self.data))

    def out_of_order(self):
        rng, begin = self.rng, self.judged
        what = rng.random()
        if what < 0.3:  # ahead
            begin = rng.randint(begin, len(self.data) - 1) + 1
        elif what < 0.6:  # again
            begin = rng.randint(0, begin)
        elif self.acknowledged < begin:  # what was lost
            begin = self.has.find(0, self.acknowledged) if rng.random() < 0.7 else self.acknowledged
            begin = min(max(begin, 0), self.judged)
        end = min(len(self.data), begin + rng.randint(1, 40))
        if begin < self.acknowledged and self.arrived.may_end(end):
            end = self.judged
        data = self.data[begin:end]
        if rng.random() < 0.5:
            # of what was judged, and of what is dropped
            if begin > self.judged:
                data = self.other(begin, end)
            elif begin < self.judged:
                old = min(end, self.judged)
                data = self.other(begin, old) + self.data[old:end]
        if data:
            self.send(begin, end, data, rng.random() < 0.15)

    def transfer(self):
        rng = self.rng
        while self.judged < len(self.data):
            if not self.tidy and rng.random() < 0.4:
                self.out_of_order()
            elif self.judged < self.limit():
                self.send(self.judged, self.end_behind(self.judged), lost=not self.tidy and rng.random() < 0.15)
            elif not self.told:
                if self.received() < self.script.connect_end:
                    self.send(self.received(), self.script.connect_end)
                if self.arrived.ended is not None:
                    break
                self.broker()
            if rng.random() < 0.3 and (self.told or self.received() < self.script.connect_end):
                self.broker()

    def close(self):
        """All that is missing is sent again, and more, also by a client whose connection was ended."""
        begin = self.received()
        while begin < len(self.data):
            end = self.end_behind(begin)
            self.send(begin, end)
            begin = end
        if self.arrived.ended is None:
            self.broker()
        self.of_client(FIN | ACK, len(self.data))
        self.send(len(self.data), len(self.data), PINGREQ)


def capture(frames, first=0):
    """Frames as a file of libpcap; frame i has the time i µs."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)]
    for i, frame in frames:
        at = first + i
        out.append(struct.pack("<IIII", 1700000000 + at // 1000000, at % 1000000, len(frame), len(frame)) + frame)
    return b"".join(out)


def interleaved(rng, sessions, at_once=8):
    """(session, step) in the order of arrival: a few connections at a time, one after the other of each endpoint"""
    waiting, active = list(reversed(sessions)), []
    while waiting or active:
        while waiting and len(active) < at_once:
            group = waiting.pop()
            active.append(iter([(s, f) for s in group for f in s.steps]))
        i = rng.randrange(len(active))
        step = next(active[i], None)
        if step is None:
            active.pop(i)
        else:
            yield step
