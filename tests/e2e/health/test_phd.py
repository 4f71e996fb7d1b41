# SPDX-License-Identifier: BSD-3-Clause
"""Health devices on the left, the gateway as their manager, a real CSE on the right: every measurement is found
there, once."""

import itertools
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import acme
import coap
from conftest import running_router
from lab import BIPLANE, wait_until
from router_lab import RIGHT, only_biplane, own, pause

SIM = os.environ.get("BP_PHD_SIM", str(Path(BIPLANE).resolve().parent / "biplane-phd-sim"))
pytestmark = only_biplane

PHD = {"listen": {"udp_port": 6024, "tcp_port": 6024}, "max_sessions": 16384, "ack": "stored",
       "cse": {"coap": f"coap://{RIGHT}:5683", "path": "cse-in/{system_id}/{object}"}}


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("phd")
    with running_router(routed_lab, directory, health_devices={**PHD, "store": {"path": str(directory / "phd.db")}}) as r:
        yield r


@pytest.fixture(scope="module")
def cse(routed_lab, router, tmp_path_factory):
    acme.require()
    with routed_lab.inside("right"):
        client = coap.Client(RIGHT)
    c = acme.Acme(tmp_path_factory.mktemp("cse"), RIGHT, argv=lambda *a: routed_lab.argv("right", *a))
    c.start(client)
    c.client = client
    yield c
    c.end()
    client.close()


_devices = itertools.count(1)


def devices(lab, *options):
    """Simulated devices on the left, which the CSE does not know yet."""
    return lab.popen("left", SIM, "--to", f"{own('left')}:6024", "--report-file", "-", "--system-id",
                     f"002209225801{next(_devices):02x}00", *options, stdout=subprocess.PIPE)


def ended(sim, seconds=120):
    """Exit status, what was sent and answered, and the summary."""
    out, _ = sim.communicate(timeout=seconds)
    lines = [json.loads(line) for line in out.splitlines()]
    return sim.returncode, lines[:-1], lines[-1]


def simulate(lab, *options):
    return ended(devices(lab, *options))


class Tree:
    """The content of the CSE, by HTTP from its own namespace."""

    def __init__(self, lab, cse):
        self.lab, self.cse = lab, cse

    def containers(self, device):
        with self.lab.inside("right"):
            return self.cse.tree(f"cse-in/{device}", coap.CNT)

    def contents(self, container):
        with self.lab.inside("right"):
            return [json.loads(i["con"], parse_float=str, parse_int=str) for i in self.cse.instances(container)]


def sent_by(lines):
    """{device: the values that it measured, as text}: of each report once, however often it was sent."""
    values = {}
    for line in lines:
        if line["event"] == "report":
            values.setdefault(line["device"], []).extend(str(v["value"]) for v in line["values"])
    return values


def assert_once(tree, lines):
    """Each value that was measured is in the CSE, in a container of its device, once, and nothing else."""
    for device, values in sent_by(lines).items():
        found = [str(c["v"]) for path in tree.containers(device) for c in tree.contents(path)]
        assert sorted(found) == sorted(values), device


def test_one_oximeter(routed_lab, router, cse):
    status, lines, summary = simulate(routed_lab, "--device", "oximeter", "--confirmed", "--reports", 5, "--rate", 0,
                                      "--retries", 0, "--timeout", "1s")
    assert status == 0, summary
    assert summary["reports"] == summary["answered"] == 5 and summary["associations"] == 1
    (device,) = sent_by(lines)
    tree = Tree(routed_lab, cse)
    assert tree.containers(device) == [f"cse-in/{device}/pulse_rate", f"cse-in/{device}/spo2"]
    for name, code, unit in (("spo2", "2:19384", "%"), ("pulse_rate", "2:18458", "bpm")):
        got = tree.contents(f"cse-in/{device}/{name}")
        assert [c["v"] for c in got] == [str(v["value"]) for line in lines if line["event"] == "report"
                                         for v in line["values"] if v["code"] == code]
        assert {c["u"] for c in got} == {unit}
    router.balanced()


@pytest.mark.parametrize("device,transport,kind", (("oximeter", "udp", "mixed"), ("activity", "udp", "fixed"),
                                                   ("dispenser", "udp", "var"), ("oximeter", "tcp", "fixed"),
                                                   ("activity", "tcp", "fixed"), ("dispenser", "tcp", "mixed")))
