# SPDX-License-Identifier: BSD-3-Clause
"""biplane-lcl-sim as a command: its output, reproducibility, and refused options.

    lcl_sim_test.py BIPLANE-LCL-SIM
"""

import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from sim_command import run  # noqa: E402


def measured(*args):
    return json.loads(run("--json", "--frames", 50000, *args))


class Command(unittest.TestCase):
    def test_repeated_request(self):
        args = ("--scenario", "random", "--frames", 20000)
        self.assertEqual(run(*args), run(*args))
        self.assertNotEqual(run(*args), run(*args, "--seed", 2))

    def test_table_has_each_flow(self):
        text = run("--frames", 20000)
        for flow in ("ts-1", "ts-4", "be-3"):
            self.assertIn(flow, text)
        self.assertEqual(len(re.findall(r"(?m)^ts-4", text)), 1 + 3)

    def test_json_has_each_flow(self):
        out = measured("--tau", "10us", "--series", "1ms")
        self.assertEqual((out["scenario"], out["scheduler"], out["tau_ns"], out["queues"]), ("three-nodes", "lcl", 10000, 4))
        self.assertEqual([f["hops"] for f in out["flows"]], [1, 2, 3, 3])
        self.assertEqual([f["budget_ns"] for f in out["flows"]], [10000, 10000, 15000, 20000])
        self.assertEqual(sum(f["sent"] for f in out["flows"]), 50000)
        self.assertEqual(len(out["best_effort"]), 3)
        departures = 0
        for flow in out["flows"]:
            self.assertEqual((flow["received"], flow["lost"], flow["within"]), (flow["sent"], 0, 1))
            self.assertLessEqual(abs(flow["pdv_ns"] - (flow["max_ns"] - flow["min_ns"])), 1)
            self.assertEqual([n["n"] for n in flow["nodes"]], list(range(flow["hops"], 0, -1)))
            self.assertEqual(flow["nodes"][0]["d_max_ns"], flow["budget_ns"])
            # the waiting times at the nodes add up to the delay, on average
            self.assertLessEqual(abs(sum(n["mean_ns"] for n in flow["nodes"]) - flow["mean_ns"]), 2)
            self.assertEqual(min(s[1] for s in flow["series"]), flow["min_ns"])
            self.assertEqual(max(s[3] for s in flow["series"]), flow["max_ns"])
            departures += flow["sent"] * flow["hops"]
        departures += sum(b["received"] for b in out["best_effort"])
        self.assertEqual(out["departures"], departures)

    def test_options_change_the_scenario(self):
        out = measured("--scenario", "chain", "--hops", 5, "--flows", 2, "--budget", "200us", "--best-effort", 0, "--frame",
                       300, "--rate", "1e10", "--scheduler", "priority")
        self.assertEqual((out["ports"], len(out["flows"]), out["best_effort"]), (5, 11, []))
        self.assertEqual((out["flows"][0]["hops"], out["flows"][0]["budget_ns"], out["lcl"]), (5, 200000, False))
        for source in ("constant", "poisson"):
            self.assertTrue(measured("--scenario", "random", "--source", source)["departures"] > 50000)
        few = measured("--queue-frames", 10, "--guard", "1us", "--propagation", "2us")
        self.assertGreater(sum(f["lost"] for f in few["flows"]), 0)
        self.assertEqual(few["queue_frames"], 10)
        self.assertEqual(measured("--queues", 6)["queues"], 6)
        nodes = measured("--scenario", "random", "--nodes", 3, "--hops", 3, "--load", 0.5)
        self.assertEqual(nodes["ports"], 3)
        wandering = measured("--phases", "wandering")
        self.assertLess(min(f["within"] for f in wandering["flows"]), 1)

    def test_invalid_options_are_refused(self):
        for args, word in (
                (["--scenario", "ring"], "three-nodes"), (["--hops", 3], "not for scenario three-nodes"),
                (["--scenario", "chain", "--nodes", 3], "not for scenario chain"),
                (["--scenario", "random", "--phases", "staggered"], "not for scenario random"),
                (["--load", 1], "not for scenario three-nodes"), (["--flows", 1], "not for scenario three-nodes"),
                (["--scenario", "chain", "--hops", 65], "1 to 64"), (["--scenario", "chain", "--hops", 0], "1 to 64"),
                (["--scenario", "random", "--nodes", 3], "only 3"), (["--scenario", "random", "--flows", 0], "at least 1"),
                (["--tau", "999ns"], "1000 ns"), (["--tau", "11ms"], "10000000 ns"), (["--tau", 8], "a time such as"),
                (["--queues", 1], "2 to 64"), (["--rate", 0], "number"), (["--frame", 63], "64 to 1518"),
                (["--frames", 0], "whole"), (["--frames", "1e6"], "whole"), (["--best-effort", 1], "1000 bps"),
                (["--scheduler", "drr"], "fifo"), (["--budget", "2s"], "1000000000 ns"), (["8"], "no option")):
            self.assertIn(word, run(*args, status=64), args)
        run("--nonsense", status=64)
        self.assertIn("64 queues", run("--scenario", "chain", "--tau", "1us", "--budget", "900ms", status=64))

    def test_help_has_every_option(self):
        source = (Path(__file__).parents[5] / "apps" / "sim" / "lcl" / "options.c").read_text()
        names = re.findall(r'^\t\{"([a-z-]+)", (?:required|no)_argument', source, re.M)
        self.assertGreater(len(names), 15)
        text = run("--help")
        for name in names:
            self.assertRegex(text, rf"(?m)^  --{name}\b")


unittest.main()
