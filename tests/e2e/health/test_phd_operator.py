# SPDX-License-Identifier: BSD-3-Clause
"""Operator errors on a gateway with health devices: invalid requests at the control socket, and reloads under load. No
measurement is lost, and refused requests have an error message."""

import contextlib
import copy
import json
import random
import socket
import time

import pytest

from conftest import running_router
from router_lab import RIGHT, only_biplane
from test_phd_restart import KINDS, Devices, Sink, check_stored, notice_nothing

pytestmark = only_biplane


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("phd")
    phd = {"listen": {"udp_port": 6024, "tcp_port": 6024}, "max_sessions": 1024, "store": {"path": str(directory / "phd.db")},
           "cse": {"coap": f"coap://{RIGHT}:5683", "path": "cse-in/{system_id}/{object}"}}
    with running_router(routed_lab, directory, health_devices=phd) as r:
        yield r


# ---------------------------------------------------------------- the control socket


class Control:
    """A client of the control socket that may say anything."""

    def __init__(self, router):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(f"{router.config['runtime']['directory']}/{router.config['name']}.sock")
        self.socket.settimeout(30)
        self.lines = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.lines.close()
        self.socket.close()

    def ask(self, line):
        self.socket.sendall(line + b"\n")
        return self.answer()

    def answer(self):
        line = self.lines.readline()
        return json.loads(line) if line else None


def release(id_):
    return b'{"command":"sessions-release","id":' + id_ + b"}"


NO_SYSTEM_ID = [release(i) for i in (
    b"1", b"-1", b"1e300", b"9223372036854775807", b"null", b"true", b"[]", b"{}", b'["0022092258010001"]', b'""',
    b'"' + b"0" * 16 + b'"', b'"' + b"1" * 15 + b'"', b'"' + b"1" * 17 + b'"', b'" 022092258010001"', b'"0x22092258010001"',
    b'"\xc3\xa9022092258010"', b'"' + b"f" * 4000 + b'"', b'"%s%n%s%n%s%n%s%"')]
NO_COMMAND = [
    b"", b" ", b"\0", b"{", b"}", b"[", b'"', b"nul", b'{"command":"sessions-release","id":"0022092258010001"',
    b'{"command":"sessions-release" "id":1}', b'{"command":"sessions-release","command":"sessions-release","id":"1"}',
    b'{"command":"Sessions-Release"}', b'{"command":["sessions-release"]}', b'{"command":null}', b'{"id":"0022092258010001"}',
    release(b'"\xff\xfe\xc0\x80"'), release(b'"\\ud800"'), release(b'"\\u0000"'), release(b'"00220922\x00580100"'),
    release(b"01"), release(b"1e999"), release(b"18446744073709551616"), b"[" * 4000, b'{"a":' * 800,
    release(b"[" * 2000 + b"]" * 2000), b"\xef\xbb\xbf{}", b"GET / HTTP/1.1\r"]


def test_invalid_report_state(router):
    """On one connection: each line has its answer, and the next is read."""
    with Control(router) as c:
        for line in NO_SYSTEM_ID:
            said = c.ask(line)
            assert said["ok"] is False and "16 hexadecimal digits" in said["errors"][0], (line, said)
        for line in NO_COMMAND:
            said = c.ask(line)
            assert said["ok"] is False and len(said["errors"]) == 1, (line, said)
        while "not served yet" in c.ask(release(b'"0022092258010001"'))["errors"][0]:
            time.sleep(0.1)
        said = c.ask(release(b'"0022092258010001"'))
        assert said["errors"] == ["no health device 0022092258010001 is associated; 'biplane show sessions' lists those that are"]
        assert c.ask(b'{"command":"status"}')["ok"] is True
    for n in (16385, 1 << 20):  # a line without an end is cut off, and said so
        with Control(router) as c:
            with contextlib.suppress(OSError):
                c.socket.sendall(b"x" * n)
            with contextlib.suppress(ConnectionResetError):
                assert c.answer() == {"ok": False, "errors": ["the line is too long"]}
    r = random.Random(3)
    with Control(router) as c:
        for _ in range(300):
            line = r.randbytes(r.randrange(200)).replace(b"\n", b"")
            assert c.ask(line)["ok"] is False, line
    assert router.plane("control plane")["restarts"] == 0


def test_thousand_silent_connections(router):
    """And some clients that send an incomplete request: a client with a command is still answered."""
    with contextlib.ExitStack() as stack:
        for n in range(1000):
            c = stack.enter_context(Control(router))
            if n % 3 == 0:
                with contextlib.suppress(OSError):  # it may have had to go already
                    c.socket.send(b'{"command":')
        p = router.command("session", "disconnect", "0022092258010001", "-c", router.identity)
        assert p.returncode == 69 and "no health device 0022092258010001 is associated" in p.stderr
        assert router.reload().returncode == 0
    assert router.plane("control plane")["restarts"] == 0


