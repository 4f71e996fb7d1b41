# SPDX-License-Identifier: BSD-3-Clause
"""`biplane config schema` accepts what `config check` accepts: schema_test.py BIPLANE TREE"""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import yaml

biplane, tree = sys.argv[1], Path(sys.argv[2])
failures = []


class Loader(yaml.SafeLoader):
    """YAML 1.2, as biplane reads it: on, off, yes and no are words, and 1:2 is no number."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:int",
                                                                      "tag:yaml.org,2002:timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", __import__("re").compile("^(true|false)$"), list("tf"))
Loader.add_implicit_resolver("tag:yaml.org,2002:int", __import__("re").compile("^[-+]?[0-9]+$"), list("-+0123456789"))

schema = json.loads(subprocess.run([biplane, "config", "schema"], check=True, capture_output=True, text=True).stdout)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)


def errors(text):
    return [f"{e.json_path}: {e.message}"[:300] for e in validator.iter_errors(yaml.load(text, Loader))]


files = [p for p in sorted((tree / "docs/examples").rglob("*.yaml")) if p.parent.name != "container"] + [tree / "install/biplane.yaml"]
if len(files) < 10:
    failures.append("too few examples found")
for path in files:
    failures += [f"{path}: {e}" for e in errors(path.read_text())]
    # with every default written out, too
    shown = subprocess.run([biplane, "config", "show", "-c", path], capture_output=True, text=True, check=False)
    failures += [f"config show -c {path}: {e}" for e in errors(shown.stdout)] if shown.returncode == 0 else [shown.stderr]

PORTS = "ports: [{name: a, device: x}, {name: b, device: y}]\n"
for wrong in ("bridge: [[a, b]]", "poll_mode: fast", "mbufs: 0", "mbufs: 12.5", "version: 2", "mqtt: {max_connections: 0}",
              "runtime: {watchdog: 5}", "runtime: {memory: 1 potato}", "mqtt: {rules: {}}", "mqtt: {rules: [{topic: x}]}"):
    if not errors(PORTS + wrong):
        failures.append(f"accepted: {wrong}")
if not errors("name: a"):
    failures.append("accepted: a file without ports")

print("\n".join(failures) or f"ok: {len(files)} files")
sys.exit(bool(failures))
