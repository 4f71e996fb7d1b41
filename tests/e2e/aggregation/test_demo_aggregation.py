# SPDX-License-Identifier: BSD-3-Clause
"""The aggregation part of scripts/quickstart: the two gateways of scripts/lab, a message balance, and `show aggregates`
of running gateways."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab import BIPLANE, LAB_NAME, ROOT, Lab, wait_until

DEMO = str(ROOT / "scripts" / "demo_aggregation.py")
ENV = {**os.environ, "BP_LAB": LAB_NAME[:7] + "d", "BIPLANE": BIPLANE}


@pytest.fixture
def demo_lab():
    the_lab = Lab(ENV["BP_LAB"])
    try:
        yield the_lab
    finally:
        the_lab.down()


def demo():
    return subprocess.run([sys.executable, DEMO], env=ENV, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def show(lab, gateway):
    p = subprocess.run([BIPLANE, "show", "aggregates", "--json", "-c", lab.state / f"{gateway}.yaml"],
                       capture_output=True, text=True, check=True)
    return json.loads(p.stdout)


def change(lab, gateway, old, new):
    file = lab.state / f"{gateway}.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    subprocess.run([BIPLANE, "reload", "-c", file], check=True, stdout=subprocess.DEVNULL)


def leftovers():
    return [p for pattern in ("/run/netns/bp-{}-*", "/run/biplane-lab-{}", "/var/run/dpdk/biplane-lab-{}-*")
            for p in Path("/").glob(pattern.format(ENV["BP_LAB"])[1:])]


def test_arrivals_are_shown(demo_lab, hugepages):
    demo_lab.up("--wan")
    p = demo()
    assert p.returncode == 0, p.stdout + p.stderr
    assert "each datagram arrived once, from its sender and in order" in p.stdout
    near, far = show(demo_lab, "near"), show(demo_lab, "far")
    made, split = near["encapsulate"][0], far["decapsulate"][0]
    assert (made["port"], made["to"], made["max_messages"], made["max_delay_ns"]) == ("devices", "10.10.0.2:5555", 8, 20000000)
    assert (made["messages"], made["queued"], split["messages"], split["queued"]) == (400, 0, 400, 0)
    assert made["aggregates"] == split["aggregates"] == sum(made["flush_reasons"].values()) == sum(b["count"] for b in made["delay"])
    assert made["aggregate_bytes"] == split["aggregate_bytes"] and made["message_bytes"] == split["message_bytes"]
    assert made["saved_bytes"] == made["message_bytes"] - made["aggregate_bytes"] > 0
    # sensors with DSCP 46 and those without
    assert sorted((s["dscp"], s["messages"]) for s in near["streams"]) == [(0, 350), (46, 50)]
    assert sum(s["aggregates"] for s in near["streams"]) == made["aggregates"]
    assert (split["lost"], split["duplicate"], split["dropped"], split["streams_created"]) == (0, 0, 0, 2)
    assert split["paced"] + split["aggregates"] >= 400 and sum(b["count"] for b in split["pacing_delay"]) == split["paced"]

    # No one may be restored any more: the balance is wrong, and says so. The figures are those of the new entries.
    change(demo_lab, "far", "allowed_senders: [10.7.0.0/24]", "allowed_senders: [10.9.0.0/24]")
    p = demo()
    assert p.returncode == 1, p.stdout + p.stderr
    assert "  error" in p.stdout
    split = show(demo_lab, "far")["decapsulate"][0]
    assert (split["allowed_senders"], split["messages"]) == (["10.9.0.0/24"], 0) and split["dropped"] > 0


def heed_interrupts():
    """Background processes of a shell ignore these signals, and so do their children, which cannot trap ignored
    signals."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupted_run_leaves_no_files(demo_lab, hugepages):
    # It continues when the demonstration is over, which on a busy machine may be before this one looks.
    p = subprocess.Popen([ROOT / "scripts" / "lab", "with", "--wan", "bash", "-c", '"$0" "$1" && sleep 600', sys.executable, DEMO],
                         env=ENV, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                         preexec_fn=heed_interrupts)
    wait_until("a gateway", (demo_lab.state / "far.pid").exists, 60, 0.01)
    os.killpg(p.pid, signal.SIGINT)
    assert p.wait(60) == 130
    wait_until("nothing to be left", lambda: not leftovers(), 10)
