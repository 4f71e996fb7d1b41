# SPDX-License-Identifier: BSD-3-Clause
"""Reload under load: each PUBLISH is evaluated by exactly the old or the new rules."""

import copy
import json
import signal

from conftest import config_for, overheat
from lab import CLOUD, wait_until
from load import Load
from peers import Collector, Expected, Publisher


def with_rules(config, rules):
    other = copy.deepcopy(config)
    other["mqtt"]["rules"] = rules
    return other


def generation(g):
    return g.status()["reloads"]["generation"]


def test_every_publish_is_evaluated_by_one_ruleset(lab, gateway, tmp_path):
    old = [overheat(publish={"topic": "old/{topic}"})]
    new = [overheat(name="hotter", publish={"topic": "new/{topic}"}, **{"raise": "> 80.5"}), overheat(name="other", topic="x/y")]
    g = gateway(config_for(rules=old, spool=tmp_path / "spool.db"))
    config = g.config
    expected, cloud = Expected(), Collector(lab, "cloud")
    edge = Collector(lab, "edge", ("old/#", "new/#"))
    load = Load(lab, expected, rate=1000)
    for i in range(20):
        load.go_on(100)
        before = generation(g)
        p = g.reload(with_rules(config, new if i % 2 == 0 else old))
        assert p.returncode == 0, p.stderr
        assert generation(g) > before
    load.go_on(100)
    load.finish()
    cloud.wait_count(len(expected.published))
    assert cloud.counts() == expected.cloud()
    edge.wait_count(len(expected.published))
    # 81.x satisfies both sets: an alarm of neither or of both would be a PUBLISH between them.
    got = sorted(p for _, p in edge.messages)
    assert got == sorted(p for _, p in expected.published)
    sides = {t.split("/")[0] for t, _ in edge.messages}
    assert sides == {"old", "new"}
    assert g.status()["reloads"]["done"] >= 20
    cloud.close()
    edge.close()


def test_an_invalid_file_is_refused_whole(lab, gateway, tmp_path):
    g = gateway(config_for(spool=tmp_path / "spool.db"))
    edge, before = Collector(lab, "edge", ("alarm/#",)), g.show("rules")
    refused = g.status()["reloads"]["refused"]
    bad = with_rules(g.config, [overheat(name="fine", publish={"topic": "changed/{topic}"}),
                                overheat(name="bad", **{"raise": "above 80"}), overheat(name="worse", topic="a/#/b")])
    p = g.reload(bad)
    assert p.returncode == 78, (p.returncode, p.stderr)
    text = p.stdout + p.stderr
    assert text.count(f"{g.file}:") >= 2, f"every error with its place: {text}"
    assert g.show("rules")["generation"] == before["generation"]
    assert [r["name"] for r in g.show("rules")["rules"]] == ["overheat"]
    # The same through the signal, which has no one to answer but the log and a counter.
    g.process.send_signal(signal.SIGHUP)
    wait_until("the refusal to be counted", lambda: g.status()["reloads"]["refused"] > refused)
    assert g.show("rules")["generation"] == before["generation"]
    p = Publisher(lab, CLOUD)
    p.finish([p.publish("plant/oven/temperature", "81", 1)])
    assert edge.wait_for_topic("alarm/plant/oven/temperature") == b"81"
    edge.close()


def test_sighup_reloads(lab, gateway, tmp_path):
    g = gateway(config_for(spool=tmp_path / "spool.db"))
    edge, before = Collector(lab, "edge", ("#",)), generation(g)
    g.write(with_rules(g.config, [overheat(publish={"topic": "second/{topic}"})]))
    g.process.send_signal(signal.SIGHUP)
    wait_until("the new rules", lambda: generation(g) > before)
    p = Publisher(lab, CLOUD)
    p.finish([p.publish("plant/oven/temperature", "81", 1)])
    assert edge.wait_for_topic("second/plant/oven/temperature") == b"81"
    edge.close()


def test_settings_that_need_a_restart_are_rejected_or_named(lab, gateway, tmp_path):
    g = gateway(config_for(spool=tmp_path / "spool.db"))
    before = generation(g)
    changed = copy.deepcopy(g.config)
    changed["mqtt"]["max_connections"] = 1234
    p = g.reload(changed)
    assert "mqtt.max_connections" in p.stdout + p.stderr, (p.stdout, p.stderr)
    assert p.returncode == 0 or generation(g) == before


def test_unchanged_rules_keep_their_state(lab, gateway, tmp_path):
    keep = overheat(payload="envelope", repeat="on_change", clear="< 75")
    g = gateway(config_for(rules=[keep], spool=tmp_path / "spool.db"))
    edge = Collector(lab, "edge", ("alarm/#",))
    p = Publisher(lab, CLOUD)

    def send(*values):
        for v in values:
            p.publish("plant/oven/temperature", str(v), 1).wait_for_publish(20)

    send(90, 91)
    assert g.reload(with_rules(g.config, [overheat(name="first", topic="other/#"), keep])).returncode == 0
    send(92, 74, 93)
    changed = {**keep, "raise": "> 81"}
    assert g.reload(with_rules(g.config, [changed])).returncode == 0
    send(94)  # another definition is another rule, without a past
    p.finish([p.publish("plant/end/temperature", "100", 1)])
    edge.wait_for_topic("alarm/plant/end/temperature")
    got = [(a["value"], a["state"]) for _, m in edge.messages if (a := json.loads(m))["topic"] != "plant/end/temperature"]
    assert got == [(90, "raised"), (74, "cleared"), (93, "raised"), (94, "raised")]
    edge.close()
