# SPDX-License-Identifier: BSD-3-Clause
"""Figures of a run of scripts/bench that correspond to Figures 3 to 6 of the dual-plane gateway."""
import papers

# Nodes that parse, analyse and convert messages; the paper calls all other work overhead
MESSAGE_NODES = ("phd", "cse", "answer")
WIRE_PART = 3  # fraction of --seconds for each measurement of case phd-sizes


def beside_on_line(r):
    """Throughput relative to that of one plane at the paper's rate of 1 Gb/s, as in Figure 4."""
    return min(r["most_pps"], r["paper_pps"]) / min(r["single_most_pps"], r["paper_pps"])


def loss_percent(r, wire, seconds):
    """Loss of reports in biplane at a wire's rate, in percent; wire: "paper", or "line" at the full link rate."""
    return 100 * r[f"{wire}_lost"] / (r[f"{wire}_pps"] * seconds / WIRE_PART)


def paper_single(messages):
    """Figure 6, one plane with DPDK: the text gives it relative to two planes, which have a small loss themselves."""
    return papers.PHD_SINGLE[messages] * (1 - papers.PHD_CONTROL_LOSS)


def kept(r, side, seconds):
    """The fraction of the paper's 262,144 frames/s, including control messages, that "dual" or "single" did not lose;
    None: not measured."""
    if f"{side}_wire_lost" not in r:
        return None
    return 1 - r[f"{side}_wire_lost"] / (papers.PHD_DATA_PPS * seconds)


def overhead(run):
    """Figure 3, in cycles: the fraction of overhead, which is not message processing, in the cost of a report; None if
    not measured."""
    for case in run.get("nodes") or []:
        if case["case"] == "phd":
            messages = sum(n["cycles"] for n in case["nodes"] if n["node"] in MESSAGE_NODES)
            whole = max(case["worker_cycles"], case["node_cycles"])
            return {"cycles": whole, "message_cycles": messages, "overhead_percent": 100 * (1 - messages / whole)}
    return None
