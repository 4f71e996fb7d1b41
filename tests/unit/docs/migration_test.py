# SPDX-License-Identifier: BSD-3-Clause
"""The migration page lists the settings of config/renamed.c, counters that exist, and the output of config check: migration_test.py BIPLANE"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BIPLANE = sys.argv.pop(1)
PAGE = (ROOT / "docs/howto/migrate-to-1.0.md").read_text()


def rows(heading):
    """Cells of the tables below a heading of the second level, each without its code marks; no header lines."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S).group(1)
    cells = [[c.strip() for c in line.strip("|").split(" | ")] for line in section.splitlines() if line.startswith("| ")]
    return [[c.strip("`") for c in r] for r in cells if r[0] not in ("Was", "Object", "Setting") and not r[0].startswith("---")]


class Migration(unittest.TestCase):
    def test_renamed_settings(self):
        """Every row of the source, in its order, and no other one."""
        source = (ROOT / "config/renamed.c").read_text()
        renamed = re.findall(r'^\t\{"([^"]+)",\s+"([^"]+)"\},$', source, re.M)
        self.assertEqual(len(renamed), source.count('\t{"'))
        self.assertGreater(len(renamed), 100)
        expected = [f"| `{was}` | `{now}` |" for was, now in renamed]
        self.assertEqual([f"| `{was}` | `{now}` |" for was, now in rows("Renamed settings")], expected,
                         "the tables of docs/howto/migrate-to-1.0.md must be\n" + "\n".join(expected))

    def test_renamed_counters_exist(self):
        """A counter that is renamed once more would leave a name that nothing has."""
        known = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/reference/counters.md").read_text(), re.M))
        self.assertGreater(len(known), 100)
        now = [now for _, now in rows("Renamed counters")]
        self.assertGreater(len(now), 100)
        self.assertEqual([n for n in now if n not in known], [])

    def test_old_file(self):
        """The page shows what `config check` prints for its file."""
        file = re.search(r"^```text\n(.*?)^```", PAGE, re.M | re.S).group(1)
        shown = re.search(r"^\$ biplane config check -c old.yaml\n(.*?)^```", PAGE, re.M | re.S).group(1)
        done = subprocess.run([BIPLANE, "config", "check", "-c", "/dev/stdin"], input=file, capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout + done.stderr).replace("/dev/stdin", "old.yaml"), shown)
        self.assertEqual(done.returncode, 78)


if __name__ == "__main__":
    unittest.main()
