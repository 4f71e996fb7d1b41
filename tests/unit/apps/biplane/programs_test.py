#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""biplane, the small program, and biplaned, which has every command, are one command for users: programs_test.py BIPLANE
BIPLANED [unittest arguments]"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[4] / "apps" / "biplane" / "biplane.c"
# A command that reads the segment shall not wait for these.
OF_PLANES = ("librte_", "libcurl", "libcrypto", "libevent", "libmicrohttpd", "libmosquitto", "libpcap", "librdkafka", "libsqlite3", "libssl")


def output_of(program, *words):
    p = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return p.returncode, p.stdout


class Programs(unittest.TestCase):
    def test_biplane_loads_no_library_of_the_planes(self):
        elf = subprocess.run(["readelf", "-d", BIPLANE], stdout=subprocess.PIPE, text=True, check=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", elf)
        self.assertIn("libjansson.so.4", needed)
        self.assertEqual([n for n in needed if n.startswith(OF_PLANES)], [])

    def test_commands_that_biplane_runs_are_those_of_biplaned(self):
        here = re.findall(r"^\t&bp_cmd_(\w+),$", SOURCE.read_text(), re.M)
        self.assertGreater(len(here), 10)
        for command in here:
            words = command.split("_")
            if words[0] == "matrix":
                words.insert(0, "transform")
            with self.subTest(words):
                for more in (["--help"], ["--no-such-option"]):
                    there = output_of(BIPLANED, *words, *more)
                    self.assertIn(f"biplane {' '.join(words)}", there[1])
                    self.assertEqual(output_of(BIPLANE, *words, *more), there)

    def test_all_else_is_that_of_biplaned(self):
        for words in ([], ["--help"], ["--version"], ["-h"], ["help", "show"], ["nonsense"], ["sh", "--help"], ["config"], ["config", "che", "--help"],
                      ["config", "nonsense"], ["transform", "matrix"], ["showx"], ["show", "nonsense"], [""], ["config", ""], ["run", "--help"],
                      ["help"], ["completion", "bash"], ["config show", "--help"]):
            with self.subTest(words):
                self.assertEqual(output_of(BIPLANE, *words), output_of(BIPLANED, *words))

    def test_where_biplaned_is(self):
        with tempfile.TemporaryDirectory() as directory:
            top = Path(directory)
            for d in ("bin", "lib/biplane"):
                (top / d).mkdir(parents=True)
            shutil.copy(BIPLANE, top / "bin")
            status, text = output_of(top / "bin" / "biplane", "version")
            self.assertEqual(status, 71, text)
            self.assertEqual(text, f"biplane: {top}/bin/../lib/biplane/biplaned: No such file or directory; install biplane again\n")
            self.assertEqual(output_of(top / "bin" / "biplane", "show", "--help")[0], 0)
            shutil.copy(BIPLANED, top / "lib" / "biplane")
            self.assertEqual(output_of(top / "bin" / "biplane", "version"), output_of(BIPLANED, "version"))
            # one that cannot be executed is an error, not a reason to look further
            shutil.copy(BIPLANED, top / "bin" / "biplaned")
            (top / "bin" / "biplaned").write_text("")
            status, text = output_of(top / "bin" / "biplane", "version")
            self.assertEqual(status, 71, text)
            self.assertIn(f"{top}/bin/biplaned: Exec format error", text)


if __name__ == "__main__":
    BIPLANE, BIPLANED = sys.argv[1:3]
    del sys.argv[1:3]
    unittest.main()