def test_each_device_type_and_report_format(routed_lab, router, cse, device, transport, kind):
    """Standard configurations and those that a device declares itself, over both transports."""
    status, lines, summary = simulate(routed_lab, "--device", device, "--transport", transport, "--report", kind,
                                      "--count", 3, "--confirmed", "--reports", 8, "--rate", 0, "--retries", 0,
                                      "--timeout", "1s")
    assert status == 0, summary
    assert summary["answered"] == summary["reports"] == 24 and summary["refused"] == 0
    assert_once(Tree(routed_lab, cse), lines)


def test_lossy_link_loses_no_measurement(routed_lab, router, cse):
    """A fifth of the datagrams between devices and gateway is lost, a tenth comes twice."""
    status, lines, summary = simulate(routed_lab, "--device", "oximeter", "--count", 20, "--confirmed", "--reports", 10,
                                      "--rate", 0, "--retries", 0, "--timeout", "300ms", "--association-timeout", "300ms",
                                      "--loss", 20, "--duplicate", 10)
    assert status == 0, summary
    assert summary["repeats"] > 20 and summary["duplicated"] > 20
    assert_once(Tree(routed_lab, cse), lines)


def test_control_plane_killed(routed_lab, router, cse):
    """Devices notice a delay, and nothing else: no one associates again, nothing is lost, nothing comes twice."""
    load = devices(routed_lab, "--device", "oximeter", "--count", 20, "--confirmed", "--reports", 20, "--rate", 60,
                   "--retries", 0, "--timeout", "500ms")
    for _ in range(3):
        pause(1.5)
        router.kill_plane("control plane")
    status, lines, summary = ended(load)
    assert status == 0, summary
    assert summary["associations"] == 20 and summary["answered"] == 400
    assert_once(Tree(routed_lab, cse), lines)


def test_show_sessions(routed_lab, router, cse):
    load = devices(routed_lab, "--device", "oximeter", "--count", 3, "--confirmed", "--reports", 2, "--rate", 0, "--retries",
                   0, "--timeout", "1s", "--stay")

    def reported():
        got = [s for s in router.show("sessions")["sessions"] if s["reports"] == 2]
        return len(got) == 3 and got
    try:
        for s in wait_until("three sessions with what they reported", reported, 30, 0.1):
            assert s["state"] == "operating" and s["type"] == "pulse_oximeter" and s["config_id"] == 400
            assert s["device"].startswith("10.1.0.2:") and s["transport"] == "udp"
    finally:
        load.terminate()
        load.communicate(timeout=30)


def test_cse_stalls(routed_lab, router, cse):
    """Measurements taken while the CSE does not answer are stored when it answers again."""
    load = devices(routed_lab, "--device", "oximeter", "--count", 10, "--confirmed", "--reports", 10, "--rate", 20,
                   "--retries", 0, "--timeout", "1s")
    pause(2)
    cse.process.send_signal(signal.SIGSTOP)
    pause(4)
    cse.process.send_signal(signal.SIGCONT)
    status, lines, summary = ended(load)
    assert status == 0, summary
    assert_once(Tree(routed_lab, cse), lines)


def test_known_configuration(routed_lab, router, cse):
    """A device sends its configuration only once, also if the control plane is killed in between."""
    same = ("--device", "activity", "--count", 3, "--confirmed", "--reports", 2, "--rate", 0, "--retries", 0, "--timeout",
            "1s", "--system-id", "002209225900ff00")
    status, _, summary = simulate(routed_lab, *same)
    assert status == 0 and summary["configurations"] == 3, summary
    router.kill_plane("control plane")
    router.settled(20)
    status, lines, summary = simulate(routed_lab, *same, "--first", 100)
    assert status == 0 and summary["configurations"] == 0, summary
    assert summary["associations"] == 3 and summary["answered"] == 6


def test_after_a_reload(routed_lab, router, cse):
    """The file is read again, and the one before is gone: devices that come now have their containers made."""
    for _ in range(2):
        assert router.reload().returncode == 0
    status, lines, summary = simulate(routed_lab, "--device", "oximeter", "--count", 5, "--confirmed", "--reports", 2,
                                      "--rate", 0, "--retries", 0, "--timeout", "1s")
    assert status == 0 and summary["answered"] == 10, summary
    assert_once(Tree(routed_lab, cse), lines)
