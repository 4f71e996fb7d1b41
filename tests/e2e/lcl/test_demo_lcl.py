# SPDX-License-Identifier: BSD-3-Clause
"""The LCL part of scripts/quickstart: the two gateways of scripts/lab, a frame balance, and the paper's experiment. No
value that depends on the load of the machine is asserted."""

import os
import subprocess
import sys

import pytest

from lab import BIPLANE, LAB_NAME, ROOT, Lab

ENV = {**os.environ, "BP_LAB": LAB_NAME[:7] + "d", "BIPLANE": BIPLANE}


@pytest.fixture
def demo_lab():
    the_lab = Lab(ENV["BP_LAB"])
    try:
        the_lab.up("--lcl")
        yield the_lab
    finally:
        the_lab.down()


def demo(script="demo_lcl.py"):
    return subprocess.run([sys.executable, ROOT / "scripts" / script], env=ENV, cwd=ROOT, capture_output=True, text=True,
                          check=False, timeout=180)


def test_both_directions_are_shown(demo_lab, hugepages):
    p = demo()
    assert p.returncode == 0, p.stdout + p.stderr
    assert "each datagram arrived once and in order; with LCL, each had its label on the line, and none at the server" in p.stdout
    assert "88b5 01 01 " in p.stdout and "flow 1  sequence 5 " in p.stdout and "d0 +- tau" in p.stdout
    # the gateways that schedule continue, with the files as they were
    assert "lcl:\n" in (demo_lab.state / "far.yaml").read_text()
    near = demo_lab.state / "near.yaml"
    text = near.read_text()
    assert "hops: 2," in text
    # With a node more to come, the label is not taken off, and the server must not be said to have got what it cannot read.
    near.write_text(text.replace("hops: 2,", "hops: 3,"))
    p = demo()
    assert p.returncode == 1, p.stdout + p.stderr
    for fault in ("with LCL, not each datagram arrived", "no good label with n = 1", "labelled frames came to the server", "  error"):
        assert fault in p.stdout, p.stdout
    assert "without LCL, not each" not in p.stdout


def test_demo_shows_the_experiment():
    p = demo("demo_lcl_paper.py")
    assert p.returncode == 0, p.stdout + p.stderr
    assert p.stdout.count("[") == p.stdout.count("]") == 5 and "32 hops" in p.stdout, p.stdout
    assert "with LCL each frame's delay was within d0 +- tau" in p.stdout
