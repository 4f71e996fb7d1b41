# SPDX-License-Identifier: BSD-3-Clause
"""The performance figures of README.md, from a result of scripts/bench."""
from report_markdown import failed, table

RATES = [("bridge", "Bridge, two ports, no inspection"),
         ("text", "Bridge with MQTT inspection, 1,000 connections, one rule; 5 % of the messages match the rule, and "
          "its action `mirror` copies them to a third port"),
         ("route4-million", "IPv4 routing, 1,000,000 routes, random destinations")]
HEADER = ["Case of `scripts/bench`", "biplane", "Reference", "Ratio"]


def rates(run):
    found = {r["case"]: r for r in run["rates"] if r["ratio"] is not None}
    return [[f"{text} (`{case}`)", f"{found[case]['mpps']:.1f} Mpps", f"dpdk-testpmd: {found[case]['reference_mpps']:.1f} Mpps",
             f"{found[case]['ratio']:.3f}"] for case, text in RATES if case in found]


def alarm(run):
    response = (run.get("alarm_paper") or {}).get("response")
    if not response:
        return []
    edge, cloud = response["biplane"], response["cloud_c"]
    return [["Time from PUBLISH to alarm, average (`alarm-paper`)", f"{edge['mean_us'] / 1e3:.2f} ms (p99 {edge['p99_us'] / 1e3:.2f} ms)",
             f"a C program in the cloud that evaluates the same rule, 25 ms round trip: {cloud['mean_us'] / 1e3:.2f} ms",
             f"{edge['mean_us'] / cloud['mean_us']:.3f}"]]


def block(run, report):
    """The lines between the marks; report: docs/performance/results.md as README.md links to it."""
    shown = {case for case, _ in RATES} | {"alarm-paper"}
    later = [f" The cases {', '.join('`' + c + '`' for c in u['cases'] if c in shown)} are of a later run ({u['date'][:10]}, commit {u['commit']}, "
             f"{u['rounds']} rounds of {u['seconds']} s)." for u in run.get("updates", []) if shown & set(u["cases"])]
    lines = [f"Measured on {run.get('date', 'unknown')[:10]} at commit {run['commit']}.{''.join(later)} The machine was virtual and shared: {run['machine']}, "
             f"{run['cores']} cores. biplane had one worker (forwarding thread) on one core. biplane and `dpdk-testpmd --forward-mode=io` ran alternately "
             f"on the same frames, {run['rounds']} rounds of {run['seconds']} s each. Each rate is the median of the rounds. "
             "The frames come from memory, not from a NIC, so the rates are not line rates; compare only the ratios. "
             "The alarm times are measured over veth with AF_PACKET. "
             f"**[Results]({report})** has all cases.", ""]
    rows = rates(run) + alarm(run)
    lines += table(HEADER, rows) if rows else []
    why = failed(run, [f["case"] for f in run.get("failed") or []])
    return lines + ([""] if rows and why else []) + [f"- {w}" for w in why]
