# SPDX-License-Identifier: BSD-3-Clause
"""Tests inside the guest of scripts/vm; scripts/test-vm runs them."""

import contextlib
import os
import sys
import time
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "e2e")]

from guest import GuestLab  # noqa: E402
from lab import Gateway  # noqa: E402

_began = time.monotonic()
_gateways = []
_figures = []


def pytest_report_teststatus(report, config):
    """A line a test: how long into the run it ended, and how."""
    word = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}[report.outcome]
    if report.when == "call" or report.outcome != "passed":
        outcome = "error" if report.when != "call" and report.failed else report.outcome
        return outcome, "", f"{word} ({report.duration:.0f} s; {time.monotonic() - _began:.0f} s)"
    return "", "", ""


def pytest_terminal_summary(terminalreporter):
    for line in _figures:
        terminalreporter.write_line(line)
    n = {k: len(terminalreporter.stats.get(k, ())) for k in ("passed", "failed", "error", "skipped")}
    terminalreporter.write_line(f"{n['passed']} passed, {n['failed'] + n['error']} failed, {n['skipped']} skipped")


@pytest.fixture
def figure():
    """figure(line): said at the end of the run, whether the test passes or not."""
    return _figures.append


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call" and outcome.get_result().failed:
        for g in _gateways:
            g.dump()


@pytest.fixture(scope="session")
def lab():
    if "VM_NICS" not in os.environ:
        pytest.exit("these tests run in a guest: scripts/test-vm", 2)
    the_lab = GuestLab()
    try:
        the_lab.up()
        yield the_lab
    finally:
        the_lab.down()


class Written(Gateway):
    """A gateway with a configuration file given as text, with two ports and alarms."""

    def __init__(self, lab, directory, text):
        super().__init__(lab, directory, {"ports": [{}, {}], "mqtt": {"publisher": {}, "rules": []}})
        self.text = text

    def write(self, config=None):
        self.file.write_text(self.text)


@contextlib.contextmanager
def running(lab, directory, config, edge=True):
    """A gateway in gw; at its end the packet balance must be exact. Prints diagnostics after a failure."""
    g = Written(lab, directory, config) if isinstance(config, str) else Gateway(lab, directory, config)
    _gateways.append(g)
    try:
        try:
            g.start(edge=edge)
        except BaseException:
            g.dump()
            raise
        yield g
        g.balanced()
    finally:
        _gateways.remove(g)
        g.stop()
