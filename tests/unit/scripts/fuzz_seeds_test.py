# SPDX-License-Identifier: BSD-3-Clause
"""scripts/fuzz-seeds: archives of seeds are packed reproducibly, extended and minimized, and fit the targets."""

import hashlib
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT / "tests" / "fuzz" / "corpus"

# Merges as libFuzzer does where each file's first byte is the code that it reaches, and the second how often.
MERGE = """#!/usr/bin/env python3
import hashlib, pathlib, sys
kept, *others = [pathlib.Path(a) for a in sys.argv[1:] if not a.startswith("-")]
length = 1 if "-use_counters=0" in sys.argv else 2
covered = {f.read_bytes()[:length] for f in kept.iterdir()}
for folder in others:
    for f in sorted(folder.iterdir()):
        data = f.read_bytes()
        if data == b"crash":
            sys.exit(77)
        if data[:length] not in covered:
            covered.add(data[:length])
            (kept / hashlib.sha1(data).hexdigest()).write_bytes(data)
"""


class FuzzSeeds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.corpus = self.top / "corpus"

    def run_tool(self, *args, code=0):
        done = subprocess.run([ROOT / "scripts" / "fuzz-seeds", *args], env=os.environ | {"FUZZ_CORPUS": str(self.corpus)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def folder(self, name, **files):
        folder = self.top / name
        folder.mkdir()
        for file, data in files.items():
            (folder / file).write_bytes(data)
        return folder

    def seeds(self):
        folder = Path(tempfile.mkdtemp(dir=self.top))
        self.run_tool("unpack", "fuzz_x", folder)
        return {f.name: f.read_bytes() for f in folder.iterdir()}

    def archive(self):
        return (self.corpus / "fuzz_x.tar.xz").read_bytes()

    def test_packed_seeds_are_unpacked_unchanged(self):
        files = {"empty": b"", "binary": bytes(range(256)), "_odd-name.1": b"x"}
        self.run_tool("pack", "fuzz_x", self.folder("a", **files))
        self.assertEqual(self.seeds(), files)
        self.assertEqual(self.run_tool("list", "fuzz_x").split(), ["_odd-name.1", "binary", "empty"])
        self.assertEqual(self.run_tool("list"), "fuzz_x 3\n")

    def test_the_same_files_give_the_same_archive(self):
        first = self.folder("a", one=b"1", two=b"2")
        second = self.folder("b", two=b"2", one=b"1")
        os.utime(second / "one", (1, 1))
        (second / "two").chmod(0o600)
        self.run_tool("pack", "fuzz_x", first)
        archive = self.archive()
        self.run_tool("pack", "fuzz_x", second)
        self.assertEqual(self.archive(), archive)

    def test_a_seed_is_added_and_replaces_none(self):
        new = self.folder("new", first=b"1", second=b"2")
        self.run_tool("add", "fuzz_x", new / "first")
        self.run_tool("add", "fuzz_x", new / "second")
        self.assertEqual(self.seeds(), {"first": b"1", "second": b"2"})
        self.run_tool("add", "fuzz_x", new / "second")  # the same again
        archive = self.archive()
        (new / "second").write_bytes(b"another")
        self.assertIn("already", self.run_tool("add", "fuzz_x", new / "second", code=1))
        self.assertEqual(self.archive(), archive)

    def test_minimize_keeps_named_seeds(self):
        found = {hashlib.sha1(data).hexdigest(): data for data in (b"a1", b"a2", b"a2 again", b"n1")}
        self.run_tool("pack", "fuzz_x", self.folder("a", named=b"n1", also_named=b"n2", **found))
        program = self.top / "target"
        program.write_text(MERGE, encoding="utf-8")
        program.chmod(0o755)
        self.run_tool("minimize", "fuzz_x", program, self.folder("found", one=b"c1", two=b"c2", three=b"a3"))
        kept = self.seeds()
        self.assertEqual({name: data for name, data in kept.items() if len(name) < 40}, {"named": b"n1", "also_named": b"n2"})
        self.assertEqual(sorted(data[:2] for name, data in kept.items() if len(name) == 40), [b"a1", b"a2", b"c1"])
        archive = self.archive()
        self.assertIn("failed on a seed", self.run_tool("minimize", "fuzz_x", program, self.folder("bad", bad=b"crash"), code=1))
        self.assertEqual(self.archive(), archive)

    def test_rejected_input(self):
        empty, nested = self.folder("empty"), self.folder("nested", one=b"1")
        (nested / "folder").mkdir()
        (nested / "folder" / "two").write_bytes(b"2")
        self.assertIn("no seed", self.run_tool("pack", "fuzz_x", empty, code=1))
        self.assertIn("without folders", self.run_tool("pack", "fuzz_x", nested, code=1))
        self.assertIn("not a target", self.run_tool("pack", "../fuzz_x", nested, code=1))
        self.assertIn("missing", self.run_tool("unpack", "fuzz_y", empty, code=1))
        self.assertIn("unknown command", self.run_tool("purge", code=1))
        self.assertFalse(self.corpus.exists())

    def test_each_target_has_seeds_and_each_archive_a_target(self):
        targets = {f.stem for f in (ROOT / "tests" / "fuzz").glob("fuzz_*.c")}
        self.assertEqual({f.name for f in CORPUS.iterdir()}, {f"{t}.tar.xz" for t in targets})
        self.corpus = CORPUS
        counts = dict(line.split() for line in self.run_tool("list").splitlines())
        self.assertEqual(set(counts), targets)
        self.assertGreater(min(map(int, counts.values())), 0)


if __name__ == "__main__":
    unittest.main()
