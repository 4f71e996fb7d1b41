# SPDX-License-Identifier: BSD-3-Clause
"""The delay of alarms by stage: `biplane show latency`."""

from conftest import config_for
from lab import CLOUD, wait_until
from peers import Publisher

STAGES = ("evaluate", "handover", "publish", "acknowledge", "total")
PERCENTILES = ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")


def stages(g):
    view = g.show("latency")
    assert view["invalid"] == 0
    assert tuple(s["stage"] for s in view["stages"]) == STAGES
    return {s["stage"]: s for s in view["stages"]}


def raise_alarms(lab, g, values):
    before = g.status()["alarms"]["acknowledged"]
    p = Publisher(lab, CLOUD, client_id="oven-7")
    p.finish([p.publish("plant/oven/temperature", str(v), 1) for v in values])
    wait_until("the alarms to be acknowledged", lambda: g.status()["alarms"]["acknowledged"] == before + len(values))


def test_stages_of_an_alarm(lab, module_gateway):
    g = module_gateway(config_for())
    assert all(s["count"] == 0 and s["p50_ns"] is None for s in stages(g).values())
    raise_alarms(lab, g, [81.5])
    one = stages(g)
    assert all(s["count"] == 1 and s["max_ns"] > 0 for s in one.values())
    # of one alarm, the stages are the whole
    assert sum(one[s]["max_ns"] for s in STAGES[:-1]) == one["total"]["max_ns"]
    raise_alarms(lab, g, range(81, 101))
    for s in stages(g).values():
        assert s["count"] == 21
        assert sorted(s[p] for p in PERCENTILES) == [s[p] for p in PERCENTILES]
    text = g.command("show", "latency", "-c", g.identity).stdout.splitlines()
    assert text[0].split() == ["STAGE", "COUNT", "AVG", "P50", "P90", "P99", "P99.9", "MAX"]
    assert [line.split()[:2] for line in text[1:]] == [[s, "21"] for s in STAGES]
    assert g.stop() == 0
