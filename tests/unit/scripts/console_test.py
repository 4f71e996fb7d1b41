# SPDX-License-Identifier: BSD-3-Clause
"""The files of the console: all are embedded, text never becomes markup, nothing is inline or of another origin."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CONSOLE = ROOT / "apps" / "biplane" / "monitor" / "console"
MARKUP = re.compile(r"\b(innerHTML|outerHTML|insertAdjacentHTML|DOMParser|createContextualFragment|setHTMLUnsafe|document\.write|eval|Function)\b")


class Console(unittest.TestCase):
    def test_all_files_are_embedded(self):
        listed = re.findall(r"'biplane/monitor/console/([^']+)'", (ROOT / "apps" / "meson.build").read_text())
        self.assertEqual(sorted(listed), sorted(f.name for f in CONSOLE.iterdir()))

    def test_imports_and_links_lead_to_files(self):
        for file in CONSOLE.iterdir():
            text = file.read_text()
            for name in re.findall(r'from "\./([^"]+)"', text) + re.findall(r'(?:src|href)="/console/([^"]+)"', text):
                self.assertTrue((CONSOLE / name).is_file(), f"{file.name}: {name}")

    def test_text_never_becomes_markup(self):
        for file in CONSOLE.glob("*.js"):
            self.assertEqual(MARKUP.findall(file.read_text()), [], file.name)

    def test_nothing_is_inline_or_of_another_origin(self):
        page = (CONSOLE / "index.html").read_text()
        self.assertEqual(re.findall(r"<style|\sstyle=|\son\w+=|<script>|<iframe|<base", page), [])
        for file in CONSOLE.iterdir():
            urls = set(re.findall(r"\bhttps?://[^\s\"'`)]+", file.read_text()))
            self.assertLessEqual(urls, {"http://www.w3.org/2000/svg"}, file.name)  # a name space, which is not requested


if __name__ == "__main__":
    unittest.main()
