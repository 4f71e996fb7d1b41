# SPDX-License-Identifier: BSD-3-Clause
"""What README.md says of speed, from a result of scripts/bench."""
from report_markdown import failed


def aim(r):
    if r["target"] is None:
        return ""
    if r["ratio"] is None:
        return f"{r['target']:.2f}, not measured"
    return f"{r['target']:.2f}" + ("" if r["ratio"] >= r["target"] else ", **not reached**")


def rates(run):
    rows = [r for r in run["rates"] if r["ratio"] is not None]
    if not rows:
        return []
    lines = ["| case | what | Mpps | of | ratio | aim |", "| --- | --- | --- | --- | --- | --- |"]
    for r in rows:
        beside = f"testpmd {r['reference_mpps']:.1f}" if r["reference"].startswith("io") \
            else f"`{r['reference']}` {r['reference_mpps']:.1f}"
        lines.append(f"| `{r['case']}` | {r['what']} | {r['mpps']:.1f} | {beside} | {r['ratio']:.3f} | {aim(r)} |")
    return lines + [""]


def publish(m):
    return (f"Alarms that a mosquitto on the same machine acknowledged at QoS 1: {m['acknowledged_per_second']:,.0f} a second; what "
            f"was offered above that went through the spool, {m['dropped']:,} were lost (`publish`).")


def alarm_paper(m):
    r = m["response"]
    return ("From a device's publish to the alarm, where the cloud is 25 ms away and back, mean: "
            f"{r['biplane']['mean_us'] / 1e3:.1f} ms through biplane to the edge's broker, "
            f"{r['cloud_c']['mean_us'] / 1e3:.1f} ms when a C program in the cloud decides, "
            f"{r['cloud_python']['mean_us'] / 1e3:.1f} by a Python program (`alarm-paper`).")


def latency(m):
    def three(r):
        return f"{r['median_us'] / 1e3:.2f} ms in the median (p99 {r['p99_us'] / 1e3:.2f}, p99.9 {r['p999_us'] / 1e3:.2f})"
    return (f"Without any WAN in between: {three(m['biplane'])} through biplane to the edge's broker; with the brokers connected "
            f"directly and an application deciding {three(m['cloud'])}. On one machine biplane's way is the longer one; what it "
            "saves is the way to the cloud and back (`latency`).")


def figure6(m):
    last = m[-1]
    return (f"User data while {last['messages']:,} control messages a second come: {last['dual_ratio']:.2f} of the rate without "
            f"them; in one plane {last['single_ratio']:.2f} (`figure6`).")


def phd_figure6(m):
    last = m[-1]
    return (f"Health devices' reports while {last['messages']:,} devices a second associate: {last['dual_ratio']:.2f} of the rate "
            f"without them; in one plane {last['single_ratio']:.2f} (`phd-figure6`).")


def phd_sizes(m):
    least = m[0]
    return (f"Reports of {m[0]['apdu']} to {m[-1]['apdu']:,} octets at the rate of a 1 Gb/s wire: "
            f"{sum(r['line_lost'] for r in m):,} lost; the same converter behind sockets, in one plane, loses "
            f"{least['line_single_loss_percent']} % at {least['apdu']} octets (`phd-sizes`).")


def associations(m):
    return f"The control plane takes up {m['per_second']:,.0f} health devices a second (`phd-associations`)."


def mix(m):
    p = m["paced"]
    lost = f"; {p['ring_lost']:,} were lost in the receive ring before it" if p["ring_lost"] else ", none was lost in the receive ring"
    return (f"All five systems at once, one worker: {m['mixed_mpps']:.1f} Mpps, {m['ratio']:.2f} of what the parts' own rates would "
            f"make; at {p['fraction']:.0%} of it the gateway dropped {p['dropped']:,} of {p['packets']:,} packets{lost} (`mix`).")


FACTS = [("alarm_paper", alarm_paper), ("latency", latency), ("publish", publish), ("figure6", figure6),
         ("phd_sizes", phd_sizes), ("phd_figure6", phd_figure6), ("phd_associations", associations), ("mix", mix)]


def block(run, report):
    """The lines between the marks; report: docs/results.md as README.md links to it."""
    lines = [f"One worker on one core of {run['machine']} ({run['cores']} cores, virtual, shared), medians of {run['rounds']} rounds "
             f"of {run['seconds']} s, each in turn with `dpdk-testpmd --forward-mode=io` on the same input; only ratios within one "
             f"run mean something. `scripts/bench --all` repeats all of it, `scripts/bench CASE` one case; pictures, and what the "
             f"five papers and other programs do: **[results]({report})**.", ""]
    lines += rates(run)
    lines += [f"- {say(run[key])}" for key, say in FACTS if run.get(key)]
    return lines + [f"- {why}" for why in failed(run, [f["case"] for f in run.get("failed") or []])]
