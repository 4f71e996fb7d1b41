# SPDX-License-Identifier: BSD-3-Clause
"""The load and the judge of the fleet test with one gateway: kill -9 of each plane loses no alarm and repeats none twice."""

import sys

import pytest

from conftest import config_for
from lab import CLOUD, ROOT

sys.path.insert(0, str(ROOT / "tests" / "fleet"))

from under_load import RULE, Consumer, Load, judged  # noqa: E402


@pytest.fixture
def load(lab, tmp_path):
    made = []

    def start(**options):
        made.append(Load(lab, "dev", CLOUD, tmp_path / "log.json", **options))
        return made[-1]
    yield start
    for m in made:
        m.kill()


def test_kills_of_both_planes_under_load(gateway, lab, load):
    g = gateway(config_for(rules=[RULE]))
    consumer = Consumer(lab, "edge")
    try:
        devices = load(prefix="k", connections=60, rate=400)
        consumer.wait_count(50)
        g.kill_plane("data plane")
        consumer.wait_count(150)
        g.kill_plane("control plane")
        consumer.wait_count(250)
        verdict = judged(devices.stop(), consumer, "k")
    finally:
        consumer.close()
    assert not verdict.failures(repeats_max=200)
    assert (verdict.late, verdict.excused) == ([], 0)
    assert verdict.expected >= 250
