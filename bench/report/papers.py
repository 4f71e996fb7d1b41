# SPDX-License-Identifier: BSD-3-Clause
"""The results of the five papers, for the figures and tables of docs/performance/results.md.

Each number is from the text or a table of the paper; no number was read from a plotted curve. If the text gives a
number only indirectly, the comment describes the calculation.
"""

# Atutxa et al. (2021), Section 6. Milliseconds are means.
ALARM_CLOUD_MS = 61.992  # Figure 9, scenario A
ALARM_EDGE_MS = 16.464  # Figure 9, scenario B
ALARM_EDGE_WITHIN_MS = 3  # Figure 9: 98th percentile of scenario B
ALARM_LESS_PERCENT = 74  # Figure 9: ratio of B to A
ALARM_PING_MS = 25  # Figure 10
ALARM_NIC_MS, ALARM_BRIDGE_MS = 14.607, 14.107  # Figure 11b, to the broker at the edge
ALARM_ADDED_MS = 0.501  # Figure 11b, as in the text
ALARM_PERCENT = 5  # for the measurements above:
ALARM_CLOUD_PACKETS, ALARM_CLOUD_BYTES = 12165, 870071  # Figures 12, 13
# Figure 13. "Additionally, 135 TCP messages": if 71 MQTT packets were not among them, 9,459 bytes would be less than 46
# for each, and no frame of TCP is so short.
ALARM_EDGE_PACKETS, ALARM_EDGE_BYTES = 135, 9459

# Lin et al. (2018)
AGG_ALPHA = (0.85, 1.14)  # Equation 5: the service time of an N-packet is N alpha times that of a message
AGG_BETA_FALLS, AGG_BETA_FLAT = 0.02, 0.05  # Figure 10: fast decrease up to the first, flat from the second
AGG_DEPARTURES = (  # Figure 7: panel, service times, mu / lambda, N
    ("a", "exponential", 1.1, 5), ("b", "exponential", 1.1, 8), ("c", "exponential", 2.2, 5), ("d", "fixed", 1.1, 5))


def agg_share(n):
    """p_N of Equation 3 as printed: the fraction of messages in an N-packet."""
    return n / (4 + n)


def agg_goodput(n):
    """Figure 9 for the largest N, relative to N = 1, by Equations 4 and 5: (min, max) for the maximum and minimum
    alpha."""
    if n == 1:
        return 1.0, 1.0
    beside = agg_share(n) / agg_share(1)
    return beside / AGG_ALPHA[1], beside / AGG_ALPHA[0]


# Kunze et al. (2021)
TRANSFORM_REQUIRED_NS = 1e6  # Section III-A: "single-digit millisecond range (10^-3 s)"
TRANSFORM_LOSSLESS, TRANSFORM_MOST = 300e3, 450e3  # Figure 6, Userspace, readings a second
TRANSFORM_LIMIT_UM = 10  # Table I: a larger error along an axis is a violation
TRANSFORM_ERRORS = {  # Table I: mean distance in um, violations in percent
    "userspace": (0.2, 0.0), "chebyshev": (19.7, 48.5), "large": (0.5, 0.0), "medium": (0.4, 0.0), "small": (2.9, 0.7)}

# Dual-plane gateway from 11073 to oneM2M, Section 4
PHD_OVERHEAD_PERCENT = 13.1  # Figure 3
PHD_SIZES = (64, 128, 256, 512, 1024)
PHD_BESIDE = dict(zip(PHD_SIZES, (3.5, 3.7, 3.1, 2.9, 1.58)))  # Figure 4: "by as much as 250%, 270%, 210%, 190% and 58%"
PHD_LINE_BITS = 2 ** 30  # messages/s: "the maximum PPS is 262,144 for a packet size of 512 bytes"
PHD_DUAL_AT_LINE = (512, 1024)  # Figure 4: two planes forward at line rate, Figure 5: without loss
PHD_SINGLE_AT_LINE = {512: 0.34}  # Figure 4: of the line rate
PHD_LOSS = {64: (9.66, 72.23), 512: (0.0, None), 1024: (0.0, None)}  # Figure 5: percent, with two planes and with one
PHD_DATA_PPS = 262144  # Figure 6, including control messages
PHD_CONTROL_LOSS = 0.019  # Figure 6: loss of throughput with two planes, at any rate of control messages
# Figure 6: throughput of one plane with DPDK relative to two; seven values for 10,000 to 40,000 messages/s
PHD_SINGLE = dict(zip(range(10000, 40001, 5000), (0.89, 0.77, 0.60, 0.36, 0.24, 0.18, 0.13)))

# Ma et al., Table 1 and Figure 4
LCL_TAUS_US = (8, 10, 12)
LCL_BUDGETS_US = {1: 10, 2: 10, 3: 15, 4: 20}  # d0 of the flows; every delay is between d0 - tau and d0 + tau (e)


def lcl_variation_us(tau):
    """Upper bound of the delay variation, over any number of hops (f)."""
    return 2 * tau
