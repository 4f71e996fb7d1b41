# SPDX-License-Identifier: BSD-3-Clause
"""docs/performance/results.md: what bench/report/report.py makes of a small run, and that the one in the tree is made of the newest result."""

import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "report"))
import papers  # noqa: E402
import phd_result  # noqa: E402
import fleet_test  # noqa: E402
import peers_test  # noqa: E402
import report_pages  # noqa: E402
import report_monitoring  # noqa: E402
import report_more_tables  # noqa: E402
import report_ndr  # noqa: E402
import report_papers  # noqa: E402
import report_peers  # noqa: E402
import report_readme  # noqa: E402
import report_sections  # noqa: E402

REPORT = ROOT / "bench" / "report" / "report.py"
FIXTURE = Path(__file__).with_name("fixtures") / "run.json"
RESULTS = sorted((ROOT / "bench" / "results").glob("*.json"))  # by date, as they are called
SVG = "{http://www.w3.org/2000/svg}"
RUN = json.loads(FIXTURE.read_text(encoding="utf-8"))
# of bench/ndr/summary.py
SEARCHED = {"case": "inspect", "system": "kernel", "size": 64, "ndr": {"median": 1234.0, "spread": 0.021},
            "pdr": {"median": 5000.0, "spread": None}, "limited_by_generator": True, "failed": [],
            "latency": [{"percent": 10, "median_us": 10.0, "p99_us": 20.0, "p999_us": 30.0},
                        {"percent": 90, "median_us": 15.0, "p99_us": 25.0, "p999_us": 35.0, "inspected": 0.995}]}


# of bench/monitoring/monitoring
WATCHED = {"plain": {"median_us": 100.0, "p99_us": 300.0, "p999_us": 1500.0, "cycles_per_frame": 2000.0,
                     "load": {"median_us": 60.0, "p99_us": 400.0, "p999_us": 3000.0, "lost": 0}},
           "watched": {"median_us": 101.0, "p99_us": 310.0, "p999_us": 1400.0, "cycles_per_frame": 2100.0,
                       "load": {"median_us": 57.0, "p99_us": 500.0, "p999_us": 2000.0, "lost": 3}},
           "captures": [{"capture": "nothing", "ratio": 0.9, "ns": 40.0, "added_ns": 4.44},
                        {"capture": "sample", "ratio": 0.85, "ns": 40.0, "added_ns": 7.06}]}


def report(run_file, folder, png=False):
    """Output of bench/report/report.py: the page, and {picture: text} of its SVGs; PNGs only on request, because they
    take long."""
    out = Path(folder) / "results.md"
    with tempfile.TemporaryDirectory() as no_tools:
        (Path(no_tools) / "python3").symlink_to("/usr/bin/python3")
        path = os.environ["PATH"] if png else no_tools
        done = subprocess.run([sys.executable, REPORT, run_file, out], stderr=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, "PATH": path})
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"bench/report/report.py {run_file}: {done.returncode}: {done.stderr}")
    return out.read_text(encoding="utf-8"), {f.name: f.read_text(encoding="utf-8") for f in out.with_name("figures").glob("*.svg")}


