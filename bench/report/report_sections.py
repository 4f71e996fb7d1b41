# SPDX-License-Identifier: BSD-3-Clause
"""The sections of docs/performance/results.md: case, table and figure of each."""

from dataclasses import dataclass, field
from typing import Callable

import report_latency
import report_more_tables as more
import report_paper_tables as paper
from report_markdown import failed


@dataclass
class Picture:
    script: str
    names: list  # of the figures
    before: list = field(default_factory=list)  # arguments before the result file
    after: list = field(default_factory=list)  # arguments after the figures
    needs: list = field(default_factory=list)  # parts of the run without which it cannot be drawn


@dataclass
class Section:
    title: str
    cases: str  # names in scripts/bench
    text: str
    table: Callable  # function of the run: lines of Markdown, or none if the run does not have it
    picture: Picture


SECTIONS = [
    Section("Alarms (Atutxa et al., Figures 9, 10, 11 and 13)", "alarm-paper",
            "biplane-wan-sim adds a round trip of 25 ms between two interfaces. The paper uses virtual machines and a SmartNIC; its "
            "figures are from Section 6. It gives no figures for Figure 11a.",
            paper.alarm, Picture("plot_alarm", ["alarm-paper"], needs=["alarm_paper"])),
    Section("Aggregation (Lin et al., Figures 9 and 12)", "aggregate-figure9",
            "Both ends run on one core. Goodput is the share of message bytes in an aggregate of N messages (N-packet). The text of the "
            "paper has no values of the curves. Its Equations 3 to 5 give the final goodput relative to N = 1; for servers it is lower "
            "than 1.",
            paper.goodput, Picture("plot_goodput", ["aggregation-goodput"], needs=["aggregate_figure9"])),
    Section("Aggregation, models (Lin et al., Figures 7 and 10)", "aggregate-models",
            "Simulation in virtual time with the gateway's aggregation code. [Aggregation models](aggregation-models.md) explains the "
            "position of the server in the paper's Figure 7, and its Figure 10.",
            paper.models, Picture("plot_models", ["aggregation-models"], needs=["aggregate_models"])),
    Section("Coordinates (Kunze et al., Figures 5 and 6)", "transform-times transform-figure6 transform-sockets",
            "The text of the paper gives a time requirement (Section III-A) and two rates of its socket program (Section V-C).",
            paper.transform, Picture("plot_transform", ["transform-times", "transform-throughput"],
                                     needs=["transform/times", "transform/figure6", "transform/sockets"])),
    Section("Errors of coordinates (Kunze et al., Table I)", "transform-accuracy",
            "Readings and matrices are random, with the distributions of the paper's senders; 100 readings share one matrix. Details: "
            "[accuracy](../explanation/transform-accuracy.md).",
            paper.accuracy, Picture("plot_accuracy", ["transform-accuracy"], needs=["transform_accuracy"])),
    Section("Health devices by size (dual-plane gateway, Figures 3 to 5)", "phd-sizes nodes",
            "Reports at the paper's rate of 1 Gbit/s (2^30 bits of APDUs), at 1 Gbit/s with all headers, and at the maximum rate of a "
            "gateway with one plane and sockets. The paper gives throughput ratios, the loss for 64 bytes, the sizes without loss "
            "(Section 4.2), and one value for the overhead (Section 4.1).",
            paper.sizes, Picture("plot_phd", ["phd-sizes"], before=["sizes"], needs=["phd_sizes"])),
    Section("Two planes (dual-plane gateway, Figure 6)", "phd-figure6 figure6",
            "Data rate during control messages, with two planes and with one. The paper gives the rate of one plane relative to two "
            "planes, which lose 1.9 %; the table converts it to a rate relative to no control messages. At the paper's rate a current "
            "worker is mostly idle, so the maximum rate shows the effect more clearly.",
            paper.planes, Picture("plot_phd", ["planes"], before=["planes"])),
    Section("LCL scheduling (Ma et al., Figure 4(c) to (f)), in virtual time", "lcl-paper",
            "The gateway's scheduler with the traffic of Table 1 at 25 Gbit/s: [LCL simulation](lcl-simulation.md). The bounds are the "
            "formulas of the paper. Its text has no values of the curves.",
            paper.lcl_paper, Picture("plot_lcl", ["lcl-paper"], after=["lcl_paper"], needs=["lcl_paper"])),
    Section("LCL scheduling, in real time", "lcl-hops",
            "A chain of gateways in real time on a shared machine. Because of the machine, some slots are longer than in the paper: "
            "[LCL speed](lcl.md).",
            paper.lcl, Picture("plot_lcl", ["lcl-real"], needs=["lcl_hops"])),
    Section("Alternatives", "peers",
            "All systems use the same veth pairs, which the kernel drives: [method](peers.md).",
            more.peers, Picture("plot_peers", ["peers"], needs=["peers"])),
    Section("Forwarding rates", "bridge text json ...",
            "One worker, ports in memory. Each case and its reference (a mode of `dpdk-testpmd` or another case of biplane) run in turn. "
            "The target ratio is the ratio that the project aims at for this case.",
            more.rates, Picture("plot_rates", ["rates"], before=["rates"], needs=["rates"])),
    Section("All services together", "mix", "One gateway with all services and one worker: [method](mix.md).",
            more.mix, Picture("plot_mix", ["mix"], needs=["mix"])),
    Section("Cycles per graph node", "nodes", "Cycles of the time-stamp counter.",
            more.nodes, Picture("plot_nodes", ["nodes"], needs=["nodes"])),
    Section("Scaling", "growth", "Each step and the first step of its series run in turn: [method](growth.md).",
            more.growth, Picture("plot_growth", ["growth"], needs=["growth"])),
    Section("Forwarding tables", "lookup", "Random lookups, compared with the tables of DPDK.",
            more.lookup, Picture("plot_rates", ["lookup"], before=["lookup"], needs=["lookup"])),
    Section("Delay of an alarm", "latency",
            "From the device's PUBLISH to the alarm at a subscriber, 100 values per second, without a WAN: [method](latency.md).",
            lambda run: report_latency.delays(run.get("latency")), Picture("plot_latency", ["latency"], needs=["latency/stages"])),
    Section("Control plane", "publish sync phd-associations", "Published alarms, route changes and associations of health devices.",
            more.control, Picture("plot_control", ["control"])),
]


def failed_of(section, run):
    """A sentence for each of its cases that failed; "..." are all cases without a section."""
    named = section.cases.split()
    if "..." in named:
        others = {c for s in SECTIONS for c in s.cases.split()}
        named += [f["case"] for f in run.get("failed") or [] if f["case"] not in others]
    return failed(run, named)
