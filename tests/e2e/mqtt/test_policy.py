# SPDX-License-Identifier: BSD-3-Clause
"""The policy observes what mosquitto refuses: the same ACL file, and the broker's reason codes as the oracle."""

import collections
import json
import random
import subprocess

import paho.mqtt.client as mqtt
import pytest
import yaml

from conftest import config_for
from json_doc import differences, output
from lab import BIPLANE, CLOUD, wait_until

PORT = 1887
NOT_AUTHORIZED = 0x87
ACL = """\
# of clients without a user name
topic read $SYS/#
topic write open/#
topic deny open/closed

user anna
topic plant/anna/#
topic deny plant/anna/secret/+
topic write plant/+/shared
topic write $app/x

user bert
topic write #
topic deny plant/bert

pattern write client/%c/#
pattern write user/%u/+
pattern deny user/%u/secret
"""
LEVELS = ["plant", "anna", "bert", "shared", "secret", "open", "closed", "client", "user", "$app", "x", "pump", ""]


@pytest.fixture(scope="module")
def acl(tmp_path_factory):
    path = tmp_path_factory.mktemp("policy") / "acl"
    path.write_text(ACL)
    path.chmod(0o644)
    path.parent.chmod(0o755)
    return path


@pytest.fixture(scope="module")
def broker(lab, acl):
    conf = acl.parent / "mosquitto.conf"
    conf.write_text(f"user root\nlistener {PORT}\nallow_anonymous true\nacl_file {acl}\n")
    p = lab.popen("cloud", "mosquitto", "-c", conf, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until("a listening broker", lambda: f":{PORT} " in lab.run("cloud", "ss", "-ltn").stdout.decode())
    yield
    p.terminate()
    p.wait(10)


@pytest.fixture(scope="module")
def g(lab, broker, acl, module_gateway):
    out = subprocess.run([BIPLANE, "policy", "import", acl], capture_output=True, text=True, check=True, timeout=20).stdout
    imported = yaml.safe_load(out)
    imported["policy"]["fail_overrides"] = [{"interface": "bridge0", "fail": "closed"}]
    gateway = module_gateway(config_for(tcp_ports=[PORT], rules=[], **imported))
    yield gateway
    gateway.stop()


class Client:
    """Notes the publications and wills that the broker refuses."""

    def __init__(self, lab, client_id, user):
        self.id = client_id
        self.refused = collections.Counter()
        self.answers = {}
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5, client_id=client_id)
        if user is not None:
            self.client.username_pw_set(user)
        self.client.on_publish = self._on_publish
        with lab.inside("dev"):
            self.client.connect(CLOUD, PORT)
            self.client.loop_start()
        wait_until("a connection", self.client.is_connected)

    def _on_publish(self, client, userdata, mid, reason, properties):
        self.answers[mid] = reason.value

    def publish(self, topics):
        for topic in topics:
            mid = self.client.publish(topic, "1", qos=1).mid
            wait_until("the acknowledgement", lambda mid=mid: mid in self.answers)
            if self.answers[mid] == NOT_AUTHORIZED:
                self.refused[topic] += 1

    def close(self):
        self.client.disconnect()
        self.client.loop_stop()


def observed(g, packet):
    lines = g.command("tail", "events", "-c", g.identity, "--type", "policy", "--json", "-n", 5000, "--no-follow").stdout
    events = [json.loads(line) for line in lines.splitlines()]
    seen = collections.defaultdict(collections.Counter)
    for e in events:
        if e["policy"]["packet"] == packet:
            seen[e["policy"].get("client_id", "")][e["policy"]["topic"]] += 1
    return seen


