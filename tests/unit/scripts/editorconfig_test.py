# SPDX-License-Identifier: BSD-3-Clause
"""Every file of the tree is as .editorconfig has it, and .editorconfig agrees with .clang-format."""

import configparser
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def matches(glob, name):
    """'*' does not match '/', '**' does; '{a,b}' is either; a glob without '/' holds in every folder."""
    parts = {"**": ".*", "*": "[^/]*", ",": "|", "{": "(?:", "}": ")"}
    said = "".join(parts.get(part) or re.escape(part) for part in re.split(r"(\*\*|[*,{}])", glob))
    return re.fullmatch(said if "/" in glob else f"(?:.*/)?{said}", name)


class EditorConfig(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        parser = configparser.ConfigParser()
        parser.read_string("[preamble]\n" + (ROOT / ".editorconfig").read_text(encoding="utf-8"))
        cls.sections = [(name, dict(parser[name])) for name in parser.sections()[1:]]
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=False)
        if listed.returncode != 0:
            raise unittest.SkipTest("no git repository")
        cls.files = {}
        for name in filter(None, listed.stdout.decode().split("\0")):
            file = ROOT / name
            data = file.read_bytes() if file.is_file() and not file.is_symlink() else b""
            if b"\0" not in data and data:
                cls.files[name] = data

    def settings(self, name):
        found = {}
        for glob, values in self.sections:
            if matches(glob, name):
                found |= values
        return found

    def test_files_are_as_it_says(self):
        wrong = []
        for name, data in self.files.items():
            said = self.settings(name)
            lines = data.decode("utf-8").split("\n")
            if said["insert_final_newline"] == "true" and lines[-1]:
                wrong.append(f"{name}: no newline at its end")
            if b"\r" in data:
                wrong.append(f"{name}: CR")
            wrong += [f"{name}:{number}: blanks at its end" for number, line in enumerate(lines, 1) if line.endswith((" ", "\t"))]
        self.assertEqual(wrong, [])

    def test_indentation_is_as_it_says(self):
        wrong = []
        for name, data in self.files.items():
            language = data.split(b"\n", 1)[0].decode() if data.startswith(b"#!") else ""
            said = self.settings(name)["indent_style"], self.settings(name)["indent_size"]
            if name.endswith((".c", ".h", ".sh", ".bash")) or re.search(r"\b(ba)?sh\b", language):
                expected = "tab", "8"
            elif name.endswith(".py") or "python" in language:
                expected = "space", "4"
            else:
                continue
            tabs, spaces = data.count(b"\n\t"), len(re.findall(rb"\n  ", data))
            if said != expected or (tabs > spaces) != (expected[0] == "tab") and tabs + spaces > 0:
                wrong.append(f"{name}: {said}, expected {expected}; {tabs} lines begin with a tab, {spaces} with spaces")
        self.assertEqual(wrong, [])

    def test_editorconfig_agrees_with_clang_format(self):
        said = dict(line.split(": ", 1) for line in (ROOT / ".clang-format").read_text(encoding="utf-8").splitlines()
                    if ": " in line and not line.startswith("#"))
        for name in ("proto/x.c", "include/biplane/x.h"):
            settings = self.settings(name)
            self.assertEqual(settings["indent_style"], "tab" if said["UseTab"] != "Never" else "space")
            self.assertEqual(settings["indent_size"], said["IndentWidth"])
            self.assertEqual(settings["tab_width"], said["TabWidth"])
            self.assertEqual(settings["max_line_length"], said["ColumnLimit"])


if __name__ == "__main__":
    unittest.main()
