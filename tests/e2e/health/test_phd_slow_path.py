# SPDX-License-Identifier: BSD-3-Clause
"""The slow path: reports that the control plane converts and sends to the CSE by sockets of its own. The sink that
replaces the CSE checks each request, that no (port, message id) is reused within 247 s, and that no name occurs
twice."""

import collections
import json
import os
import signal
import socket
import struct
import subprocess
import time

import pytest

from conftest import running_router
from lab import BIPLANE
from router_lab import RIGHT, only_biplane, own, pause
from test_phd import PHD, SIM, ended, sent_by

SINK = os.path.join(os.path.dirname(BIPLANE), "biplane-cse-sink")
pytestmark = only_biplane


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("phd")
    with running_router(routed_lab, directory, health_devices={**PHD, "store": {"path": str(directory / "phd.db")}}) as r:
        yield r


class Sink:
    """In the place of the CSE, on the right."""

    def __init__(self, lab, *args):
        self.process = lab.popen("right", SINK, "--listen", f"{RIGHT}:5683", *args, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().startswith("ready")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def report(self):
        """Ends it; returns its output, which has no violations."""
        self.process.send_signal(signal.SIGTERM)
        said = json.loads(self.process.stdout.read())
        assert self.process.wait(60) == 0 and said["violations"] == 0, said["what_was_wrong"]
        return said


def stored(said):
    """{device: the values in its containers, as text}, and every instance's name is another in its container."""
    values = collections.defaultdict(list)
    for device in said["tree"].get("children", []):
        for container in device.get("children", []):
            names = [i["rn"] for i in container.get("children", [])]
            assert len(names) == len(set(names))
            for i in container.get("children", []):
                content = json.loads(i["attributes"]["con"], parse_float=str, parse_int=str)
                values[device["rn"]].append(str(content["v"]))
    return values


def assert_once(said, lines):
    found = stored(said)
    for device, values in sent_by(lines).items():
        assert sorted(found[device]) == sorted(values), device


def devices(lab, first, *options):
    return lab.popen("left", SIM, "--to", f"{own('left')}:6024", "--report-file", "-", "--system-id", first, *options,
                     stdout=subprocess.PIPE)


def test_many_tcp_devices(routed_lab, router):
    """2,000 instances a second, of which one source port could send 264: each is stored once."""
    with Sink(routed_lab) as sink:
        load = devices(routed_lab, "0022092258aa0000", "--device", "oximeter", "--transport", "tcp", "--count", 100,
                       "--confirmed", "--reports", 60, "--rate", 1000, "--retries", 0, "--timeout", "1s")
        status, lines, summary = ended(load)
        assert status == 0, summary
        assert summary["reports"] == summary["answered"] == 6000
        said = sink.report()
        assert_once(said, lines)
        assert said["instances"] == 12000 and said["conflicts"] == 0
    router.balanced()


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_control_plane_killed(routed_lab, router, transport):
    """The next control plane reuses no (port, message id) of the last one, and each measurement is stored once: devices
    on TCP associate again and repeat unanswered reports."""
    with Sink(routed_lab) as sink:
        load = devices(routed_lab, "0022092258ab0000" if transport == "tcp" else "0022092258ac0000", "--device",
                       "oximeter", "--transport", transport, "--count", 50, "--confirmed", "--reports", 40, "--rate", 300,
                       "--retries", 0, "--timeout", "500ms", "--again", "100ms")
        for _ in range(3):
            router.kill_plane("control plane")
        status, lines, summary = ended(load)
        assert status == 0, summary
        assert_once(sink.report(), lines)


# ---- reports of many measurements, by hand: bytes after the standard's examples

AARQ = bytes.fromhex("e2000032800000000001002a5079002680000000800080000000000000000080000000080022092258ad0001"
                     "01900001010000000000")


def fixed_report(invoke, number, values):
    """Confirmed, of the standard's configuration 400: SpO2 and pulse rate in turn."""
    entries = b"".join(struct.pack(">HHH", 10 if i % 2 else 1, 2, v) for i, v in enumerate(values))
    info = struct.pack(">HHHH", 0xf000, number, len(values), len(entries)) + entries
    event = struct.pack(">HIHH", 0, 0xffffffff, 0x0d1d, len(info)) + info
    data = struct.pack(">HHH", invoke, 0x0101, len(event)) + event
    return struct.pack(">HHH", 0xe700, len(data) + 2, len(data)) + data


def accepted(invoke):
    return struct.pack(">HHHHHHHIHH", 0xe700, 18, 16, invoke, 0x0201, 10, 0, 0xffffffff, 0x0d1d, 0)


def asked(s, what, seconds=60):
    """The answer of the manager, asked again until there is one that is not 'later'."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        s.send(what)
        try:
            got = s.recv(2048)
        except TimeoutError:
            continue
        if got[-4:] != b"\x00\x02\x00\x67" or len(got) != 14:
            return got
        pause(0.02)
    raise AssertionError("the manager did not answer")


@pytest.mark.parametrize("sink_args", [(), ("--drop", "5", "--drop-answers", "5", "--instances-only")], ids=["", "loss"])
def test_reports_of_many_measurements(routed_lab, router, sink_args):
    """A datagram of 200 measurements becomes 200 instances, and its repetition none; one of 257 has no room."""
    with Sink(routed_lab, *sink_args) as sink:
        with routed_lab.inside("left"):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with s:
            s.connect((own("left"), 6024))
            s.settimeout(0.5)
            answer = asked(s, AARQ)
            assert answer[:2] == b"\xe3\x00" and answer[4:6] == b"\0\0"
            sent = []
            for number, n in enumerate((33, 64) if sink_args else (33, 200, 256), 1):
                values = list(range(1000 * number % 1900 + 1, 1000 * number % 1900 + 1 + n))
                report = fixed_report(number, number, values)
                assert asked(s, report) == accepted(number)
                assert asked(s, report) == accepted(number)
                sent += [str(v) for v in values]
            # rorj 303: to repeat it is no use
            assert asked(s, fixed_report(9, 9, [1] * 257)) == bytes.fromhex("e700000a00080009040000") + b"\x02\x01\x2f"
            s.send(bytes.fromhex("e40000020000"))
        said = sink.report()
        assert sorted(stored(said)["0022092258ad0001"]) == sorted(sent)
