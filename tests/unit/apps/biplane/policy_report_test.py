# SPDX-License-Identifier: BSD-3-Clause
"""biplane policy report over captures, against what the clients' own record of a capture has: policy_report_test.py BIPLANE TREE"""

import json
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

TREE = Path(sys.argv.pop(2))
BIPLANE = sys.argv.pop(1)
FIXTURES = TREE / "tests" / "fixtures"
CONFIG = {"version": 1, "ports": [{"name": "a", "device": "net_null0"}, {"name": "b", "device": "net_null1"}],
          "bridges": [{"name": "line", "ports": ["a", "b"]}]}


def run(*args, policy=None, capture="subscribe", status=0):
    with tempfile.TemporaryDirectory() as d:
        path = Path(d) / "c.yaml"
        path.write_text(json.dumps(CONFIG | {"mqtt": {"policy": policy} if policy else {"max_connections": 1000}}))
        p = subprocess.run([BIPLANE, *args, "-c", path, "--in", f"a={FIXTURES / capture}.pcap"], capture_output=True, text=True,
                           check=False, timeout=60)
    assert p.returncode == status, p.stderr
    return p.stdout


def report(policy, capture="subscribe", args=("-n", "0")):
    return json.loads(run("policy", "report", *args, "--json", policy=policy, capture=capture))


def published(capture):
    return json.loads((FIXTURES / f"{capture}.json").read_text())["published"]


def refused(out, packet):
    return Counter({(r["client_id"], r["topic"], r["rule"]): r["packets"] for r in out["refused"] if r["packet"] == packet})


