# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/json.md says what --json prints of the commands that need no gateway: json_test.py BIPLANE TREE.

tests/e2e/process/test_json.py has the others."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

biplane, tree = sys.argv[1], Path(sys.argv[2])
sys.path.insert(0, str(tree / "tests" / "e2e"))
from json_doc import differences  # noqa: E402

CONFIG = """version: 1
name: json-test
runtime: {directory: %s/run, hugepages: never}
ports:
  - {name: a, device: net_null0}
  - {name: b, device: net_null1}
bridges: [{name: line, ports: [a, b]}]
"""
RULES = """mqtt:
  publisher: {broker: "mqtt://127.0.0.1"}
  rules: [{name: hot, topic: "#", value: {json: $.celsius}, raise: {above: 0}}]
"""
failures = []


def check(command, *args, status=(0,), stdin="", contains=None):
    done = subprocess.run([biplane, *command.split(), *map(str, args), "--json"], capture_output=True, text=True, check=False,
                          input=stdin)
    if done.returncode not in status:
        failures.append(f"{command}: exit status {done.returncode}: {done.stderr}")
        return
    value = json.loads(done.stdout)
    if value.get("schema_version") != 1 or next(iter(value)) != "schema_version":
        failures.append(f"{command}: no schema_version 1 at the beginning")
    if contains and not value.get(contains):
        failures.append(f"{command} {' '.join(map(str, args))}: no {contains}")
    failures.extend(differences(command, value))


with tempfile.TemporaryDirectory() as folder:
    file, other = Path(folder) / "a.yaml", Path(folder) / "b.yaml"
    file.write_text(CONFIG % folder)
    other.write_text(CONFIG % folder + "workers: 2\n")
    check("version")
    check("capabilities")
    check("doctor", status=(0, 1))
    check("config check", "-c", file)
    check("config check", "-c", tree / "docs" / "examples" / "lcl-edge.yaml", contains="lcl_flows")
    check("config diff", file, other, status=(0, 1))
    check("clean", "-c", file)
    # a capture of MQTT connections through a bridge with rules, and the services without traffic of theirs
    file.write_text(CONFIG % folder + RULES)
    check("replay", "-c", file, "--in", f"a={tree}/tests/fixtures/ipv6.pcap", contains="alarms")
    file.write_text(CONFIG % folder + "mqtt: {policy: {default: observe}}\n")
    check("replay", "-c", file, "--in", f"a={tree}/tests/fixtures/ipv6.pcap", contains="policy")
    check("policy report", "-c", file, "--in", f"a={tree}/tests/fixtures/ipv6.pcap", contains="refused")
    for example, port, part in ("health", "devices", "health_devices"), ("aggregation-near", "devices", "aggregation"), \
            ("aggregation-far", "wan", "aggregation"), ("transform", "trackers", "transformation"), ("lcl-edge", "devices", "lcl"):
        check("replay", "-c", tree / "docs" / "examples" / f"{example}.yaml", "--in", f"{port}={tree}/tests/fixtures/ipv6.pcap",
              contains=part)
    check("transform test", "--in", "-", "--report", stdin="r,phi,theta\n1,0,0\n")

print("\n".join(failures) or "ok")
sys.exit(bool(failures))
