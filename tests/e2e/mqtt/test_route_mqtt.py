# SPDX-License-Identifier: BSD-3-Clause
"""Inspection on routed ports: publications cross the router, their alarms reach the edge broker, to
which the control plane speaks through biplane's own port."""

import pytest

from conftest import overheat, running_router
from lab import wait_until
from peers import Collector, Expected, Publisher, usual_value
from router_lab import FAR, RIGHT, RIGHT6, ROUTER


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("mqtt")
    with running_router(routed_lab, directory, mqtt={
            "publisher": {"broker": f"mqtt://{FAR}", "client_id": "biplane-e2e"}, "spool": {"path": str(directory / "spool.db")},
            "rules": [overheat()]}) as r:
        yield r


@pytest.mark.parametrize("broker", (RIGHT, RIGHT6))
@pytest.mark.parametrize("version", ("3.1.1", "5"))
def test_publications_across_the_router_raise_alarms(routed_lab, router, broker, version):
    expected = Expected()
    cloud, edge = Collector(routed_lab, "right"), Collector(routed_lab, "edge", ("alarm/#",))
    try:
        p = Publisher(routed_lab, broker, expected, version, ns="left")
        p.finish([p.publish(f"plant/oven{i % 7}/temperature", f"{70 + i % 30}.{i:03d}", i % 3) for i in range(600)])
        cloud.wait_count(600)
        assert cloud.counts() == expected.cloud(), "the broker got something else than was published"
        if ROUTER == "biplane":
            due = expected.alarms(usual_value, 80.0)
            assert sum(due.values()) > 100
            wait_until(f"{sum(due.values())} alarms", lambda: len(edge.messages) >= sum(due.values()), 30)
            assert edge.counts() == due
    finally:
        cloud.close()
        edge.close()
    router.balanced()
