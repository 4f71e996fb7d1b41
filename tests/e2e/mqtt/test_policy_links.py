# SPDX-License-Identifier: BSD-3-Clause
"""A policy that refuses packets, in frames of each link header, and in frames of several buffers: what it cuts,
overwrites and sends, as tshark reads it."""

import json
import struct
import subprocess
import sys

import pytest

import captures
from conftest import config_for
from frames import ethernet, ip4, tcp
from lab import BIPLANE, CLOUD, DEVICE, MAC, ROOT

sys.path.insert(0, str(ROOT / "tests" / "oracle"))

import mqtt_packets  # noqa: E402

SYN, RST, PSH, ACK, FIN = 2, 4, 8, 16, 1
SNAP = b"\xaa\xaa\x03\0\0\0\x08\0"
TAG = (0x8100, 7)
LINKS = {
    "three_tags": lambda ip: (0x0800, ip, [(0x88A8, 1), TAG, TAG]),
    "pppoe": lambda ip: (0x8864, struct.pack("!BBHH", 0x11, 0, 0x1234, 2 + len(ip)) + b"\0\x21" + ip, []),
    "pppoe_short_protocol": lambda ip: (0x8864, struct.pack("!BBHH", 0x11, 0, 0x1234, 1 + len(ip)) + b"\x21" + ip, [TAG]),
    "llc": lambda ip: (8 + len(ip), SNAP + ip, []),
    "llc_tag": lambda ip: (8 + len(ip), SNAP + ip, [TAG]),
    "mpls": lambda ip: (0x8847, b"\0\1\0\x40\0\2\1\x40" + ip, []),
    "jumbo": lambda ip: (0x0800, ip, []),
    "jumbo_cut_early": lambda ip: (0x0800, ip, [TAG]),
}
CLIENT, BROKER = 1000, 2000
LARGE = 12000  # a replay has buffers of 9,216 bytes


def publish_open(link):
    return mqtt_packets.publish(5, "open", b"1" * (LARGE if link == "jumbo" else 1))


def publish_secret(link, topic="secret/x"):
    return mqtt_packets.publish(5, topic, b"1" * (LARGE if link == "jumbo_cut_early" else 1))


def tcp_port(link):
    """Each has a connection of its own: MPLS labels and VLAN tags aside, all links are one network."""
    return 40000 + list(LINKS).index(link)


def frame(link, to_broker, seq, ack, flags, payload=b""):
    ends = (DEVICE, CLOUD) if to_broker else (CLOUD, DEVICE)
    macs = (MAC["cloud"], MAC["dev"]) if to_broker else (MAC["dev"], MAC["cloud"])
    ports = (tcp_port(link), 1883) if to_broker else (1883, tcp_port(link))
    return ethernet(*macs, *LINKS[link](ip4(*ends, 6, tcp(*ends, *ports, payload, seq=seq, ack=ack, flags=flags))))


def session(link):
    """(to the broker, frame): the last one has a packet that is allowed, and one that is refused."""
    connect, connack = mqtt_packets.connect(5, "pump"), b"\x20\3\0\0\0"
    at, back = CLIENT + 1, BROKER + 1
    yield True, frame(link, True, CLIENT, 0, SYN)
    yield False, frame(link, False, BROKER, at, SYN | ACK)
    yield True, frame(link, True, at, back, ACK)
    yield True, frame(link, True, at, back, PSH | ACK, connect)
    at += len(connect)
    yield False, frame(link, False, back, at, PSH | ACK, connack)
    yield True, frame(link, True, at, back + len(connack), PSH | ACK, publish_open(link) + publish_secret(link))


def replay(directory, action):
    """What arrives at the devices and at the cloud, by link; the report of tshark about both is in order."""
    config = config_for(policy={"rules": [{"name": "secret", "packet": "publish", "topic": "secret/#", "action": action}]})
    config["ports"] = config["ports"][:2]
    config["bridges"] = [{"name": "bridge0", "ports": ["devices", "cloud"]}]
    (directory / "replay.yaml").write_text(json.dumps({"version": 1, **config}))
    frames = [f for link in LINKS for f in session(link)]
    timed = [((1_700_000_000 + i) * captures.SECOND, to_broker, f) for i, (to_broker, f) in enumerate(frames)]
    argv = [BIPLANE, "replay", "-c", directory / "replay.yaml", "--json"]
    for port, to_broker in (("devices", True), ("cloud", False)):
        captures.write(directory / f"{port}.in", [(ns, f) for ns, there, f in timed if there == to_broker])
        argv += ["--in", f"{port}={directory / port}.in", "--out", f"{port}={directory / port}.pcap"]
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert p.returncode == 0, p.stderr
    return [by_link(directory / f"{port}.pcap") for port in ("devices", "cloud")]


def by_link(path):
    frames = [f for _, f in captures.read(path)]
    out = subprocess.run(["tshark", "-r", path, "-n", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-T", "fields",
                          "-e", "ip.checksum.status", "-e", "tcp.checksum.status", "-e", "_ws.malformed", "-e", "_ws.expert.message",
                          "-e", "tcp.port"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    links = {link: [] for link in LINKS}
    for f, line in zip(frames, out.split("\n")[:-1], strict=True):
        ip_sum, tcp_sum, malformed, expert, ports = line.split("\t")
        assert (ip_sum, tcp_sum, malformed) == ("1", "1", "") and "length" not in expert.lower(), (path, line)
        link, = [k for k in LINKS if str(tcp_port(k)) in ports]
        links[link].append(f)
    return links


@pytest.fixture(scope="module")
def close(tmp_path_factory):
    return replay(tmp_path_factory.mktemp("close"), "close")


@pytest.fixture(scope="module")
def blank(tmp_path_factory):
    return replay(tmp_path_factory.mktemp("blank"), "blank")


AT, BACK = CLIENT + 1 + len(mqtt_packets.connect(5, "pump")), BROKER + 6


@pytest.mark.parametrize("link", LINKS)
def test_close(close, link):
    """The last segment is cut, and each end of the connection receives its end, with right lengths in all headers."""
    sent, behind = list(session(link)), AT + len(publish_open(link))
    to_client, to_broker = (port[link] for port in close)
    assert to_broker[:-2] == [f for there, f in sent if there][:-1]
    *_, cut, reset = to_broker
    assert same(cut, frame(link, True, AT, BACK, PSH | ACK, publish_open(link)))
    assert same(reset, frame(link, True, behind, BACK, RST | ACK))
    begin = [f for there, f in sent if not there]
    assert to_client[:len(begin)] == begin
    if link == "mpls":  # its labels to the client are not known
        assert len(to_client) == len(begin)
    else:
        assert same(to_client[-1], frame(link, False, BACK, behind, FIN | PSH | ACK, b"\xe0\1\x87"))


@pytest.mark.parametrize("link", LINKS)
def test_blank(blank, link):
    to_client, to_broker = (port[link] for port in blank)
    assert to_broker[-1] == frame(link, True, AT, BACK, PSH | ACK, publish_open(link) + publish_secret(link, "$refused"))
    assert len(to_broker) == 4 and len(to_client) == 2


def same(got, expected):
    """But for the identification, the hop limit and the checksum of IP, and the window and the checksum of TCP."""
    ip = expected.index(b"\x45\0")
    mask = [*range(ip + 4, ip + 12), *range(ip + 34, ip + 38)]
    return [b for i, b in enumerate(got) if i not in mask] == [b for i, b in enumerate(expected) if i not in mask]
