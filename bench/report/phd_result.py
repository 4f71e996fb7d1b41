# SPDX-License-Identifier: BSD-3-Clause
"""What of a run of scripts/bench stands next to the dual-plane gateway's Figures 3 to 6."""
import papers

# Nodes that parse, analyse and convert messages; all else is what the paper calls overhead
MESSAGE_NODES = ("phd", "cse", "answer")
WIRE_PART = 3  # of --seconds, for each measurement of case phd-sizes


def beside_on_line(r):
    """Throughput next to that of one plane at the paper's rate of 1 Gb/s, as in Figure 4."""
    return min(r["most_pps"], r["paper_pps"]) / min(r["single_most_pps"], r["paper_pps"])


def loss_percent(r, wire, seconds):
    """What biplane lost of the reports of a wire, in percent; wire: "paper", or "line" with all that a wire carries."""
    return 100 * r[f"{wire}_lost"] / (r[f"{wire}_pps"] * seconds / WIRE_PART)


def paper_single(messages):
    """Figure 6, one plane with DPDK: the text gives it next to two planes, which have themselves lost a little."""
    return papers.PHD_SINGLE[messages] * (1 - papers.PHD_CONTROL_LOSS)


def kept(r, side, seconds):
    """Of the paper's 262,144 frames a second, control messages among them, the part that "dual" or "single" did not lose;
    None: not measured."""
    if f"{side}_wire_lost" not in r:
        return None
    return 1 - r[f"{side}_wire_lost"] / (papers.PHD_DATA_PPS * seconds)


def overhead(run):
    """Figure 3, of cycles: what is not message processing, of all that a report takes; None where it was not measured."""
    for case in run.get("nodes") or []:
        if case["case"] == "phd":
            messages = sum(n["cycles"] for n in case["nodes"] if n["node"] in MESSAGE_NODES)
            whole = max(case["worker_cycles"], case["node_cycles"])
            return {"cycles": whole, "message_cycles": messages, "overhead_percent": 100 * (1 - messages / whole)}
    return None
