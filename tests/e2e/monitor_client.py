# SPDX-License-Identifier: BSD-3-Clause
"""A client of the monitor's HTTP server on its Unix socket, which is reached from every network namespace."""

import http.client
import json
import os
import socket
from pathlib import Path

from lab import LAB_NAME, wait_until

SOCKET = f"/run/biplane-lab-{LAB_NAME}/http"
LISTEN = {"listen": f"unix:{SOCKET}"}


class Connection(http.client.HTTPConnection):
    def __init__(self, path=SOCKET, timeout=20):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = raw(self.path, self.timeout)


def raw(path=SOCKET, timeout=20):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(timeout)

    def connected():
        try:
            s.connect(path)
        except BlockingIOError:  # as many connections wait to be accepted as may wait
            return False
        return True
    wait_until("a connection to be accepted", connected, timeout)
    return s


def get(target, headers=None, method="GET", path=SOCKET):
    """(status, headers, body) of one request."""
    c = Connection(path)
    try:
        c.request(method, target, headers=headers or {})
        r = c.getresponse()
        return r.status, dict(r.getheaders()), r.read()
    finally:
        c.close()


def get_json(target, expected=200, **kw):
    status, headers, body = get(target, **kw)
    assert status == expected, f"{target}: {status} {body[:500]}"
    assert headers["Content-Type"] == "application/json"
    return json.loads(body)


def try_get(target, **kw):
    """The status; None: nobody listens, or the answer is not complete."""
    try:
        return get(target, **kw)[0]
    except (OSError, http.client.HTTPException):
        return None


def wait_ready(seconds=30):
    wait_until("/readyz to be 200", lambda: try_get("/readyz") == 200, seconds)


def failing():
    """The checks of /readyz that fail: {name: reason}."""
    status, _, body = get("/readyz")
    health = json.loads(body)
    assert (status == 200) == health["ready"] == all(c["ok"] for c in health["checks"])
    assert all(c["reason"] for c in health["checks"])
    return {c["check"]: c["reason"] for c in health["checks"] if not c["ok"]}


def processes(gateway):
    """{"monitor": pid, ...}: children of `biplane run` by command."""
    found = {}
    run = gateway.process.pid
    for d in Path("/proc").glob("[0-9]*"):
        try:
            ppid = int((d / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words = (d / "cmdline").read_bytes().split(b"\0")
        except (OSError, IndexError):
            continue
        if ppid == run and len(words) > 1:
            found[words[1].decode()] = int(d.name)
    return found


def resident_bytes(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
