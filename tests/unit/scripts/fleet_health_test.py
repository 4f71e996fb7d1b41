#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The judge of the health devices of the fleet test finds each fault in logs that are made for it."""

import json
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "tests" / "fleet"), str(ROOT / "tests" / "e2e")]

from health_load import judge_health  # noqa: E402

DEVICE = "0022092260000001"


def log(*events):
    lines = [{"event": e[0], "device": DEVICE, **e[1]} for e in events]
    return [*lines, {"event": "summary", "reports": sum(e[0] == "report" for e in events), "aborted": 0}]


def report(*values):
    return "report", {"values": [{"value": v} for v in values]}


AARE, ANSWER, REPEAT, AGAIN = ("aare", {"result": 0}), ("answer", {"kind": "rors"}), ("repeat", {}), ("again", {})
LATER = ("answer", {"kind": "rorj"})


def cse(*values, violations=0, device=DEVICE):
    instances = [{"rn": str(i), "attributes": {"con": json.dumps({"v": float(v)})}} for i, v in enumerate(values)]
    return {"violations": violations, "tree": {"children": [{"rn": device, "children": [{"rn": "spo2", "children": instances}]}, {"rn": "biplane"}]}}


class Judge(unittest.TestCase):
    def failures(self, lines, said):
        return judge_health(lines, said).failures()

    def test_each_measurement_once(self):
        v = judge_health(log(AARE, report("97.5", "61.0"), ANSWER, report("97.5", "62.0"), ANSWER), cse("97.5", "97.5", "61.0", "62.0"))
        self.assertEqual((v.failures(), v.reports, v.answered, v.repeats, v.associations_again), ([], 2, 2, 0, 0))

    def test_an_answered_measurement_is_missing(self):
        lines = log(AARE, report("97.5", "61.0"), ANSWER)
        self.assertIn("1 measurements missing at the CSE, the first: " + DEVICE, self.failures(lines, cse("97.5"))[0])
        self.assertEqual(len(judge_health(lines, cse("97.5", "61.0", device="0022092260000002")).missing), 2)

    def test_a_report_without_an_answer(self):
        for end in ((), (LATER,), (REPEAT,)):
            for stored in ((), ("97.5",)):
                self.assertEqual(self.failures(log(AARE, report("97.5"), *end), cse(*stored)), ["health devices: 1 reports without an answer"])

    def test_repeated_reports_may_be_stored_again_and_are_counted(self):
        v = judge_health(log(AARE, report("97.5"), REPEAT, AARE, AGAIN, ANSWER, report("98.5"), ANSWER), cse("97.5", "97.5", "98.5"))
        self.assertEqual((v.failures(), v.repeats, v.associations_again), ([], 1, 1))

    def test_stored_twice_without_a_repetition(self):
        for events in ((report("98.5"), ANSWER, report("97.5"), ANSWER, REPEAT), (report("98.5"), REPEAT, ANSWER, report("97.5"), ANSWER)):
            stored = ("98.5", "97.5", "97.5") if events[1] is REPEAT else ("98.5", "98.5", "97.5")
            self.assertIn("1 wrong instances", self.failures(log(AARE, *events), cse(*stored))[0])

    def test_stored_more_often_than_it_was_sent(self):
        self.assertIn("1 wrong instances", self.failures(log(AARE, report("97.5"), REPEAT, ANSWER), cse("97.5", "97.5", "97.5"))[0])

    def test_not_measured(self):
        self.assertIn("1 wrong instances", self.failures(log(AARE, report("97.5"), ANSWER), cse("97.5", "96.5"))[0])

    def test_invalid_requests(self):
        self.assertEqual(self.failures(log(AARE, report("97.5"), ANSWER), cse("97.5", violations=2)),
                         ["health devices: 2 invalid requests to the CSE"])


if __name__ == "__main__":
    unittest.main()
