# SPDX-License-Identifier: BSD-3-Clause
"""bench/ndr: the throughput search with simulated systems, and the summary of known searches."""

import contextlib
import importlib.util
import io
import json
import random
import stat
import sys
import tempfile
import unittest
from pathlib import Path

if importlib.util.find_spec("MLRsearch") is None:
    print("no Python package MLRsearch in this interpreter; scripts/setup installs it in build-venv")
    sys.exit(77)  # skipped, for meson

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "ndr"))
import search  # noqa: E402
import summary  # noqa: E402

LATENCY = {"median_us": 10.0, "p99_us": 20.0, "p999_us": 30.0, "max_us": 40.0}


class Simulated(search.Generator):
    """A system that forwards `capacity` frames/s, with an error of each trial, and a sender that has a limit too."""

    def __init__(self, capacity, sender=1e12, noise=0.0, seed=1):
        super().__init__([], 64)
        self.capacity, self.sender, self.noise, self.random = capacity, sender, noise, random.Random(seed)

    def run(self, load, duration):
        intended = int(load * duration)
        sent = min(intended, int(self.sender * duration))
        capacity = self.capacity * (1 + self.random.uniform(-self.noise, self.noise))
        return {"intended": intended, "sent": sent, "arrived": min(sent, int(capacity * duration)), "sender_max_late_us": 1.0,
                "latency": LATENCY}


def options(*words):
    return search.arguments(["--case", "bridge", "--system", "simulated", "--output", "/dev/null", *words, "--", "generator"])


class KnownCapacity(unittest.TestCase):
    def assert_found(self, goal, capacity, width, what=None):
        self.assertLessEqual(goal["lower_bound"], capacity * 1.0001, what)
        self.assertGreater(goal["upper_bound"], capacity * 0.9999, what)
        self.assertLessEqual(1 - goal["lower_bound"] / goal["upper_bound"], width * 1.02, what)  # rates are rounded

    def test_bounds_are_within_the_goal_width(self):
        for capacity in (3_210, 123_456, 1_000_000, 4_000_000):
            for width in (0.05, 0.01, 0.005):
                found = search.search(Simulated(capacity), options("--width", str(width)))
                self.assert_found(found["ndr"], capacity, width, capacity)
                self.assert_found(found["pdr"], capacity / 0.995, width, capacity)
                self.assertLessEqual(found["ndr"]["throughput"], capacity * 1.0001)
                self.assertGreaterEqual(found["ndr"]["throughput"], capacity * (1 - width) * 0.9999)

    def test_ndr_trials_at_the_throughput_lost_nothing(self):
        measurer = Simulated(500_000)
        found = search.search(measurer, options())
        at = [t for t in measurer.trials if abs(t["load"] - found["ndr"]["lower_bound"]) < 1 and t["duration_s"] == 1.0]
        self.assertGreaterEqual(sum(t["duration_s"] for t in at), 2.5)  # more than half of the duration sum
        self.assertTrue(all(search.loss_ratio(t) == 0 for t in at))

    def test_noise(self):
        for seed in range(5):
            found = search.search(Simulated(500_000, noise=0.04, seed=seed), options())
            for goal in ("ndr", "pdr"):
                self.assertGreater(found[goal]["throughput"], 470_000)
                self.assertLess(found[goal]["throughput"], 530_000)

    def test_unsent_frames_count_as_lost(self):
        found = search.search(Simulated(900_000, sender=400_000), options())
        self.assert_found(found["ndr"], 400_000, 0.01)
        self.assert_found(found["pdr"], 400_000 / 0.995, 0.01)

    def test_latency_is_measured_at_parts_of_the_pdr(self):
        found = search.search(Simulated(500_000), options())
        self.assertEqual([at["percent"] for at in found["latency"]], [10, 50, 90])
        for at in found["latency"]:
            self.assertAlmostEqual(at["load"], found["pdr"]["throughput"] * at["percent"] / 100, delta=1)
            self.assertEqual(at["p999_us"], 30.0)

    def test_inspected_share(self):
        counts = iter([100, 100 + 25_000, 0, 125_000, 0, 112_500])
        found = search.search(Simulated(250_000), options("--width", "0.001"), lambda: next(counts))
        self.assertAlmostEqual(found["latency"][0]["inspected"], 1.0, delta=0.01)
        self.assertAlmostEqual(found["latency"][2]["inspected"], 0.5, delta=0.01)

    def test_no_throughput_above_the_minimum_load(self):
        found = search.search(Simulated(500), options())
        self.assertIsNone(found["ndr"]["throughput"])
        self.assertIsNone(found["pdr"]["throughput"])
        self.assertEqual(found["latency"], [])

    def test_the_maximum_load_may_be_the_throughput(self):
        found = search.search(Simulated(9e9), options("--max-load", "100000"))
        self.assertEqual(found["ndr"]["lower_bound"], 100_000)
        self.assertIsNone(found["ndr"]["upper_bound"])


