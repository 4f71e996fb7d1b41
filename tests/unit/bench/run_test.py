# SPDX-License-Identifier: BSD-3-Clause
"""bench/harness/progress.sh and bench/harness/run.sh with a clock and a pool of hugepages that are known; how scripts end what they began."""

import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def bash(script, check=True):
    return subprocess.run(["bash", "-c", "set -euo pipefail\n" + script], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          check=check).stdout


PROGRESS = """
. bench/harness/progress.sh
rounds=2 clock=0
note() { echo "$*"; }
progress_ms() { echo $clock; }
takes() { echo 30000; }
"""


class Progress(unittest.TestCase):
    def told(self, script):
        return bash(PROGRESS + script).splitlines()

    def test_case_times_are_those_of_the_table_at_first(self):
        self.assertEqual(self.told("cases=(a b c); progress_begin; case_begin a"), ["case 1 of 3: a; about 3 min left"])

    def test_slow_machine_is_detected(self):
        self.assertEqual(self.told("cases=(a b c); progress_begin; case_begin a; clock=180000; case_begin b")[1],
                         "case 2 of 3: b; about 6 min left")

    def test_last_minutes_are_shown_in_seconds(self):
        self.assertEqual(self.told("cases=(a b c); progress_begin; case_begin a; case_begin b; clock=60000; case_begin c")[2],
                         "case 3 of 3: c; about 30 s left")

    def test_cases_in_turn_are_counted_together_and_by_rounds(self):
        self.assertEqual(self.told("""cases=(a b c); progress_begin
            for ((round = 1; round <= rounds; round++)); do round_begin a b; clock=$((clock + 60000)); done
            case_begin c"""),
            ["cases 1 to 2 of 3, round 1 of 2; about 3 min left", "cases 1 to 2 of 3, round 2 of 2; about 2 min left",
             "case 3 of 3: c; about 60 s left"])

    def test_every_case_says_how_long_it_takes(self):
        listed = subprocess.run([ROOT / "scripts" / "bench", "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
        text = (ROOT / "scripts" / "bench").read_text(encoding="utf-8")
        arrays = "\n".join(re.findall(r"^\w+=\([^)]*\)(?: #.*)?$|^(?:publish_seconds|latency_rounds|sync_routes)=.*", text, re.MULTILINE))
        files = " ".join(sorted(str(p.relative_to(ROOT)) for p in (ROOT / "bench").glob("*/*.sh")))
        told = bash(f"{arrays}\nfor f in {files}; do . $f; done\nrounds=5 seconds=3 milliseconds=3000\n"
                    f"for c in {' '.join(listed.split())}; do echo $c $(takes $c); done")
        times = {line.split()[0]: int(line.split()[1]) for line in told.splitlines()}
        self.assertEqual(sorted(times), sorted(listed.split()))
        self.assertGreater(min(times.values()), 0)


class Hugepages(unittest.TestCase):
    def back(self, record, now):
        """The number of hugepages at the end of a run with that record."""
        with tempfile.TemporaryDirectory() as d:
            there = Path(d)
            (there / "pool").write_text(f"{now}\n", encoding="utf-8")
            (there / "record").write_text(record + "\n", encoding="utf-8")
            bash(f". scripts/lib.sh\n. bench/harness/run.sh\nrun_pool={d}/pool\nrun_hugepages_back {d}/record")
            return int((there / "pool").read_text(encoding="utf-8"))

    def test_raised_settings_are_restored(self):
        self.assertEqual(self.back("100 1024", 1024), 100)

    def test_unraised_settings_are_kept(self):
        self.assertEqual(self.back("1024 1024", 1024), 1024)

    def test_settings_changed_by_others_are_kept(self):
        self.assertEqual(self.back("100 1024", 3000), 3000)

    def test_raised_setting_is_restored_after_an_interrupt(self):
        self.assertEqual(self.back("100", 700), 100)


ATTENDING = '''set -euo pipefail
tool=test
. scripts/lib.sh
trap 'code=$?; trap "" INT TERM HUP PIPE; attend_end $code; exit $code' EXIT
exit_by_signal
echo begun
attend "$@"
'''


class Ends(unittest.TestCase):
    def test_only_marked_processes_are_ended(self):
        told = bash("""tool=test
            . scripts/lib.sh
            mark=$(mark_of BIPLANE_TEST $$)
            env "$mark" setsid sleep 60 & ours=$!
            env BIPLANE_TEST=$$ sleep 60 & number=$!
            env BIPLANE_TEST=$$.1 sleep 60 & earlier=$!
            until [ "$(marked "$mark")" = $ours ]; do :; done
            marked_end "$mark" 5
            ! kill -0 $ours 2>/dev/null || echo "ours lives"
            kill $number && echo "the number's lives"
            kill $earlier && echo "the earlier one's lives"
            """)
        self.assertEqual(told.splitlines(), ["the number's lives", "the earlier one's lives"])

    def attending(self, *command):
        p = subprocess.Popen(["bash", "-c", ATTENDING, "test", *command], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(p.communicate)
        self.assertEqual(p.stdout.readline(), "begun\n")
        return p

    def test_child_reads_stdin_and_returns_its_status(self):
        p = self.attending("sh", "-c", "cat; exit 3")
        self.assertEqual(p.communicate("read")[0], "read")
        self.assertEqual(p.returncode, 3)

    def test_signal_ends_the_child_immediately(self):
        for how in (signal.SIGTERM, signal.SIGHUP):
            p = self.attending("sleep", "60")
            time.sleep(0.2)
            p.send_signal(how)
            self.assertEqual(p.wait(10), 128 + how)
            self.assertEqual(p.stdout.read(), "")  # no writer is left


if __name__ == "__main__":
    unittest.main()
