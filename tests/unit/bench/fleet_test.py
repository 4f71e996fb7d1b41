# SPDX-License-Identifier: BSD-3-Clause
"""bench/report/fleet_model.py and the tables of case fleet, with known figures."""

import copy
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "report"))
import fleet_model  # noqa: E402
import report_fleet  # noqa: E402

# of bench/fleet/fleet.py
MEASURED = {
    "cost": {"off": {"frame_us": 4.0, "control_cpu": 0.001, "values_per_s": 20000.0, "stored_per_s": 0, "redis_us": None,
                     "delay": {"alarms": 900, "median_us": 200.0, "p99_us": 1000.0}},
             "on": {"frame_us": 4.1, "control_cpu": 0.05, "values_per_s": 20000.0, "stored_per_s": 10000.0, "redis_us": 10.0,
                    "delay": {"alarms": 900, "median_us": 210.0, "p99_us": 1500.0}},
             "connections": 1000, "frame_ratios": [1.03, 0.99, 1.02]},
    "redis": {"connections": {"connections": 10000, "writes": 30000, "redis_us": 20.0, "control_us": 10.0, "commands": 3.0, "bytes": 400.0},
              "alarms": {"alarms": 3000, "copies": 0, "connection_writes": 24, "redis_us": 2.0, "control_us": 60.0, "commands": 0.1, "bytes": None},
              "copies": {"alarms": 3000, "copies": 3000, "connection_writes": 24, "redis_us": 50.0, "control_us": 80.0, "commands": 8.0, "bytes": 512.0}},
    "etcd": {"poll": {"agents": 20, "calls_per_s": 1.25, "etcd_us": 399.9, "etcd_idle": 0.2, "agent_cpu": 0.0002},
             "rollout": {"calls": 9.6, "etcd_ms": 12.0, "seconds": 1.5}},
    "gateways": [{"n": 1, "frame_ns": 40.0, "ratio": 1.0}, {"n": 2, "frame_ns": 41.0, "ratio": 1.025}]}
COSTS = fleet_model.costs(MEASURED)


class Model(unittest.TestCase):
    def test_records_have_the_bounds_of_a_connection_and_of_a_gateway(self):
        self.assertEqual(100, fleet_model.records_per_s(1000, 0.1))
        self.assertAlmostEqual(100 / 0.04, fleet_model.records_per_s(100, 1000))
        self.assertEqual(21333, fleet_model.records_per_s(10000, 10))

    def test_bounds_are_those_of_the_gateway(self):
        docs = (ROOT / "docs" / "explanation" / "fleet.md").read_text(encoding="utf-8")
        self.assertIn("at most one each 40 ms, unless it has published on a new topic, and at most 64 for all connections each 3 ms", docs)
        self.assertEqual((0.04, 21333), (fleet_model.STORE_INTERVAL_S, fleet_model.STORE_MOST))
        self.assertIn("at most 65,536 copies", docs)
        self.assertEqual(65536, fleet_model.COPIES_MOST)

    def test_redis_is_records_and_copies(self):
        # 1,000 records of 10 us, and one alarm of 50 us
        self.assertAlmostEqual(0.01, fleet_model.redis_cpu(COSTS, 10000, 0.1, False))
        self.assertAlmostEqual(0.01005, fleet_model.redis_cpu(COSTS, 10000, 0.1, True))
        self.assertEqual(4000000 + 65536 * 512, fleet_model.redis_bytes(COSTS, 10000, True))
        self.assertEqual(4000000, fleet_model.redis_bytes(COSTS, 10000, False))

    def test_saturation_is_the_last_fleet_below_the_limit(self):
        n = fleet_model.saturation(COSTS, 10000, 0.1)
        self.assertEqual(69, n)
        self.assertLessEqual(fleet_model.step(COSTS, n, 0.1)["redis_cpu"], fleet_model.FULL)
        self.assertEqual((1, 2), tuple(fleet_model.step(COSTS, g, 0.1)["redis_servers"] for g in (n, n + 1)))
        # (0.7 - 0.2) / (1.25 * 399.9 us)
        self.assertEqual(1000, fleet_model.etcd_saturation(COSTS))

    def test_ten_million_devices(self):
        s = fleet_model.step(COSTS, 1000, 1)
        self.assertEqual((10000000, 10000000), (s["devices"], s["records_per_s"]))
        self.assertAlmostEqual(100.5, s["redis_cpu"])
        self.assertEqual(144, s["redis_servers"])
        self.assertAlmostEqual(1000 * (4000000 + 65536 * 512) / 2**30, s["redis_gib"])
        self.assertAlmostEqual(1250, s["polls_per_s"])
        self.assertAlmostEqual(0.7, s["etcd_cpu"], places=3)


class Tables(unittest.TestCase):
    def test_cost_has_the_median_of_the_ratios(self):
        self.assertEqual(["| off | 20,000 | 4.00 | 0.10 % | 0 | 200 | 1,000 |",
                          "| on | 20,000 | 4.10 | 5.00 % | 10,000 | 210 | 1,500 |",
                          "| difference |  | +2.0 %, by round +3.0 %, -1.0 %, +2.0 % |  |  | +5.0 % | +50.0 % |"],
                         report_fleet.cost({"fleet": MEASURED})[2:])

    def test_loads_are_those_of_the_units(self):
        rows = report_fleet.per_load({"fleet": MEASURED})
        self.assertIn("| 10,000 connections, one record per second each | 0.200 | 3.8 |", rows)
        self.assertIn("| 1,000 alarms/s, broker away | 0.050 | 0.49 per second |", rows)
        self.assertIn("| 1,000 gateways that poll etcd | 0.500 |  |", rows)

    def test_costs_change_with_the_result(self):
        other = copy.deepcopy(MEASURED)
        other["cost"]["on"]["redis_us"] *= 2
        self.assertNotEqual(report_fleet.model({"fleet": MEASURED}), report_fleet.model({"fleet": other}))
        self.assertEqual(["| 1 | 40.0 | 1.000 | 1.00 |", "| 2 | 41.0 | 1.025 | 1.95 |"], report_fleet.gateways({"fleet": MEASURED})[2:])


if __name__ == "__main__":
    unittest.main()