FAKE = f"""#!{sys.executable}
import json, sys
a = sys.argv
rate, seconds = float(a[a.index("-r") + 1]), float(a[a.index("-t") + 1])
n = int(rate * seconds)
print(json.dumps({{"intended": n, "sent": n, "arrived": min(n, int(200000 * seconds)), "sender_max_late_us": 2.0, "latency": {LATENCY!r}}}))
"""


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.output = self.folder / "out.jsonl"

    def program(self, text):
        path = self.folder / "generator"
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def run_main(self, generator, *words):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            code = search.main(["--case", "bridge", "--system", "kernel", "--sizes", "64", "--width", "0.2", "--trial", "0.1",
                                "--output", str(self.output), *words, "--", generator])
        return code, err.getvalue()

    def failed(self, generator):
        code, err = self.run_main(generator)
        self.assertEqual(code, 1)
        self.assertFalse(self.output.exists())
        self.assertIn("search.py: bridge, kernel, 64 bytes: ", err)
        return err

    def test_each_size_is_a_line_with_all_trials(self):
        code, err = self.run_main(self.program(FAKE), "--sizes", "64,1518", "--round", "2", "--total", "4", "--position", "2")
        self.assertEqual(code, 0, err)
        lines = [json.loads(line) for line in self.output.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([(r["case"], r["system"], r["size"], r["round"]) for r in lines],
                         [("bridge", "kernel", 64, 2), ("bridge", "kernel", 1518, 2)])
        for r in lines:
            self.assertLessEqual(r["ndr"]["lower_bound"], 200_000)
            self.assertGreater(r["ndr"]["upper_bound"], 200_000)
            self.assertGreater(len(r["trials"]), 5)
            self.assertTrue(all(len(t) == len(search.TRIAL_FIELDS) for t in r["trials"]))
        self.assertIn("ndr: bridge, kernel, 64 bytes (3 of 4); about ", err)
        self.assertIn("left\n", err)

    def test_failure_has_the_message_of_the_generator(self):
        err = self.failed(self.program("#!/bin/sh\necho 'packet_load: nothing came through' >&2\nexit 1\n"))
        self.assertIn("the generator failed (exit status 1): packet_load: nothing came through", err)

    def test_output_that_is_not_json(self):
        self.assertIn("the generator printed no JSON object: 'hello", self.failed(self.program("#!/bin/sh\necho hello\n")))

    def test_output_without_a_count(self):
        self.assertIn("no member 'sent'", self.failed(self.program("#!/bin/sh\necho '{\"intended\": 1}'\n")))

    def test_missing_generator(self):
        self.assertIn("No such file or directory", self.failed(str(self.folder / "none")))

    def test_generator_that_does_not_end(self):
        before = search.TRIAL_TIMEOUT_S
        search.TRIAL_TIMEOUT_S = 0
        self.addCleanup(setattr, search, "TRIAL_TIMEOUT_S", before)
        self.assertIn("the generator did not end within", self.failed(self.program("#!/bin/sh\nexec sleep 100\n")))

    def test_search_that_does_not_end(self):
        with self.assertRaisesRegex(search.SearchError, "the search failed after .* takes too long"):
            search.search(Simulated(100_000), options("--timeout", "0.000001"))
        code, err = self.run_main(self.program(FAKE), "--sizes", "64,128", "--timeout", "0.000001")
        self.assertEqual(code, 0)
        self.assertIn("search.py: bridge, kernel, 128 bytes: the search failed", err)
        lines = [json.loads(line) for line in self.output.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(len(lines), 2)
        self.assertTrue(all(r["trials"] for r in lines))
        text = list(summary.tables(summary.merge(Summary.PARAMETERS, lines)))
        self.assertTrue(any(t.startswith("failed: bridge, kernel, 64 bytes, round 1: the search failed") for t in text), text)

    def test_invalid_options(self):
        for words in (["--sizes", "64,x"], ["--width", "0"], ["--width", "1"], ["--trial", "0"], ["--min-load", "6e6"]):
            with self.subTest(words), contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
                options(*words)


def searched(case, system, ndr, pdr, size=64, p50=10.0):
    def goal(x):
        return {"throughput": x, "lower_bound": x, "upper_bound": None if x is None else 1.01 * x}
    return {"case": case, "system": system, "size": size, "round": 1, "ndr": goal(ndr), "pdr": goal(pdr),
            "latency": [{"percent": 50, "load": 1.0, "loss_ratio": 0.0, **LATENCY, "median_us": p50}], "trials": []}


class Summary(unittest.TestCase):
    PARAMETERS = {"rounds": 3, "trial_s": 1, "width": 0.01}

    def merged(self, *searches):
        return {(r["case"], r["system"]): r for r in summary.merge(self.PARAMETERS, list(searches))["results"]}

    def test_fields_are_those_of_the_search(self):
        self.assertEqual(list(summary.TRIAL_FIELDS), list(search.TRIAL_FIELDS))

    def test_median_and_spread_of_the_rounds(self):
        r = self.merged(*[searched("bridge", "kernel", n, n + 1000, p50=p) for n, p in ((100e3, 5), (110e3, 50), (105e3, 9))])
        ndr = r["bridge", "kernel"]["ndr"]
        self.assertEqual(ndr["median"], 105e3)
        self.assertAlmostEqual(ndr["spread"], 10 / 105, places=4)
        self.assertEqual(ndr["rounds"], [100e3, 110e3, 105e3])
        self.assertEqual(r["bridge", "kernel"]["latency"][0]["median_us"], 9)

    def test_one_round_has_no_spread(self):
        self.assertIsNone(self.merged(searched("bridge", "kernel", 1e5, 1e5))["bridge", "kernel"]["ndr"]["spread"])

    def test_results_near_the_generators_own_throughput_are_marked(self):
        r = self.merged(searched("generator", "direct", 1e6, 1.1e6), searched("generator-mqtt", "direct", 5e5, 5e5),
                        searched("bridge", "kernel", 0.91e6, 0.95e6), searched("bridge", "biplane", 5e5, 5.1e5),
                        searched("route", "kernel", 1e5, 1e6), searched("inspect", "biplane", 4.6e5, 4.6e5))
        marked = {k for k, v in r.items() if v["limited_by_generator"]}
        self.assertEqual(marked, {("bridge", "kernel"), ("route", "kernel"), ("inspect", "biplane")})

    def test_missing_systems_are_named(self):
        one = searched("bridge", "kernel", 1e5, 1e5)
        missing = {**self.PARAMETERS, "missing": [{"name": "route:grout-af_xdp", "why": "no GROUT"}]}
        self.assertIn("not installed: route:grout-af_xdp: no GROUT", list(summary.tables(summary.merge(missing, [one]))))
        self.assertFalse([line for line in summary.tables(summary.merge(self.PARAMETERS, [one])) if "not installed" in line])

    def test_another_size_does_not_mark(self):
        r = self.merged(searched("generator", "direct", 1e6, 1e6, size=64), searched("bridge", "kernel", 1e6, 1e6, size=128))
        self.assertFalse(r["bridge", "kernel"]["limited_by_generator"])

    def test_tables(self):
        text = list(summary.tables(summary.merge(self.PARAMETERS, [
            searched("generator", "direct", 1e6, 1e6), searched("bridge", "kernel", 990e3, 995e3), searched("bridge", "kernel", 1e6, 1.05e6),
            searched("route", "kernel", None, None)])))
        row = next(line for line in text if line.startswith("bridge "))
        self.assertEqual(row.split(), ["bridge", "kernel", "64", "995,000", "1.0", "1,022,500", "5.4", "524", "limited", "by", "the", "generator"])
        row = next(line for line in text if line.startswith("route "))
        self.assertEqual(row.split(), ["route", "kernel", "64", "-", "-", "-", "-", "-"])
        at = [line for line in text if line.startswith("bridge ")][1]
        self.assertEqual(at.split(), ["bridge", "kernel", "64", "50", "0.000", "10.0", "20.0", "30.0", "40.0", "-"])

    def test_trials_with_a_late_sender_are_a_note(self):
        def trial(late_us, sent=100):
            return [1e5, 1, 100, sent, sent, late_us, 1, 2, 3, 4]
        one = {**searched("bridge", "kernel", 1e5, 1e5), "trials": [trial(5)] * 8 + [trial(1500)] * 2 + [trial(9e5, sent=50)] * 9}
        self.assertAlmostEqual(summary.late_share([one]), 0.2)
        notes = [line for line in summary.tables(summary.merge(self.PARAMETERS, [one])) if line.startswith("note: ")]
        self.assertEqual(len(notes), 1)
        self.assertIn("in 20 % of the trials the sender was more than 1 ms late", notes[0])
        one["trials"] = [trial(5)] * 19 + [trial(1500)]
        self.assertFalse([line for line in summary.tables(summary.merge(self.PARAMETERS, [one])) if line.startswith("note: ")])


if __name__ == "__main__":
    unittest.main()
