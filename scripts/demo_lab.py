# SPDX-License-Identifier: BSD-3-Clause
"""Shared code of the demonstrations of scripts/quickstart, which run in the namespaces of scripts/lab."""

import contextlib
import ctypes
import os
import subprocess
import sys
from pathlib import Path

_LAB = os.environ.get("BP_LAB", "")
PREFIX = f"bp-{_LAB}-" if _LAB else "bp-"
STATE = Path("/run", f"biplane-lab-{_LAB}" if _LAB else "biplane-lab")
BIPLANE = os.environ.get("BIPLANE", "build/apps/biplane")
LAB = Path(__file__).parent / "lab"
TTY = sys.stdout.isatty()


def in_ns(ns, *args):
    return ["ip", "netns", "exec", PREFIX + ns, *args]


@contextlib.contextmanager
def inside(ns):
    """Moves this thread into the namespace while the caller opens sockets."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{PREFIX}{ns}") as there:
        if libc.setns(there.fileno(), 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        try:
            yield
        finally:
            libc.setns(home.fileno(), 0x40000000)


def watch(ns, interface, file, expression, *options):
    """Starts tcpdump, which writes the frames received on an interface to a file; returns when it captures."""
    p = subprocess.Popen(in_ns(ns, "tcpdump", "-i", interface, "-Q", "in", "-U", "--immediate-mode", *options, "-w", str(file), expression),
                         stderr=subprocess.PIPE, text=True)
    for line in p.stderr:
        if "listening on" in line:
            return p
    raise SystemExit(f"tcpdump does not run in {PREFIX}{ns}")


def colour(code, text):
    return f"\033[{code}m{text}\033[0m" if TTY else text
