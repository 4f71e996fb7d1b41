# SPDX-License-Identifier: BSD-3-Clause
"""scripts/soak, as short as it still proves that its traffic passes and its faults are made."""

import json
import os
import subprocess
import sys

from lab import BIPLANE, LAB_NAME, ROOT

FAULTS = ("reload", "near: data plane killed", "kernel interface removed")


def test_every_message_is_accounted_for(hugepages, tmp_path):
    env = {**os.environ, "BP_LAB": LAB_NAME[:6] + "s", "BIPLANE": BIPLANE,
           "PYTHONPATH": ":".join(str(ROOT / d) for d in ("tests/soak", "tests/e2e", "bench/report"))}
    p = subprocess.run([sys.executable, ROOT / "tests/soak/soak.py", "--time", "9s", "--quiet", "1s", "--report", tmp_path,
                        *(x for f in FAULTS for x in ("--fault", f))],
                       env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240)
    assert p.returncode == 0, f"{p.stdout.splitlines()[-1:]}\n{p.stderr[-2000:]}\n{p.stdout[-6000:]}"
    report = json.loads((tmp_path / "report.json").read_text())
    assert {f["fault"] for f in report["faults"]} == set(FAULTS)
    totals = report["totals"]
    assert totals["values"] == totals["alarms"] > 200 and totals["blanked"] > 20, totals
    assert totals["datagrams"] > 2000 and 0 < totals["datagrams_lost_in_faults"] < totals["datagrams"] / 2, totals
    assert totals["readings"] > 500 and 0 < totals["readings_lost_in_faults"] < totals["readings"] / 2, totals
    assert totals["health_values_stored"] == 2 * totals["health_reports"] > 40 and totals["records_in_redis"] == 20, totals
    assert (tmp_path / "gauges.svg").read_text().startswith("<svg")
