#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Summarises several rounds of biplane-bench --nodes for several cases as one JSON list, and prints that as a table.

  bench/report/nodes_result.py DIR/nodes-CASE...
  bench/report/nodes_result.py --table

Each file has one JSON object per line and round. --table reads the result from standard input. Cycles are those of the
timestamp counter, per packet (for disaggregate: per restored message).
"""
import json
import re
import sys


def kind(node):
    """bp_port_tx-1 and bp_port_tx-2 are clones of one node, port_tx."""
    return re.sub(r"^bp_", "", re.sub(r"-.*$", "", node))


def cycles_of(run):
    """{node: cycles per packet}, clones together, in the order of the graph."""
    out = {}
    for n in run["nodes"]:
        out[kind(n["node"])] = round(out.get(kind(n["node"]), 0) + n["cycles"], 2)
    return out


def middle(runs):
    """The round with the median of cycles (of two, the lower one): the parts of one run add up."""
    in_order = sorted(runs, key=lambda run: sum(cycles_of(run).values()))
    return in_order[(len(in_order) - 1) // 2]


def case_result(name, runs):
    run = middle(runs)
    nodes = cycles_of(run)
    return {"case": name, "hz": run["hz"], "worker_cycles": run["worker_cycles"],
            "node_cycles": round(sum(nodes.values()), 2),
            "nodes": [{"node": node, "cycles": cycles} for node, cycles in nodes.items()]}


def between(case):
    """Cycles of the graph walk and the loop around it; none if both figures differ only by noise."""
    return max(0.0, case["worker_cycles"] - case["node_cycles"])


def table(cases):
    out = ["", "nodes: cycles a packet by graph node, of one worker",
           f"{'case':<13} {'worker':>7} {'nodes':>7}  of these"]
    for case in cases:
        most = sorted(case["nodes"], key=lambda n: -n["cycles"])
        out.append(f"{case['case']:<13} {case['worker_cycles']:>7.1f} {case['node_cycles']:>7.1f}  "
                   + ", ".join(f"{n['node']} {n['cycles']:.1f}" for n in most if n["cycles"] >= 0.05))
    return "\n".join(out)


def main():
    if sys.argv[1:] == ["--table"]:
        print(table(json.load(sys.stdin)))
        return
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    out = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            out.append(case_result(path.rsplit("nodes-", 1)[-1], [json.loads(line) for line in f]))
    print(json.dumps(out))


if __name__ == "__main__":
    main()
