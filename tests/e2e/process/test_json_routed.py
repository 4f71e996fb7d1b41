# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/json.md says what --json prints of a running gateway with routed ports."""

import json

import pytest

from json_doc import differences, output
from lab import BIPLANE, MAC, port_devices, wait_until

ROUTED = {
    "ports": [{**port, "routed": {"addresses": [f"10.{i}.0.1/24"], "host_interface": {"name": f"{port['name']}0"}}} for i, port in enumerate(port_devices("af_packet", ("devices", "cloud")))],
    "routing": {"static_routes": [{"prefix": "10.9.0.0/16", "via": "10.1.0.9"}, {"prefix": "10.9.9.0/24", "type": "blackhole"}],
                "static_neighbors": [{"address": "10.1.0.9", "mac": MAC["cloud"], "interface": "cloud"}]},
    "health_devices": {"cse": {"coap": "coap://10.1.0.9"}},
    "lcl": {"ports": [{"port": "cloud", "link_rate": "1Gbps", "slot": "1ms"}]},
}


@pytest.fixture(scope="module")
def routed_gateway(lab, module_gateway, tmp_path_factory):
    health = {**ROUTED["health_devices"], "store": {"path": str(tmp_path_factory.mktemp("health") / "health.db")}}
    g = module_gateway({**ROUTED, "health_devices": health}, start=False)
    g.start(edge=False)
    for name in ("devices0", "cloud0"):
        lab.run("gw", "ip", "link", "set", name, "up")
    wait_until("the connected routes", lambda: {"10.0.0.0/24", "10.1.0.0/24"} <= {r["prefix"] for r in g.show("routes")["routes"]})
    yield g
    g.stop()


@pytest.mark.parametrize("name,rows", [("interfaces", "interfaces"), ("neighbors", "neighbors"), ("routes", "routes"), ("lcl", "ports"),
                                       ("sessions", None)])
def test_show_of_a_routed_gateway(routed_gateway, name, rows):
    g = routed_gateway
    view = output(g, "show", name, "-c", g.identity)
    assert rows is None or view[rows]
    assert not differences(f"show {name}", view)


@pytest.mark.parametrize("address,action,reason", [("10.9.1.1", "forward", None), ("10.9.9.1", "drop", "blackhole"), ("10.0.0.1", "punt", "local"),
                                                   ("10.0.0.200", "punt", "no_neighbor")])
def test_lookup_of_an_address(routed_gateway, address, action, reason):
    g = routed_gateway
    view = output(g, "show", "routes", address, "-c", g.identity)
    assert not differences("show routes ADDRESS", view)
    assert [(n["action"], n["reason"]) for n in view["nexthops"]] == [(action, reason)]


@pytest.mark.parametrize("name", ["interfaces", "neighbors", "routes"])
def test_differences_from_the_kernel(lab, routed_gateway, name):
    p = lab.run("gw", BIPLANE, "show", name, "--diff", "--json", "-c", routed_gateway.identity)
    view = json.loads(p.stdout)
    assert view["equal"] and not differences(f"show {name} --diff", view)


def test_status_of_a_routed_gateway(routed_gateway):
    g = routed_gateway
    view = output(g, "status", "-c", g.identity, status=(0, 2))
    assert view["netlink"] and view["health_devices"] and not differences("status", view)
