# SPDX-License-Identifier: BSD-3-Clause
"""bench/report/compare.py on results of which it is known what moved."""

import copy
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "report"))
import compare  # noqa: E402

OLD = {"commit": "aaa", "machine": "m", "rounds": 5, "rates": [
    {"case": "bridge", "mpps": 10.0, "reference": "io", "reference_mpps": 11.0, "ratio": 0.9, "target": 0.95},
    {"case": "text", "mpps": 5.0, "reference": "io", "reference_mpps": 11.0, "ratio": 0.45, "target": 0.4}],
    "lookup": {"routes": {"lpm4": {"biplane": 76.0, "dpdk": 20.0}}}, "latency": None,
    "phd_sizes": [{"apdu": 64, "lost": 0}, {"apdu": 128, "lost": 3}]}


class Compare(unittest.TestCase):
    def changed(self, change):
        new = copy.deepcopy(OLD)
        change(new)
        return compare.moved(OLD, new, 5)

    def test_nothing_moved(self):
        self.assertEqual(self.changed(lambda n: None), [])

    def test_changed_ratio_is_reported_with_its_case(self):
        def change(n):
            n["rates"][1]["ratio"] = 0.40
        (percent, path, was, now), = self.changed(change)
        self.assertEqual((path, was, now), ("rates[case=text]/ratio", 0.45, 0.40))
        self.assertAlmostEqual(percent, -11.11, 1)

    def test_changes_below_the_limit_are_not_reported(self):
        def change(n):
            n["rates"][1]["ratio"] = 0.46
        self.assertEqual(self.changed(change), [])

    def test_a_faster_machine_is_no_change(self):
        def change(n):
            for r in n["rates"]:
                r["mpps"] *= 3
                r["reference_mpps"] *= 3
        self.assertEqual(self.changed(change), [])

    def test_elements_are_identified_by_key(self):
        self.assertEqual(self.changed(lambda n: n["rates"].reverse()), [])
        self.assertEqual(self.changed(lambda n: n["phd_sizes"].pop(0)), [])

    def test_elements_are_identified_by_several_keys(self):
        def sweep(*points):
            return {"sweep": [{"gateways": g, "tau_ns": t, "worker_cpu": cpu} for g, t, cpu in points]}
        self.assertEqual([m[1] for m in compare.moved(sweep((1, 8, 0.5), (1, 20, 0.5), (3, 8, 0.5)),
                                                      sweep((3, 8, 0.5), (1, 20, 0.6)), 5)],
                         ["sweep[gateways=1 tau_ns=20]/worker_cpu"])

    def test_elements_without_a_key_are_identified_by_position(self):
        def flows(*ns):
            return {"flows": [{"hops": 3, "p9900_ns": n} for n in ns]}
        self.assertEqual([m[1] for m in compare.moved(flows(10, 10, 10), flows(10, 20, 10), 5)],
                         ["flows[hops=3 #2]/p9900_ns"])

    def test_points_are_identified_by_their_nominal_rate(self):
        def points(offered, restored):
            return {"points": [{"rate": 1000, "offered": offered, "restored": restored}]}
        self.assertEqual([m[1] for m in compare.moved(points(990, 500), points(1001, 600), 5)], ["points[rate=1000]/restored"])

    def test_largest_changes_come_first(self):
        def change(n):
            n["rates"][0]["ratio"] = 0.8
            n["lookup"]["routes"]["lpm4"]["biplane"] = 38.0
            n["phd_sizes"][0]["lost"] = 7
        self.assertEqual([m[1] for m in self.changed(change)],
                         ["phd_sizes[apdu=64]/lost", "lookup/routes/lpm4/biplane", "rates[case=bridge]/ratio"])

    def test_as_a_command(self):
        new = copy.deepcopy(OLD)
        new["commit"], new["rates"][0]["ratio"] = "bbb", 0.45
        with tempfile.TemporaryDirectory() as d:
            files = [Path(d, "old"), Path(d, "new")]
            for f, r in zip(files, (OLD, new)):
                f.write_text(json.dumps(r), encoding="utf-8")
            p = subprocess.run([ROOT / "bench" / "report" / "compare.py", *files], stdout=subprocess.PIPE, text=True, check=True)
            self.assertIn("1 of 6 figures moved by more than 5 % from aaa to bbb", p.stdout)
            self.assertIn("-50.0 %", p.stdout)
            files[1].write_text("{}", encoding="utf-8")
            p = subprocess.run([ROOT / "bench" / "report" / "compare.py", *files], stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(p.returncode, 1)
            self.assertIn("no figure in common", p.stderr)


if __name__ == "__main__":
    unittest.main()
