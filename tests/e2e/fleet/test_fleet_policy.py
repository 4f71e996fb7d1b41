# SPDX-License-Identifier: BSD-3-Clause
"""The MQTT policy of a fleet: one bundle brings it to all members, and a bundle without it takes it away."""

import json

from test_fleet import fleet, rule, run  # noqa: F401


def policy_of(member):
    p = run("show", "policy", "-c", member.file, "--json")
    assert p.returncode == 0, p.stderr
    policy = json.loads(p.stdout)
    return policy["enabled"] and [(r["name"], r["action"], r["topic"]) for r in policy["rules"]]


def test_policy_of_a_bundle(fleet):  # noqa: F811
    rules = [{"name": "own", "action": "allow", "packet": "publish", "topic": "plant/{client}/#"},
             {"name": "secrets", "action": "close", "packet": "publish", "topic": "plant/#"}]
    assert [policy_of(m) for m in fleet.members] == [False, False]
    pushed = fleet.push({"mqtt": {"policy": {"fail": "closed", "rules": rules}}})
    for m in fleet.members:
        fleet.wait(m.name, "applied", pushed["serial"])
        assert policy_of(m) == [("own", "allow", "plant/{client}/#"), ("secrets", "close", "plant/#")]
    # one with an error is refused before it reaches a member
    rules[1]["action"] = "drop"
    file = fleet.dir / "wrong.yaml"
    file.write_text(json.dumps({"mqtt": {"policy": {"rules": rules}}}))
    p = fleet.command("push", "--selector", "site=north", "--sign", fleet.dir / "key", file)
    assert p.returncode == 78 and "mqtt.policy.rules[1].action: 'drop' is not a valid choice" in p.stderr
    assert [len(policy_of(m)) for m in fleet.members] == [2, 2]
    pushed = fleet.push({"mqtt": {"rules": [rule("other")]}})
    for m in fleet.members:
        fleet.wait(m.name, "applied", pushed["serial"])
        assert policy_of(m) is False
