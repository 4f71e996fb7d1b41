# SPDX-License-Identifier: BSD-3-Clause
"""bench/routes/growth.sh and bench/report/plot_growth with known figures."""

import importlib.machinery
import importlib.util
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "report"))
LOADER = importlib.machinery.SourceFileLoader("plot_growth", str(ROOT / "bench" / "report" / "plot_growth"))
plot = importlib.util.module_from_spec(importlib.util.spec_from_loader("plot_growth", LOADER))
LOADER.exec_module(plot)

SERIES = [{"name": "routes", "what": "routes", "steps": [
    {"n": 16, "ns": 20.0, "mpps": 50.0, "ratio": 1.0}, {"n": 1000, "ns": 30.0, "mpps": 33.3, "ratio": 0.8}]},
    {"name": "workers", "what": "workers", "steps": [
        {"n": 1, "ns": 10.0, "mpps": 100.0, "ratio": 1.0}, {"n": 2, "ns": 5.0, "mpps": 200.0, "ratio": 1.9}]}]


def shell(commands):
    """Their output, with bench/routes/growth.sh included."""
    script = f". {ROOT / 'bench' / 'routes' / 'growth.sh'}\n{commands}"
    return subprocess.run(["bash", "-euc", script], check=True, capture_output=True, text=True).stdout.split()


class Growth(unittest.TestCase):
    def test_point_rate_is_the_minimum(self):
        self.assertEqual(plot.points(SERIES[0]["steps"]), [(16, 50.0), (1000, 40.0)])

    def test_a_panel_a_series(self):
        with tempfile.NamedTemporaryFile(suffix=".svg") as f:
            plot.draw(SERIES).write(f.name)
            texts = [t.text for t in xml.etree.ElementTree.parse(f.name).iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("IPv4 routes", texts)
        self.assertIn("last: 0.80 of the first", texts)
        self.assertIn("last: 1.90 of the first", texts)
        self.assertIn("1 k", texts)  # of the logarithmic axis

    def test_every_series_has_a_title(self):
        series = shell('printf "%s\\n" "${growth_series[@]}"')
        self.assertEqual(set(series), set(plot.TITLES))
        self.assertEqual(series, shell('for s in "${growth_series[@]}"; do [ -n "${growth_what[$s]}" ]; echo "$s"; done'))

    def test_ends_are_the_first_and_the_last(self):
        self.assertEqual(shell('growth_ends; echo "${growth_steps[routes]} ${growth_steps[workers]}"'),
                         ["16", "1000000", "1", "2"])

    def test_ratio_is_of_rates(self):
        self.assertEqual(shell("growth_of 20 40; growth_of 15.0 5"), ["0.500", "3.000"])

    def test_a_run_without_it_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            f.write('{"growth": null}')
            f.flush()
            r = subprocess.run([sys.executable, ROOT / "bench" / "report" / "plot_growth", f.name, "/dev/null"],
                               capture_output=True, text=True, check=False)
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("no case growth", r.stderr)


if __name__ == "__main__":
    unittest.main()
