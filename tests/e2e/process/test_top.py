# SPDX-License-Identifier: BSD-3-Clause
"""`biplane top`: in batch mode, and on a terminal (pyte interprets its output)."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading

import pyte
import pytest

from conftest import config_for
from lab import BIPLANE, CLOUD, wait_until
from peers import Publisher

TOPIC = "plant/oven/temperature"


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, columns, lines, *args, term="vt100"):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.lock = threading.Lock()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM=term, LC_ALL="C.UTF-8")
            os.environ.pop("LINES", None), os.environ.pop("COLUMNS", None)
            os.execv(BIPLANE, [BIPLANE, *map(str, args)])
        self.set_size(columns, lines)

    def set_size(self, columns, lines):
        self.screen.resize(lines, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self):
        """All output so far; the screen's lines."""
        while select.select([self.fd], [], [], 0.05)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError: # the command has ended
                break
            if not data:
                break
            self.stream.feed(data)
        return self.screen.display

    def text(self):
        return "\n".join(line.rstrip() for line in self.read())

    def wait(self, what, condition, seconds=20):
        return wait_until(what, lambda: condition(self.text()) and self.text(), seconds)

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def end(self):
        """Waits for the end of the command; its exit status."""
        def ended():
            self.read()
            return os.waitpid(self.pid, os.WNOHANG)
        try:
            _, status = wait_until("the end of top", lambda: (r := ended())[0] and r)
            return os.waitstatus_to_exitcode(status)
        finally:
            os.close(self.fd)


