# SPDX-License-Identifier: BSD-3-Clause
"""Files, links, tests and suites named in CONTRIBUTING.md and docs/developer/ exist. The argument is the build
folder."""

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CODE = "\n".join(block or span for block, span in re.findall(r"^```\n(.*?)^```|`([^`\n]+)`", PAGE, re.DOTALL | re.MULTILINE))


class Contributing(unittest.TestCase):
    def test_named_files_exist(self):
        folders = "|".join(f.name for f in ROOT.iterdir() if f.is_dir() and not f.name.startswith((".", "build")))
        names = re.findall(rf"(?<![\w./-])(?:{folders})/[\w./*-]*", CODE)
        self.assertGreater(len(names), 20)
        self.assertEqual([name for name in names if not list(ROOT.glob(name))], [])

    def test_links_exist(self):
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGE)
        self.assertGreater(len(links), 3)
        self.assertEqual([link for link in links if not (ROOT / link).exists()], [])

    def test_tests_and_suites(self):
        tests = json.loads(subprocess.run(["meson", "introspect", "--tests", BUILD], stdout=subprocess.PIPE, check=True).stdout)
        names = set(re.findall(r"meson test -C [\w-]+ (\w[\w-]*)", CODE))
        suites = set(re.findall(r"meson test -C [\w-]+ --suite ([\w-]+)", CODE))
        self.assertTrue(names and suites)
        self.assertEqual(names - {test["name"] for test in tests}, set())
        self.assertEqual(suites - {suite.split(":")[-1] for test in tests for suite in test["suite"]}, set())

    def test_fuzz_targets_exist(self):
        programs = re.findall(r"\b(fuzz_\w+)", CODE)
        self.assertTrue(programs)
        self.assertEqual([name for name in programs if not (ROOT / "tests" / "fuzz" / f"{name}.c").exists()], [])


class Developer(unittest.TestCase):
    """docs/developer/: NAME is replaced by each service."""

    def setUp(self):
        self.services = re.findall(r"'(\w+)'", re.search(r"^services = \[(.*)\]", (ROOT / "meson.build").read_text(), re.MULTILINE)[1])
        self.pages = sorted((ROOT / "docs" / "developer").glob("*.md"))
        self.folders = "|".join(f.name for f in ROOT.iterdir() if f.is_dir() and not f.name.startswith((".", "build")))

    def exists(self, name):
        return any(list(ROOT.glob(name.replace("NAME", s))) for s in (self.services if "NAME" in name else [""]))

    def test_named_files_exist(self):
        self.assertGreater(len(self.pages), 4)
        for page in self.pages:
            spans = "\n".join(re.findall(r"`([^`\n]+)`", page.read_text()))
            names = re.findall(rf"(?<![\w./-])(?:{self.folders})/[\w./*-]*", spans)
            self.assertTrue(names, page)
            self.assertEqual([name for name in names if not self.exists(name)], [], page)

    def test_links_exist(self):
        for page in self.pages:
            links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
            self.assertEqual([link for link in links if not (page.parent / link).exists()], [], page)


if __name__ == "__main__":
    BUILD = sys.argv.pop()
    unittest.main()
