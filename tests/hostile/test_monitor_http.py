# SPDX-License-Identifier: BSD-3-Clause
"""A local user or a host of the management network against the monitor's HTTP server: slow clients, floods, clients that do
not read, malformed requests. Others are answered, memory and descriptors are bounded, and no alarm is delayed or lost."""

import contextlib
import random
import socket

import pytest

from conftest import config_for
from lab import CLOUD, wait_until
from monitor_client import LISTEN, descriptors, get, get_json, processes, raw, resident_bytes, try_get, wait_ready
from peers import Publisher

CONNECTIONS = 32
MEMORY = 192 << 20


@pytest.fixture(scope="module")
def gateway_watched(lab, module_gateway):
    g = module_gateway({**config_for(), "monitoring": {**LISTEN, "max_connections": CONNECTIONS}})
    wait_ready()
    get("/metrics")
    yield g
    g.stop()


@pytest.fixture
def unharmed(lab, gateway_watched):
    """After the attack: the same process, within its bounds, which answers; alarms are raised."""
    g = gateway_watched
    before = processes(g)
    open_before = descriptors(before["monitor"])
    raised = g.status()["alarms"]["acknowledged"]
    yield g
    assert get("/livez")[0] == 200 and get_json("/readyz")["ready"]
    assert processes(g) == before
    pid = before["monitor"]
    assert resident_bytes(pid) < MEMORY
    wait_until("the descriptors to be closed", lambda: descriptors(pid) <= open_before)
    p = Publisher(lab, CLOUD, client_id="oven-7")
    p.finish([p.publish("plant/oven/temperature", "81.5", 1)])
    wait_until("an alarm", lambda: g.status()["alarms"]["acknowledged"] > raised)
    g.balanced()


def metric(series):
    """The value of this series of /metrics."""
    return next(int(line.rpartition(" ")[2]) for line in get("/metrics")[2].decode().splitlines() if line.startswith(f"{series} "))


def closed(s):
    """Whether the server has closed the connection."""
    s.setblocking(False)
    try:
        while True:
            if s.recv(65536) == b"":
                return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_thousand_slow_clients(lab, unharmed):
    """Each holds a connection with a request that never ends, and opens another one when it is closed."""
    g = unharmed
    pid = processes(g)["monitor"]
    slow = []
    try:
        for i in range(1000):
            s = raw()
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
            slow.append(s)
            if i % 100 == 99:  # in between, others are answered
                assert get("/metrics")[0] == 200
                assert descriptors(pid) < CONNECTIONS + 40
        for _ in range(20):
            for s in random.sample(slow, 50):
                with contextlib.suppress(OSError):
                    s.send(b"a")
            assert get("/readyz")[0] == 200
        wait_until("those above the limit to be closed", lambda: sum(not closed(s) for s in slow) <= CONNECTIONS)
    finally:
        for s in slow:
            s.close()


def test_clients_that_do_not_read(lab, unharmed):
    """They ask for large answers, many in a row, and leave them in the socket."""
    request = b"GET /api/v1/show/counters HTTP/1.1\r\nHost: localhost\r\n\r\n"
    clients = []
    try:
        for _ in range(CONNECTIONS * 2):
            s = raw()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                for _ in range(1000):
                    s.send(request)
            clients.append(s)
        for _ in range(20):
            wait_until("an answer to another client", lambda: try_get("/metrics") == 200)
    finally:
        for s in clients:
            s.close()


def test_readers_of_events_that_stop(lab, unharmed):
    """They subscribe, and read nothing while events happen."""
    readers = []
    try:
        for _ in range(40):  # more than are allowed
            s = raw()
            s.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            readers.append(s)
        p = Publisher(lab, CLOUD, client_id="oven-3")
        p.finish([p.publish(f"plant/oven{i % 50}/temperature", "81.5", 1) for i in range(500)])
        for _ in range(10):
            assert get("/readyz")[0] == 200
    finally:
        for s in readers:
            s.close()


def test_requests_that_are_no_requests(lab, unharmed):
    rng = random.Random(7)
    errors = 'biplane_monitor_request_errors_total{reason="client"}'
    cut = 'biplane_monitor_connections_closed_total{reason="incomplete"}'
    incomplete = metric(cut)
    whole = b"GET /api/v1/show/routes?limit=5 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"
    attacks = [
        b"\0" * 5000, b"\r\n" * 5000, b"GET " + b"/" * 100000, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000,
        b"GET /livez?" + b"a=b&" * 20000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 100000 + b"\r\n\r\n",
        b"POST /api/v1/config HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 100000,
        b"PUT / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n" + b"x" * 1000,
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 100000,
        b"CONNECT 10.0.0.1:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(512), b"GET http://localhost/livez HTTP/1.1\r\nHost: evil\r\n\r\n",
        b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /console/..%2f..%2f..%2fetc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
        whole * 3000,
    ]
    for _ in range(300):
        broken = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        attacks.append(bytes(broken) + whole)
    for attack in attacks:
        s = raw()
        s.setblocking(False)
        with contextlib.suppress(OSError):
            s.send(attack)
        s.shutdown(socket.SHUT_WR)
        s.close()
    wait_until("the requests without an answer to be counted", lambda: metric(cut) > incomplete)
    refused = metric(errors)
    status, _, body = get("/console/..%2f..%2f..%2fetc/passwd")
    assert status == 404 and b"root:" not in body and get("/livez", method="POST")[0] == 405
    assert metric(errors) == refused + 2


def test_expensive_requests_from_all_connections(lab, unharmed):
    """On nearly all connections at a time: some are refused, none stops the server."""
    clients = []
    try:
        for i in range(CONNECTIONS - 4):
            s = raw()
            view = ("not-inspected", "connections", "sessions", "routes")[i % 4]
            s.sendall(f"GET /api/v1/show/{view}?limit=10000 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 5)
            clients.append(s)
        for s in clients:
            assert s.recv(12).startswith(b"HTTP/1.1 ")
        assert get("/livez")[0] == 200
    finally:
        for s in clients:
            s.close()
