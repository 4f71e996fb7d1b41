# SPDX-License-Identifier: BSD-3-Clause
"""docs/explanation/security.md and the tests agree: each protection names tests that exist, and each test here is named
by one."""

import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS.parent / "docs" / "explanation" / "security.md").read_text()
NAMED = set(re.findall(r"`((?:hostile|e2e|fuzz|unit)/[\w/.]+)`", PAGE))


def test_every_test_that_is_named_exists():
    assert NAMED
    missing = sorted(name for name in NAMED if not (TESTS / name).is_file())
    assert not missing, f"docs/explanation/security.md names tests that do not exist: {missing}"


def test_every_promise_has_a_test():
    rows = [line for line in PAGE.splitlines() if re.match(r"\| [A-Z].*\|$", line)]
    promises = PAGE.split("## Attackers and protection")[1].split("## Limits of the protection")[0].splitlines()
    head = "| Protection | Tests |"
    assert head in promises
    bare = [line for line in promises if line in rows and line != head and not re.search(r"`(?:hostile|e2e|fuzz|unit)/", line)]
    assert not bare, f"promises without a test: {bare}"


def test_every_scenario_covers_a_claim():
    here = {f"hostile/{p.name}" for p in (TESTS / "hostile").glob("test_*.[cp]*")} - {f"hostile/{Path(__file__).name}"}
    assert not here - NAMED, f"docs/explanation/security.md does not say what these show: {sorted(here - NAMED)}"
