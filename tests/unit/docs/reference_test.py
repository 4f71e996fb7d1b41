# SPDX-License-Identifier: BSD-3-Clause
"""Commands, settings, counters and exit codes in the pages exist, and all of them are in the pages: reference_test.py BIPLANE"""

import json
import re
import subprocess
import sys
import unittest
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BIPLANE = sys.argv.pop(1)
# One page is about the names of before: migration_test.py checks it.
PAGES = (ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.name != "migrate-to-1.0.md"))

# Names of other software.
FOREIGN = ("device_ownership_from_security_context", "intel_idle", "web_mqtt")

FENCE = re.compile(r"^( *)(```|~~~)(\w*)\n(.*?)^\1\2 *$", re.S | re.M)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def output(*args):
    return subprocess.run([BIPLANE, *args], stdout=subprocess.PIPE, check=True, text=True).stdout


@cache
def words_after(*command):
    """The commands, or the objects of show, that may follow."""
    return [line.split("\t")[0] for line in output("__complete", *command, "").splitlines() if not line.startswith("-")]


@cache
def help_of(*command):
    return output(*command, "--help")


@cache
def tree(*command):
    """Every command with all its words; an object of show is one."""
    if command and command[0] == "help":
        return [command]
    below = [w for w in words_after(*command) if re.fullmatch(r"[a-z][a-z-]*", w)] if len(command) < 3 else []
    return ([command] if command else []) + [c for w in below for c in tree(*command, w)]


def pages():
    for page in PAGES:
        text = page.read_text()
        yield page.relative_to(ROOT), text, FENCE.findall(text), SPAN.findall(FENCE.sub("", text))


def command_lines():
    """(page, words) of each call of biplane in a code block or a code span."""
    for page, _, fences, spans in pages():
        lines = [s for s in spans if s.startswith("biplane ")]
        for _, _, language, block in fences:
            if language in ("", "sh", "console", "text"):
                lines += block.replace("\\\n", " ").splitlines()
        for line in lines:
            line = re.sub(r"\s#\s.*", "", line)
            m = re.match(r"^ *(?:[$#] )?(?:sudo |scripts/lab run \w+ |ip netns exec \S+ )?(?:\S*/)?biplane +([a-z-].*)$", line)
            if m and re.match(r"(-i \S+ +)?[a-z-]+( |$)", m.group(1)):
                yield page, re.split(r"[|;<>)]|&&| \| ", m.group(1))[0].split()


class Reference(unittest.TestCase):
    def check(self, failures):
        self.assertEqual(failures, [], "\n" + "\n".join(failures))

    def test_commands_exist(self):
        failures, seen = [], 0
        for page, words in command_lines():
            seen += 1
            while words and words[0] == "-i":
                words = words[2:]
            command = []
            while words and re.fullmatch(r"[a-z][a-z-]*", words[0]) and len(command) < 3:
                below = words_after(*command)
                full = [w for w in below if w == words[0]] or [w for w in below if w.startswith(words[0])]
                if len(full) != 1:
                    if not command or command in (["show"], ["config"], ["session"], ["transform"], ["transform", "matrix"]):
                        failures.append(f"{page}: 'biplane {' '.join([*command, words[0]])}' is no command; one of: {' '.join(below)}")
                        command = None
                    break
                command += full
                words.pop(0)
            if not command:
                continue
            text = help_of(*command[:1] if command[0] == "show" else command)
            for option in (w.split("=")[0] for w in words if re.match(r"--?[a-z]", w)):
                if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text):
                    failures.append(f"{page}: biplane {' '.join(command)} has no option {option}")
        self.assertGreater(seen, 50)
        self.check(failures)

    def test_every_command_is_described(self):
        text = (ROOT / "docs/reference/commands.md").read_text()
        parents = [c[:-1] for c in tree()]
        for c in tree():
            # an object of show, or an argument such as the name of a shell, is in its command's list
            described = f"biplane {' '.join(c)}" in text or (c not in parents and re.search(rf"(^ +|[|:, ]){c[-1]}\b", text, re.M))
            self.assertTrue(described, f"docs/reference/commands.md has no 'biplane {' '.join(c)}'")

    def test_settings_exist(self):
        schema = json.loads(output("config", "schema"))
        counters = set(SPAN.findall((ROOT / "docs/reference/counters.md").read_text()))  # of the control plane: NAME.NAME
        failures, seen = [], 0

        def inside(node):
            """The mapping that a setting holds, also as an element of its list."""
            for n in (node, node.get("items", {}), *node.get("oneOf", ()), *node.get("anyOf", ())):
                n = schema["$defs"][n["$ref"].rpartition("/")[2]] if "$ref" in n else n
                if "properties" in n:
                    return n["properties"]
                if "properties" in n.get("items", {}):
                    return n["items"]["properties"]
            return {}
        for page, _, _, spans in pages():
            # generated, with relative headings; generated; members of JSON, which apps/json compares with the output
            for span in spans if page.name not in ("configuration.md", "counters.md", "json.md") else ():
                if span in counters or not re.fullmatch(r"[a-z_]+(\[\d*\])?(\.[a-z0-9_]+(\[\d*\])?)+", span):
                    continue
                path = re.sub(r"\[\d*\]", "", span).split(".")
                if path[0] not in schema["properties"] or path[-1] in ("h", "c", "md", "py", "yaml", "db", "lock"):
                    continue
                seen += 1
                at = schema["properties"]
                for i, key in enumerate(path):
                    if key not in at:
                        failures.append(f"{page}: no setting {span}: {'.'.join(path[:i])} has no {key}")
                        break
                    at = inside(at[key])
        self.assertGreater(seen, 50)
        self.check(failures)

    def test_names_exist(self):
        """A name with underscores in a page is one of the product: a counter, a setting, a member of JSON, a function."""
        sources = subprocess.run(["git", "-C", ROOT, "grep", "-hoIwE", "[A-Za-z0-9]+(_[A-Za-z0-9]+)+", "--", "*.[ch]", "*.py", "*.sh", "*.build",
                                  "*.yaml", "*.txt", "scripts", "install", "tests", "bench", "debian", "docs/reference/counters.md", ":!bench/results"],
                                 stdout=subprocess.PIPE, check=True, text=True).stdout
        names = subprocess.run(["git", "-C", ROOT, "ls-files"], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
        known, failures, seen = {*sources.split(), *(Path(n).stem for n in names), *FOREIGN}, [], 0
        for page, _, _, spans in pages():
            for span in spans:
                for name in re.findall(r"(?<![\w/.-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?![\w*-])", span):
                    seen += 1
                    if name not in known and "NAME" not in name:
                        failures.append(f"{page}: nothing of the product is named {name}")
        self.assertGreater(seen, 200)
        self.check(failures)

    def test_exit_codes(self):
        source = (ROOT / "apps/biplane/exit_status.h").read_text()
        sysexits = dict(re.findall(r"#define\s+(EX_\w+)\s+(\d+)", Path("/usr/include/sysexits.h").read_text()))
        defined = {int(sysexits.get(value, value)) for value in re.findall(r"BP_EX_\w+ = (\w+)", source)}
        table = (ROOT / "docs/reference/exit-status.md").read_text()
        described = {int(n) for n in re.findall(r"^\| `?(\d+)`? \|", table, re.M)}
        self.assertEqual(described, defined)


if __name__ == "__main__":
    unittest.main()
