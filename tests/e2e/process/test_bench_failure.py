# SPDX-License-Identifier: BSD-3-Clause
"""A case of scripts/bench that fails ends no other, and the result says which it was and why.

The build that is measured is this one seen through links, but for two programs that are others: one says why it fails,
one only ends.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FAILING = {"publisher_rate": "echo no broker here; exit 3", "transform_methods": "exit 7"}
NO_WORK = "rule nothing\n  command = true\nbuild all: phony\ndefault all\n"


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    from lab import BIPLANE

    there = Path(BIPLANE).resolve().parents[1]
    if os.geteuid() != 0:
        pytest.exit("the end-to-end tests make network namespaces: run them as root", 2)
    if not (there / "bench" / "biplane-bench").exists():
        pytest.exit(f"no bench/biplane-bench in {there}: build it, or set BIPLANE", 2)
    copy = tmp_path_factory.mktemp("build")
    (copy / "build.ninja").write_text(NO_WORK, encoding="utf-8")
    (copy / "apps").symlink_to(there / "apps")
    (copy / "bench").mkdir()
    for program in (there / "bench").iterdir():
        if program.name in FAILING:
            script = copy / "bench" / program.name
            script.write_text(f"#!/bin/sh\n{FAILING[program.name]}\n", encoding="utf-8")
            script.chmod(0o755)
        else:
            (copy / "bench" / program.name).symlink_to(program)
    return copy


def test_other_cases_continue(build, tmp_path):
    out = tmp_path / "run.json"
    done = subprocess.run([ROOT / "scripts" / "bench", "--quick", "--rounds", "1", "--build", build, "--json", out, "bridge",
                           "publish", "transform-times", "transform-accuracy"], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "failed: publish transform-times" in done.stderr.splitlines()[-1], said
    run = json.loads(out.read_text(encoding="utf-8"))
    failed = {f["case"]: f["why"] for f in run["failed"]}
    assert failed["publish"] == "publisher_rate failed: no broker here"
    assert re.match("transform_methods failed: ", failed["transform-times"])
    assert sorted(failed) == ["publish", "transform-times"]
    assert run["publish"] is None and run["transform"]["times"] is None
    assert run["rates"][0]["case"] == "bridge" and run["rates"][0]["mpps"] > 0
    assert len(run["transform_accuracy"]) > 1
    assert "failed: publish: publisher_rate failed: no broker here" in done.stdout
