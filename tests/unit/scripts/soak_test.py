# SPDX-License-Identifier: BSD-3-Clause
"""What the soak test counts as lost, and as growing: soak_test.py"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "soak"))

import gauges  # noqa: E402
from sequence import Sequence  # noqa: E402


class Numbers(unittest.TestCase):
    def test_order_does_not_matter(self):
        s = Sequence()
        self.assertEqual([s.add(n) for n in (0, 2, 1, 2, 0, 3)], [True, True, True, False, False, True])
        self.assertEqual((s.next, s.again, s.ahead), (4, 2, set()))

    def test_lost_in_a_fault(self):
        s = Sequence()
        for n in (0, 1, 5, 6, 9):
            s.add(n)
        self.assertFalse(s.has_all(4, 7))
        self.assertTrue(s.has_all(5, 7))
        s.give_up(7, [range(2, 5)])
        self.assertEqual((s.lost, s.missing, s.next, s.ahead), (3, [], 7, {9}))
        s.give_up(10)
        self.assertEqual((s.lost, s.missing, s.next), (3, [7, 8], 10))
        self.assertFalse(s.add(8))
        self.assertEqual(s.again, 1)
        self.assertTrue(s.add(3))  # late, behind packets that were sent after it
        self.assertFalse(s.add(3))
        self.assertEqual((s.lost, s.again), (2, 2))


class Growth(unittest.TestCase):
    def rows(self, values, unit="kib"):
        return [{"memory": (unit, v)} for v in values]

    def test_a_leak_is_found(self):
        self.assertEqual([n for n, _, _ in gauges.growing(self.rows(range(50000, 100000, 1000)))], ["memory"])

    def test_noise_and_a_start_are_not_leaks(self):
        self.assertEqual(gauges.growing(self.rows([10, *[50000, 51000] * 25])), [])
        self.assertEqual(gauges.growing(self.rows([50000, 100000])), [])

    def test_one_page_is_a_leak(self):
        self.assertEqual(len(gauges.growing(self.rows([0] * 20 + [1] * 30, "pages"))), 1)


if __name__ == "__main__":
    unittest.main()
