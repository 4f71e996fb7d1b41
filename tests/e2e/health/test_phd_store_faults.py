# SPDX-License-Identifier: BSD-3-Clause
"""Disk faults of the store of health devices while the gateway runs: full, read-only, locked by another process, file
removed. Devices continue to report, the log names the fault, and after it the file is complete: after a restart without
the segment no device associates again, and configurations received meanwhile are known."""

import contextlib
import sqlite3
import subprocess
import time

import pytest

from conftest import running_router
from lab import wait_until
from router_lab import RIGHT, only_biplane
from test_phd_restart import KINDS, Devices, Sink, check_stored, notice_nothing, stopped

pytestmark = only_biplane
DISK = 1 << 20  # bytes


@pytest.fixture
def disk(tmp_path):
    """A small disk of its own, which biplane sees too."""
    d = tmp_path / "disk"
    d.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "biplane-test", d], check=True)
    yield d
    subprocess.run(["umount", d], check=True)


def remount(disk, how, *pids):
    """Here, and as these processes see it: `ip netns exec` gives them mounts of their own."""
    for enter in ([], *(["nsenter", "-m", "-t", str(p)] for p in pids)):
        subprocess.run([*enter, "mount", "-o", f"remount,{how}", disk], check=True)


class Served:
    """A gateway with its store in this directory, a CSE, and devices that come one kind after the other."""

    def __init__(self, stack, lab, router, directory):
        self.lab, self.router, self.directory, self.stack = lab, router, directory, stack
        self.sink = stack.enter_context(contextlib.closing(Sink(lab, directory)))
        self.devices = []

    @property
    def count(self):
        return sum(d.count for d in self.devices)

    def come(self, kind):
        d = self.stack.enter_context(contextlib.closing(Devices(self.lab, self.directory, kind)))
        self.devices.append(d)
        return d

    def measure(self, each=1, since=None):
        since = time.time() if since is None else since
        for d in self.devices:
            d.measured(each, since=since)

    def words(self):
        return self.router.status()["health_devices"]["store"]

    def said(self, sentence):
        wait_until(f"the log to say '{sentence}'", lambda: sentence in self.router.log.read_text(), 30, 0.1)

    def waiting(self):
        """Waits until rows wait for the disk; none is lost."""
        got = wait_until("rows to wait", lambda: (w := self.words())["queued"] > 0 and w["failures"] > 0 and w, 30, 0.1)
        assert got["lost"] == 0

    def written(self, rows=1):
        """Waits until the given number of rows was written to the file and none is pending."""
        wait_until("the store to be written", lambda: (w := self.words())["queued"] == 0 and w["rows"] >= rows, 30, 0.1)

    def in_the_file(self, path):
        """The gateway ends; its file has all devices, with what they declared."""
        assert self.router.stop() == 0
        with contextlib.closing(sqlite3.connect(path)) as db:
            assert db.execute("SELECT count(*) FROM sessions").fetchone() == (self.count,)
            assert db.execute("SELECT count(*) FROM known WHERE content IN (SELECT content FROM configs)").fetchone() == (self.count,)

    def known_after_restart(self):
        """The segment is lost, and the file is all there is: no device notices."""
        lost_at = time.time()
        stopped(self.router)
        back_at = time.time()
        self.measure(since=back_at)
        notice_nothing(self.devices)
        check_stored(self.devices, self.sink, lost_at, back_at)


@pytest.fixture
def serve(routed_lab, hugepages, tmp_path):
    """serve(path of the store): a gateway with it."""
    with contextlib.ExitStack() as stack:
        def start(path):
            phd = {"max_sessions": 1024, "store": {"path": str(path)}, "cse": {"coap": f"coap://{RIGHT}", "path": "cse-in/{system_id}/{object}"}}
            router = stack.enter_context(running_router(routed_lab, tmp_path, health_devices=phd))
            return Served(stack, routed_lab, router, tmp_path)
        yield start


def fill(disk):
    """A file that leaves no byte."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as f, contextlib.suppress(OSError):
        while True:
            f.write(bytes(4096))
    return ballast


def test_disk_full(serve, disk):
    s = serve(disk / "phd.db")
    s.come(KINDS[0])
    s.measure()
    s.written(2 * s.count)
    ballast = fill(disk)
    s.come(KINDS[1])
    s.measure()
    s.said("database or disk is full")
    s.waiting()
    ballast.unlink()
    s.written()
    s.known_after_restart()


def test_read_only(serve, disk):
    remount(disk, "ro")
    s = serve(disk / "phd.db")
    s.come(KINDS[1])
    s.measure()
    s.said("Read-only file system")
    s.waiting()
    remount(disk, "rw", s.router.plane("control plane")["pid"])
    s.written()
    s.in_the_file(disk / "phd.db")


def test_locked_file_is_written_later(serve, tmp_path):
    path = tmp_path / "phd.db"
    somebody = sqlite3.connect(path, isolation_level=None)
    somebody.execute("BEGIN EXCLUSIVE")
    s = serve(path)
    s.come(KINDS[1])
    s.measure()
    s.said("database is locked, by another process")
    s.waiting()
    somebody.close()
    s.written()
    s.in_the_file(path)


def test_removed_file_is_created_again(serve, tmp_path):
    """sqlite would continue with the file that no one can find any more."""
    path = tmp_path / "store" / "phd.db"
    s = serve(path)
    for kind in KINDS:
        s.come(kind)
    s.measure()
    s.written(2 * s.count)
    rows = s.words()["rows"]
    for f in path.parent.iterdir():
        f.unlink()
    path.parent.rmdir()
    s.said("was removed or replaced while it was in use")
    s.written(rows + 2 * s.count)
    s.said("writing resumed")
    s.known_after_restart()
