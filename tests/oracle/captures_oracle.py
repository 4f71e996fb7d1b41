#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recorded captures through `biplane replay`: the alarms of the model for the publications that tshark reads in them, at the same times and with
the same values. captures_oracle.py BIPLANE [CAPTURE ...]"""

import json
import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from pathlib import Path

import capture
import model
import rules_oracle
import streams

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
RECORDED = [HERE / "captures" / "zeek-mqtt.pcap"] + [FIXTURES / f"{name}.pcap" for name in (
    "ipv6", "split_mtu128", "subscribe", "v31", "v311_qos012", "vlan")]
EACH = {"at_least": -1e308}  # an alarm for each number
RANDOM_RULES = 40
SHOWN = 20  # alarms of a difference
ALARMS_MIN = 4 * RANDOM_RULES  # of all captures: fewer compare nothing


def tshark(recorded, *args):
    return subprocess.run(["tshark", "-n", "-r", recorded, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, timeout=120).stdout


def ms(seconds):
    return Fraction(seconds) * 1000


def packets(recorded):
    """(time, connection, fields) of each CONNACK and PUBLISH, at the frame that completes it"""
    for packet in ElementTree.fromstring(tshark(recorded, "-Y", "mqtt.msgtype == 2 || mqtt.msgtype == 3", "-T", "pdml")).iter("packet"):
        at = ms(packet.find(".//field[@name='timestamp']").get("value"))
        connection = packet.find(".//field[@name='tcp.stream']").get("show")
        for pdu in packet.iter("proto"):
            fields = {f.get("name"): f for f in pdu.iter("field")} if pdu.get("name") == "mqtt" else {}
            if "mqtt.msgtype" in fields:
                yield at, connection, fields


def publications(recorded):
    """(time, topic, payload) in both directions. One before the CONNACK counts with it: see docs/explanation/inspection.md."""
    out, accepted = [], set()
    for at, connection, fields in packets(recorded):
        kind = fields["mqtt.msgtype"].get("show")
        if kind == "2":
            accepted.add(connection)
            out = [(at if not ready and of == connection else then, topic, payload, of, ready or of == connection)
                   for then, topic, payload, of, ready in out]
        elif kind == "3":
            payload = fields.get("mqtt.msg")
            raw = b"" if payload is None else bytes.fromhex(payload.get("value") or "")
            out.append((at, fields["mqtt.topic"].get("show"), raw, connection, connection in accepted))
    return sorted((p[:3] for p in out), key=lambda p: p[0])


def numbers(pubs):
    """Where the payloads have numbers: the source, and the values"""
    found = {None: [v for _, _, payload in pubs for v in model.values_of("text", payload)]}
    for _, _, payload in pubs:
        members = model.parsed("json", payload)
        for name, value in members.items() if isinstance(members, dict) else []:
            if model.typed(value, "number") is not model.NOTHING and name.isalnum():
                found.setdefault(f"$.{name}", []).append(float(value))
    return {path: values for path, values in found.items() if values}


def with_source(rule, path):
    return rule if path is None else {**rule, "value": {"json": path}}


def random_rule(rng, name, path, values):
    rule = with_source({"name": name, "topic": "#"}, path)
    if rng.random() < 0.5:
        rule["window"] = streams.window(rng)
    for key in ("raise", "clear"):
        bound = rng.choice(values) + rng.choice((0, 0.013)) * ("window" in rule)
        rule[key] = {rng.choice(("above", "at_least", "below", "at_most")): bound}
    if rng.random() < 0.4:
        del rule["clear"]
    streams.state_settings(rng, rule, True)
    return rule


def rules(pubs):
    rng, found = random.Random(1), numbers(pubs)
    out = [{"name": "string", "topic": "#", "value": {"type": "string"}, "raise": {"not_equals": "?"}},
           {"name": "silent", "topic": "#", "absent": "2s"}]
    out += [with_source({"name": f"each-{i}", "topic": "#", "raise": EACH}, path) for i, path in enumerate(found)]
    for i in range(RANDOM_RULES if found else 0):
        path = rng.choice(list(found))
        out.append(random_rule(rng, f"r{i}", path, found[path]))
    return out


def replay(biplane, of, recorded, folder):
    file, pcap = Path(folder) / "rules.yaml", Path(folder) / "in.pcap"
    pcap.write_bytes(capture.whole(recorded.read_bytes()))
    settings = rules_oracle.config(of)
    settings["mqtt"]["directions"] = "both"
    file.write_text(json.dumps(settings))
    p = subprocess.run([biplane, "replay", "-c", file, "--in", f"devices={pcap}", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, text=True, check=False, timeout=300)
    if p.returncode != 0:
        raise RuntimeError(f"biplane replay of {recorded}: {p.returncode}: {p.stderr}")
    return json.loads(p.stdout)


def same(a, b):
    """Ends of panes are not exact in a double."""
    return len(a) == len(b) and all(abs(x[0] - y[0]) < 0.001 for x, y in zip(a, b)) and rules_oracle.same(
        [(0, *x[1:]) for x in a], [(0, *x[1:]) for x in b])


def judge(biplane, recorded, folder):
    """The number of alarms; None: they differ."""
    pubs = publications(recorded)
    of = rules(pubs)
    end = ms(tshark(recorded, "-T", "fields", "-e", "frame.time_epoch").decode().split()[-1])
    out = replay(biplane, of, recorded, folder)
    got = rules_oracle.by_key((a["rule"], a["topic"], Fraction(a["time_ns"], 10**6), a["state"], a["value"]) for a in out["alarms"])
    want = rules_oracle.by_key(model.alarms(of, pubs, end))
    different = [key for key in sorted({*want, *got}) if not same(want[key], got[key])]
    print(f"{recorded.name}: {len(pubs)} publications, {sum(map(len, want.values()))} alarms, {len(different)} keys differ")
    for name, topic in different[:1]:
        print(json.dumps(next(r for r in of if r["name"] == name)))
        for who, alarms in (("model", want), ("biplane", got)):
            print(f"  {who}: {topic}", *(f"{float(a[0] - pubs[0][0]):g} ms {a[1]} {a[2]}"[:120] for a in alarms[name, topic][:SHOWN]), sep="\n    ")
    return None if different else sum(map(len, want.values()))


def main(biplane, *captures):
    with tempfile.TemporaryDirectory(prefix="bp-oracle-") as folder:
        alarms = [judge(biplane, Path(c), folder) for c in captures or RECORDED]
    if None in alarms:
        return 1
    return 0 if captures or sum(alarms) > ALARMS_MIN else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
