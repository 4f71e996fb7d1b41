# SPDX-License-Identifier: BSD-3-Clause
"""The transformation part of scripts/quickstart: in the laboratory of scripts/lab, with its own configuration, and a
balance of readings."""

import json
import os
import subprocess
import sys

import pytest

from lab import BIPLANE, LAB_NAME, ROOT, Lab

DEMO = str(ROOT / "scripts" / "demo_transform.py")
ENV = {**os.environ, "BP_LAB": LAB_NAME[:7] + "d", "BIPLANE": BIPLANE}


@pytest.fixture
def demo_lab():
    the_lab = Lab(ENV["BP_LAB"])
    try:
        the_lab.up()
        the_lab.script("gateway", "start")
        yield the_lab
    finally:
        the_lab.down()


def demo():
    return subprocess.run([sys.executable, DEMO], env=ENV, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def test_demo_shows_both_robots(demo_lab):
    p = demo()
    assert p.returncode == 0, p.stdout + p.stderr
    assert "each reading reached both robots once, in order, each in its own frame" in p.stdout
    assert "as robot A sees it" in p.stdout and p.stdout.count("o") > 50, p.stdout
    # results that are off, here by another number of fraction bits of z, must not pass for right
    file = demo_lab.state / "biplane.yaml"
    text = file.read_text()
    assert "      udp_port: 10000\n" in text
    names = ("radius", "phi", "theta", "x", "y", "z")
    fields = {n: {"offset": 4 * i, "type": "fixed32", "fraction": 24 if n == "z" else 25} for i, n in enumerate(names)}
    layout = f"      layout: {json.dumps(fields)}\n"
    file.write_text(text.replace("      udp_port: 10000\n", "      udp_port: 10000\n" + layout))
    subprocess.run([BIPLANE, "reload", "-c", file], check=True, stdout=subprocess.DEVNULL)
    p = demo()
    assert p.returncode == 1 and "  error" in p.stdout, p.stdout + p.stderr
