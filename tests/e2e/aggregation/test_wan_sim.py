# SPDX-License-Identifier: BSD-3-Clause
"""biplane-wan-sim between two hosts in namespaces of their own: frames arrive unchanged and delayed."""

import hashlib
import json
import random
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from lab import BIPLANE, Lab, wait_until
from vlan_tap import open_raw, receive_frame

WAN_SIM = Path(BIPLANE).resolve().parent / "biplane-wan-sim"
LAB = Lab()
LEFT, MIDDLE, RIGHT = (f"{LAB.prefix}ws{x}" for x in ("left", "wan", "right"))


def ip(*words):
    subprocess.run(["ip", *words], check=True)


@pytest.fixture(scope="module")
def hosts():
    """Two hosts, 10.20.0.1 and .2, whose wires end in the WAN's namespace."""
    try:
        for ns in (LEFT, MIDDLE, RIGHT):
            ip("netns", "add", ns)
        for i, ns in enumerate((LEFT, RIGHT), 1):
            end = f"end{i}"
            ip("-n", MIDDLE, "link", "add", end, "up", "type", "veth", "peer", "name", "eth0", "netns", ns)
            ip("-n", MIDDLE, "link", "set", end, "addrgenmode", "none")
            ip("-n", ns, "link", "set", "eth0", "up")
            ip("-n", ns, "address", "add", f"10.20.0.{i}/24", "dev", "eth0")
        yield
    finally:
        for ns in (LEFT, MIDDLE, RIGHT):
            subprocess.run(["ip", "netns", "delete", ns], check=False, stderr=subprocess.DEVNULL)


class Wan:
    def __init__(self, *options):
        self.process = subprocess.Popen(["ip", "netns", "exec", MIDDLE, WAN_SIM, "end1", "end2", *options],
                                        stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=30)
        assert self.process.returncode == 0
        return json.loads(out)

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def ping(address, count=20, *options):
    """Round-trip times in ms."""
    out = subprocess.run(["ip", "netns", "exec", LEFT, "ping", "-n", "-i", "0.05", "-c", str(count), *options, address],
                         stdout=subprocess.PIPE, text=True, check=False).stdout
    return [float(t) for t in re.findall(r"time=([0-9.]+) ms", out)]


def test_round_trip_takes_twice_the_delay(hosts):
    with Wan("--delay", "25ms") as wan:
        ping("10.20.0.2", 2)  # ARP takes a round trip of its own
        times = ping("10.20.0.2")
        assert len(times) == 20
        assert min(times) >= 50
        assert sorted(times)[10] < 90  # a busy machine's time is its own
        counts = wan.end()
    for way in ("there", "back"):
        c = counts[way]
        assert c["received"] >= 20 and c["sent"] == c["received"] - c["under_way"]
        assert c["lost"] == c["full"] == c["refused"] == 0
        assert c["delay_mean_us"] >= 25000


class Receiver(threading.Thread):
    """One connection's bytes, as a hash, in a namespace."""

    def __init__(self, netns, address):
        super().__init__(daemon=True)
        self.code = ("import hashlib, socket, sys; s = socket.create_server(('%s', 7)); print('ready', flush=True); "
                     "c = s.accept()[0]; h = hashlib.sha256(); n = 0\n"
                     "while True:\n b = c.recv(1 << 16)\n if not b: break\n h.update(b); n += len(b)\n"
                     "print(n, h.hexdigest())") % address
        self.process = subprocess.Popen(["ip", "netns", "exec", netns, "python3", "-c", self.code],
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        self.result = None
        self.start()

    def run(self):
        self.result = self.process.communicate()[0].split()


SENDER = ("import random, socket, sys; s = socket.create_connection((sys.argv[1], 7)); r = random.Random(3)\n"
          "for _ in range(160): s.sendall(r.randbytes(1 << 16))\n")


def test_tcp_with_its_offloads_arrives_whole(hosts):
    """The veth pairs leave checksums and segments to the next."""
    r = random.Random(3)
    h = hashlib.sha256()
    for _ in range(160):
        h.update(r.randbytes(1 << 16))
    with Wan("--delay", "2ms") as wan:
        receiver = Receiver(RIGHT, "10.20.0.2")
        subprocess.run(["ip", "netns", "exec", LEFT, "python3", "-c", SENDER, "10.20.0.2"], check=True, timeout=120)
        receiver.join(timeout=120)
        assert receiver.result == [str(160 << 16), h.hexdigest()]
        counts = wan.end()
    # fewer frames than full-sized segments would be: large ones were carried as they were
    assert counts["there"]["received"] < (160 << 16) // 1448
    assert counts["there"]["refused"] == 0


def test_frames_arrive_byte_for_byte(hosts):
    """Tags, too, one and two of them, which the kernel takes out of what it gives a socket."""
    macs = bytes.fromhex("020000000002020000000001")
    r = random.Random(5)
    tags = (b"", bytes.fromhex("81002007"), bytes.fromhex("88a80064"), bytes.fromhex("88a8006481002007"))
    sent = [macs + tag + b"\x88\xb5" + r.randbytes(n) for tag in tags for n in (46, 47, 800, 1490)]
    with Wan("--delay", "1ms"):
        with LAB.inside("wsleft"):
            left = open_raw("eth0")
        with LAB.inside("wsright"):
            right = open_raw("eth0")
        right.settimeout(20)
        heard = []
        with left, right:
            for f in sent:
                left.send(f)
            while len(heard) < len(sent):
                f = receive_frame(right)
                if f is not None and f[:12] == macs:
                    heard.append(f)
    assert heard == sent


def burst(count):
    """So many datagrams of 1,000 bytes from LEFT to RIGHT, once ARP has got through."""
    wait_until("a ping through the WAN", lambda: ping("10.20.0.2", 1))
    code = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            f"for _ in range({count}): s.sendto(bytes(1000), ('10.20.0.2', 9))\n")
    subprocess.run(["ip", "netns", "exec", LEFT, "python3", "-c", code], check=True)


def test_loss_is_as_configured_and_counted(hosts):
    with Wan("--delay", "0", "--loss", "20") as wan:
        burst(2000)
        c = wan.end()["there"]
    assert 0.15 < c["lost"] / c["received"] < 0.25
    assert c["sent"] + c["lost"] + c["under_way"] == c["received"] >= 2000


def test_a_narrow_link_limits_the_rate(hosts):
    with Wan("--delay", "1ms", "--rate", "2000000", "--limit", "20") as wan:
        burst(200)
        c = wan.end()["there"]
    assert c["full"] >= 100  # a burst of 200 finds place for 20, and those that left meanwhile
    assert c["sent"] + c["full"] + c["under_way"] == c["received"]


@pytest.mark.parametrize("words, says", [
    (["lo"], "two interfaces are expected"),
    (["lo", "lo"], "two different interfaces"),
    (["lo", "nowhere"], "no interface nowhere"),
    (["lo", "lo", "--loss", "101"], "--loss"),
    (["lo", "lo", "--delay", "1"], "--delay"),
])
def test_errors_are_reported(words, says):
    p = subprocess.run([WAN_SIM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert p.returncode == 64
    assert says in p.stderr


def test_help_names_every_option():
    text = subprocess.run([WAN_SIM, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for option in ("--delay", "--jitter", "--distribution", "--reorder", "--loss", "--rate", "--limit", "--seed"):
        assert option in text
