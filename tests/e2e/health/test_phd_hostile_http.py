# SPDX-License-Identifier: BSD-3-Clause
"""A CSE that is broken by HTTP, where AEs and containers are made: for some devices it hangs, speaks without an end, or of
something else. They wait, the log says why, and all others are served meanwhile; memory stays bounded."""

import contextlib
import http.server
import json
import threading
from pathlib import Path

import pytest

from conftest import running_router
from lab import wait_until
from router_lab import RIGHT, only_biplane
from test_phd import PHD, ended
from test_phd_slow_path import Sink, devices

pytestmark = only_biplane
HTTP_PORT = 8080
FIRST = "00220922580fbb00"  # system-id of the first device that is wronged; others follow
MANY = 1 << 28


def created(extra=b"", length=b"0"):
    return b"HTTP/1.1 201 Created\r\nX-M2M-RSC: 2001\r\n" + extra + b"Content-Length: " + length + b"\r\n\r\n"


def pour(connection, data):
    """Until no one takes it any more."""
    with contextlib.suppress(OSError):
        for _ in range(MANY // len(data)):
            connection.sendall(data)


def hang(cse, connection):
    cse.released.wait(120)


def in_the_middle(cse, connection):
    connection.sendall(created(length=b"100") + b"{")
    cse.released.wait(120)


def endless_body(cse, connection):
    connection.sendall(created(length=b"%d" % MANY))
    pour(connection, bytes(65536))


def endless_headers(cse, connection):
    connection.sendall(b"HTTP/1.1 201 Created\r\n")
    pour(connection, b"X-M2M-RSC: 2001\r\n" * 4000)


def endless_preliminaries(cse, connection):
    pour(connection, b"HTTP/1.1 100 Continue\r\n\r\n" * 2000)


def too_short(cse, connection):
    connection.sendall(created(length=b"1000") + b"{}")


def odd_length(cse, connection):
    connection.sendall(created(length=b"-5"))


def elsewhere(cse, connection):
    connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://%s:%d/elsewhere\r\nContent-Length: 0\r\n\r\n" % (RIGHT.encode(), HTTP_PORT))


def at_once(cse, connection):
    pass


def random_bytes(cse, connection):
    connection.sendall(bytes(range(256)) * 16)


def a_page(cse, connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<html></html>")


WRONGS = (hang, in_the_middle, endless_body, endless_headers, endless_preliminaries, too_short, odd_length, elsewhere, at_once,
          random_bytes, a_page)


class Cse(http.server.ThreadingHTTPServer):
    """Says that it made whatever it is asked for, but does wrong to those devices, until it is repaired."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self):
        super().__init__((RIGHT, HTTP_PORT), Handler)
        self.wrong = {f"{int(FIRST, 16) + i:016x}": w for i, w in enumerate(WRONGS)}
        self.released = threading.Event()
        self.met, self.strange = set(), []

    def repair(self):
        self.wrong = {}
        self.released.set()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        wrong = self.server.wrong
        about = next((d for d in wrong if d in self.path or d in json.dumps(json.loads(body))), None)
        if about:
            self.server.met.add(wrong[about])
            self.close_connection = True
            with contextlib.suppress(OSError):
                wrong[about](self.server, self.connection)
            return
        self.connection.sendall(created())

    def do_GET(self):  # noqa: N802
        self.server.strange.append(self.path)
        self.connection.sendall(b"HTTP/1.1 404 x\r\nX-M2M-RSC: 4004\r\nContent-Length: 0\r\n\r\n")


@pytest.fixture
def cse(routed_lab):
    with routed_lab.inside("right"):
        server = Cse()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield server
    server.repair()
    server.shutdown()
    server.server_close()


@pytest.fixture
def router(routed_lab, hugepages, tmp_path):
    phd = {**PHD, "cse": {**PHD["cse"], "http": f"http://{RIGHT}:{HTTP_PORT}", "max_retry_interval": "2s"}, "store": {"path": str(tmp_path / "phd.db")}}
    with running_router(routed_lab, tmp_path, health_devices=phd) as r:
        yield r


def resident(router):
    """KiB of memory of the control plane."""
    status = Path(f"/proc/{router.plane('control plane')['pid']}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


MEASURE = ("--device", "oximeter", "--confirmed", "--retries", 0, "--timeout", "500ms", "--rate", 0, "--reports", 2)


def test_failed_devices_block_no_other(routed_lab, router, cse):
    with Sink(routed_lab, "--any") as sink:
        before = resident(router)
        wronged = devices(routed_lab, FIRST, "--count", len(WRONGS), *MEASURE)
        others = devices(routed_lab, "00220922580fcc00", "--count", 40, *MEASURE)
        status, _, summary = ended(others)
        assert status == 0 and summary["answered"] == 80, summary
        wait_until("all wrongs to be done", lambda: cse.met == set(WRONGS), 30, 0.1)
        assert router.show("sessions")["total"] == len(WRONGS)  # the others have gone
        for sentence in ("does not answer as a oneM2M CSE", "CSE does not answer for this path; retrying later, other paths continue path=cse-in/00220922580fbb"):
            wait_until("the log to say so", lambda t=sentence: t in router.log.read_text(), 30, 0.1)
        wait_until("the words to say so", lambda: router.status()["health_devices"]["cse"]["malformed"] > 0, 30, 0.1)
        assert resident(router) - before < 32 << 10  # of the gigabytes that were poured out
        cse.repair()
        status, _, summary = ended(wronged)
        assert status == 0 and summary["answered"] == 2 * len(WRONGS), summary
        sink.report()
    assert cse.strange == []
    assert router.plane("control plane")["restarts"] == 0
    router.balanced()
