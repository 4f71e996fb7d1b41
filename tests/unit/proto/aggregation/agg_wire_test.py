# SPDX-License-Identifier: BSD-3-Clause
"""agg_wire_test.py AGG_WIRE DOCUMENT: both aggregation formats in C against agg_formats.py, in both directions, and
what the document shows and counts against both."""

import ipaddress
import random
import re
import subprocess
import sys
from pathlib import Path

import agg_formats as agg
from agg_formats import Message

REASONS = {"MAGIC", "VERSION", "SHORT", "CHECKSUM", "FAMILY", "MANY", "COUNT", "ENTRY", "LENGTH"}
LENGTHS = [0, 1, 3, 8, 16, 16, 16, 17, 33, 64, 255, 256, 257, 300]


def hexed(raw):
    return raw.hex() or "-"


def words(messages):
    return " ".join(f"{m.packed.hex()} {m.port} {m.hops} {hexed(m.payload)}" for m in messages)


class Batch:
    """Lines for the C program and what it must answer, all run at once."""

    def __init__(self, program):
        self.program, self.lines, self.expected = program, [], []

    def add(self, line, expected):
        self.lines.append(line)
        self.expected.append(expected)

    def full_read(self, packet, family, most):
        try:
            stream, sequence, messages = agg.full_read(packet, family, most)
            expected = f"OK {stream} {sequence} {words(messages)}"
        except agg.Refused as reason:
            expected = str(reason)
        self.add(f"full-read {family} {most} {hexed(packet)}", expected)
        return expected

    def paper_read(self, payload, most):
        try:
            kind, messages = agg.paper_read(payload, most)
            expected = f"OK {kind} {len(messages)} {b''.join(messages).hex()}"
        except agg.Refused as reason:
            expected = str(reason)
        self.add(f"paper-read {most} {hexed(payload)}", expected)
        return expected

    def run(self):
        out = subprocess.run([self.program], input="\n".join(self.lines) + "\n", stdout=subprocess.PIPE, text=True,
                             check=True).stdout.splitlines()
        assert len(out) == len(self.lines), f"{len(out)} answers to {len(self.lines)} lines"
        for line, answer, expected in zip(self.lines, out, self.expected):
            assert answer.strip() == expected, f"{line}\nC:      {answer}\nPython: {expected}"
        return len(out)


def some_messages(rnd, family, n):
    """Senders that often share part of what they have with the one before."""
    size, messages = agg.ADDRESS[family], []
    address, port, hops, length = rnd.randbytes(size), rnd.randrange(65536), rnd.randrange(256), 16
    for _ in range(n):
        keep = rnd.choice([size, size, rnd.randrange(size + 1), 0])
        address = address[:keep] + rnd.randbytes(size - keep)
        port = rnd.choice([port, port, port & 0xff00 | rnd.randrange(256), rnd.randrange(65536)])
        hops = rnd.choice([hops, hops, hops, rnd.randrange(256)])
        length = rnd.choice([length, length, rnd.choice(LENGTHS)])
        messages.append(Message(address, port, hops, rnd.randbytes(length)))
    return messages


def c_writes(batch, rnd):
    """The very bytes, and just as many messages taken, at any limit."""
    for _ in range(2000):
        family = rnd.choice([4, 6])
        messages = some_messages(rnd, family, rnd.choice([1, 2, 3, 8, 8, 8, 8, 8, 8, 8, 12, 12, 40, 255]))
        most = rnd.choice([1, 8, 8, 91, 255])
        size = rnd.choice([100, 512, 1472, 8972, rnd.randrange(16, 2000)])
        front = rnd.choice([16 + (6 + agg.ADDRESS[family]) * most, rnd.randrange(16, 1000)])
        stream, sequence = rnd.randrange(1 << 16), rnd.randrange(1 << 32)
        taken = agg.full_take(family, front, size, most, messages)
        packet = agg.full_write(family, stream, sequence, messages[:taken]) if taken else b""
        assert len(packet) <= size
        batch.add(f"full-write {family} {front} {size} {most} {stream} {sequence} {words(messages)}",
                  f"{taken} {hexed(packet)}")


def c_reads(batch, rnd):
    """Decodes the output of Python, also in longer forms than needed, with exactly as many entries as messages."""
    shuffled = lambda forms, key: rnd.choice(forms)
    for _ in range(2000):
        family = rnd.choice([4, 6])
        messages = some_messages(rnd, family, rnd.choice([1, 2, 3, 8, 8, 8, 8, 8, 8, 8, 12, 12, 40, 255]))
        head = rnd.randrange(1 << 16), rnd.randrange(1 << 32)
        packet = agg.full_write(family, *head, messages, rnd.choice([min, max, shuffled]))
        assert agg.full_read(packet, family, 255) == (*head, messages)
        batch.full_read(packet, family, rnd.choice([len(messages), len(messages), 255, len(messages) - 1]))


def both_refuse(batch, rnd):
    """Damage under the checksum, wrong fields with a correct one, cuts and additions: the same reason, or the same
    decoded messages."""
    seen = set()
    for _ in range(8000):
        family = rnd.choice([4, 6])
        messages = some_messages(rnd, family, rnd.randrange(1, 7))
        packet = bytearray(agg.full_write(family, 1, 2, messages, rnd.choice([min, max])))
        directory = int.from_bytes(packet[4:6], "big")
        what = rnd.randrange(5)
        if what == 0:
            packet[rnd.randrange(len(packet))] ^= 1 << rnd.randrange(8)
        elif what == 1:
            del packet[rnd.randrange(len(packet)):]
        elif what == 2:
            packet += rnd.randbytes(rnd.randrange(1, 30))
        else:
            for _ in range(rnd.randrange(1, 4)):
                packet[rnd.choice([2, 3, 5, rnd.randrange(16, 16 + directory)])] = rnd.randrange(256)
            declared = int.from_bytes(packet[4:6], "big")
            packet[12:16] = agg.crc32c(packet[:12] + packet[16:16 + declared]).to_bytes(4, "big")
        seen.add(batch.full_read(bytes(packet), rnd.choice([family] * 9 + [10 - family]), rnd.choice([255, 255, 4])))
    assert REASONS <= seen, f"never refused for {REASONS - seen}"
    for _ in range(2000):
        batch.full_read(rnd.randbytes(rnd.randrange(60)), 4, 255)


