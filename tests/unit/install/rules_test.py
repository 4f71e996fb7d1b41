#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The alert rules: Prometheus accepts them, each alert fires in rules_test.yml, and they refer to metrics and settings that
exist, and the how-to has their severities and times: rules_test.py TREE."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

tree = Path(sys.argv[1])
sys.path.insert(0, str(tree / "tests" / "unit" / "install"))
from metric_names import unknown_metrics  # noqa: E402

rules_file, test_file = tree / "install/prometheus/biplane.rules.yml", tree / "tests/unit/install/rules_test.yml"
if not shutil.which("promtool"):
    print("no promtool: install the package prometheus (scripts/setup)")
    sys.exit(77)



def settings():
    """The sections and settings of the reference, such as mqtt.spool.max_size."""
    found, section = set(), ""
    for line in (tree / "docs/reference/configuration.md").read_text().splitlines():
        if line.startswith("## "):
            section = "" if line == "## General" else line[3:].replace("\\", "") + "."
            found.add(section.rstrip("."))
        elif m := re.match(r"\| `([^`]+)`", line):
            found.add(section + m[1])
    return found


failures = []
page = (tree / "docs/howto/prometheus-grafana.md").read_text()
known = settings()
rules = [r for g in yaml.safe_load(rules_file.read_text())["groups"] for r in g["rules"]]
fired = set(re.findall(r'alertname="(\w+)"', test_file.read_text()))
for r in rules:
    if r["alert"] not in fired:
        failures.append(f"{r['alert']} is not tested in {test_file.name}")
    if not {"summary", "description"} <= set(r["annotations"]) or r["labels"].get("severity") not in ("critical", "warning"):
        failures.append(f"{r['alert']}: summary, description and severity are expected")
    failures += [f"{r['alert']}: no metric {name}" for name in unknown_metrics(tree, r["expr"])]
    failures += [f"{r['alert']}: no setting {name}" for name in re.findall(r"(?<!\$labels)(?<![\w.$])[a-z_]+(?:\[\])?(?:\.[a-z_]+)+", r["annotations"]["description"])
                 if name not in known]
    time = re.sub(r"^(\d+)m$", r"\1 minute", r.get("for", "").replace("s", " s"))
    row = re.search(rf"^\| `{r['alert']}` \| {r['labels']['severity']} \| .*$", page, re.M)
    if not row or time not in row[0]:
        failures.append(f"{r['alert']}: the how-to has no row with severity {r['labels']['severity']} and the time {time}")
with tempfile.TemporaryDirectory() as folder:
    shutil.copy(rules_file, folder)
    shutil.copy(test_file, folder)
    for command in ["check", "rules", rules_file.name], ["test", "rules", test_file.name]:
        done = subprocess.run(["promtool", *command], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            failures.append(f"promtool {' '.join(command)}: {done.stdout}{done.stderr}")
print("\n".join(failures))
sys.exit(bool(failures))
