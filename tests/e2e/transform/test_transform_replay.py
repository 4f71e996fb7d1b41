# SPDX-License-Identifier: BSD-3-Clause
"""Coordinate transformation under replay: without root, hugepages or a laboratory."""

import json
import subprocess

import pytest

import captures
from agg_frames import frame_of, read, write_pcap
from lab import BIPLANE
from readings import IDENTITY, ROTATED, SLANTED, UDP, assert_exact, coordinates, some, source, transform

TRACKER, SERVER = "10.7.0.5", "10.7.0.9"


def replay(directory, payloads, *entries):
    """The output on port cloud for payloads from the tracker, and the report."""
    file = directory / "biplane.yaml"
    file.write_text(json.dumps({"version": 1,
        "ports": [{"name": "devices", "device": "net_null0"}, {"name": "cloud", "device": "net_null1"}],
        "bridges": [{"name": "bridge0", "ports": ["devices", "cloud"]}], "transform": {"entries": list(entries)}}))
    write_pcap(directory / "in.pcap", [frame_of(TRACKER, SERVER, p, dport=UDP) for p in payloads])
    p = subprocess.run([BIPLANE, "replay", "-c", str(file), "--in", f"devices={directory}/in.pcap", "--out", f"cloud={directory}/out.pcap",
                        "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
    assert p.returncode == 0, p.stderr
    return [read(f) for _, f in captures.read(directory / "out.pcap")], json.loads(p.stdout)


@pytest.mark.parametrize("method", ["vector", "exact"])
def test_each_method_is_within_its_error(tmp_path, method):
    """Each within its error; how large that is on average is in docs/explanation/transform-accuracy.md."""
    sent = some(2000)
    got, out = replay(tmp_path, [r.payload() for r in sent],
                      transform([source(TRACKER, {"address": "10.7.0.10", "udp_port": 20000, "matrix": SLANTED}, {"matrix": ROTATED})], method=method))
    assert {(p.source, p.destination, p.dport) for p in got} == {(TRACKER, "10.7.0.10", 20000), (TRACKER, SERVER, UDP)}
    for address, matrix in (("10.7.0.10", SLANTED), (SERVER, ROTATED)):
        assert_exact(sent, [coordinates(p.payload) for p in got if p.destination == address], matrix, 0.2)
    assert out["totals"]["balanced"] and out["totals"]["originated"] == len(sent), out["totals"]


def test_repeated_request(tmp_path):
    """The same capture and file give the same bytes, on any processor."""
    both = []
    for name in "ab":
        (tmp_path / name).mkdir()
        both.append(replay(tmp_path / name, [r.payload() for r in some(500, 2)], transform(unknown_source="forward"))[0])
    assert both[0] == both[1]
    assert_exact(some(500, 2), [coordinates(p.payload) for p in both[0]], IDENTITY)
