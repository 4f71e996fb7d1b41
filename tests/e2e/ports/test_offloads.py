# SPDX-License-Identifier: BSD-3-Clause
"""Offloads as configured: software replacements in a data plane on capture files, and their display."""

import json
import subprocess

import captures
import pytest
from frames import ethernet
from lab import BIPLANE, wait_until

NAMES = ["rx_checksum", "tx_checksum", "tx_multi_segs", "rx_scatter", "rss", "vlan_strip"]


class DataPlane:
    """`biplane dataplane` between a capture that it reads and one that it writes."""

    def __init__(self, directory, frames, **b):
        self.out = directory / "out.pcap"
        captures.write(directory / "in.pcap", [(i * 1000, f) for i, f in enumerate(frames)])
        self.file = directory / "c.yaml"
        self.name = f"offloads-{directory.name}"[:31]
        self.file.write_text(json.dumps({"version": 1,
            "name": self.name, "runtime": {"directory": str(directory), "hugepages": "never", "memory": "128MiB"},
            "poll_mode": "adaptive",
            "ports": [{"name": "a", "device": f"net_pcap0,rx_pcap={directory / 'in.pcap'}"},
                      {"name": "b", "device": f"net_pcap1,tx_pcap={self.out}", **b}],
            "bridges": [{"name": "bridge0", "ports": ["a", "b"]}]}))
        self.log = (directory / "log").open("w+b")
        self.process = subprocess.Popen([BIPLANE, "dataplane", "-c", self.file], stdout=self.log, stderr=self.log,
                                        stdin=subprocess.DEVNULL)

    def words(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def show(self, view, *args):
        p = subprocess.run([BIPLANE, "show", view, "-c", self.file, *args], stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.PIPE, check=False, timeout=60)
        return p.stdout if p.returncode == 0 else None

    def ports(self):
        text = self.show("ports", "--json")
        return {p["name"]: p for p in json.loads(text)["ports"]} if text else {}

    def drops(self):
        return {d["reason"]: d["count"] for d in json.loads(self.show("drops", "--json"))["reasons"] if d["count"]}

    def received(self, n):
        def all_of_them():
            assert self.process.poll() is None, self.words()
            return self.ports().get("a", {"rx_packets": 0})["rx_packets"] == n
        wait_until(f"{n} frames to be received", all_of_them)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)
        self.log.close()


@pytest.fixture
def plane(tmp_path):
    made = []

    def make(frames, **b):
        made.append(DataPlane(tmp_path, frames, **b))
        return made[-1]
    yield make
    for d in made:
        d.stop()


def frame(length):
    return ethernet("02:00:00:00:00:02", "02:00:00:00:00:01", 0x88B5, bytes(i % 251 for i in range(length - 14)))


FRAMES = [frame(n) for n in (64, 1514, 5000, 60, 9014)]


def by(port):
    assert [o["offload"] for o in port["offloads"]] == NAMES
    return {o["offload"]: o["outcome"] for o in port["offloads"]}


def test_frames_in_pieces_leave_whole(plane):
    d = plane(FRAMES)
    d.received(len(FRAMES))
    b = d.ports()["b"]
    assert by(b)["tx_multi_segs"] == "hardware"
    assert d.drops() == {}
    d.stop()
    assert [f for _, f in captures.read(d.out)] == FRAMES


def test_a_port_without_tx_multi_segs_drops_what_fits_no_buffer(plane):
    d = plane(FRAMES, offloads={"tx_multi_segs": "off"})
    d.received(len(FRAMES))
    b = d.ports()["b"]
    assert by(b)["tx_multi_segs"] == "software"
    wait_until("two drops", lambda: d.drops() == {"tx_too_many_segments": 2})
    assert b["tx_dropped"] == 2
    table = d.show("ports")
    assert "set off: frames in pieces are put together" in table, table
    d.stop()
    assert [f for _, f in captures.read(d.out)] == [f for f in FRAMES if len(f) < 2000]


def test_frames_fit_the_mtu(plane):
    d = plane(FRAMES, mtu=9000, offloads={"tx_multi_segs": "off"})
    d.received(len(FRAMES))
    assert by(d.ports()["b"])["rx_scatter"] == "software"
    assert d.drops() == {}
    d.stop()
    assert [f for _, f in captures.read(d.out)] == FRAMES


@pytest.mark.parametrize("offload", [n for n in NAMES if n not in ("vlan_strip", "tx_multi_segs")])
def test_offload_that_the_driver_does_not_support(plane, offload):
    d = plane(FRAMES, offloads={offload: "on"})
    d.process.wait(60)
    assert d.process.returncode == 69
    assert f"port b (net_pcap1,tx_pcap={d.out}, driver net_pcap) has `offloads: {{{offload}: on}}`, but its " \
           "driver does not offer it" in d.words()


def test_an_mtu_beyond_the_device(tmp_path, plane):
    d = plane(FRAMES)
    d.stop()
    text = json.loads(d.file.read_text())
    text["ports"][1] = {"name": "b", "device": f"net_memif0,socket={tmp_path / 's'},socket-abstract=no", "mtu": 9000}
    d.file.write_text(json.dumps({"version": 1, **text}))
    p = subprocess.run([BIPLANE, "dataplane", "-c", d.file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       check=False, timeout=60)
    assert p.returncode == 69
    assert "driver net_memif) has mtu 9000, but its device takes at most 1500: set mtu to that or less" in p.stdout
