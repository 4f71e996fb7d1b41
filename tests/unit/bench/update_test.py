# SPDX-License-Identifier: BSD-3-Clause
"""bench/report/update.py: a later run replaces what it has measured, and the pages state the run of each case."""

import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "report"))
import report  # noqa: E402
import report_more_tables  # noqa: E402
import report_readme  # noqa: E402
import update  # noqa: E402


def row(case, ratio):
    return {"case": case, "mpps": 1.0, "reference": "io", "reference_mpps": 2.0, "ratio": ratio, "target": None, "what": case}


def run(date, **parts):
    return {"date": date, "commit": "c" + date, "machine": "m", "cores": 2, "versions": {}, "rounds": 3, "seconds": 1, "csum_mpps": None,
            "rates": [], "latency": None, "publish": None, "transform": {"times": None, "sockets": None}, "growth": None, "failed": [], **parts}


OLD = run("1", rates=[row("bridge", 0.9), row("text", 0.5)], latency={"a": 1, "b": 2}, publish={"p": 1}, csum_mpps=3.0,
          transform={"times": [1], "sockets": [2]}, growth=[1], failed=[{"case": "publish", "why": "old"}, {"case": "mix", "why": "old"}])


class Update(unittest.TestCase):
    def test_measured_cases_replace_old_ones(self):
        new = run("2", rates=[row("text", 0.6), row("window", 0.4)], latency={"a": 3}, transform={"times": [4], "sockets": None}, growth=[5])
        got = update.update(OLD, new, ["text", "window", "latency", "transform-times", "growth"])
        self.assertEqual([("bridge", 0.9), ("text", 0.6), ("window", 0.4)], [(r["case"], r["ratio"]) for r in got["rates"]])
        self.assertEqual({"a": 3}, got["latency"])
        self.assertEqual({"p": 1}, got["publish"])
        self.assertEqual({"times": [4], "sockets": [2]}, got["transform"])
        self.assertEqual([5], got["growth"])
        self.assertEqual(3.0, got["csum_mpps"])
        self.assertEqual(("1", "c1"), (got["date"], got["commit"]))
        self.assertEqual([("2", "c2", ["text", "window", "latency", "transform-times", "growth"])],
                         [(u["date"], u["commit"], u["cases"]) for u in got["updates"]])

    def test_failed_case_keeps_its_figures_and_is_named(self):
        new = run("2", rates=[row("text", None)], publish={"p": 2}, failed=[{"case": "text", "why": "new"}])
        got = update.update(OLD, new, ["text", "publish"])
        self.assertEqual([0.9, 0.5], [r["ratio"] for r in got["rates"]])
        self.assertEqual({"p": 2}, got["publish"])
        self.assertEqual([["publish"]], [u["cases"] for u in got["updates"]])
        self.assertEqual([{"case": "mix", "why": "old"}, {"case": "text", "why": "new"}], got["failed"])

    def test_each_case_is_of_its_latest_run(self):
        got = update.update(OLD, run("2", latency={"a": 5}, growth=[6]), ["latency", "growth"])
        got = update.update(got, run("3", latency={"a": 7}), ["latency"])
        self.assertEqual([("2", ["growth"]), ("3", ["latency"])], [(u["date"], u["cases"]) for u in got["updates"]])
        got = update.update(got, run("4", growth=[8]), ["growth"])
        self.assertEqual([("3", ["latency"]), ("4", ["growth"])], [(u["date"], u["cases"]) for u in got["updates"]])

    def test_ratios_of_the_rounds_are_next_to_their_median(self):
        spread = {**row("text", 0.5), "ratio_low": 0.444, "ratio_high": 0.6}
        self.assertIn("| 0.500 (0.44 to 0.60) |", "\n".join(report_more_tables.rates({"rates": [spread]})))
        self.assertIn("| 0.500 |", "\n".join(report_more_tables.rates({"rates": [row("text", 0.5)]})))

    def test_pages_state_the_later_run(self):
        got = update.update(OLD, run("2026-01-02T00:00:00Z", latency={"a": 5}), ["latency"])
        self.assertIn("| Later run | `latency`: 2026-01-02T00:00:00Z, commit c2026-01-02T00:00:00Z, m, 3 rounds of 1 s |", report.head(got, Path("x.json")))
        self.assertNotIn("later run", report_readme.block(got, "r.md")[0])
        got = update.update(got, run("2026-01-02T00:00:00Z", rates=[row("text", 0.6)]), ["text"])
        self.assertIn(" The cases `text` are of a later run (2026-01-02, commit c2026-01-02T00:00:00Z, 3 rounds of 1 s).",
                      report_readme.block(got, "r.md")[0])
        self.assertNotIn("Later run", "\n".join(report.head(OLD, Path("x.json"))))


if __name__ == "__main__":
    unittest.main()