class Report(unittest.TestCase):
    def test_known_refusals(self):
        """The first rule that matches a publication decides about it: by a model of the rules."""
        for capture in ("subscribe", "v311_qos012", "v5_alias"):
            records = published(capture)
            topic = Counter(p["topic"] for p in records).most_common(1)[0][0]
            large = sorted(p["length"] for p in records)[len(records) // 2]
            policy = {"default": "observe", "rules": [
                {"name": "acknowledged", "packet": "publish", "qos": 1, "action": "observe"},
                {"name": "large", "packet": "publish", "larger_than": large, "action": "observe"},
                {"name": "own", "packet": "publish", "topic": topic, "action": "allow"},
                {"name": "others", "packet": "connect", "action": "allow"}]}
            due = Counter()
            for p in records:
                rule = "acknowledged" if p["qos"] == 1 else "large" if p["length"] > large else None
                if rule or p["topic"] != topic:
                    due[p["client"], p["topic"], rule] += 1
            out = report(policy, capture)
            self.assertGreater(len(due), 2, capture)
            self.assertEqual(refused(out, "publish"), due, capture)
            self.assertEqual(out["observed"], sum(r["packets"] for r in out["refused"]))
            self.assertEqual(out["not_listed"], 0)
            rules = {r["rule"]: r for r in out["rules"]}
            for name in ("acknowledged", "large", None):
                self.assertEqual(rules[name]["decisions"], sum(r["packets"] for r in out["refused"] if r["rule"] == name))
                self.assertAlmostEqual(rules[name]["share"], rules[name]["decisions"] / out["observed"])
            self.assertIsNone(rules["own"]["share"])
            self.assertEqual(refused(out, "connect"), Counter())
            self.assertAlmostEqual(out["share"], out["observed"] / out["packets"])

    def test_subscriptions_and_connections(self):
        out = report({"default": "allow", "rules": [{"name": "all", "packet": "subscribe", "topic": "#", "action": "observe"},
                                                    {"name": "five", "packet": "connect", "mqtt_version": "5.0", "action": "observe"}]})
        self.assertEqual({(c, t) for c, t, _ in refused(out, "subscribe")},
                         {("sub-five", "plant/#"), ("sub-cli", "plant/+/temperature")})
        self.assertIn(("pub-both", None, "five"), refused(out, "connect"))
        self.assertEqual(refused(out, "publish"), Counter())

    def test_port(self):
        """The port of a capture is that of its clients, also where the capture has both directions."""
        for port, refused_there in (("a", True), ("b", False)):
            out = report({"rules": [{"name": "here", "packet": "publish", "port": port, "action": "observe"}]})
            self.assertEqual(out["observed"] > 0, refused_there, port)
            self.assertEqual([r["undecided"] for r in out["rules"]], [0] * len(out["rules"]))

    def test_a_policy_that_refuses(self):
        """The first refused packet of a connection ends it."""
        policy = {"default": "allow", "rules": [{"name": "no-reading", "packet": "subscribe", "topic": "#", "action": "close"},
                                                {"name": "odd", "packet": "publish", "topic": "plant/oven1/#", "action": "observe"}]}
        out = report(policy)
        self.assertEqual(refused(out, "subscribe"), {("sub-five", "plant/#", "no-reading"): 1, ("sub-cli", "plant/+/temperature", "no-reading"): 1})
        self.assertEqual({r["action"] for r in out["refused"] if r["packet"] == "subscribe"}, {"close"})
        self.assertEqual((out["enforced"], out["connections_closed"], out["not_listed"]), (2, 2, 0))
        self.assertEqual(out["observed"], sum(1 for p in published("subscribe") if p["topic"].startswith("plant/oven1/")))
        self.assertIn("It has refused 2 packets and ended 2 connections.", run("policy", "report", policy=policy))

    def test_what_has_no_decision(self):
        """A capture without its CONNECT: rules for a client are not decided."""
        data = (FIXTURES / "subscribe.pcap").read_bytes()
        out = report({"default": "observe", "rules": [{"name": "own", "client_id": "sub-*", "action": "allow"}]})
        self.assertEqual(out["not_decided"], [])
        order = "little" if data[:1] in (b"\xd4", b"\x4d") else "big"
        at, cut = 24, data[:24]
        while at < len(data):
            size = int.from_bytes(data[at + 8:at + 12], order)
            if b"MQTT" not in data[at + 16:at + 16 + size]:
                cut += data[at:at + 16 + size]
            at += 16 + size
        with tempfile.TemporaryDirectory() as d:
            path = Path(d) / "cut"
            path.with_suffix(".pcap").write_bytes(cut)
            out = report({"default": "observe", "rules": [{"name": "own", "client_id": "sub-*", "action": "allow"}]}, path)
        self.assertTrue(out["not_decided"])
        self.assertTrue(all(c["count"] > 0 and c["description"] for c in out["not_decided"]))

    def test_text_and_limit(self):
        policy = {"default": "observe", "rules": [{"name": "never", "packet": "will", "action": "allow"}]}
        everything = report(policy)
        out = report(policy, args=("-n", "1"))
        self.assertEqual(len(out["refused"]), 1)
        self.assertEqual(out["refused"][0]["packets"], max(r["packets"] for r in everything["refused"]))
        self.assertEqual(out["not_listed"], everything["observed"] - out["refused"][0]["packets"])
        text = run("policy", "report", policy=policy)
        self.assertIn(f"The policy observes {everything['observed']} of {everything['packets']} inspected MQTT packets", text)
        self.assertIn("Rules without decisions: 1.", text)
        self.assertIn("pub-both", text)
        self.assertNotIn("totals", text)
        self.assertIn(text, run("replay", policy=policy))

    def test_without_a_policy(self):
        self.assertEqual(run("policy", "report"), "no policy: mqtt.policy is not configured\n")
        self.assertNotIn("policy", json.loads(run("replay", "--json")))

    def test_usage(self):
        p = subprocess.run([BIPLANE, "policy", "report", "--in", "a=x.pcap"], capture_output=True, text=True, check=False, timeout=20)
        self.assertEqual(p.returncode, 64)
        self.assertIn("--in needs -c FILE", p.stderr)


if __name__ == "__main__":
    unittest.main()
