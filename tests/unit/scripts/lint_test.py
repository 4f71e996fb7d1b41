# SPDX-License-Identifier: BSD-3-Clause
"""scripts/lint commits and the hooks of scripts/hooks, in git repositories that are made for it."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
    "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
for role in ("AUTHOR", "COMMITTER"):
    ENVIRONMENT |= {f"GIT_{role}_NAME": "tester", f"GIT_{role}_EMAIL": "tester@example.net"}

GOOD = [
    "agg: use one append path for per-stream aggregates",
    "agg, lcl: validate formats, families and bools of plans",
    "scripts/test: run the lint of commits",
    "show neighbors: sort by interface",
    "dataplane: " + "x" * 60,  # 71 characters
    "mqtt: feed the parser by segment",  # ends as a past tense does
    "mqtt: ping the broker before the timeout",  # ... a gerund
    "shm: bias the hash towards low bits",  # ... a third person
    "shm: pass addresses by value",
    "shm: left-align the columns",
    "config: 0 becomes `off`",  # not a word
    "health: `ack` is optional",
    "Merge branch 'x': one append path for aggregates",
    'Revert "agg: use one append path for per-stream aggregates, and some more text"',
]
BAD = {  # and what is said of it
    "use one append path": "no area",
    "Agg: use one append path": "no area",
    "agg:use one append path": "no area",
    "dataplane: " + "x" * 61: "72 characters",
    "agg: added one append path": "'added' is not an imperative",
    "agg: Adds one append path": "'adds' is not an imperative",
    "agg: adding one append path": "'adding' is not an imperative",
    "agg: made one append path": "'made' is not an imperative",
    "agg: the append path of streams": "'the' is not an imperative",
    "agg: what is appended has one path": "'what' is not an imperative",
    "Merge branch 'x'": "the merged branch is missing",
    "Merge branch 'x' of example.net:y": "the merged branch is missing",
    "Merge what was done elsewhere": "the merged branch is missing",
    "fixup! agg: use one append path": "squash it",
}


class Repository(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name) / "repository"
        (self.top / "scripts").mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "lint", self.top / "scripts")
        shutil.copytree(ROOT / "scripts" / "hooks", self.top / "scripts" / "hooks")
        shutil.copy(ROOT / ".clang-format", self.top)
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")

    def run_in(self, *command, code=0, cwd=None):
        done = subprocess.run(command, cwd=cwd or self.top, env=ENVIRONMENT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def git(self, *args, code=0):
        return self.run_in("git", *args, code=code)

    def commit(self, subject, code=0):
        return self.git("commit", "-q", "--allow-empty", "-m", subject, code=code)

    def head(self):
        return self.git("rev-parse", "HEAD").strip()

    def lint(self, *args, code=0):
        return self.run_in("scripts/lint", "commits", *args, code=code)


class Commits(Repository):
    def test_subjects_that_keep_the_rules_pass(self):
        for subject in GOOD:
            self.commit(subject)
        self.assertEqual(self.lint(), f"lint commits: ok ({len(GOOD)})\n")

    def test_each_rule_refuses(self):
        self.commit("build: begin")
        for subject, said in BAD.items():
            with self.subTest(subject):
                self.commit(subject)
                out = self.lint("HEAD~1", code=1)
                self.assertIn(f'{self.head()[:7]} "{subject}": ', out)
                self.assertIn(said, out)
                self.assertIn("1 of 1", out)

    def test_bodies_do_not_matter(self):
        self.git("commit", "-q", "--allow-empty", "-m", "agg: keep one path", "-m", "Added. " * 40)
        self.lint()

    def test_commits_before_the_rules_are_not_checked(self):
        self.commit("begun")
        script = self.top / "scripts" / "lint"
        script.write_text(script.read_text(encoding="utf-8").replace(
            "rules_since=", f"rules_since={self.head()} # "), encoding="utf-8")
        self.assertEqual(self.lint(), "lint commits: ok (0)\n")
        self.commit("gone on")
        self.assertIn("1 of 1", self.lint(code=1))

    def test_commit_ranges(self):
        self.commit("begun")
        start = self.head()
        self.commit("build: add one")
        self.commit("went on")
        self.assertIn("1 of 2", self.lint(start, code=1))
        self.assertIn("2 of 3", self.lint(code=1))
        self.assertEqual(self.lint(f"{start}..HEAD~1"), "lint commits: ok (1)\n")
        self.assertIn("nowhere", self.lint("nowhere", code=128))

    def test_commit_range_with_and_without_an_upstream_branch(self):
        self.commit("begun")
        for number in range(20):
            self.commit(f"build: add {number}")
        self.assertEqual(self.lint(), "lint commits: ok (20)\n")
        self.git("checkout", "-q", "-b", "topic", "--track", "main")
        self.assertEqual(self.lint(), "lint commits: ok (20)\n")
        self.commit("build: add more")
        self.assertEqual(self.lint(), "lint commits: ok (1)\n")

    def test_a_shallow_clone(self):
        self.commit("begun")
        self.commit("build: add one")
        self.git("clone", "-q", "--depth", "1", f"file://{self.top}", "../shallow")
        out = self.run_in("scripts/lint", "commits", cwd=self.top.parent / "shallow")
        self.assertEqual(out, "lint commits: ok (1)\n")

    def test_a_tree_without_git(self):
        shutil.rmtree(self.top / ".git")
        self.assertIn("nothing to check", self.lint())


class Tidy(Repository):
    def test_a_file_that_is_not_compiled_is_refused(self):
        build = self.top / "build"
        build.mkdir()
        self.assertIn("build/compile_commands.json is missing", self.run_in("scripts/lint", "tidy", "build", code=69))
        (build / "compile_commands.json").write_text('[{"directory": "%s", "file": "../x.c"}]' % build, encoding="utf-8")
        self.assertIn(f"not compiled in build: {self.top}/y.c", self.run_in("scripts/lint", "tidy", "build", "x.c", "y.c", code=1))

    def test_recent_is_what_the_last_commits_changed(self):
        build = self.top / "build"
        build.mkdir()
        names = ("old.c", "new.c", "edited.c", "tests/new.c")
        for name in names:
            (self.top / name).parent.mkdir(exist_ok=True)
            (self.top / name).write_text("int x;\n", encoding="utf-8")
        entries = [{"directory": str(build), "file": f"../{name}", "command": f"cc -c ../{name}"} for name in names]
        (build / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
        program = self.top / "bin" / "clang-tidy"
        program.parent.mkdir()
        program.write_text('#!/bin/sh\nfor name; do case $name in *.c) echo "$name" ;; esac; done\n', encoding="utf-8")
        program.chmod(0o755)

        def recent():
            out = self.run_in("env", f"PATH={program.parent}:{os.environ['PATH']}", "scripts/lint", "tidy", "build", "--recent")
            return sorted(line.rpartition("/")[2] for line in out.splitlines() if line.endswith(".c"))

        self.git("add", "old.c", "edited.c")
        self.commit("build: add what is old")
        self.assertEqual(recent(), ["edited.c", "new.c", "old.c"])  # fewer commits than that
        for i in range(99):
            self.commit(f"build: change {i}")
        self.git("add", "new.c", "tests/new.c")
        self.commit("build: add what is new")
        self.assertEqual(recent(), ["new.c"])
        (self.top / "edited.c").write_text("int y;\n", encoding="utf-8")
        self.assertEqual(recent(), ["edited.c", "new.c"])

    def test_headers_of_all_folders_are_checked(self):
        line = re.search("^HeaderFilterRegex: '(.*)'$", (ROOT / ".clang-tidy").read_text(encoding="utf-8"), re.MULTILINE)
        looked_at = re.compile(line[1]).search
        for name in ("include/biplane/rule.h", "anew/x.h", "tests/unit/x.h", "user/x.h"):
            for tree in ("/home/me/biplane/build/../", "/srv/", "/u/", "../", "../../", ""):
                self.assertTrue(looked_at(tree + name), tree + name)
        for name in ("dpdk/rte_mbuf.h", "stdio.h", "../include/dpdk/x86_64/config/rte.h"):
            self.assertFalse(looked_at("/usr/include/" + name), name)


class Hooks(Repository):
    def setUp(self):
        super().setUp()
        self.git("config", "core.hooksPath", "scripts/hooks")

    def test_commit_msg(self):
        self.commit("agg: keep one path")
        self.git("commit", "-q", "--allow-empty", "-m", "agg: keep one path\n\nAdded.\n# a comment")
        self.commit("fixup! agg: keep one path")
        self.assertIn("'added' is not an imperative", self.commit("agg: added one path", code=1))
        self.assertIn("72", self.commit("agg: keep one\n" + "path " * 12, code=1))  # git joins the lines
        self.assertEqual(self.git("rev-list", "--count", "HEAD").strip(), "3")

    @unittest.skipUnless(shutil.which("clang-format"), "clang-format is missing")
    def test_pre_commit_checks_staged_content(self):
        good, bad = "int main(void)\n{\n\treturn 0;\n}\n", "int main( void ) { return 0; }\n"
        file = self.top / "a folder" / "main.c"
        file.parent.mkdir()
        file.write_text(bad, encoding="utf-8")
        self.git("add", "-A")
        file.write_text(good, encoding="utf-8")
        said = self.commit("build: add main", code=1)
        self.assertIn("clang-format -i a\\ folder/main.c", said)
        self.git("add", "-A")
        file.write_text(bad, encoding="utf-8")
        self.commit("build: add main")
        self.git("rm", "-q", "--cached", "a folder/main.c")
        self.commit("build: remove main")  # a file that is removed has no format


if __name__ == "__main__":
    unittest.main()
