# SPDX-License-Identifier: BSD-3-Clause
"""Captures from the field: on "any", on a loopback or tunnel interface, or on a host whose NIC computes checksums.
Replay of such a capture must not report that there was nothing to evaluate."""

import json
import struct
import subprocess

import pytest

import captures
from frames import checksum
from lab import BIPLANE
from test_replay import FIXTURES, RULES, config_for, found, replay, truth

ETHERNET, NULL, RAW, LOOP, SLL, IPV4, SLL2 = 1, 0, 101, 108, 113, 228, 276
RADIO = 105  # IEEE 802.11
NAME = "v311_qos012"


def of_link(path, link, frames):
    """A capture of another link type."""
    captures.write(path, frames)
    data = path.read_bytes()
    path.write_bytes(data[:20] + struct.pack("<I", link) + data[24:])


def fixture(name=NAME):
    """(nanoseconds, frame) pairs, with microseconds or nanoseconds in the file."""
    data = (FIXTURES / f"{name}.pcap").read_bytes()
    unit = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}[struct.unpack("<I", data[:4])[0]]
    at, frames = 24, []
    while at < len(data):
        seconds, part, length, _ = struct.unpack("<IIII", data[at:at + 16])
        frames.append((seconds * captures.SECOND + part * unit, data[at + 16:at + 16 + length]))
        at += 16 + length
    return frames


def cooked(frame):
    return struct.pack("!HHH", 0, 1, 6) + frame[6:12] + bytes(2) + frame[12:]


def cooked2(frame):
    return frame[12:14] + struct.pack("!HIHBB", 0, 3, 1, 4, 6) + frame[6:12] + bytes(2) + frame[14:]


LINKS = {
    "cooked v1": (SLL, cooked),
    "cooked v1 without addresses": (SLL, lambda f: struct.pack("!HHH8x", 0, 772, 0) + f[12:]),
    "cooked v2": (SLL2, cooked2),
    "loopback of a little-endian machine": (NULL, lambda f: struct.pack("<I", 2) + f[14:]),
    "loopback of a big-endian machine": (NULL, lambda f: struct.pack(">I", 2) + f[14:]),
    "loopback of OpenBSD": (LOOP, lambda f: struct.pack(">I", 2) + f[14:]),
    "raw IP": (RAW, lambda f: f[14:]),
    "raw IPv4": (IPV4, lambda f: f[14:]),
}


@pytest.mark.parametrize("link", LINKS)
def test_every_link_type_says_the_same(tmp_path, link):
    number, convert = LINKS[link]
    frames = [(t, f) for t, f in fixture() if f[12:14] == b"\x08\x00"]
    capture, out = tmp_path / "in.pcap", tmp_path / "out.pcap"
    of_link(capture, number, [(t, convert(f)) for t, f in frames])
    report = json.loads(replay(tmp_path, "--out", f"cloud={out}", inputs=[("devices", capture)]))
    assert found(report) == truth(NAME)
    assert report["inputs"][0]["frames"] == len(frames) and report["inputs"][0]["skipped"] == 0
    assert [(t, f[12:]) for t, f in captures.read(out)] == [(t, f[12:]) for t, f in frames]
    if "cooked" in link and "without" not in link:
        assert [f[6:12] for _, f in captures.read(out)] == [f[6:12] for _, f in frames]


@pytest.mark.parametrize("family", (10, 24, 28, 30))
def test_ip6_on_a_loopback(tmp_path, family):
    frames = [(t, f) for t, f in fixture("ipv6") if f[12:14] == b"\x86\xdd"]
    of_link(tmp_path / "in.pcap", NULL, [(t, struct.pack("<I", family) + f[14:]) for t, f in frames])
    assert found(json.loads(replay(tmp_path, inputs=[("devices", tmp_path / "in.pcap")]))) == truth("ipv6")


def test_non_frames_are_skipped(tmp_path):
    """Of other families, cut within the header, empty: counted, and nothing else suffers."""
    frames = [(t, cooked(f)) for t, f in fixture()]
    bad = [(frames[0][0], b"\0" * n) for n in (0, 1, 15)] + [(frames[0][0], struct.pack("!HHH8xH", 0, 280, 0, 12) + bytes(16))]
    of_link(tmp_path / "in.pcap", SLL, bad + frames)
    report = json.loads(replay(tmp_path, inputs=[("devices", tmp_path / "in.pcap")]))
    assert report["inputs"][0]["skipped"] == len(bad)
    assert found(report) == truth(NAME)


def run(tmp_path, capture):
    config = config_for(rules=RULES)
    config["ports"], config["bridges"][0]["ports"] = config["ports"][:2], ["devices", "cloud"]
    (tmp_path / "c.yaml").write_text(json.dumps({"version": 1, **config}))
    return subprocess.run([BIPLANE, "replay", "-c", tmp_path / "c.yaml", "--json", "--in", f"devices={capture}"],
                          capture_output=True, text=True, timeout=60, check=False)


def test_another_link_type_is_refused_by_name(tmp_path):
    of_link(tmp_path / "radio.pcap", RADIO, [])
    p = run(tmp_path, tmp_path / "radio.pcap")
    assert p.returncode == 66
    assert "IEEE802_11" in p.stderr and "Linux cooked" in p.stderr and "Traceback" not in p.stderr


def offloaded(frame):
    """As the sending host's capture has it: the card has not completed the checksum yet."""
    if frame[12:14] != b"\x08\x00" or frame[23] != 6:
        return frame
    at = 14 + (frame[14] & 15) * 4
    length = struct.unpack("!H", frame[16:18])[0] - (at - 14)
    pseudo = frame[26:34] + struct.pack("!BBH", 0, 6, length)
    return frame[:at + 16] + struct.pack("!H", checksum(pseudo) ^ 0xFFFF) + frame[at + 18:]


def test_offloaded_checksums_are_reported(tmp_path):
    frames = fixture()
    captures.write(tmp_path / "in.pcap", [(t, offloaded(f)) for t, f in frames])
    p = run(tmp_path, tmp_path / "in.pcap")
    (report,) = json.loads(p.stdout)["inputs"]
    assert p.returncode == 0
    assert 0 < report["offloaded_tcp_checksums"] == report["invalid_tcp_checksums"]
    assert "network card" in p.stderr and "mqtt.verify_checksums: false" in p.stderr
    # the same capture as the other host saw it gives no such advice
    captures.write(tmp_path / "in.pcap", frames)
    p = run(tmp_path, tmp_path / "in.pcap")
    assert "network card" not in p.stderr
    # and damage on the way is not taken for it
    damaged = [(t, f[:50] + bytes((f[50] ^ 1, f[51])) + f[52:] if len(f) > 60 else f) for t, f in frames]
    captures.write(tmp_path / "in.pcap", damaged)
    p = run(tmp_path, tmp_path / "in.pcap")
    assert json.loads(p.stdout)["inputs"][0]["invalid_tcp_checksums"] > 0
    assert "network card" not in p.stderr