def test_same_as_mosquitto(lab, g):
    dice = random.Random(29)
    clients = [Client(lab, i, user) for i, user in
               [("pump", None), ("anna-1", "anna"), ("bert-1", "bert"), ("secret", "carl"), ("x", "anna")]]
    fixed = ["plant/anna/secret", "plant/anna/secret/x", "plant/x/shared", "plant/bert", "open/x", "open/closed", "open",
             "client/pump/x", "client/pump", "user/anna/x", "user/anna/secret", "user/bert/secret", "$app/x", "$app/x/x"]
    for c in clients:
        # a leading level without text and $SYS are the broker's own matter
        topics = ["/".join(dice.choices(LEVELS, k=dice.randint(1, 4))) for _ in range(60)]
        c.publish(fixed + [t for t in topics if t and not t.startswith("$SYS")] + fixed[:3])
    refused = {c.id: c.refused for c in clients}
    assert sum(sum(r.values()) for r in refused.values()) > 100
    seen = observed(g, "publish")
    assert {c: dict(n) for c, n in seen.items()} == {c: dict(n) for c, n in refused.items() if n}
    for c in clients:
        c.close()
    rules = {r["name"]: r for r in g.show("policy")["rules"]}
    assert rules["connect"]["decisions"] == len(clients)
    assert [(o["port"], o["fail"]) for o in g.show("policy")["fail_overrides"]] == [(p, "closed") for p in ("devices", "cloud", "edge")]
    assert rules["acl-4"]["action"] == "observe" and rules["acl-4"]["decisions"] >= 1
    assert g.counter("policy_observed") == sum(sum(r.values()) for r in refused.values())
    assert g.counter("policy_undecided") == 0
    report = output(g, "policy", "report", "-c", g.identity, "-n", "0")
    assert not differences("policy report", report)
    assert not differences("show policy", output(g, "show", "policy", "-c", g.identity))
    assert {(r["client_id"], r["topic"]): r["packets"] for r in report["refused"]} == \
        {(c, t): n for c, topics in refused.items() for t, n in topics.items()}
    assert report["observed"] == g.counter("policy_observed") and report["not_listed"] == 0


def test_reload_and_subscriptions(lab, g):
    before = g.counter("policy_observed")
    policy = {"default": "observe", "rules": [
        {"name": "connect", "packet": "connect", "action": "allow"},
        {"name": "commands", "packet": "subscribe", "topic": "cmd/{client}/#", "action": "allow"}]}
    g.reload(g.config | {"mqtt": g.config["mqtt"] | {"policy": policy}})
    lab.run("dev", "timeout", "3", "mosquitto_sub", "-h", CLOUD, "-p", PORT, "-i", "valve", "-t", "cmd/valve/#", "-t", "cmd/#",
            "-t", "cmd/valve", check=False)
    assert g.counter("policy_observed") == before + 1
    assert observed(g, "subscribe") == {"valve": {"cmd/#": 1}}
    assert g.show("policy")["rules"][1]["decisions"] == 2


def test_conditions(lab, g):
    rules = [
        {"name": "slow", "packet": "connect", "keep_alive": {"above": "2m"}},
        {"name": "range", "topic": "sp/#", "payload": {"value": {"json": "$.v"}, "condition": {"outside": [0, 80]}}},
        {"name": "storm", "topic": "storm/#", "rate": {"per": "client", "above": "1/h", "burst": 3}},
        {"name": "days", "topic": "day/#", "hours": {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]}},
        {"name": "large", "topic": "large/#", "packet_larger_than": 1000}]
    rules = [{"action": "observe", **({} if "packet" in r else {"packet": "publish"}), **r} for r in rules]
    g.reload(g.config | {"mqtt": g.config["mqtt"] | {"policy": {"rules": rules}}})

    def publish(client, topic, *lines, keep_alive=60):
        lab.run("dev", "mosquitto_pub", "-h", CLOUD, "-p", PORT, "-i", client, "-k", keep_alive, "-t", topic, "-l",
                input="".join(f"{line}\n" for line in lines).encode())

    publish("valve", "sp/1", '{"v":79}', '{"v":81}', '{"v":"81"}', '{"v":-1}', "81")
    publish("valve", "storm/1", *range(10), keep_alive=180)
    publish("pump", "storm/1", *range(3))
    publish("pump", "day/1", *range(2))
    publish("pump", "large/1", "x" * 100, "x" * 5000)
    wait_until("the decisions", lambda: {r["name"]: r["decisions"] for r in g.show("policy")["rules"]} ==
               {"slow": 1, "range": 2, "storm": 7, "days": 2, "large": 1})
    assert g.counter("policy_value_missing") == 2
    conditions = [r["conditions"] for r in g.show("policy")["rules"]]
    assert conditions == ["keep_alive above 120s", "payload json $.v outside 0..80", "rate above 1/h (burst 3) per client",
                          "hours 00:00..24:00", "packet_larger_than 1000"], conditions
