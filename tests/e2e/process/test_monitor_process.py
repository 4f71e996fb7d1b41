# SPDX-License-Identifier: BSD-3-Clause
"""The process of the monitor: its start, its end, its errors, TLS. Whatever happens to it, the planes are not affected."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import config_for
from lab import BIPLANE, CLOUD, wait_until
from monitor_client import LISTEN, SOCKET, Connection, failing, get_json, processes, try_get, wait_ready
from peers import Publisher
from test_edge_tls import certificate


def test_monitor_that_hangs_is_restarted(gateway):
    g = gateway({**config_for(), "monitoring": LISTEN}, start=False)
    g.config["runtime"]["watchdog"] = "2s"
    g.start()
    wait_ready()
    before = processes(g)
    os.kill(before["monitor"], signal.SIGSTOP)
    wait_until("another monitor", lambda: processes(g).get("monitor", before["monitor"]) != before["monitor"], 60)
    wait_ready()
    assert {k: v for k, v in processes(g).items() if k != "monitor"} == {k: v for k, v in before.items() if k != "monitor"}


@pytest.mark.parametrize("settings,error", [
    ({"listen": "unix:/nonexistent/http"}, "cannot listen on /nonexistent/http"),
    ({**LISTEN, "token_file": "/nonexistent/token"}, "monitoring.token_file: cannot read /nonexistent/token"),
])
def test_monitor_that_cannot_start_does_not_stop_the_planes(lab, gateway, settings, error):
    g = gateway({**config_for(), "monitoring": settings})
    wait_until("the error", lambda: error in g.log.read_text())
    wait_until("a slow retry", lambda: re.search(r"monitor exited with status (69|78); restarting .*restart_ms=30000", g.log.read_text()))
    p = Publisher(lab, CLOUD, client_id="oven-9")
    p.finish([p.publish("plant/oven9/temperature", "81.5", 1)])
    wait_until("the alarm to be acknowledged", lambda: g.status()["alarms"]["acknowledged"] >= 1)
    assert all(p["restarts"] in (0, None) for p in g.status()["planes"])
    assert g.stop() == 0


def test_monitor_waits_for_the_instance_and_follows_it(gateway):
    """It runs by itself, before the instance, and while another configuration makes another segment."""
    g = gateway({**config_for(), "monitoring": LISTEN}, start=False)
    own = {**g.config, "monitoring": LISTEN}
    g.config["monitoring"] = {}
    g.write(own)
    file = g.dir / "monitor.yaml"
    file.write_text(g.file.read_text())
    with (g.dir / "monitor.log").open("wb") as log:
        monitor = subprocess.Popen([BIPLANE, "monitor", "-c", file], stderr=log, stdin=subprocess.DEVNULL)
    try:
        wait_until("the monitor", lambda: try_get("/livez") == 200)
        assert failing() == {"dataplane": "the instance has no shared segment: it is not running"}
        get_json("/api/v1/status", expected=503)
        g.start()
        wait_ready()
        g.stop()
        wait_until("the end to be noticed", failing)
        g.config["mqtt"]["max_rules"] = 2000
        g.start()
        wait_ready()
        assert get_json("/api/v1/status")["planes"][0]["pid"] == g.plane("data plane")["pid"]
        # the file of the monitor is not the one that runs
        get_json("/api/v1/config", expected=503)
        monitor.send_signal(signal.SIGTERM)
        assert monitor.wait(20) == 0
        assert not Path(SOCKET).exists()
    finally:
        monitor.kill()
        monitor.wait()


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    d = tmp_path_factory.mktemp("pki")
    certificate(d, "ca", "/CN=plant authority", extension="basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n")
    certificate(d, "first", "/CN=gateway", signer="ca", extension="subjectAltName=IP:127.0.0.1\n")
    certificate(d, "second", "/CN=gateway", signer="ca", extension="subjectAltName=IP:127.0.0.1\n")
    return d


def test_tls_with_a_token(lab, gateway, pki, tmp_path):
    token, other = "0123456789abcdef0123456789abcdef", "f" * 32
    for name in ("certificate", "key", "token"):
        (tmp_path / name).touch(0o640)
    (tmp_path / "certificate").write_bytes((pki / "first.crt").read_bytes())
    (tmp_path / "key").write_bytes((pki / "first.key").read_bytes())
    (tmp_path / "token").write_text(token + "\n")
    g = gateway({**config_for(), "monitoring": {"listen": "0.0.0.0:9464", "tls_certificate": str(tmp_path / "certificate"),
                                                "tls_key": str(tmp_path / "key"), "token_file": str(tmp_path / "token")}})

    def curl(*args):
        return lab.run("gw", "curl", "-sS", "--cacert", pki / "ca.crt", "-w", " %{http_code} %{ssl_verify_result}", "--max-time", "20", *args,
                       check=False, text=True).stdout

    def serial():
        p = lab.run("gw", "sh", "-c", "openssl s_client -connect 127.0.0.1:9464 </dev/null 2>/dev/null | openssl x509 -noout -serial",
                    text=True, check=False)
        return p.stdout

    url = "https://127.0.0.1:9464"
    wait_until("the monitor", lambda: " 200 0" in curl(f"{url}/livez"))
    assert " 401 0" in curl(f"{url}/readyz")
    assert " 401 0" in curl("-H", f"Authorization: Bearer {other}", f"{url}/metrics")
    assert " 200 0" in curl("-H", f"Authorization: Bearer {token}", f"{url}/metrics")
    assert " 200 0" in curl(f"{url}/")
    assert " 000 " in curl("--tls-max", "1.1", f"{url}/livez")  # TLS 1.2 and later
    assert " 000 " in curl("http://127.0.0.1:9464/livez")
    # renewed without a restart
    before, pid = serial(), processes(g)["monitor"]
    (tmp_path / "certificate").write_bytes((pki / "second.crt").read_bytes())
    (tmp_path / "key").write_bytes((pki / "second.key").read_bytes())
    (tmp_path / "token").write_text(other + "\n")
    g.process.send_signal(signal.SIGHUP)
    wait_until("the other certificate", lambda: serial() not in ("", before))
    assert " 401 0" in curl("-H", f"Authorization: Bearer {token}", f"{url}/metrics")
    assert " 200 0" in curl("-H", f"Authorization: Bearer {other}", f"{url}/metrics")
    # one that cannot be read changes nothing
    (tmp_path / "token").write_text("short\n")
    g.process.send_signal(signal.SIGHUP)
    wait_until("the error", lambda: "is not a token of 16 to 255" in g.log.read_text())
    assert " 200 0" in curl("-H", f"Authorization: Bearer {other}", f"{url}/metrics")
    assert processes(g)["monitor"] == pid
    assert token not in g.log.read_text() and other not in g.log.read_text()


def test_a_new_token_ends_streams_without_tls(gateway, tmp_path):
    token, other = "0123456789abcdef", "f" * 16
    (tmp_path / "token").write_text(token + "\n")
    g = gateway({**config_for(), "monitoring": {**LISTEN, "token_file": str(tmp_path / "token")}})
    wait_until("the monitor", lambda: try_get("/livez") == 200)
    streams = [Connection(), Connection()]
    for s in streams:
        s.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {token}"})
        assert s.getresponse().status == 200
    g.process.send_signal(signal.SIGHUP)  # the same token
    (tmp_path / "token").write_text(other + "\n")
    g.process.send_signal(signal.SIGHUP)
    for s in streams:
        s.sock.settimeout(30)
        while s.sock.recv(65536):
            pass
        s.close()
    wait_until("the new token", lambda: try_get("/metrics", headers={"Authorization": f"Bearer {other}"}) == 200)
    assert try_get("/metrics", headers={"Authorization": f"Bearer {token}"}) == 401


def test_loopback_without_a_token(lab, gateway):
    gateway({**config_for(), "monitoring": {"listen": "127.0.0.1:9464"}})

    def curl(*args):
        return lab.run("gw", "curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "20", *args, check=False, text=True).stdout

    wait_until("the monitor", lambda: curl("http://127.0.0.1:9464/livez") == "200")
    assert curl("http://localhost:9464/metrics", "--resolve", "localhost:9464:127.0.0.1") == "200"
    # a page of another site whose name resolves to this machine
    assert curl("http://evil.example:9464/metrics", "--resolve", "evil.example:9464:127.0.0.1") == "421"
    assert curl("-X", "POST", "http://127.0.0.1:9464/metrics") == "405"
    assert curl("--path-as-is", "http://127.0.0.1:9464/console/../../../etc/passwd") == "404"
