# SPDX-License-Identifier: BSD-3-Clause
"""Events of a gateway with real clients: log.events and `biplane tail` have each of them, in order and with the right fields."""

import base64
import contextlib
import gzip
import hashlib
import ipaddress
import json
import os
import signal
import socket
import struct
import subprocess
from pathlib import Path

import jsonschema
import pytest

from conftest import config_for, overheat
from lab import BIPLANE, CLOUD, DEVICE, ROOT, wait_until
from monitor_client import processes
from peers import Publisher

SCHEMA = json.loads((ROOT / "docs" / "reference" / "events.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
# by readers themselves, each with its own time
OF_READER = ("drops", "lost")


def community_id(event):
    """From the specification, independent of the gateway."""
    ends = [(ipaddress.ip_address(event[f"{e}_ip"]).packed, struct.pack(">H", event[f"{e}_port"])) for e in ("src", "dest")]
    one, other = sorted(ends)
    data = b"\0\0" + one[0] + other[0] + bytes([{"TCP": 6, "UDP": 17}[event["proto"]], 0]) + one[1] + other[1]
    return "1:" + base64.b64encode(hashlib.sha1(data).digest()).decode()


def check(events):
    """Each is valid; they are in the order of time, as far as one reader reports another's."""
    for event in events:
        errors = [f"{e.json_path}: {e.message}" for e in VALIDATOR.iter_errors(event)]
        assert not errors, (event, errors)
        if "community_id" in event:
            assert event["community_id"] == community_id(event)
    times = [e["timestamp"] for e in events if e["event_type"] not in OF_READER and e.get("plane", {}).get("state") != "restarted"]
    assert times == sorted(times)
    return events


def read(path):
    """Whole lines only: the last one has its end, too."""
    text = path.read_text() if path.exists() else ""
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def of(events, kind, **members):
    """The events of a type whose details have these members."""
    return [e for e in events if e["event_type"] == kind and all(e[kind].get(k) == v for k, v in members.items())]


@contextlib.contextmanager
def tail(g, *args, output=subprocess.PIPE):
    p = subprocess.Popen([BIPLANE, "tail", *args, "-c", str(g.identity)], stdout=output, stderr=subprocess.PIPE,
                         stdin=subprocess.DEVNULL)
    try:
        yield p
    finally:
        if p.poll() is None:
            p.send_signal(signal.SIGINT)
        p.wait(10)
        for f in (p.stdout, p.stderr):
            if f and not f.closed:
                f.close()


def exchange(lab, payload, reset=False):
    """A TCP connection to the cloud broker that says something else than MQTT, or ends with a reset."""
    with lab.inside("dev"):
        s = socket.create_connection((CLOUD, 1883), 10)
    with s:
        port = s.getsockname()[1]
        s.sendall(payload)
        with contextlib.suppress(OSError):
            s.settimeout(5)
            s.recv(64)
        if reset:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return port


CONNECT = b"\x10\x12\x00\x04MQTT\x04\x02\x00\x3c\x00\x06reset1"


def test_the_life_of_a_gateway(lab, gateway, tmp_path):
    path, tailed = tmp_path / "log" / "events.json", tmp_path / "tail.json"
    path.parent.mkdir()
    rules = [overheat(clear="< 75", payload="envelope")]
    config = {**config_for(rules=rules), "log": {"events": str(path)}}
    config["mqtt"]["publisher"]["unreachable_after"] = "1s"
    g = gateway(config)
    with tailed.open("wb") as out, tail(g, "events", "--json", "-n", "1000", output=out):
        client = Publisher(lab, CLOUD, client_id="oven-7", version="5")
        port = client.client.socket().getsockname()[1]
        for value in ("90", "70"):
            client.publish("plant/oven-7/temperature", value, 1).wait_for_publish(20)
        wait_until("the alarms", lambda: len(of(read(path), "alarm")) == 2)
        client.finish()
        other = exchange(lab, b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03")
        reset = exchange(lab, CONNECT, reset=True)
        wait_until("the end of each connection", lambda: len(of(read(path), "connection", state="end")) == 2)
        lab.broker("edge", "stop")
        try:
            wait_until("the fault", lambda: of(read(path), "fault", name="edge_unreachable", state="raised"), 60)
        finally:
            lab.broker("edge", "start")
        wait_until("its end", lambda: of(read(path), "fault", name="edge_unreachable", state="cleared"), 60)
        assert g.reload().returncode == 0
        assert g.reload({**g.config, "workers": 2}).returncode != 0
        wait_until("the refusal", lambda: of(read(path), "config", state="refused"))
        g.write()
        g.kill_plane("control plane")
        g.kill_plane("data plane")
        wait_until("both starts", lambda: len(of(read(path), "plane", state="started", after_crash=True)) == 2, 60)
        wait_until("both restarts", lambda: len(of(read(path), "plane", state="restarted")) == 2)
        wait_until("the rules of the new planes", lambda: len(of(read(path), "config", state="loaded")) == 2)
        events = check(read(path))
        wait_until("the same events from tail", lambda: [e for e in read(tailed) if e["event_type"] not in OF_READER and
                                                         e.get("plane", {}).get("state") != "restarted"] ==
                   [e for e in read(path) if e["event_type"] not in OF_READER and e.get("plane", {}).get("state") != "restarted"])
        check(read(tailed))

    start, = of(events, "connection", state="start", client_id="oven-7")
    end, = of(events, "connection", state="end", client_id="oven-7")
    assert (start["src_ip"], start["src_port"], start["dest_ip"], start["dest_port"]) == (DEVICE, port, CLOUD, 1883)
    assert (start["in_iface"], start["proto"], start["connection"]["mqtt_version"]) == ("devices", "TCP", "5.0")
    assert end["connection"] == {"state": "end", "reason": "closed", "client_id": "oven-7", "mqtt_version": "5.0",
                                 "publications": 2}
    raised, cleared = of(events, "alarm")
    assert [(a["alarm"]["state"], a["alarm"]["value"]) for a in (raised, cleared)] == [("raised", 90), ("cleared", 70)]
    assert raised["alarm"]["topic"] == "plant/oven-7/temperature" and raised["alarm"]["client_id"] == "oven-7"
    for member in ("flow_id", "community_id", "src_ip", "src_port", "dest_ip", "dest_port", "in_iface"):
        assert start[member] == end[member] == raised[member] == cleared[member]
    stopped, = of(events, "connection", state="not_inspected")
    assert stopped["src_port"] == other and stopped["connection"]["reason"] == "not_inspected_tls"
    ended, = of(events, "connection", state="end", client_id="reset1")
    assert ended["src_port"] == reset and ended["connection"]["reason"] == "reset"
    assert len({e["flow_id"] for e in (start, stopped, ended)}) == 3
    fault = of(events, "fault", name="edge_unreachable", state="cleared")[-1]
    assert fault["fault"]["plane"] == "controlplane" and fault["fault"]["duration_ms"] > 0
    assert "workers" in of(events, "config", state="refused")[0]["config"]["error"]
    assert len(of(events, "config", state="reloaded")) == 1
    assert [e["plane"]["hung"] for e in of(events, "plane", state="restarted")] == [False, False]
    assert {e["plane"]["name"] for e in of(events, "plane", state="started", after_crash=False)} == {"dataplane", "controlplane"}
    # The monitor ends last, and the log has the orderly end of both planes.
    g.process.send_signal(signal.SIGTERM)
    assert g.process.wait(60) == 0
    assert {e["plane"]["name"] for e in of(check(read(path)), "plane", state="stopped")} == {"dataplane", "controlplane"}
    # A new start continues the file, without an event twice.
    g.process = None
    g.start()
    wait_until("the next start", lambda: len(of(read(path), "plane", state="started")) == 6)
    lines = path.read_text().splitlines()
    assert len(set(lines)) == len(lines)


def test_rotation(lab, gateway, tmp_path):
    path, old = tmp_path / "events.json", tmp_path / "events.json.1"
    g = gateway({**config_for(), "log": {"events": str(path)}})
    wait_until("the start", lambda: of(read(path), "config", state="loaded"))
    path.rename(old)
    path.touch(0o640)
    g.process.send_signal(signal.SIGHUP)  # the control plane reloads, and the monitor opens the file again
    wait_until("the reload in the new file", lambda: of(read(path), "config", state="reloaded"))
    assert not of(read(old), "config", state="reloaded") or not of(read(path), "config", state="loaded")
    path.write_text("")  # copytruncate
    assert g.reload().returncode == 0
    wait_until("the reload in the same file", lambda: len(of(read(path), "config", state="reloaded")) == 1)
    check(read(old) + read(path))


def test_logrotate_loses_and_repeats_nothing(gateway, tmp_path):
    """The configuration of the package, with another folder and user, while events are written."""
    logs = tmp_path / "logs"
    logs.mkdir(mode=0o750)
    path = logs / "events.json"
    g = gateway({**config_for(), "log": {"events": str(path)}})
    wait_until("the start", lambda: of(read(path), "config", state="loaded"))
    text = (ROOT / "debian" / "biplane.logrotate").read_text()
    for old, new in (("/var/log/biplane", str(logs)), ("biplane-monitor biplane-monitor", "root root"),
                     ("systemctl kill --signal=HUP 'biplane-monitor@*.service'", f"kill -HUP {processes(g)['monitor']}")):
        assert old in text
        text = text.replace(old, new)
    rules = tmp_path / "logrotate.conf"
    rules.write_text(text)

    def rotate():
        done = subprocess.run(["logrotate", "-f", "-s", str(tmp_path / "state"), str(rules)], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr, done.stderr

    def files():
        return [json.loads(line) for p in (logs / "events.json.2.gz", logs / "events.json.1", path) if p.exists()
                for line in (gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes()).splitlines()]

    for n in range(24):
        assert g.reload().returncode == 0
        if n in (8, 16):
            rotate()
    wait_until("the last reload", lambda: len(of(files(), "config", state="reloaded")) >= 24)
    assert (logs / "events.json.2.gz").exists() and path.stat().st_mode & 0o777 == 0o640
    events = check(files())
    assert len(of(events, "config", state="reloaded")) == 24 and not of(events, "lost")
    lines = [json.dumps(e) for e in events]
    assert len(set(lines)) == len(lines)


@contextlib.contextmanager
def journal():
    """systemd-journald with its sockets and files in a mount namespace of its own: the number of its process."""
    private = "mount --make-rprivate / && mount -t tmpfs none /run/systemd && mount -t tmpfs none /run/log && " \
        "mkdir -p /run/systemd/journal /run/log/journal && exec /lib/systemd/systemd-journald"
    p = subprocess.Popen(["unshare", "--mount", "sh", "-ec", private], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until("the journal", lambda: Path(f"/proc/{p.pid}/comm").read_text().startswith("systemd-journal") and subprocess.run(
            ["nsenter", f"--mount=/proc/{p.pid}/ns/mnt", "test", "-S", "/run/systemd/journal/socket"], check=False).returncode == 0)
        yield p.pid
    finally:
        p.terminate()
        p.wait(20)


def test_the_journal_has_each_event(gateway, tmp_path):
    """A real systemd-journald, read with journalctl."""
    g = gateway(config_for(), start=False)
    file = tmp_path / "monitor.yaml"
    file.write_text(json.dumps({"version": 1, **g.config, "log": {"events": "journal"}}))
    with journal() as pid:
        enter = ["nsenter", f"--mount=/proc/{pid}/ns/mnt"]

        def entries():
            text = subprocess.run([*enter, "journalctl", "-q", "--no-pager", "-o", "json", "-t", "biplane-events"], capture_output=True,
                                  text=True, check=True).stdout
            return [json.loads(line) for line in text.splitlines()]

        with (tmp_path / "log").open("wb") as log:
            monitor = subprocess.Popen([*enter, BIPLANE, "monitor", "-c", str(file)], stderr=log, stdin=subprocess.DEVNULL)
        try:
            g.start()
            assert g.reload().returncode == 0
            wait_until("the reload", lambda: of([json.loads(e["MESSAGE"]) for e in entries()], "config", state="reloaded"), 30)
            got = entries()
            events = check([json.loads(e["MESSAGE"]) for e in got])
            assert len(of(events, "plane", state="started")) == 2 and len(of(events, "config")) == 2 and not of(events, "lost")
            assert {(e["PRIORITY"], e["SYSLOG_IDENTIFIER"], e["_TRANSPORT"], e["_PID"]) for e in got} == {
                ("6", "biplane-events", "journal", str(monitor.pid))}
        finally:
            monitor.terminate()
            monitor.wait(20)


def test_a_collector_that_stops_and_returns(lab, gateway, tmp_path):
    path = tmp_path / "collector.sock"

    def listen():
        path.unlink(missing_ok=True)
        s = socket.socket(socket.AF_UNIX)
        s.bind(str(path))
        s.listen(1)
        s.settimeout(30)
        return s

    server = listen()
    g = gateway({**config_for(), "log": {"events": f"unix:{path}"}})
    with server.accept()[0] as s, s.makefile("r") as lines:
        assert json.loads(lines.readline())["event_type"] == "plane"
    server.close()
    assert g.reload().returncode == 0  # nobody reads
    with listen() as server, server.accept()[0] as s, s.makefile("r") as lines:
        s.settimeout(30)
        event = json.loads(lines.readline())
        while event["event_type"] != "config" or event["config"]["state"] != "reloaded":
            event = json.loads(lines.readline())


def test_tail_ends_with_its_reader_and_outlives_the_gateway(lab, gateway, tmp_path):
    g = gateway(config_for())
    with tail(g, "events") as p:
        assert b" plane started name=" in p.stdout.readline()
        p.stdout.close()
        wait_until("the end of tail", lambda: p.poll() is not None)
    with (tmp_path / "text").open("wb") as out, tail(g, "alarms", output=out) as p:
        text = lambda: (tmp_path / "text").read_text()  # noqa: E731
        wait_until("the first start", lambda: text().count(" plane started name=") == 2)
        g.stop()
        wait_until("the stop", lambda: text().count(" plane stopped name=") == 2)
        assert b"has ended; waiting for its next start" in p.stderr.readline()
        g.start()
        wait_until("the start", lambda: text().count(" plane started name=") == 4)
        client = Publisher(lab, CLOUD, client_id="oven-7")
        client.publish("plant/a/temperature", "99", 1).wait_for_publish(20)
        wait_until("the alarm", lambda: " alarm raised rule=overheat value=99 " in text())
        client.finish()
        assert " connection " not in text()
        p.send_signal(signal.SIGINT)
        assert p.wait(10) == -signal.SIGINT
        assert b"is running again" in p.stderr.read()


@pytest.mark.parametrize("args", (("nothing",), (), ("alarms", "--type", "fault"), ("events", "--type", "x"), ("events", "-n", "x")))
def test_wrong_arguments(args):
    p = subprocess.run([BIPLANE, "tail", *args], capture_output=True, text=True, check=False, timeout=30)
    assert p.returncode == os.EX_USAGE and p.stderr.startswith("biplane tail: ")


def test_no_instance():
    p = subprocess.run([BIPLANE, "tail", "events", "-i", "no-such-instance"], capture_output=True, text=True, check=False,
                       timeout=30)
    assert p.returncode == os.EX_UNAVAILABLE and "no instance named 'no-such-instance'" in p.stderr
