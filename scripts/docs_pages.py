# SPDX-License-Identifier: BSD-3-Clause
"""Pages and links of the documentation's site, for scripts/docs.

    scripts/docs_pages.py collect FOLDER    copies docs/ into FOLDER and the documents of the root into FOLDER/project
    scripts/docs_pages.py check SITE        reports links in SITE that lead to no file or no anchor; exit status 1 if any
"""
import html.parser
import os
import re
import shutil
import sys
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"]


def place(path):
    """Path of a file of the repository among the pages, or None."""
    path = path.relative_to(ROOT)
    if path.parts and path.parts[0] == "docs":
        place_in_docs = Path(*path.parts[1:])
        return place_in_docs / "README.md" if (ROOT / path).is_dir() else place_in_docs
    return Path("project", "LICENSE.md" if str(path) == "LICENSE" else path) if str(path) in DOCUMENTS else None


def page(source):
    """The page's text, with links from its place among the pages."""
    here = place(source)

    def link(match):
        path, mark, fragment = match[2].partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return match[0]
        target = place(Path(os.path.normpath(source.parent / path)))
        if target is None:
            sys.exit(f"docs: {source.relative_to(ROOT)}: the site does not have {path}")
        return f"{match[1]}{os.path.relpath(target, here.parent)}{mark}{fragment})"

    parts = re.split(r"(^```.*?^```|`[^`\n]*`)", source.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return "".join(p if i % 2 else re.sub(r"(\]\()([^)\s]+)\)", link, p) for i, p in enumerate(parts))


def unused(folder, names):
    """Files that are no part of the site: the figures are there as SVG."""
    patterns = ("meson.build", "*.in", "*.[1-9]", *(("*.png",) if Path(folder).name == "figures" else ()))
    return shutil.ignore_patterns(*patterns)(folder, names)


def collect(folder):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=unused)
    (folder / "project").mkdir()
    for source in [*(ROOT / "docs").rglob("*.md"), *(ROOT / d for d in DOCUMENTS)]:
        text = page(source) if source.suffix == ".md" else f"# License\n\n```\n{source.read_text(encoding='utf-8')}```\n"
        (folder / place(source)).write_text(text, encoding="utf-8")


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def check(site):
    files = {f: Links(f.read_text(encoding="utf-8")) for f in site.rglob("*.html")}
    faults = []
    for file, found in files.items():
        if file.name == "404.html":  # its links begin with the address of the site
            continue
        for link in found.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = Path(os.path.normpath(file.parent / urllib.parse.unquote(url.path))) if url.path else file
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                faults.append(f"{file.relative_to(site)}: no such file: {link}")
            elif url.fragment and target in files and urllib.parse.unquote(url.fragment) not in files[target].anchors:
                faults.append(f"{file.relative_to(site)}: no such anchor: {link}")
    print("\n".join(sorted(set(faults))) or f"docs: the links of {len(files)} pages are valid")
    return bool(faults)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("collect", "check"):
        sys.exit(__doc__)
    sys.exit(collect(Path(sys.argv[2])) if sys.argv[1] == "collect" else check(Path(sys.argv[2])))