def paper(batch, rnd):
    for _ in range(2000):
        kind = rnd.choice([0xfa, 0xfc])
        messages = [rnd.randbytes(16) for _ in range(rnd.choice([1, 1, 2, 8, 91]))]
        payload = agg.paper_write(kind, messages)
        batch.add(f"paper-write {kind} {b''.join(messages).hex()}", payload.hex())
        most = rnd.choice([8, 91, len(messages)])
        batch.paper_read(payload, most)
        batch.paper_read(payload[:1] + rnd.randbytes(5) + payload[6:], most)
        batch.paper_read(payload[:rnd.randrange(len(payload))], most)
        batch.paper_read(payload + rnd.randbytes(rnd.randrange(1, 40)), most)
        batch.paper_read(bytes([rnd.randrange(256)]) + payload[1:], most)


def example(batch, document):
    """The worked example: table and dump say the same, by both implementations."""
    rows = re.findall(r"^\| ([0-9.]+):(\d+) \| (\d+) \| (?:none|`([0-9a-f]+)`) \((\d+)\) \|$", document, re.M)
    messages = [Message(ipaddress.ip_address(address).packed, int(port), int(ttl), bytes.fromhex(payload))
                for address, port, ttl, payload, _ in rows]
    assert len(messages) == 4 and [len(m.payload) for m in messages] == [int(row[4]) for row in rows]
    dump = re.search(r"^```\n(fda6 +magic\n.*?)^```", document, re.M | re.S).group(1)
    packet = bytes.fromhex("".join(re.match(r"(?:[0-9a-f]+ ?)+", line).group(0) for line in dump.splitlines()))
    assert agg.full_write(4, 0x5eed, 41, messages) == packet
    assert batch.full_read(packet, 4, 4) == f"OK {0x5eed} 41 {words(messages)}"
    batch.add(f"full-write 4 56 100 4 {0x5eed} 41 {words(messages)}", f"4 {packet.hex()}")
    shown = bytes.fromhex("".join(re.search(r"^Example, N = 2: (.*)\.$", document, re.M).group(1).split("`")))
    assert batch.paper_read(shown, 2).startswith("OK 252 2 ")


def traffic(family, n, step):
    """n messages of 16 bytes, each from another sender; `step`: the differences from one to the next."""
    address, port, ttl, length = step
    first = bytearray(b"\x0a\0\0\0" if family == 4 else b"\x20\x01\x0d\xb8" + bytes(12))
    messages = []
    for i in range(n):
        raw = bytearray(first)
        if address:
            raw[-address] = raw[-address] ^ (i & 1) << 6 | i % 64
        messages.append(Message(bytes(raw), 40000 + i * port & 0xffff, 64 + i % 2 * ttl, bytes(16 + i % 2 * length)))
    return messages


# Differences between the messages of each row: the number of last address bytes, the step of the port, TTL, length.
COSTS = {
    "one, IPv4": (4, (0, 0, 0, 0)),
    "100 in a /24, ports in one block of 256": (4, (1, 1, 0, 0)),
    "100 in a /24, any ports": (4, (1, 257, 0, 0)),
    "any IPv4, any TTL, any ports, any lengths": (4, (4, 257, 1, 1)),
    "one, IPv6": (6, (0, 0, 0, 0)),
    "any in one /64, any ports": (6, (8, 257, 0, 0)),
    "any IPv6, any ports": (6, (16, 257, 0, 0)),
}


def costs(document):
    """The table's figures, counted from packets that are written."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in document.splitlines()
            if re.match(r"\| .* \| (full|lin2018) \|", line)]
    assert {row[0] for row in rows if row[1] == "full"} == COSTS.keys()
    for senders, form, first, further, frame, each, beside, mtu in rows:
        if form == "lin2018":
            family, payload, most = 4, len(agg.paper_write(0xfc, [bytes(16)] * 8)), (1500 - 28 - 6) // 16
        else:
            family, step = COSTS[senders]
            messages = traffic(family, 255, step)
            assert int(first) == len(agg.entry(family, None, messages[0]))
            assert {int(further)} == {len(agg.entry(family, a, b)) for a, b in zip(messages, messages[1:9])}, senders
            payload = agg.HEADER + len(agg.directory_of(family, messages[:8])) + 8 * 16
            room = 1500 - (28 if family == 4 else 48) - agg.HEADER - int(first) - 16
            most = room // (int(further) + 16) + 1
        frame_len = 14 + (20 if family == 4 else 40) + 8 + payload
        assert (frame, each, beside, mtu) == (f"{frame_len}", f"{frame_len / 8:.2f}", f"{frame_len / 8 - 16:.2f}", f"{most}"), \
            f"{senders}: {frame_len} {frame_len / 8} {most}"


def main():
    rnd = random.Random(20180625)
    document = Path(sys.argv[2]).read_text(encoding="utf-8")
    assert agg.crc32c(b"123456789") == 0xe3069283
    batch = Batch(sys.argv[1])
    for add in (c_writes, c_reads, both_refuse, paper):
        add(batch, rnd)
    example(batch, document)
    costs(document)
    print(f"{batch.run()} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
