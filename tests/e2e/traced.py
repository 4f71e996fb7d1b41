# SPDX-License-Identifier: BSD-3-Clause
"""`biplane trace` in the background, and what it prints."""

import contextlib
import json
import subprocess

from lab import BIPLANE


@contextlib.contextmanager
def tracing(g, *args):
    p = subprocess.Popen([BIPLANE, "trace", "--config", g.identity, *map(str, args)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    try:
        begun = p.stderr.readline()
        assert "tracing" in begun, begun + p.stderr.read()
        yield p
    finally:
        if p.poll() is None:
            p.kill()
        p.communicate()


def finish(p):
    out, err = p.communicate(timeout=30)
    assert p.returncode == 0, err
    return out


def objects(p):
    return [json.loads(line) for line in finish(p).splitlines()]


def nodes(trace):
    return [s["node"] for s in trace["steps"] if s["event"] == "processed"]


def changed(trace, node):
    """The names of the counters that this node changed for the frame."""
    return {c["name"] for s in trace["steps"] if s["node"] == node for c in s.get("counters", [])}
