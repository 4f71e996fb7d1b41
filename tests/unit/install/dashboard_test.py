#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Grafana dashboard: its queries and legends refer to metrics and labels that exist, and no panels overlap:
dashboard_test.py TREE. tests/e2e/monitoring evaluates the queries in Prometheus."""

import json
import re
import sys
from pathlib import Path

tree = Path(sys.argv[1])
sys.path.insert(0, str(tree / "tests" / "unit" / "install"))
from metric_names import names, unknown_metrics  # noqa: E402

known = names(tree)
dashboard = json.loads((tree / "install/grafana/biplane.json").read_text())
failures = []
cells = {}
seen = set()
for panel in dashboard["panels"]:
    title, g = panel["title"], panel["gridPos"]
    if panel["id"] in seen:
        failures.append(f"{title}: id {panel['id']} occurs twice")
    seen.add(panel["id"])
    for cell in ((x, y) for x in range(g["x"], g["x"] + g["w"]) for y in range(g["y"], g["y"] + g["h"])):
        if cell in cells or cell[0] >= 24:
            failures.append(f"{title} overlaps {cells.get(cell, 'the border')}")
            break
        cells[cell] = title
    if panel["type"] == "row":
        continue
    if not panel["targets"]:
        failures.append(f"{title}: no query")
    for target in panel["targets"]:
        expr = target["expr"]
        failures += [f"{title}: no metric {name}" for name in unknown_metrics(tree, expr)]
        if 'instance=~"$instance"' not in expr:
            failures.append(f"{title}: the query is not limited to the selected gateways")
        if target["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
            failures.append(f"{title}: another data source")
        labels = set().union(*(known[n] for n in re.findall(r"\bbiplane_\w+", expr) if n in known)) | {"instance"}
        failures += [f"{title}: no label {label}" for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
                     if label not in labels]
print("\n".join(failures))
sys.exit(bool(failures))
