# SPDX-License-Identifier: BSD-3-Clause
"""The sections of docs/performance/results.md: of which case, with which table and which picture."""

from dataclasses import dataclass, field
from typing import Callable

import report_more_tables as more
import report_paper_tables as paper
from report_markdown import failed


@dataclass
class Picture:
    script: str
    names: list  # of what it draws
    before: list = field(default_factory=list)  # arguments before the run's file
    after: list = field(default_factory=list)  # and behind the pictures
    needs: list = field(default_factory=list)  # parts of the run without which it can't be drawn


@dataclass
class Section:
    title: str
    cases: str  # as scripts/bench calls them
    text: str
    table: Callable  # of the run: lines of Markdown, or none when the run does not have it
    picture: Picture


SECTIONS = [
    Section("Alarms (Atutxa et al., Figures 9, 10, 11 and 13)", "alarm-paper",
            "25 ms there and back to the cloud are those of biplane-wan-sim, between two interfaces; the paper's testbed has virtual "
            "machines and a SmartNIC. The paper's numbers are from its Section 6; of Figure 11a it gives none.",
            paper.alarm, Picture("plot_alarm", ["alarm-paper"], needs=["alarm_paper"])),
    Section("Aggregation (Lin et al., Figures 9 and 12)", "aggregate-figure9",
            "Both ends on one processor; goodput is the part of an N-packet that is messages. The paper's curves have no numbers in "
            "its text. What it gives is Equations 3 to 5, which say what goodput at its end is beside that of N = 1, and that on "
            "servers it is less than that.",
            paper.goodput, Picture("plot_goodput", ["aggregation-goodput"], needs=["aggregate_figure9"])),
    Section("Aggregation, models (Lin et al., Figures 7 and 10)", "aggregate-models",
            "In virtual time, on the gateway's own aggregator; why the paper's Figure 7 has its server behind the aggregator, and what "
            "to think of its Figure 10: [aggregation-models.md](aggregation-models.md).",
            paper.models, Picture("plot_models", ["aggregation-models"], needs=["aggregate_models"])),
    Section("Coordinates (Kunze et al., Figures 5 and 6)", "transform-times transform-figure6 transform-sockets",
            "The paper's times and rates are in its text as far as they are marked: what is asked for (Section III-A), and two rates "
            "of its program of sockets (Section V-C).",
            paper.transform, Picture("plot_transform", ["transform-times", "transform-throughput"],
                                     needs=["transform/times", "transform/figure6", "transform/sockets"])),
    Section("Errors of coordinates (Kunze et al., Table I)", "transform-accuracy",
            "Readings and matrices are drawn as the senders of the paper's authors draw them; a hundred readings have a matrix in "
            "common. More: [transform-accuracy.md](../explanation/transform-accuracy.md).",
            paper.accuracy, Picture("plot_accuracy", ["transform-accuracy"], needs=["transform_accuracy"])),
    Section("Health devices by size (dual-plane gateway, Figures 3 to 5)", "phd-sizes nodes",
            "Reports at the paper's rate of 1 Gb/s (2^30 bits of APDUs) and at a wire's, and what a gateway of one plane over sockets "
            "converts. The paper gives throughput by ratios, losses for 64 octets and where there are none (Section 4.2), and overhead "
            "as one number (4.1).",
            paper.sizes, Picture("plot_phd", ["phd-sizes"], before=["sizes"], needs=["phd_sizes"])),
    Section("Two planes (dual-plane gateway, Figure 6)", "phd-figure6 figure6",
            "User data while control messages come, in two planes and in one. The paper gives one plane beside two; its two lose "
            "1.9 %, so its one is that much less than it says beside none. At the paper's rate a worker of today has much to spare, "
            "so the load that it can just do shows more.",
            paper.planes, Picture("plot_phd", ["planes"], before=["planes"])),
    Section("LCL scheduling (Ma et al., Figure 4(c) to (f)), in virtual time", "lcl-paper",
            "The gateway's scheduler and Table 1's traffic at 25 Gb/s: [lcl-simulation.md](lcl-simulation.md). The paper's bounds are "
            "its formulas, which its figure shows kept; values of its curves are not in its text.",
            paper.lcl_paper, Picture("plot_lcl", ["lcl-paper"], after=["lcl_paper"], needs=["lcl_paper"])),
    Section("LCL scheduling, in real time", "lcl-hops",
            "Gateways in a line, on a clock, on a shared machine; turns are longer than the paper's where the machine needs it: "
            "[lcl.md](lcl.md).",
            paper.lcl, Picture("plot_lcl", ["lcl-real"], needs=["lcl_hops"])),
    Section("What else a user would take", "peers",
            "On the same veth pairs, whose cost is the kernel's: [peers.md](peers.md).",
            more.peers, Picture("plot_peers", ["peers"], needs=["peers"])),
    Section("Rates beside testpmd", "bridge text json ...",
            "One worker, input and output in memory, in turn with `dpdk-testpmd` or with another case of biplane's own.",
            more.rates, Picture("plot_rates", ["rates"], before=["rates"], needs=["rates"])),
    Section("All five at once", "mix", "One gateway, all services on, one worker: [mix.md](mix.md).",
            more.mix, Picture("plot_mix", ["mix"], needs=["mix"])),
    Section("Where a packet's cycles go", "nodes", "By graph node, of the time-stamp counter.",
            more.nodes, Picture("plot_nodes", ["nodes"], needs=["nodes"])),
    Section("Cost as work grows", "growth", "Each step in turn with the least of its series: [growth.md](growth.md).",
            more.growth, Picture("plot_growth", ["growth"], needs=["growth"])),
    Section("Forwarding tables", "lookup", "Random look-ups, beside DPDK's own tables.",
            more.lookup, Picture("plot_rates", ["lookup"], before=["lookup"], needs=["lookup"])),
    Section("The control plane", "latency publish sync phd-associations", "What the kernel, a broker and health devices ask of it.",
            more.control, Picture("plot_control", ["control"])),
]


def failed_of(section, run):
    """A sentence for each of its cases that failed; "..." are all that no section names."""
    named = section.cases.split()
    if "..." in named:
        others = {c for s in SECTIONS for c in s.cases.split()}
        named += [f["case"] for f in run.get("failed") or [] if f["case"] not in others]
    return failed(run, named)
