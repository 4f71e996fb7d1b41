#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The user of Redis in docs/howto/share-state-with-redis.md may run the commands of the control plane, and no other."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SENT = (r"redis\.p?call\('([A-Z]+)'", r"\[\]\)?(?:\{|= \{)\s*WORD\(\"([A-Z]+)\"", r"words\[.*\] = \{WORD\(\"([A-Z]+)\"",
        r"SEND\(l, \"([A-Z]+)\"(?:, \"(LOAD)\")?", r"ping\[\] = .*\"([A-Z]+)\"", r"bp_alarm_read\(s, \"([A-Z]+)\"")
# AUTH needs no permission, SENTINEL is for another server, and no value has a channel on which it is published.
OTHERS = {"auth", "sentinel", "publish"}


class Access(unittest.TestCase):
    def test_commands_of_the_page_are_those_of_the_sources(self):
        sources = "".join(f.read_text() for f in sorted((ROOT / "controlplane" / "fleet").glob("*.c")))
        sent = {"|".join(w for w in (m if isinstance(m, tuple) else (m,)) if w).lower() for p in SENT for m in re.findall(p, sources)}
        page = (ROOT / "docs" / "howto" / "share-state-with-redis.md").read_text()
        allowed, = re.findall(r"^user biplane on >SECRET ~biplane:\* -@all(.*)$", page, re.MULTILINE)
        self.assertEqual(sorted(re.findall(r"\+(\S+)", allowed)), sorted(sent - OTHERS))


if __name__ == "__main__":
    unittest.main()