def chapters(page):
    """{title: text} of what has two #."""
    parts = re.split(r"^## (.*)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def texts(svg):
    return [t.text or "" for t in xml.etree.ElementTree.fromstring(svg).iter(SVG + "text")]


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.page, cls.pictures = report(FIXTURE, folder, png=True)
            cls.pngs = {f.name for f in Path(folder).rglob("*.png")}
        cls.chapters = chapters(cls.page)

    def test_the_run_has_every_section(self):
        for section in report_sections.SECTIONS:
            self.assertTrue(section.table(RUN), section.title)

    def test_every_section_has_a_table_a_picture_and_its_command(self):
        for section in report_sections.SECTIONS:
            text = self.chapters[section.title]
            self.assertRegex(text, r"(?m)^\| --- \|", section.title)
            self.assertIn(f"Command: `scripts/bench {section.cases}`", text)
            for name in section.picture.names:
                self.assertIn(f"](figures/{name}.svg)", text, section.title)
            self.assertIn(".svg)", text, section.title)

    def test_pictures_are_well_formed_and_no_two_are_called_the_same(self):
        names = [name for s in report_sections.SECTIONS for name in s.picture.names]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({f"{name}.svg" for name in names}, set(self.pictures))
        for name, svg in self.pictures.items():
            self.assertGreater(len(texts(svg)), 5, name)
            self.assertNotRegex(svg, r"\b(nan|inf)\b", name)

    def test_tables_are_as_wide_as_their_heads(self):
        width = None
        for line in self.page.splitlines():
            if not line.startswith("|"):
                width = None
                continue
            width = width or line.count("|")
            self.assertEqual(line.count("|"), width, line)

    def test_links_lead_somewhere(self):
        for link in re.findall(r"\]\(([^)#]*\.md)\)", self.page):
            self.assertTrue((ROOT / "docs" / "performance" / link).is_file(), link)

    def test_commands_name_existing_cases(self):
        known = subprocess.run(["bash", "-c", f"sed -n '/^rate_cases=(/,/)/p; /^all_cases=(/,/)/p' {ROOT}/scripts/bench"],
                               capture_output=True, text=True, check=True).stdout
        known = set(re.findall(r"[\w-]+", known))
        commands = re.findall(r"`scripts/bench ([^`-][^`]*)`", self.page)
        self.assertGreater(len(commands), 30)
        for case in " ".join(commands).replace("...", "").split():
            self.assertIn(case, known)

    def test_every_paper_is_in_the_first_table(self):
        text = self.chapters["Comparison with the papers"]
        for title, rows_of, stands_in in report_papers.PAPERS:
            self.assertIn(f"### {title}", text)
            self.assertIn(stands_in, text)
            self.assertGreater(len(list(rows_of(RUN))), 2, title)
        figures = set(re.findall(r"(?m)^\| ([^|]+) \|", text))
        self.assertLessEqual({"3", "4", "5", "6", "7", "9", "10", "11b", "12", "13", "Table I", "4(c), (d)", "4(e)", "4(f)"},
                             figures)

    def test_alternatives_are_in_the_second_table(self):
        text = self.chapters["Comparison with alternatives"]
        for peer in ("mosquitto and a Python program", "Linux routing", "dpdk-testpmd", "socket program",
                     "the same converter with sockets"):
            self.assertIn(peer, text)

    def test_the_numbers_of_the_run_are_in_it(self):
        edge = RUN["alarm_paper"]["response"]["biplane"]["mean_us"]
        self.assertIn(f"{edge / 1e3:.2f} ms", self.chapters["Comparison with the papers"])
        at_64 = next(r for r in RUN["phd_sizes"] if r["apdu"] == 64)
        self.assertIn(f"| {at_64['most_pps']} |", self.page)
        bridge = next(r for r in RUN["rates"] if r["case"] == "bridge")
        self.assertIn(f"{bridge['mpps']:.1f} Mpps", self.chapters["Comparison with alternatives"])

    def test_the_numbers_of_the_papers_are_in_it(self):
        text = self.chapters["Comparison with the papers"]
        for number in ("61.992", "16.464", "0.501", "14.107", "9,459 of 870,071", "25 ms", "450,000", "19.7 µm, 48.5 %", "13.1 %",
                       "3.5 times", "1.58 times", "9.66 %, 72.23 %", "0.981, 0.13", "below 16 µs", "2.9 to 3.9 times"):
            self.assertIn(number, text)

    def test_the_numbers_of_the_papers_are_in_the_pictures(self):
        for name, marks in {
                "alarm-paper": ["paper: edge", "paper: cloud", "paper", "paper: bridge",
                                "paper: SmartNIC", "paper: cloud, 5 %", "paper: edge, 5 %"],
                "aggregation-goodput": ["paper: switches, Eq. 4, 5", "paper: servers, below"],
                "aggregation-models": ["paper: Erlang-5", "paper: Erlang-8", "paper: flat from here, 0.05"],
                "transform-times": ["paper: requirement"],
                "transform-throughput": ["paper's Userspace: no loss", "paper's Userspace: maximum"],
                "transform-accuracy": ["paper", "19.70", "48.5"],
                "phd-sizes": ["paper: two planes", "paper: one plane", "1 Gbit/s of the paper", "paper", "13.1"],
                "planes": ["paper: two planes", "paper: one plane, DPDK"],
                "lcl-paper": ["paper: d0 - tau, d0 + tau", "paper: 2 tau of each"],
                "lcl-real": ["paper: d0 - tau, d0 + tau", "paper: 2 tau of each"]}.items():
            drawn = texts(self.pictures[f"{name}.svg"])
            for mark in marks:
                self.assertIn(mark, drawn, name)

    def test_a_number_that_changes_changes_page_and_picture(self):
        run = copy.deepcopy(RUN)
        run["phd_sizes"][0]["single_most_pps"] = 123456
        with tempfile.TemporaryDirectory() as folder:
            changed = Path(folder) / "run.json"
            changed.write_text(json.dumps(run), encoding="utf-8")
            page, pictures = report(changed, folder)
        self.assertIn("123456", page)
        self.assertNotEqual(pictures["phd-sizes.svg"], self.pictures["phd-sizes.svg"])
        self.assertEqual(pictures["planes.svg"], self.pictures["planes.svg"])

    def test_without_rsvg_convert_there_are_the_svgs_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            page, pictures = report(FIXTURE, folder)
            self.assertEqual([], list(Path(folder).rglob("*.png")))
        self.assertEqual((page, pictures), (self.page, self.pictures))

    def test_png_for_each_svg(self):
        if any((Path(p) / "rsvg-convert").exists() for p in os.environ["PATH"].split(":")):
            self.assertEqual(self.pngs, {Path(name).with_suffix(".png").name for name in self.pictures})

    def test_missing_parts_of_a_run_are_omitted(self):
        with tempfile.TemporaryDirectory() as folder:
            small = Path(folder) / "run.json"
            small.write_text(json.dumps({**{k: RUN[k] for k in ("commit", "machine", "rounds", "seconds", "phd_sizes")},
                                         "rates": []}), encoding="utf-8")
            page, pictures = report(small, folder)
        self.assertEqual(set(pictures), {"phd-sizes.svg"})
        self.assertEqual(set(chapters(page)), {"Comparison with the papers", "Comparison with alternatives",
                                               next(s.title for s in report_sections.SECTIONS if "size" in s.title)})

    def test_a_picture_that_cannot_be_drawn_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = Path(folder) / "run.json"
            bad.write_text(json.dumps({**{k: RUN[k] for k in ("commit", "machine", "rounds", "seconds")}, "rates": [],
                                       "nodes": [{**RUN["nodes"][0], "nodes": [{"node": "x", "cycles": -1}]}]}),
                           encoding="utf-8")
            done = subprocess.run([sys.executable, REPORT, bad, Path(folder) / "results.md"], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no picture by plot_nodes", done.stderr)


class Failed(unittest.TestCase):
    """Cases that failed: scripts/bench says of each why, and has no part of them."""
    RUN = {**RUN, "growth": None, "publish": None, "peers": None, "rates": RUN["rates"][1:],
           "failed": [{"case": "bridge", "why": "no figure\nof `it`"}, {"case": "growth", "why": "others had it"},
                      {"case": "peers", "why": "no link"}, {"case": "publish", "why": "no broker"}]}

    def test_each_picture_replaces_its_table(self):
        with tempfile.TemporaryDirectory() as folder:
            run_file = Path(folder) / "run.json"
            run_file.write_text(json.dumps(self.RUN), encoding="utf-8")
            page, pictures = report(run_file, folder)
        found = chapters(page)
        for title, said in (("Scaling", "**`growth` failed in this run**: `others had it`"),
                            ("Control plane", "**`publish` failed in this run**: `no broker`"),
                            ("Alternatives", "**`peers` failed in this run**: `no link`"),
                            ("Forwarding rates", "**`bridge` failed in this run**: `no figure of 'it'`")):
            self.assertIn(said, found[title])
            self.assertEqual(1, page.count(said))
        self.assertIn("| Failed cases | `bridge`, `growth`, `peers`, `publish`; the sections state the reasons |", page)
        self.assertNotIn("growth.svg", pictures)
        self.assertIn("rates.svg", pictures)

    def test_parts_are_independent(self):
        # of sections that are of several cases, of which no two are missing at a time
        for parts in (("figure6", "latency", "sync", "nodes"), ("phd_figure6", "publish", "phd_associations", "phd_sizes")):
            with self.subTest(parts), tempfile.TemporaryDirectory() as folder:
                run_file = Path(folder) / "run.json"
                run_file.write_text(json.dumps({**RUN, **dict.fromkeys(parts)}), encoding="utf-8")
                report(run_file, folder)

    def test_pages_have_it_in_place_of_the_table(self):
        for name in [n for n in report_pages.TABLES if n in ("growth", "alarms", "services")]:
            begin, end = (report_pages.MARK.format(name=name, side=side) for side in ("from", "to"))
            page = report_pages.renew(f"{begin}\n\nof old\n\n{end}\n", self.RUN, "results.md")
            self.assertNotIn("of old", page)
            self.assertIn("failed in this run**", page)
        self.assertIn("- **`publish` failed in this run**: `no broker`", "\n".join(report_readme.block(self.RUN, "docs/performance/results.md")))

    def test_each_case_of_a_table_is_one_of_the_script(self):
        listed = subprocess.run([ROOT / "scripts" / "bench", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        for name in report_pages.TABLES:
            for case in report_pages.CASES.get(name, [name]):
                self.assertIn(case, listed, name)


class Figures(unittest.TestCase):
    """The arithmetic from a run to the tables, checked by hand."""

    def test_overhead_is_what_is_not_messages(self):
        run = {"nodes": [{"case": "phd", "worker_cycles": 200.0, "node_cycles": 190.0,
                          "nodes": [{"node": "phd", "cycles": 100.0}, {"node": "cse", "cycles": 50.0},
                                    {"node": "port_rx", "cycles": 40.0}]}]}
        self.assertEqual(phd_result.overhead(run), {"cycles": 200.0, "message_cycles": 150.0, "overhead_percent": 25.0})
        self.assertIsNone(phd_result.overhead({"nodes": None}))

    def test_loss_is_of_a_third_of_the_seconds(self):
        row = {"paper_pps": 3000, "paper_lost": 30, "line_pps": 1500, "line_lost": 0}
        self.assertEqual(phd_result.loss_percent(row, "paper", 3), 1.0)
        self.assertEqual(phd_result.loss_percent(row, "line", 3), 0.0)

    def test_kept_rate_is_relative_to_the_publication(self):
        self.assertEqual(phd_result.kept({"dual_wire_lost": 0, "single_wire_lost": 262144}, "single", 2), 0.5)
        self.assertIsNone(phd_result.kept({}, "dual", 2))

    def test_added_label_fits_the_line(self):
        self.assertEqual(phd_result.beside_on_line({"most_pps": 50, "single_most_pps": 5, "paper_pps": 20}), 4.0)
        self.assertEqual(phd_result.beside_on_line({"most_pps": 50, "single_most_pps": 40, "paper_pps": 20}), 1.0)

    def test_goodput_of_the_papers_equations(self):
        least, most = papers.agg_goodput(8)  # (8 / 12) / (1 / 5) = 3.333
        self.assertAlmostEqual(least, 3.3333 / 1.14, 3)
        self.assertAlmostEqual(most, 3.3333 / 0.85, 3)

    def test_published_single_plane_figures_are_shown(self):
        self.assertAlmostEqual(phd_result.paper_single(10000), 0.89 * 0.981)
        self.assertEqual(len(papers.PHD_SINGLE), 7)

    def test_figures_of_one_paper_agree_with_each_other(self):
        # at 512 bytes two planes have the line, and one has 1 / 2.9 of that
        self.assertAlmostEqual(papers.PHD_SINGLE_AT_LINE[512], 1 / papers.PHD_BESIDE[512], 2)
        self.assertEqual(papers.PHD_LINE_BITS / 8 / 512, papers.PHD_DATA_PPS)
        self.assertAlmostEqual(100 * (1 - papers.ALARM_EDGE_MS / papers.ALARM_CLOUD_MS), papers.ALARM_LESS_PERCENT, delta=1)
        self.assertGreaterEqual(papers.ALARM_EDGE_BYTES / papers.ALARM_EDGE_PACKETS, 66)

    def test_peers_are_listed_with_each_driver(self):
        rows = list(report_peers.peers(RUN))
        self.assertTrue(rows)
        for _, name, theirs, ours, case in rows:
            self.assertIn(name, report_peers.NAMES.values())
            self.assertRegex(ours, r"af_(packet|xdp): ")
            self.assertNotEqual(theirs, ours)
            self.assertEqual(case, "peers")


BEGIN, END = (report_pages.MARK.format(name="speed", side=side) for side in ("from", "to"))


class TheReadme(unittest.TestCase):
    PAGE = f"# biplane\n\n{BEGIN}\nof old\n{END}\n\n## Documents\n"

    def test_text_between_the_marks_is_generated(self):
        page = report_pages.renew(self.PAGE, RUN, "docs/performance/results.md")
        self.assertTrue(page.startswith(f"# biplane\n\n{BEGIN}\n"))
        self.assertTrue(page.endswith(f"\n{END}\n\n## Documents\n"))
        self.assertNotIn("of old", page)
        self.assertEqual(page, report_pages.renew(page, RUN, "docs/performance/results.md"))

    def test_the_four_figures_of_the_run_are_there(self):
        page = report_pages.renew(self.PAGE, RUN, "docs/performance/results.md")
        found = {r["case"]: r for r in RUN["rates"]}
        for case, _ in report_readme.RATES:
            self.assertRegex(page, rf"\(`{case}`\) \| {found[case]['mpps']:.1f} Mpps \|.*\| {found[case]['ratio']:.3f} \|")
        self.assertEqual(1, page.count("(`alarm-paper`)"))
        bare = report_pages.renew(self.PAGE, {**RUN, "rates": [], "alarm_paper": None}, "docs/performance/results.md")
        self.assertNotIn("| Case", bare)

    def test_ratio_and_target_are_next_to_each_other(self):
        rate = {**RUN["rates"][0], "ratio": 0.399, "target": 0.4}
        lines = report_more_tables.rates({"rates": [rate, {**rate, "target": None}, {**rate, "ratio": None}]})
        self.assertEqual(["| 0.399 | 0.40 |", "| 0.399 |  |", "| not measured | 0.40 |"], ["|" + "|".join(x.split("|")[-3:]) for x in lines[2:]])

    def test_each_table_of_the_pages_is_made(self):
        run = {**RUN, "peers": {**RUN["peers"], "services": peers_test.RUN["services"]}, "ndr": {"results": [SEARCHED]},
               "monitoring": WATCHED, "fleet": fleet_test.MEASURED}
        for name, make in report_pages.TABLES.items():
            lines = make(run)
            self.assertGreater(len(lines), 2, name)
            self.assertEqual(1, len({line.count("|") for line in lines}), name)
            self.assertFalse(make({"rates": []}), name)

    def test_watched_gateway_is_next_to_the_other(self):
        self.assertEqual(["| not watched | 100 | 300 | 1,500 | 60 | 400 | 3,000 | 0 | 2,000 |",
                          "| watched | 101 | 310 | 1,400 | 57 | 500 | 2,000 | 3 | 2,100 |",
                          "| difference | +1.0 % |  |  | -5.0 % |  |  |  | +5.0 % |"], report_monitoring.delays({"monitoring": WATCHED})[2:])
        self.assertEqual(["| matches nothing | 0.900 | -10.0 % | 40.0 | 4.44 |", "| matches 1 % of the frames | 0.850 | -15.0 % | 40.0 | 7.06 |"],
                         report_monitoring.captures({"monitoring": WATCHED})[2:])
        # each capture of the script has a name
        script = (ROOT / "bench" / "monitoring" / "monitoring").read_text(encoding="utf-8")
        self.assertEqual(set(report_monitoring.CAPTURES), set(re.search(r"^captures=\((.*)\)$", script, re.MULTILINE)[1].split()))

    def test_searches_are_by_case_and_size(self):
        def of(size, system, spread=0.021, median=1234.0):
            return {**SEARCHED, "size": size, "system": system, "ndr": {"median": median, "spread": spread}}
        run = {"ndr": {"results": [of(64, "kernel"), of(128, "kernel"), {**of(64, "x"), "case": "route"}, of(64, "biplane-af_xdp", None, None)]}}
        rows = [[c.strip() for c in line.split("|")[1:5]] for line in report_ndr.throughput(run)[2:]]
        self.assertEqual([["inspect", "64", "Linux kernel", "**1**"], ["inspect", "64", "biplane, AF_XDP", "-"],
                          ["inspect", "128", "Linux kernel", "**1**"], ["route", "64", "x", "**1**"]], rows)
        self.assertIn("| inspect | 64 | Linux kernel | 10 / 20 / 30 | - / - / - | 15 / 25 / 35 | 99.5 % |", report_ndr.latency(run))
        self.assertIn("| 2.1 % | **5** | - | yes |", report_ndr.throughput(run)[2])

    def test_missing_cases_keep_their_text(self):
        begin, end = (report_pages.MARK.format(name="growth", side=side) for side in ("from", "to"))
        page = f"{begin}\n\nof old\n\n{end}\n"
        self.assertEqual(page, report_pages.renew(page, {"rates": []}, "results.md"))
        self.assertNotIn("of old", report_pages.renew(page, RUN, "results.md"))

    def test_a_page_without_marks_is_refused(self):
        with self.assertRaises(ValueError):
            report_pages.renew("# biplane\n", RUN, "docs/performance/results.md")


class InTheTree(unittest.TestCase):
    def test_drawing_modules_are_in_the_tree(self):
        self.assertEqual([], [s.picture.script for s in report_sections.SECTIONS
                              if not os.access(ROOT / "bench" / "report" / s.picture.script, os.X_OK)])

    @unittest.skipUnless(RESULTS, "bench/results has no result")
    def test_the_page_is_that_of_the_newest_result(self):
        docs = ROOT / "docs" / "performance"
        with tempfile.TemporaryDirectory() as folder:
            page, pictures = report(RESULTS[-1], folder)
        again = f"bench/report/report.py bench/results/{RESULTS[-1].name} docs/performance/results.md"
        self.assertEqual((docs / "results.md").read_text(encoding="utf-8"), page, f"docs/performance/results.md is not that of: {again}")
        self.assertEqual({f.name: f.read_text(encoding="utf-8") for f in (docs / "figures").glob("*.svg")}, pictures,
                         f"a figure of docs/performance is not that of: {again}")
        self.assertEqual({f.stem for f in (docs / "figures").glob("*.png")}, {Path(n).stem for n in pictures})

    @unittest.skipUnless(RESULTS, "bench/results has no result")
    def test_other_pages_are_those_of_the_newest_result(self):
        run = json.loads(RESULTS[-1].read_text(encoding="utf-8"))
        pages = [page for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
                 if "<!-- bench/report/report.py" in page.read_text(encoding="utf-8")]
        self.assertGreater(len(pages), 3)
        renewed = re.search(r"^report_pages=\((.*?)\)", (ROOT / "scripts" / "bench").read_text(encoding="utf-8"), re.MULTILINE)[1]
        renewed = subprocess.run(["bash", "-c", f"echo {renewed}"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        self.assertEqual({str(p.relative_to(ROOT)) for p in pages}, set(renewed))
        for page in pages:
            old = page.read_text(encoding="utf-8")
            link = os.path.relpath(ROOT / "docs" / "performance" / "results.md", page.parent)
            self.assertEqual(old, report_pages.renew(old, run, link),
                             f"{page.name} is not of: bench/report/report.py bench/results/{RESULTS[-1].name} docs/performance/results.md {page.name}")

    @unittest.skipIf(RESULTS, "bench/results has a result")
    def test_without_a_result_there_is_no_page(self):
        self.assertFalse((ROOT / "docs" / "performance" / "results.md").exists(), "docs/performance/results.md is of no result in bench/results")


if __name__ == "__main__":
    unittest.main()
