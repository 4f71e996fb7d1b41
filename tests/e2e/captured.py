# SPDX-License-Identifier: BSD-3-Clause
"""`biplane capture` in the background, and traffic for it."""

import contextlib
import re
import signal
import subprocess

from frames import LOCAL_ETHERTYPE, Wire, ethernet
from lab import BIPLANE, MAC, port_devices


def config(names=("devices", "cloud", "edge"), **more):
    return {"ports": port_devices("af_packet", names), "bridges": [{"name": "bridge0", "ports": list(names)}], **more}


def frame(n, src="dev", dst="cloud", size=60):
    return ethernet(MAC[dst], MAC[src], LOCAL_ETHERTYPE, n.to_bytes(4, "big").ljust(size - 14, b"."))


class Running:
    """A capture in the background."""

    def __init__(self, g, *args, prefix=(), stdout=subprocess.PIPE):
        self.process = subprocess.Popen([*prefix, BIPLANE, "capture", "--config", g.identity, *map(str, args)], stdout=stdout,
                                        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.begun = self.process.stderr.readline().decode()
        if "capturing" not in self.begun:
            self.process.wait(20)
            raise AssertionError(self.begun + self.process.stderr.read().decode())

    def finish(self, number=signal.SIGINT, status=0):
        """(captured, lost)"""
        if number:
            self.process.send_signal(number)
        self.out, err = self.process.communicate(timeout=30)
        self.err = err.decode()
        assert self.process.returncode == status, self.err
        captured, lost = re.search(r"(\d+) frames captured, (\d+) lost", self.err).groups()
        return int(captured), int(lost)


@contextlib.contextmanager
def capturing(g, *args, **kw):
    c = Running(g, *args, **kw)
    try:
        yield c
    finally:
        if c.process.poll() is None:
            c.process.kill()
        c.process.communicate()


def exchange(lab, frames, src="dev", dst="cloud"):
    """Sends frames and waits until the last has arrived."""
    a, b = Wire(lab, src), Wire(lab, dst)
    try:
        for at in range(0, len(frames), 50):
            a.send(*frames[at:at + 50])
            b.listen(frames[at:at + 50][-1])
    finally:
        a.close()
        b.close()


def refused(g, *args):
    return subprocess.run([BIPLANE, "capture", "--config", g.identity, *map(str, args)], capture_output=True, text=True,
                          check=False, timeout=30, stdin=subprocess.DEVNULL)


def capinfos(path):
    p = subprocess.run(["capinfos", "-M", path], capture_output=True, text=True, check=False)
    assert p.returncode == 0 and not p.stderr.strip(), p.stderr
    return p.stdout
