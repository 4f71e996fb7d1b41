# SPDX-License-Identifier: BSD-3-Clause
"""Short form of scripts/fleet-test: two gateways behind ECMP under load, and some of its faults."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab import LAB_NAME, ROOT, Lab

sys.path.insert(0, str(ROOT / "tests" / "fleet"))

from faults import FAULTS  # noqa: E402
from fleet_lab import FleetLab  # noqa: E402
from rounds import Round  # noqa: E402
from under_load import RULE, Consumer  # noqa: E402

OPTIONS = SimpleNamespace(connections=60, rate=400, health_devices=0, hold=1, after=1, settled=2, warm_up=20, patience=1, keep=None)


@pytest.fixture(scope="module")
def fleet(hugepages):
    lab = FleetLab(LAB_NAME[:6] + "f", 2, rule=RULE)
    try:
        lab.start()
        consumer = Consumer(lab, "edge")
        yield lab, consumer
        consumer.close()
    finally:
        lab.stop()


def test_remains_of_a_killed_run_are_removed():
    lab = Lab(LAB_NAME[:6] + "r")
    spaces = [lab.prefix + ns for ns in ("gw4", "srv1", "srv2", "sw")]
    places = [lab.state / gw / "spool" for gw in ("gw1", "gw 2")]
    try:
        for ns in spaces:
            subprocess.run(["ip", "netns", "add", ns], check=True)
        for place in places:
            place.mkdir(parents=True)
            subprocess.run(["mount", "-t", "tmpfs", "fleet-test", place], check=True)
        lab.down()
        assert not lab.state.exists()
        assert [ns for ns in spaces if (Path("/run/netns") / ns).exists()] == []
    finally:
        for ns in spaces:
            subprocess.run(["ip", "netns", "del", ns], check=False, stderr=subprocess.DEVNULL)
        for place in places:
            subprocess.run(["umount", place], check=False, stderr=subprocess.DEVNULL)


def test_redis_is_not_needed(fleet, tmp_path):
    result = Round(*fleet, FAULTS["redis-killed"], 1, OPTIONS, tmp_path).run()
    assert (result["failures"], result["moved"]) == ([], 0), result
    assert result["verdict"]["exact"] == result["verdict"]["expected"] > 50


def test_kill_of_a_gateway_resets_no_connection(fleet, tmp_path):
    result = Round(*fleet, FAULTS["kill-planes"], 2, OPTIONS, tmp_path).run()
    assert result["moved"] > 0
    assert result["resets"] == 0, result
