# SPDX-License-Identifier: BSD-3-Clause
"""Relative links in the documents lead to files and headings that exist, and every docs/... path in the tree exists."""

import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
import docs_pages  # noqa: E402, the folder is known only here

TEXT = {".c", ".h", ".py", ".sh", ".yaml", ".in", ".build", ".md", ""}
# The changelog has paths of earlier releases, this file has wrong ones.
SKIPPED = {"CHANGELOG.md", "tests/unit/scripts/links_test.py"}


def pages(root):
    return sorted(p for p in [*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def without_code(text):
    text = re.sub(r"^(```+|~~~+).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(`+)(?:(?!\1).)+?\1", "", text)


def slug(heading):
    """The anchor that GitHub and pymdownx.slugs give a heading."""
    heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    heading = re.sub(r"[`*]|<[^>]*>", "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(page):
    """Headings that occur once, and explicit ids. GitHub and mkdocs number repeated headings differently."""
    text = re.sub(r"^(```+|~~~+).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    slugs = [slug(h) for h in re.findall(r"^#{1,6} +(.*?) *#*$", text, re.MULTILINE)]
    return {s for s in slugs if slugs.count(s) == 1} | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def faults(root):
    found = []
    for page in pages(root):
        text = without_code(page.read_text(encoding="utf-8"))
        links = re.findall(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)", text) + re.findall(r"^\[[^\]]+\]: +(\S+)", text, re.MULTILINE)
        for link in links:
            if re.match(r"[a-z]+:", link):
                continue
            path, _, fragment = link.partition("#")
            target = Path(os.path.normpath(page.parent / path)) if path else page
            name = f"{page.relative_to(root)}: {link}"
            if link.startswith("/") or not target.exists():
                found.append(f"{name}: no such file")
            elif target.is_dir() and not (target / "README.md").exists():
                found.append(f"{name}: a folder without README.md has no page on the site")
            elif fragment and (target.suffix != ".md" or fragment not in anchors(target)):
                found.append(f"{name}: no such heading, or more than one")
    return found


def source_files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "build", "__"))]
        for name in names:
            path = Path(folder) / name
            if path.suffix in TEXT and path.is_file() and str(path.relative_to(root)) not in SKIPPED:
                yield path


class Links(unittest.TestCase):
    def test_links_of_the_documents(self):
        self.assertGreater(len(pages(ROOT)), 30)
        self.assertEqual([], faults(ROOT))

    def test_every_page_is_in_the_navigation(self):
        """mkdocs.yml has each page once; without mkdocs and its Python tags."""
        nav = re.findall(r"[\w/.-]+\.md$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual(len(nav), len(set(nav)))
        self.assertEqual({str(docs_pages.place(p)) for p in pages(ROOT)} | {"project/LICENSE.md"}, set(nav))

    def test_paths_in_the_tree(self):
        missing = []
        for path in source_files(ROOT):
            for name in re.findall(r"\bdocs/[\w./-]+\.(?:md|svg|yaml|conf)(?![\w.]*\w)", path.read_text(encoding="utf-8", errors="replace")):
                if not (ROOT / name).exists() and not (path.parent / name).exists():
                    missing.append(f"{path.relative_to(ROOT)}: {name}")
        self.assertEqual([], missing)


class Checker(unittest.TestCase):
    """Results of the checks above, on a small tree."""

    PAGE = "# One\n\n## Twice\n\n## Twice\n\n## `a_b`: c/d\n\n```\n[code](no.md)\n# no heading\n```\n\n`[span](no.md)` "

    def check(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs" / "examples").mkdir(parents=True)
            (root / "README.md").write_text("# Readme\n")
            (root / "docs" / "a.yaml").write_text("\n")
            (root / "docs" / "page.md").write_text(self.PAGE + text)
            return [f.split(": ", 1)[1] for f in faults(root)]

    def test_good_links(self):
        self.assertEqual([], self.check("[a](#one) [b](#a_b-cd) [c](../README.md#readme) [d](a.yaml) [e](https://example.com/x)"))

    def test_bad_links(self):
        for link, reason in (("no.md", "no such file"), ("/docs/page.md", "no such file"), ("#no-heading", "no such heading"),
                             ("#twice", "more than one"), ("../README.md#no", "no such heading"), ("a.yaml#x", "no such heading"),
                             ("examples/", "folder without")):
            with self.subTest(link):
                found = self.check(f"[x]({link})")
                self.assertEqual(1, len(found))
                self.assertIn(reason, found[0])

    def test_links_of_the_site(self):
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder)
            (site / "index.html").write_text('<h1 id="one">x</h1><a href="a.html#two"></a><a href="https://example.com/"></a>')
            (site / "a.html").write_text('<h1 id="two">x</h1><a href="index.html#one"></a><img src="a.html">')
            self.assertFalse(docs_pages.check(site))
            for link in ("no.html", "a.html#one", "no.svg"):
                (site / "b.html").write_text(f'<a href="{link}"></a>')
                self.assertTrue(docs_pages.check(site), link)

    def test_links_of_a_collected_page(self):
        text = docs_pages.page(ROOT / "README.md")
        self.assertIn("](CONTRIBUTING.md)", text)
        self.assertIn("](../explanation/architecture.md)", text)
        self.assertIn("](../examples/README.md)", text)


if __name__ == "__main__":
    unittest.main()
