# SPDX-License-Identifier: BSD-3-Clause
"""The product is written in the field's terms: words of its former style are not in its code, messages and pages."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# Folders and files of the product; tests and benchmarks are read by developers only, and follow as they are touched.
# The changelog quotes the former names.
PRODUCT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "apps", "config", "controlplane", "daemon", "dataplane", "debian",
           "docs", "include", "install", "proto", "scripts", "services", "shm")
PAGES = ("README.md", "SECURITY.md", "docs", "install")
TEXT = re.compile(r"\.(c|h|md|py|sh|yaml|in|1|5|service|target|js|css|html)$|^scripts/[^.]+$|^debian/[^.]+$")

# A word, and what to write instead.
WORDS = {
    r"anew": "again, new",
    r"as ever": "as before, normally",
    r"as it was": "unchanged",
    r"as they (are|were)": "unchanged",
    r"beside": "next to, at the same time as",
    r"by why": "by reason",
    r"came of": "resulted from",
    r"can't|don't(?! fragment)|isn't|doesn't|won't|aren't|hasn't|wasn't": "the full form",
    r"for want of": "no ..., without",
    r"give or take": "plus or minus",
    r"go(es)? on": "continues",
    r"greatest": "maximum, largest",
    r"in force": "active",
    r"in passing": "a plain sentence",
    r"in the mean": "average",
    r"(?<!at )(?<!at\n)least(?! recently)": "minimum, smallest",
    r"life signs?": "heartbeat",
    r"looks? at(ed)?": "reads, checks",
    r"nobody": "the subject that is meant",
    r"nothing came": "was not received",
    r"so many": "the number",
    r"stands?": "is, has",
    r"tells?|told": "reports, says",
    r"whoever": "the subject that is meant",
    r"usual": "normal, common, by default",
}
# In pages also these.
PAGE_WORDS = {
    r"room": "space, capacity, headroom",
    r"made": "created, generated, built",
    r"wire(?! format|\.h)": "link, line, frame",
}

# (file, matched text): why it stays.
ALLOWED = {
    ("scripts/lint", "told"): "a list of verb forms",
    ("docs/explanation/health-devices-design.md", "made"): "a column of the store",
    ("docs/howto/migrate-to-1.0.md", "made"): "the former name of a group of counters",
}


def tracked(*paths):
    out = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--", *paths], stdout=subprocess.PIPE, check=True).stdout.decode()
    return [name for name in out.split("\0") if name and TEXT.search(name)]


def hits(names, words):
    any_word = re.compile("|".join(rf"(?<![\w-])(?:{w})(?![\w-])" for w in words), re.I)
    for name in names:
        text = (ROOT / name).read_text(errors="replace")
        for m in any_word.finditer(text):
            if (name, m.group().lower()) not in ALLOWED:
                instead = next(i for w, i in words.items() if re.fullmatch(re.sub(r"\(\?[<!=].*?\)", "", w), m.group(), re.I))
                yield f"{name}:{text.count(chr(10), 0, m.start()) + 1}: '{m.group()}': write {instead}"


class Language(unittest.TestCase):
    def test_no_word_of_the_former_style(self):
        found = [*hits(tracked(*PRODUCT), WORDS), *hits(tracked(*PAGES), PAGE_WORDS)]
        self.assertEqual(found, [], f"{len(found)} words of the former style:\n" + "\n".join(found[:40]))

    def test_the_allow_list_is_needed(self):
        for name, word in ALLOWED:
            text = (ROOT / name).read_text(errors="replace")
            self.assertRegex(text.lower(), rf"\b{re.escape(word)}\b", f"{name} has no '{word}' any more: remove it from ALLOWED")


if __name__ == "__main__":
    unittest.main()
