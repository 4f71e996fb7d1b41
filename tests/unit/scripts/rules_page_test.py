# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/rules.md and sparkplug.md name a test in each row of their tables of edges, and these tests exist and run."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = {ROOT / "docs/reference/rules.md": 30, ROOT / "docs/reference/sparkplug.md": 20}  # with at least as many rows
NAME = re.compile(r"`(\w+\.(?:c|py))(?::(\w+))?`")


def tests():
    found = {}
    for path in [*(ROOT / "tests").rglob("*.c"), *(ROOT / "tests").rglob("*.py")]:
        found.setdefault(path.name, []).append(path)
    return found


def runs(path, function):
    text = path.read_text()
    if path.suffix == ".py":
        return re.search(rf"^ *def {function}\(", text, re.M) is not None
    # a definition, and an entry in the list of tests
    return re.search(rf"^static void {function}\(void \*\*", text, re.M) is not None and re.search(rf"\b{function}[,)]", text) is not None


def rows(text):
    """(line, cells) of the tables whose last column is Test"""
    inside = False
    for n, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            inside = False
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[-1] == "Test":
            inside = True
        elif inside and set(cells[-1]) != {"-"}:
            yield n, cells


def faults(text, found):
    for n, cells in rows(text):
        if len(cells) != 3:
            yield f"line {n}: {len(cells)} cells; expected edge, behavior and test"
        if not NAME.search(cells[-1]):
            yield f"line {n}: no test; expected `FILE:FUNCTION` in the last cell"
    for name, function in NAME.findall(text):
        if name not in found:
            yield f"{name}: no such file below tests/"
        elif not function or not any(runs(path, function) for path in found[name]):
            yield f"{name}: no test {function}"


class RulesPage(unittest.TestCase):
    def test_each_row_names_a_test_that_exists(self):
        for page, at_least in PAGES.items():
            text = page.read_text()
            self.assertGreater(len(list(rows(text))), at_least)
            self.assertEqual(list(faults(text, tests())), [], page.name)

    def test_a_page_with_faults_is_refused(self):
        head = "| Edge | Behavior | Test |\n| --- | --- | --- |\n"
        for row, fault in (("| a | b |  |", "no test"), ("| a | `test_x.c:f` |", "2 cells"), ("| a | b | `test_none.c:f` |", "no such file"),
                           ("| a | b | `test_rule_state.c:none` |", "no test none"),
                           ("| a | b | `test_planes.py:none` |", "no test none")):
            self.assertIn(fault, "\n".join(faults(head + row, tests())), row)
        self.assertEqual(list(faults(head + "| a | b | `test_rule_state.c:for_a_time` |", tests())), [])


if __name__ == "__main__":
    unittest.main()
