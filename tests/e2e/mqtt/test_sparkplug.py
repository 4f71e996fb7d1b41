# SPDX-License-Identifier: BSD-3-Clause
"""Rules on metrics of Sparkplug B, with an edge node that is not of this project (pysparkplug) and a real broker."""

import json

import pytest

from conftest import config_for
from lab import CLOUD, wait_until
from sparkplug_node import SparkplugNode

TEMPERATURE = "Motor/Temperature"
RULES = [{"name": "hot", "topic": "spBv1.0/plant/+/line/#", "value": {"sparkplug": TEMPERATURE, "death": 0},
          "raise": {"above": 80}, "clear": {"below": 75}, "repeat": "on_change"},
         {"name": "cold", "topic": "spBv1.0/plant/DDATA/+/+", "value": {"sparkplug": "Motor/Coolant"},
          "raise": {"below": -5}, "repeat": "on_change"},
         {"name": "note", "topic": "spBv1.0/plant/DDATA/+/+", "value": {"sparkplug": "Motor/Note", "type": "string"},
          "raise": {"one_of": ["full", "jammed"]}, "repeat": "on_change"},
         {"name": "offline", "topic": "spBv1.0/plant/+/line", "value": "sparkplug_online", "raise": {"equals": 0},
          "repeat": "on_change"}]
NODE = [["Uptime", 1, "UINT64", 5]]
DEVICE = [[TEMPERATURE, 10, "FLOAT", 20.5], ["Motor/Coolant", 11, "INT16", -3], ["Motor/Note", 12, "STRING", "new"]]
DDATA, NDATA = "spBv1.0/plant/DDATA/line/motor", "spBv1.0/plant/NDATA/line"


@pytest.fixture(scope="module")
def g(lab, module_gateway):
    gateway = module_gateway(config_for(rules=RULES))
    yield gateway
    gateway.stop()


@pytest.fixture
def alarms(collect):
    """alarms(n): the next n alarms as (rule, state, value, topic)."""
    edge, read = collect("edge", ["alarm/#"]), [0]

    def following(n):
        wait_until(f"{n} alarms", lambda: len(edge.messages) >= read[0] + n)
        new = [json.loads(p) for _, p in edge.messages[read[0]:]]
        read[0] += len(new)
        return [(a["rule"], a["state"], a["value"], a["topic"]) for a in new]
    return following


@pytest.fixture
def node(lab, g):
    n = SparkplugNode(lab, CLOUD, NODE, DEVICE)
    yield n
    n.process.kill()
    n.process.wait()


def alias_of(g, topic):
    """What explain says about the alias of the first rule."""
    p = g.command("explain", "topic", topic, "-c", g.identity, "--json")
    assert p.returncode == 0, p.stderr
    rule = next(r for r in json.loads(p.stdout)["rules"] if r["rule"] == "hot")
    return next(c["reason"] for c in rule["checks"] if c["check"] == "alias")


def test_births_data_and_deaths(g, alarms, node):
    # without name and datatype: both are in the birth
    node.data("DDATA", [None, 10, "FLOAT", 81.5], [None, 11, "INT16", -4])
    node.data("NDATA", [None, 1, "UINT64", 6])
    node.data("DDATA", [None, 11, "INT16", -6])
    assert alarms(2) == [("hot", "raised", 81.5, DDATA), ("cold", "raised", -6, DDATA)]
    node.data("DDATA", [None, 12, "STRING", "full"])
    node.data("DDATA", [None, 12, "STRING", "jammed"])
    node.data("DDATA", [None, 12, "STRING", "empty"])
    assert alarms(2) == [("note", "raised", "full", DDATA), ("note", "cleared", "empty", DDATA)]
    assert g.counter("sparkplug_seq_gaps") == 0
    node.data("DDATA", [None, 10, "FLOAT", 99, True])  # historical
    node.data("DDATA", [None, 10, "FLOAT", 70], skip=1)
    assert alarms(1) == [("hot", "cleared", 70, DDATA)]
    assert g.counter("sparkplug_historical") == 1
    assert g.counter("sparkplug_seq_gaps") == 1
    # the same metrics with exchanged aliases
    node.births(NODE, [[TEMPERATURE, 11, "FLOAT", 20.5], ["Motor/Coolant", 10, "INT16", 0]])
    assert alarms(1) == [("cold", "cleared", 0, DDATA)]
    assert alias_of(g, DDATA) == "11 since the last birth, with datatype 9"
    assert "no such metric" in alias_of(g, NDATA)
    assert alias_of(g, DDATA + "-2").startswith("unknown")
    # which survive restarts
    g.kill_plane("data plane")
    node.data("DDATA", [None, 11, "FLOAT", 85])
    assert alarms(1) == [("hot", "raised", 85, DDATA)]
    g.kill_plane("control plane")
    node.data("DDATA", [None, 11, "FLOAT", 60])
    assert alarms(1) == [("hot", "cleared", 60, DDATA)]
    node.data("DDATA", [None, 11, "FLOAT", 86])
    assert alarms(1) == [("hot", "raised", 86, DDATA)]
    assert g.counter("sparkplug_alias_unknown") == 0
    # the NDEATH is the will of the client: that of its node and of its device
    node.kill()
    assert sorted(alarms(2)) == [("hot", "cleared", 0, DDATA), ("offline", "raised", 0, NDATA)]
    assert g.counter("sparkplug_malformed") == 0
