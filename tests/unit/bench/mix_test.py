# SPDX-License-Identifier: BSD-3-Clause
"""bench/report/mix_result.py, nodes_result.py and svg_bars.py with known runs."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "report"))
import mix_result  # noqa: E402
import nodes_result  # noqa: E402
from svg_bars import StackedBars  # noqa: E402
from svg_chart import Page  # noqa: E402

PARTS = [{"part": "mqtt", "share": 3, "frames": 3}, {"part": "plain", "share": 1, "frames": 1}]


def run(cpu_ns, **more):
    return {"cpu_ns": cpu_ns, "parts": PARTS, "dropped": 0, **more}


def paced(lost, shared, longest):
    return run(300, rate=4_000_000, wire_offered=1000, wire_lost=lost, lost_shared=shared, longest_us=longest)


# by hand: a packet of the mix costs 3/4 of 100 ns and 1/4 of 200 ns, 125 ns; it took 250 ns
MIX = mix_result.result(0.7, {"mqtt": [run(90), run(100), run(900)], "plain": [run(200)]},
                        [run(250), run(250), run(10)], [paced(0, 0, 30), paced(3, 0, 40), paced(17, 15, 500)])


def node(name, cycles):
    return {"node": name, "cycles": cycles, "cycles_per_object": cycles, "objects_per_call": 64.0}


NODES_RUN = {"nodes": [node("bp_port_rx-0-0", 20), node("bp_port_tx-1", 10), node("bp_port_tx-2", 2.5)],
             "worker_cycles": 34.0, "hz": 2600000000}


class Mix(unittest.TestCase):
    def test_rates_are_of_the_median_round(self):
        mqtt, plain = MIX["parts"]
        self.assertEqual((mqtt["part"], mqtt["share"], mqtt["alone_ns"], mqtt["alone_mpps"]), ("mqtt", 0.75, 100, 10))
        self.assertEqual((plain["share"], plain["alone_mpps"]), (0.25, 5))
        self.assertEqual(MIX["mixed_mpps"], 4)
        self.assertEqual((mqtt["mixed_mpps"], plain["mixed_mpps"]), (3, 1))

    def test_expected_cost_of_the_mix_is_the_sum(self):
        self.assertEqual((MIX["due_ns"], MIX["due_mpps"], MIX["ratio"]), (125, 8, 0.5))

    def test_all_losses_are_listed(self):
        self.assertEqual(MIX["paced"], {
            "fraction": 0.7, "rate": 4_000_000, "ring_us": 256, "longest_us": 500, "packets": 3000, "dropped": 0,
            "ring_lost": 20, "ring_lost_shared": 15})
        table = mix_result.table(MIX)
        self.assertIn("of 3000 packets 0 dropped", table)
        self.assertIn("receive ring: 5 (target 0), and 15 just after other processes", table)


class Nodes(unittest.TestCase):
    def test_node_instances_are_summed(self):
        self.assertEqual(nodes_result.cycles_of(NODES_RUN), {"port_rx": 20, "port_tx": 12.5})

    def test_median_round_is_used(self):
        runs = [dict(NODES_RUN, nodes=[node("bp_port_rx-0-0", c), node("bp_drop", 100 - 3 * c)]) for c in (1, 9, 4)]
        case = nodes_result.case_result("bridge", runs)
        self.assertEqual([n["cycles"] for n in case["nodes"]], [4, 88])
        self.assertEqual(case["node_cycles"], 92)

    def test_time_between_nodes_is_not_negative(self):
        case = nodes_result.case_result("bridge", [NODES_RUN])
        self.assertEqual(nodes_result.between(case), 1.5)
        self.assertEqual(nodes_result.between(dict(case, worker_cycles=30.0)), 0)


class Bars(unittest.TestCase):
    def bars(self):
        bars = StackedBars(0, 0, 400, 300, "<title>", "x", decimals=1)
        bars.bar("one", [("a", 10.0), ("b", 30.0), ("none", 0.0)])
        bars.bar("two", [("b", 20.0), ("c", 60.0)])
        return bars

    def rectangles(self, bars):
        return [[float(v) for v in r] for r in re.findall(
            r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"[^>]*><title>', "\n".join(bars.svg()))]

    def test_parts_are_stacked_to_scale(self):
        (ax, ay, aw, _), (bx, by, bw, bh), (_, cy, cw, _), (dx, _, dw, _) = self.rectangles(self.bars())
        self.assertEqual((ax, ay), (100, by))
        self.assertAlmostEqual(bx, ax + aw, delta=0.11)
        self.assertAlmostEqual(bw / aw, 3, delta=0.02)
        self.assertAlmostEqual(cw / aw, 2, delta=0.02)
        self.assertAlmostEqual(dw / aw, 6, delta=0.02)
        self.assertLessEqual(by + bh, cy)
        self.assertLessEqual(dx + dw, 400)

    def test_each_part_has_one_colour_and_legend_entry(self):
        bars = self.bars()
        text = "\n".join(bars.svg())
        self.assertEqual(len(set(bars.colours.values())), 4)
        for part in "abc":
            self.assertEqual(len(re.findall(f">{part}</text>", text)), 1)
        self.assertEqual(len(re.findall("<title>b ", text)), 2)

    def test_long_legend_wraps(self):
        bars = StackedBars(0, 0, 300, 300, "t", "x")
        bars.bar("one", [(f"part number {i}", 1.0) for i in range(9)])
        rows = {row for _, row, _ in bars.legend()}
        self.assertEqual(rows, set(range(max(rows) + 1)))
        self.assertGreater(len(rows), 1)
        for x, _, part in bars.legend():
            self.assertLess(x + bars.LETTER * len(part), 300)

    def test_one_part_without_a_name_needs_no_legend(self):
        bars = StackedBars(0, 0, 300, 300, "t", "x", decimals=None, left=150)
        bars.bar("one", [("", 12345.6)])
        self.assertEqual(bars.legend(), [])
        self.assertIn(">12,346</text>", "\n".join(bars.svg()))

    def test_sums_are_after_the_bars(self):
        text = "\n".join(self.bars().svg())
        self.assertIn(">40.0</text>", text)
        self.assertIn(">80.0</text>", text)
        self.assertIn("&lt;title&gt;", text)

    def test_negative_part_is_rejected(self):
        with self.assertRaisesRegex(ValueError, "one: a part below 0"):
            self.bars().bar("one", [("a", -1)])


class Commands(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.work = Path(self.directory.name)

    def write(self, name, *lines):
        path = self.work / name
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return str(path)

    def command(self, *args, text=None):
        return subprocess.run(
            [sys.executable, *args], input=text, capture_output=True, text=True, cwd=ROOT, check=False)

    def picture(self, plot, run_json):
        out = str(self.work / "out.svg")
        done = self.command(f"bench/report/{plot}", self.write("run.json", run_json), out)
        self.assertEqual(done.returncode, 0, done.stderr)
        return ElementTree.parse(out)

    def test_mix_from_rounds_to_picture(self):
        files = [self.write(f"mix-{name}", line) for name, line in
                 (("mqtt", run(100)), ("plain", run(200)), ("all", run(250)), ("paced", paced(0, 0, 30)))]
        done = self.command("bench/report/mix_result.py", "0.7", *files)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["ratio"], 0.5)
        table = self.command("bench/report/mix_result.py", "--table", text=done.stdout)
        self.assertIn("0.50 of what the parts' own rates make (8.00)", table.stdout)
        texts = [t.text for t in self.picture("plot_mix", {"mix": json.loads(done.stdout)}).iter() if t.text]
        self.assertIn("250.0", texts)  # nanoseconds of a mixed packet
        self.assertIn("125.0", texts)  # of its parts

    def test_nodes_from_rounds_to_picture(self):
        done = self.command("bench/report/nodes_result.py", self.write("nodes-bridge", NODES_RUN))
        self.assertEqual(done.returncode, 0, done.stderr)
        table = self.command("bench/report/nodes_result.py", "--table", text=done.stdout)
        self.assertRegex(table.stdout, r"bridge +34\.0 +32\.5 +port_rx 20\.0, port_tx 12\.5")
        texts = [t.text for t in self.picture("plot_nodes", {"nodes": json.loads(done.stdout)}).iter() if t.text]
        self.assertIn("between nodes", texts)
        self.assertIn("34", texts)

    def test_missing_case_is_reported(self):
        for plot, case in (("plot_mix", "mix"), ("plot_nodes", "nodes")):
            done = self.command(f"bench/report/{plot}", self.write("run.json", {"rates": [], case: None}), "/nowhere.svg")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"the run has no case {case}", done.stderr)


class Pages(unittest.TestCase):
    def test_bars_are_panels_of_a_page(self):
        page = Page(400, 300, "what it shows")
        page.panels.append(StackedBars(0, 0, 400, 300, "t", "x"))
        page.panels[0].bar("one", [("a", 1.0)])
        with tempfile.TemporaryDirectory() as d:
            page.write(f"{d}/p.svg")
            self.assertIn("svg", ElementTree.parse(f"{d}/p.svg").getroot().tag)


if __name__ == "__main__":
    unittest.main()
