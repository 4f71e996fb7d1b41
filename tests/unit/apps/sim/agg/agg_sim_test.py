# SPDX-License-Identifier: BSD-3-Clause
"""biplane-agg-sim as a command: its output, reproducibility, and refused options.

    agg_sim_test.py BIPLANE-AGG-SIM
"""

import json
import math
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from sim_command import run  # noqa: E402


def measured(*args):
    return json.loads(run("--warm-up", 1000, "--packets", 100000, *args))


class Command(unittest.TestCase):
    def near(self, value, due, share):
        self.assertTrue(math.isclose(value, due, rel_tol=share), f"{value} is not {due} within {share}")

    def test_repeated_request(self):
        args = ("--packets", 5000, "--mu", 0.2, "--service", "exponential", "--minimum-mu", "0.1,0.5", "--max-delay", "90us")
        self.assertEqual(run(*args), run(*args))
        self.assertNotEqual(run(*args), run(*args, "--seed", 2))

    def test_n_packets(self):
        out = measured("--messages", 8, "--format", "lin2018")
        self.assertEqual((out["messages"], out["format"], out["packets"], out["wrong"]), (8, "lin2018", 100001, 0))
        self.assertEqual(out["mean_messages"], 8)
        self.assertEqual(out["bytes"], {"payload": 100001 * 128, "messages": 100001 * 512, "packets": 100001 * 176})
        self.near(out["goodput_ratio"], 8 / 11, 1e-8)
        self.near(out["mean_gap_ns"], 80000, 0.01)
        self.near(out["mean_delay_ns"], 35000, 0.01)
        self.assertGreater(out["erlang"]["p"], 0.01)
        self.assertEqual(out["flushed"]["time"], 0)
        full = measured("--messages", 8, "--senders", 100)
        self.assertEqual(full["bytes"]["packets"], 100001 * 216)

    def test_rate_is_only_a_scale(self):
        slow, fast = (measured("--rate", r, "--minimum-mu", 0.1)["minimum_mu"][0]["mu"] for r in (1e3, 1e5))
        self.near(slow, fast, 1e-3)

    def test_samples_match_the_statistics(self):
        with tempfile.TemporaryDirectory() as d:
            file = Path(d) / "samples"
            out = measured("--messages", 3, "--samples", file)
            ns = [int(line) for line in file.read_text().split()]
        self.assertEqual(len(ns), 100000)
        self.near(sum(ns) / len(ns), out["mean_gap_ns"], 1e-6)
        # the statistic that was printed, by the other formula for it
        count, worst = len(ns), 0
        for i, t in enumerate(sorted(ns)):
            t /= 10000
            f = 1 - math.exp(-t) * (1 + t + t * t / 2)
            worst = max(worst, f - i / count, (i + 1) / count - f)
        self.near(worst, out["erlang"]["statistic"], 1e-6)

    def test_time_out(self):
        out = measured("--messages", 2, "--max-delay", "10us")
        e = math.exp(-1)
        self.near(out["mean_messages"], 2 - e, 0.01)
        self.near(out["mean_delay_ns"], 10000 * (1 - e) / (2 - e), 0.02)
        self.near(out["flushed"]["full"] / (out["flushed"]["full"] + out["flushed"]["time"]), 1 - e, 0.02)
        self.assertLess(out["erlang"]["p"], 1e-9)

    def test_second_switch(self):
        out = measured("--messages", 1, "--service", "exponential", "--mu", 2, "--packets", 1000000)["second"]
        self.assertEqual((out["accepted"], out["refused"]), (1000000, 0))
        self.near(out["utilisation"], 0.5, 0.01)
        self.near(out["mean_wait"], 1 / 2, 0.02)
        self.near(out["mean_wait_ns"], 10000 * out["mean_wait"], 1e-6)
        for service in ("exponential", "fixed"):
            out = measured("--messages", 1, "--service", service, "--mu", 2, "--buffer", 0)["second"]
            self.near(out["refused"] / 100000, 1 / 3, 0.02)
            self.assertEqual(out["mean_wait"], 0)
        # M/M/1/3 at a load of 1, which no endless buffer could bear: 1 of 4
        out = measured("--messages", 1, "--service", "exponential", "--mu", 1, "--buffer", 2)["second"]
        self.near(out["refused"] / 100000, 1 / 4, 0.03)

    def test_minimum_mu(self):
        for service, due in (("exponential", 3), ("fixed", 2)):
            (m,) = measured("--messages", 1, "--service", service, "--minimum-mu", 0.5, "--packets", 500000)["minimum_mu"]
            self.assertEqual(m["beta"], 0.5)
            self.near(m["model"], due, 1e-9)
            self.near(m["mu"], due, 0.01)

    def test_many_streams_are_a_poisson_process(self):
        """Of many the N-packets are a Poisson process themselves: Equation 14, with their rate."""
        def least(streams):
            out = measured("--messages", 8, "--streams", streams, "--minimum-mu", 0.1, "--packets", 400000)
            self.assertEqual(out["wrong"], 0)
            self.near(out["mean_gap_ns"], 80000, 0.01)
            self.near(out["mean_delay_ns"], 35000 * streams, 0.01)
            return out["minimum_mu"][0]["mu"] * 8

        self.near(least(1), 1.327, 0.01)
        self.near(least(2), 2.53, 0.02)
        self.near(least(1000), (2 * 0.1 + 1) / (2 * 0.1), 0.02)

    def test_first_switch(self):
        """Figure 7; its result holds after the aggregator and not before it."""
        def statistic(*args):
            return measured("--messages", 5, "--first-mu", 1.1, *args)["erlang"]["statistic"]

        self.assertLess(statistic("--first", "exponential", "--warm-up", 20000), 0.006)
        self.assertGreater(statistic("--first", "fixed"), 0.3)
        self.assertGreater(statistic("--first", "exponential", "--first-serves", "packets"), 0.03)
        self.assertLess(statistic("--first", "fixed", "--first-serves", "packets"), 0.01)

    def test_periodic_devices(self):
        self.assertGreater(measured("--devices", 10)["erlang"]["statistic"], 0.1)
        self.assertLess(measured("--devices", 10000)["erlang"]["statistic"], 0.01)

    def test_invalid_options_are_refused(self):
        for args, word in (
                (["--messages", 0], "1 to 255"), (["--messages", "2.5"], "whole"), (["--messages", "x"], "number"),
                (["--format", "json"], "full or lin2018"), (["--max-delay", "1"], "a time such as 500ms"),
                (["--minimum-mu", "0.1,"], "minimum-mu"), (["--minimum-mu", 0], "minimum-mu"), (["8"], "no option"),
                (["--first", "fixed", "--first-mu", 0.9], "keep up"), (["--mu", 0.1], "grow for ever"),
                (["--first", "fixed", "--streams", 2], "one stream"),
                (["--mu", "nan"], "number")):
            self.assertIn(word, run(*args, status=64), args)
        run("--nonsense", status=64)
        run("--packets", 10, "--samples", "/nonexistent/x", status=71)

    def test_help_has_every_option(self):
        source = (Path(__file__).parents[5] / "apps" / "sim" / "agg" / "options.c").read_text()
        names = re.findall(r'^\t\{"([a-z-]+)", (?:required|no)_argument', source, re.M)
        self.assertGreater(len(names), 15)
        text = run("--help")
        for name in names:
            self.assertRegex(text, rf"(?m)^  --{name}\b")


unittest.main()
