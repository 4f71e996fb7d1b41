# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/json.md says what --json prints of a running gateway with all services of a bridge."""

import pytest

from conftest import config_for
from json_doc import differences, output
from lab import CLOUD, MAC, wait_until
from peers import Publisher

SOURCE = "10.99.0.77"
SERVICES = {
    "aggregation": {"encapsulate": [{"port": "devices", "to": {"address": CLOUD, "udp_port": 5555}, "max_messages": 4}],
                    "decapsulate": [{"port": "cloud", "to": {"address": CLOUD, "udp_port": 5556},
                                     "allowed_senders": ["10.99.0.0/24"]}]},
    "transform": {"entries": [{"port": "devices", "udp_port": 10000, "sources": [
        {"address": SOURCE, "receivers": [{"address": CLOUD, "mac": MAC["cloud"], "udp_port": 20000,
                                           "matrix": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]}]}]}]},
}
OBJECTS = ("ports", "nodes", "drops", "counters", "interfaces", "neighbors", "routes", "health", "fleet", "alarms", "latency", "connections",
           "not-inspected", "rules", "sessions", "aggregates", "transform", "lcl", "sampling", "captures", "metrics",
           "rates")


@pytest.fixture(scope="module")
def gateway_of_all(lab, module_gateway):
    g = module_gateway({**config_for(), **SERVICES})
    p = Publisher(lab, CLOUD, client_id="oven-7")
    p.finish([p.publish("plant/oven/temperature", "81.5", 1)])
    wait_until("the alarm to be acknowledged", lambda: g.status()["alarms"]["acknowledged"] >= 1)
    wait_until("samples of the rates", lambda: g.show("rates")["samples"] >= 2)
    yield g
    g.stop()


@pytest.mark.parametrize("name", OBJECTS)
def test_show_commands_match_their_schema(gateway_of_all, name):
    g = gateway_of_all
    assert not differences(f"show {name}", output(g, "show", name, "-c", g.identity))


def test_other_commands_match_their_schema(gateway_of_all):
    g = gateway_of_all
    assert not differences("status", output(g, "status", "-c", g.identity, status=(0, 2)))
    assert not differences("reload", output(g, "reload", "-c", g.file))
    assert not differences("reload --dry-run", output(g, "reload", "--dry-run", "-c", g.file))
    for subject in ("topic", "plant/oven/temperature"), ("client", "oven-7"), ("connection", f"{CLOUD}:1883"):
        assert not differences("explain", output(g, "explain", *subject, "-c", g.identity))
    matrix = g.dir / "matrix.yaml"
    matrix.write_text("[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]\n")
    assert not differences("transform matrix set", output(g, "transform", "matrix", "set", SOURCE, matrix, "-c", g.identity))
    assert not differences("transform matrix list", output(g, "transform", "matrix", "list", "-c", g.identity))
    assert not differences("transform matrix clear", output(g, "transform", "matrix", "clear", SOURCE, "-c", g.identity))
