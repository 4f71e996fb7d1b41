#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""install/frr-readiness with a biplane and a vtysh whose answers the test decides: frr_readiness_test.py TREE.
tests/e2e/fleet runs it with FRR."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TREE = Path(sys.argv.pop(1))
SCRIPT = TREE / "install" / "frr-readiness"
# ready: its exit status. setting: what bgpd has; no file: bgpd does not run.
BIPLANE = """#!/bin/bash
echo "$*" >>calls
read -r status <ready
[ "$status" != hang ] || exec sleep 1000
[ "$status" = 0 ] && echo ready || echo "not ready: ports: link down: left"
exit "$status"
"""
VTYSH = """#!/bin/bash
[ -e setting ] || exit 1
while [ $# -gt 0 ]; do
	case $1 in
	"show running-config") echo "frr version 8.4.4"; cat setting; echo "router bgp 65000" ;;
	"bgp graceful-shutdown") echo "$1" >setting; echo drain >>changes ;;
	"no bgp graceful-shutdown") : >setting; echo announce >>changes ;;
	esac
	shift
done
"""
DRAINED = "bgp graceful-shutdown\n"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir, self.process = Path(folder.name), None
        for name, text in ("biplane", BIPLANE), ("vtysh", VTYSH):
            (self.dir / name).write_text(text)
            (self.dir / name).chmod(0o755)

    def write(self, name, text):
        (self.dir / "new").write_text(text)
        (self.dir / "new").rename(self.dir / name)

    def read(self, name):
        file = self.dir / name
        return file.read_text() if file.exists() else ""

    def start(self, *args):
        env = {**os.environ, "BIPLANE": str(self.dir / "biplane"), "VTYSH": str(self.dir / "vtysh")}
        with (self.dir / "log").open("ab") as log:
            self.process = subprocess.Popen([SCRIPT, *args], cwd=self.dir, env=env, stderr=log, start_new_session=True)
        self.addCleanup(self.stop)
        return self.process

    def follow(self, hold="0", *more):
        self.start("-c", "gateway.yaml", "--hold", hold, *more)

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait(self, condition):
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end, f"{self.read('log')} {self.read('changes')}")
            self.assertIsNone(self.process.poll(), self.read("log"))
            time.sleep(0.05)

    def checks(self, more):
        """Waits for further checks."""
        n = self.read("calls").count("\n")
        self.wait(lambda: self.read("calls").count("\n") >= n + more)

    def test_readiness_is_followed(self):
        self.write("ready", "2\n")
        self.write("setting", DRAINED)
        self.follow()
        self.checks(2)
        self.assertEqual(self.read("changes"), "")  # it was drained
        self.write("ready", "0\n")
        self.wait(lambda: self.read("changes") == "announce\n")
        self.write("ready", "69\n")
        self.wait(lambda: "drained: not ready: ports: link down: left" in self.read("log"))
        self.assertEqual(self.read("changes"), "announce\ndrain\n")
        self.assertEqual(self.read("calls").splitlines()[0], "fleet ready -c gateway.yaml")

    def test_restart_changes_nothing(self):
        self.write("ready", "0\n")
        self.write("setting", "")
        self.follow("1000")
        self.checks(3)
        self.assertEqual(self.read("changes") + self.read("log"), "")

    def test_hold_time_keeps_drained(self):
        self.write("ready", "0\n")
        self.write("setting", DRAINED)
        self.follow("1000")
        self.checks(3)
        self.assertEqual(self.read("changes"), "")

    def test_hold_time_grows_with_each_loss(self):
        self.write("ready", "0\n")
        self.write("setting", DRAINED)
        self.follow()
        for n, hold in enumerate((1, 2, 4), 1):
            self.wait(lambda n=n: self.read("changes").count("announce") == n)
            self.checks(1)  # the script has seen what it set
            self.write("ready", "2\n")
            self.wait(lambda hold=hold: f"link down: left; hold time: {hold} s" in self.read("log"))
            self.write("ready", "0\n")

    def test_hold_time_of_a_stable_gateway_does_not_grow(self):
        self.write("ready", "0\n")
        self.write("setting", DRAINED)
        self.follow("0", "--stable", "0")
        for n in range(1, 4):
            self.wait(lambda n=n: self.read("changes").count("announce") == n)
            self.checks(1)
            self.write("ready", "2\n")
            self.wait(lambda n=n: self.read("log").count("link down: left; hold time: 0 s") == n)
            self.write("ready", "0\n")

    def test_frr_that_restarts_is_set_again(self):
        self.write("ready", "0\n")
        self.follow()
        self.wait(lambda: "bgpd does not answer" in self.read("log"))
        self.checks(2)
        self.assertEqual(self.read("log").count("bgpd does not answer"), 1)
        self.write("setting", DRAINED)  # as in frr.conf
        self.wait(lambda: self.read("changes") == "announce\n")
        self.write("setting", DRAINED)
        self.wait(lambda: self.read("changes") == "announce\nannounce\n")

    def test_check_that_hangs_is_not_ready(self):
        self.write("ready", "hang\n")
        self.write("setting", "")
        self.follow()
        self.wait(lambda: "drained: the check did not answer within 5 s" in self.read("log"))
        self.assertEqual(self.read("changes"), "drain\n")

    def test_drain_once(self):
        self.write("setting", "")
        self.assertEqual(self.start("--drain").wait(30), 0)
        self.assertEqual(self.read("changes"), "drain\n")
        (self.dir / "setting").unlink()
        self.assertEqual(self.start("--drain").wait(30), 1)

    def test_wrong_options_are_refused(self):
        for args in (), ("-c",), ("--hold", "x", "-c", "f"), ("--stable", "-1", "-c", "f"), ("--what",):
            self.assertEqual(self.start(*args).wait(30), 64, args)


unittest.main(verbosity=2)
