# SPDX-License-Identifier: BSD-3-Clause
"""Names in queries against the list of the names of all metrics."""

import re

SUFFIXES = "_bucket", "_sum", "_count"


def names(tree):
    """{name of a metric: its labels}."""
    rows = [line.split(" ") for line in (tree / "tests/unit/apps/biplane/metrics_names.txt").read_text().splitlines()]
    found = {}
    for name, kind, _, labels in rows:
        values = set() if labels == "-" else set(labels.replace("?", "").split(","))
        if kind == "histogram":
            found |= {name + s: values | {"le"} for s in SUFFIXES}
        else:
            found[name] = values
    return found


def unknown_metrics(tree, expression):
    """Metrics and matched labels of a query that do not exist."""
    known = names(tree)
    bad = []
    for name, matchers in re.findall(r"\b(biplane_\w+)(?:\{([^}]*)\})?", expression):
        if name not in known:
            bad.append(name)
            continue
        labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers)) - {"instance", "job"}
        bad += [f"{name}{{{label}}}" for label in sorted(labels - known[name])]
    return bad