class Traffic(threading.Thread):
    """A client that publishes until it is stopped."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        self.client, self.stopped = Publisher(lab, CLOUD, client_id="oven-7"), threading.Event()
        self.start()

    def run(self):
        while not self.stopped.wait(0.01):
            self.client.publish(TOPIC, "81.5", 0)

    def stop(self):
        self.stopped.set()
        self.join()
        self.client.finish([])


@pytest.fixture(scope="module")
def traffic(lab, module_gateway):
    g = module_gateway(config_for())
    t = Traffic(lab)
    yield g
    t.stop()
    g.stop()


def batch(g, *args):
    p = g.command("top", "--batch", "-c", g.identity, *args)
    assert p.returncode == 0, p.stderr
    return p.stdout


def rows(text, section):
    """The rows of a section as {heading: cell}, where no cell has a blank."""
    lines = text.split(f"\n{section}: ")[1].split("\n\n")[0].splitlines()[1:]
    headings = [re.sub(r"[v^]$", "", h) for h in lines[0].split()]
    return [dict(zip(headings, line.split())) for line in lines[1:]]


def scaled(text):
    return float(text.rstrip("kMG")) * {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1)


def test_batch_prints_the_rates_of_all_sections(traffic):
    text = batch(traffic, "-n", "1", "-d", "2")
    assert re.match(r"biplane \S+  up .*  data plane \d+% CPU  control plane \d+% CPU\n", text)
    assert "publisher connected" in text
    ports = {r["PORT"]: r for r in rows(text, "ports")}
    assert set(ports) == {"devices", "cloud", "edge"} and ports["devices"]["LINK"] == "up"
    assert scaled(ports["devices"]["RX-PKT/S"]) > 10 and scaled(ports["cloud"]["TX-PKT/S"]) > 10
    worker, = rows(text, "workers")
    assert 0 < float(worker["BUSY-%"]) <= 100 and scaled(worker["ALARMS/S"]) > 5
    rule, = rows(text, "rules")
    assert rule["RULE"] == "overheat" and scaled(rule["RAISED/S"]) > 5 and rule["VALUE-MISSING/S"] == "0"
    connection, = (r for r in rows(text, "connections") if scaled(r["PUBLISHES/S"]) > 5)
    assert connection["BROKER"] == f"{CLOUD}:1883" and connection["STATE"] == "open"
    assert {"port_rx-0-0", "mqtt"} & {r["NODE"] for r in rows(text, "nodes")} or len(rows(text, "nodes")) > 5
    twice = batch(traffic, "-n", "2", "-s", "rules", "--rows", "1")
    assert twice.count("\nrules: 1\n") == 2 and "ports:" not in twice


def test_batch_sorts_by_a_column(traffic):
    names = [r["PORT"] for r in rows(batch(traffic, "-n", "1", "-s", "ports", "--sort", "port"), "ports")]
    assert names == sorted(names)
    names = [r["PORT"] for r in rows(batch(traffic, "-n", "1", "-s", "ports", "--sort", "PORT", "--reverse"), "ports")]
    assert names == sorted(names, reverse=True)
    rates = [scaled(r["RX-PKT/S"]) for r in rows(batch(traffic, "-n", "1", "-s", "ports"), "ports")]
    assert rates == sorted(rates, reverse=True)


def test_wrong_arguments_are_reported(traffic):
    for args, message in ((("--batch", "-s", "port"), "did you mean 'ports'"), (("--batch", "--sort", "PORT"), "needs --section"),
                          (("--batch", "-s", "ports", "--sort", "X"), "no column 'X'"), (("-d", "0"), "from 1 to 3600"),
                          ((), "use --batch"), (("--batch", "--rows", "0"), "from 1 to 1000")):
        p = traffic.command("top", "-c", traffic.identity, *args)
        assert p.returncode == 64 and message in p.stderr, (args, p.stderr)


def test_screen_shows_and_sorts_each_section(traffic):
    t = Terminal(100, 24, "top", "-c", traffic.identity)
    t.wait("rates of the ports", lambda s: re.search(r"devices +up +[1-9]", s))
    assert "[1 ports]" in t.text() and "RX-PKT/Sv" in t.text()
    t.press(">")
    t.wait("the next column", lambda s: "RX-BIT/Sv" in s)
    t.press("r")
    t.wait("the reversed order", lambda s: "RX-BIT/S^" in s)
    t.press("<")
    t.wait("the column before", lambda s: "RX-PKT/S^" in s)
    t.press("3")
    t.wait("the rules", lambda s: "[3 rules]" in s and "overheat" in s and "plant/+/temperature" in s)
    t.press("\t")
    t.wait("the connections", lambda s: "[4 connections]" in s and f"{CLOUD}:1883" in s)
    t.press("2")
    t.wait("the workers", lambda s: "BUSY-%v" in s)
    t.press("5")
    t.wait("the nodes", lambda s: "CYCLES-%v" in s and re.search(r"\d-\d+ of \d+", s))
    t.press("h")
    t.wait("the help", lambda s: "biplane top: keys" in s)
    t.press("x")
    t.wait("the table", lambda s: "[5 nodes]" in s)
    t.press(" ")
    t.wait("the pause", lambda s: "PAUSED" in s)
    t.press("q")
    assert t.end() == 0


@pytest.mark.parametrize("columns, lines", [(20, 5), (1, 1), (40, 3), (200, 60)])
def test_screen_fits_any_terminal(traffic, columns, lines):
    t = Terminal(columns, lines, "top", "-c", traffic.identity)
    if columns >= 20 and lines >= 5:
        t.wait("a row", lambda s: "devices" in s)
        # one line of header, the section, the headings, two rows
        assert lines > 5 or "ports" in t.read()[1]
    for key in "2345\th x":
        t.press(key)
        t.read()
    t.press("q")
    assert t.end() == 0


def test_screen_follows_the_size_of_the_terminal(traffic):
    t = Terminal(100, 24, "top", "-c", traffic.identity)
    t.wait("the ports", lambda s: "[1 ports]" in s)
    t.set_size(20, 5)
    t.wait("the narrow form", lambda s: "1 ports" in s and "[1 ports]" not in s and "PORT" in s)
    t.set_size(120, 30)
    t.wait("the wide form", lambda s: "[1 ports]" in s and "NIC-DROPS/S" in s)
    os.kill(t.pid, signal.SIGTERM)
    assert t.end() == 0


def test_screen_survives_a_restart_of_the_data_plane(traffic):
    t = Terminal(100, 24, "top", "-c", traffic.identity)
    def uptime(text):
        m = re.search(r"up (?:\d+ d )?(\d+):(\d\d):(\d\d)  data plane \d+% CPU", text)
        return m and int(m[1]) * 3600 + int(m[2]) * 60 + int(m[3])

    before = uptime(t.wait("rates", lambda s: uptime(s) and uptime(s) >= 5 and re.search(r"devices +up +[1-9]", s)))
    traffic.kill_plane("data plane")
    traffic.wait_ready()
    t.wait("rates again", lambda s: uptime(s) is not None and uptime(s) < before and re.search(r"devices +up +[1-9]", s), 40)
    t.press("q")
    assert t.end() == 0


def test_unknown_terminals_and_instances_are_reported(traffic, tmp_path):
    t = Terminal(80, 24, "top", "-c", traffic.identity, term="no-such-terminal")
    t.wait("the message", lambda s: "use --batch" in s)
    assert t.end() == 69
    p = subprocess.run([BIPLANE, "top", "--batch", "-i", "no-such-instance"], capture_output=True, text=True, check=False)
    assert p.returncode == 69 and "no instance named 'no-such-instance' is running" in p.stderr
