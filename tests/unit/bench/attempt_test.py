# SPDX-License-Identifier: BSD-3-Clause
"""bench/harness/attempt.sh: the result of a failed case, and that the others continue."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BEGIN = """set -euo pipefail
. scripts/lib.sh
. bench/harness/attempt.sh
tool=bench rounds=2 cases=(one two three bridge)
case_begin() { :; }
note() { :; }
one() { each_round eval 'echo "$round" >>"$work/one"'; made='"one"'; }
two() { made=2; "$@"; made=not; }
said() { die "it says $work/why"; }
quoted() { die 'no "end" \\\\ of
it'; }
hidden() { local out; out=$(said) || true; false; echo "not here" >>"$work/one"; }
sometimes() { [ ! -e "$work/once" ] || exit 4; touch "$work/once"; echo 1.5; }
made= last=
"""


def bash(script):
    with tempfile.TemporaryDirectory() as work:
        done = subprocess.run(["bash", "-c", f"work={work}\n{BEGIN}{script}"], cwd=ROOT, capture_output=True, text=True, check=False)
        files = {f.name: f.read_text(encoding="utf-8") for f in Path(work).iterdir()}
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout, done.stderr, files


class Attempt(unittest.TestCase):
    def failed(self, script):
        out, err, files = bash(script + "\nfailed_json")
        return json.loads(out.splitlines()[-1]), err, files

    def test_variables_and_output_of_a_case_are_kept(self):
        out, _, files = bash('attempt one made one; echo "$made"; failed_json')
        self.assertEqual(out, '"one"\n[]\n')
        self.assertEqual(files["one"], "1\n2\n")

    def test_other_cases_continue_and_the_reason_is_reported(self):
        failed, err, files = self.failed('attempt two made two said; echo "<$made>"; wants two && exit 9; attempt one made one')
        self.assertEqual(failed, [{"case": "two", "why": "it says why"}])
        self.assertIn("bench: case two failed: it says why", err)
        self.assertEqual(files["one"], "1\n2\n")

    def test_failed_case_sets_no_figures(self):
        self.assertEqual(bash('attempt two made two said; echo "<$made>"')[0], "<>\n")

    def test_a_command_that_fails_ends_the_case(self):
        failed, _, files = self.failed("attempt two - two hidden")
        self.assertEqual(failed[0]["case"], "two")
        self.assertNotIn("one", files)
        self.assertEqual(self.failed("attempt two - two false")[0], [{"case": "two", "why": '"$@": exit status 1'}])
        self.assertEqual(self.failed("attempt two - two exit 5")[0], [{"case": "two", "why": "exit status 5"}])

    def test_reason_can_contain_any_text(self):
        self.assertEqual(self.failed("attempt two - two quoted")[0], [{"case": "two", "why": 'no "end" \\\\ of\nit'}])

    def test_a_rate_that_fails_in_one_round_has_no_figure(self):
        failed, _, files = self.failed("round=1; for i in 1 2 3; do measure bridge sometimes; measure transform-of-100 echo 2; done")
        self.assertEqual(failed, [{"case": "bridge", "why": "exit status 4"}])
        self.assertNotIn("bridge", files)
        self.assertEqual(files["transform-of-100"], "2\n2\n2\n")

    def test_each_method_is_of_one_case(self):
        self.assertEqual(self.failed("round=1; measure transform-large false")[0][0]["case"], "transform-methods")

    def test_only_requested_cases_run(self):
        self.assertNotIn("one", bash("cases=(two); attempt one made one")[2])


if __name__ == "__main__":
    unittest.main()