@pytest.mark.parametrize("words,status,says", (
    (("session",), 64, "session disconnect"), (("session", "disconnect"), 64, "missing argument: the system-id"),
    (("session", "disconnect", "1" * 15), 64, "16 hexadecimal digits"), (("session", "disconnect", "0" * 16), 64, "not all 0"),
    (("session", "disconnect", "1" * 16, "2" * 16), 64, "unexpected argument"), (("session", "drop"), 64, "unknown command 'drop'"),
    (("session", "disconnect", "1" * 16, "-c", "/nowhere.yaml"), 78, "/nowhere.yaml"),
    (("show", "sessions", "xyz"), 64, "16 hexadecimal digits"), (("show", "sessions", "--state", "asleep"), 64, "operating"),
    (("show", "sessions", "--address", "10.0.0.0/33"), 64, "10.0.0.0/33"), (("show", "sessions", "--type", "toaster"), 64, "pulse_oximeter"),
    (("show", "sessions", "-n", "-1"), 64, "-1"), (("show", "sessions", "-n", "1e3"), 64, "1e3"),
    (("show", "sessions", "-n", "18446744073709551617"), 64, "18446744073709551617")))
def test_invalid_arguments_are_refused(router, words, status, says):
    p = router.command(*words)
    assert p.returncode == status and says in p.stderr and not p.stdout, (p.returncode, p.stdout, p.stderr)


# ---------------------------------------------------------------- reloads


def anybody(directory):
    (directory / "allow").write_text("0022092258010001\n")
    return str(directory / "allow")


# The settings that a reload applies according to man biplane.yaml, with values that do not affect associated devices.
TAKEN = {
    ("ack",): ("forwarded", "stored"), ("allow",): ([], ["0022092258010001"]), ("allow_file",): (anybody,),
    ("limits", "sessions_per_address"): (1, 5, 4194304), ("limits", "association_rate"): (1, 1000000), ("limits", "unknown_report_rate"): (0, 1000000),
    ("timeouts", "config"): ("100ms", "1h"), ("timeouts", "service"): ("100ms", "1h"), ("timeouts", "release"): ("100ms", "1h"),
    ("idle_timeout",): ("off", "1m", "3650d")}
# The settings that need a restart, with another valid value. (cse.provision has none without cse.http.)
REFUSED = {
    ("listen", "udp_port"): 6025, ("listen", "tcp_port"): "off", ("max_sessions",): 2048, ("max_configurations",): 512, ("system_id",): "0011223344556677",
    ("content_instance_per",): "report", ("limits", "max_pending_reports"): 64, ("store", "path"): "/nowhere/phd.db", ("cse", "coap"): "coap://10.3.0.2:5684",
    ("cse", "http"): "http://10.3.0.2:8080", ("cse", "originator"): "Cother",
    ("cse", "path"): "cse-in/{system_id}/new/{object}", ("cse", "release"): "3", ("cse", "confirmable"): False,
    ("cse", "source_ports"): "20000-20999", ("cse", "max_body_size"): 2048, ("cse", "max_instances"): 10, ("cse", "max_inflight"): 4,
    ("cse", "max_retry_interval"): "1s", ("cse", "name_instances"): False}


def put(config, key, value):
    """A copy with this setting below health_devices; None: without it."""
    config = copy.deepcopy(config)
    section = config["health_devices"]
    for k in key[:-1]:
        section = section.setdefault(k, {})
    if value is None:
        section.pop(key[-1], None)
    else:
        section[key[-1]] = value
    return config


def test_reloads_under_load(routed_lab, router, tmp_path):
    """Each setting in turn, then many at random: each measurement is at the CSE once, and no one associates again."""
    r = random.Random(5)
    with contextlib.ExitStack() as stack:
        sink = stack.enter_context(contextlib.closing(Sink(routed_lab, tmp_path)))
        devices = [stack.enter_context(contextlib.closing(Devices(routed_lab, tmp_path, k))) for k in KINDS]
        for d in devices:
            d.measured(1)
        before, generation = router.status()["reloads"], router.show("rules")["generation"]

        def taken(config):
            p = router.reload(config)
            assert p.returncode == 0, p.stderr
        values = {key: [v(tmp_path) if callable(v) else v for v in vs] for key, vs in TAKEN.items()}
        reloads = 0
        for key, some in values.items():
            for v in some:
                taken(put(router.config, key, v))
                reloads += 1
        for key, v in REFUSED.items():
            name = "health_devices." + ".".join(key)
            p = router.reload(put(router.config, key, v))
            assert p.returncode != 0 and f"{name}: changing it needs a restart" in p.stderr, (key, p.returncode, p.stderr)
        for key, v in {("listen", "udp_port"): 70000, ("cse", "path"): "cse-in", ("allow_file",): "/nowhere", ("ack",): "never"}.items():
            p = router.reload(put(router.config, key, v))
            assert p.returncode != 0 and (str(v) in p.stderr or "health_devices." in p.stderr), (key, p.stderr)
        for _ in range(20):
            config = router.config
            for key in r.sample(sorted(values), 4):
                config = put(config, key, r.choice([None, *values[key]]))
            taken(config)
            reloads += 1
        taken(router.config)
        after = router.status()["reloads"]
        assert after["done"] - before["done"] == reloads + 1
        assert after["refused"] - before["refused"] >= len(REFUSED)  # files that are wrong in themselves the command refuses
        assert router.show("rules")["generation"] > generation
        for d in devices:
            d.measured(len(d.reports()) // d.count + 1)
        notice_nothing(devices)
        check_stored(devices, sink)
    assert router.plane("control plane")["restarts"] == router.plane("data plane")["restarts"] == 0
    router.balanced()
