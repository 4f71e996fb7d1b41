# SPDX-License-Identifier: BSD-3-Clause
"""The packaged example for a network card, docs/examples/nic.yaml, with just this machine's addresses and cores put in."""

import json
import subprocess
from pathlib import Path

import pytest

from conftest import running
from lab import CLOUD, ROOT, wait_until
from peers import Collector, Publisher
from wire import behind, bridge_of

EXAMPLE = ROOT / "docs" / "examples" / "nic.yaml"
EDGE = "edge.hall-3.example"  # as the example calls its broker


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def edge_broker(lab, tmp_path):
    """The edge broker of the example: with that name and TLS, a certificate of an authority that the system trusts, and
    with passwords. It is reached in the gateway's namespace."""
    d = tmp_path / "edge"
    d.mkdir()
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *key, "-days", 2, "-subj", "/CN=authority", "-keyout", d / "ca.key", "-out", d / "ca.crt")
    openssl("req", *key, "-subj", f"/CN={EDGE}", "-keyout", d / "broker.key", "-out", d / "broker.csr")
    (d / "extension").write_text(f"subjectAltName=DNS:{EDGE}\n")
    openssl("x509", "-req", "-in", d / "broker.csr", "-out", d / "broker.crt", "-days", 2, "-CA", d / "ca.crt",
            "-CAkey", d / "ca.key", "-CAcreateserial", "-extfile", d / "extension")
    subprocess.run(["mosquitto_passwd", "-b", "-c", str(d / "passwords"), "biplane", "s3cret"], check=True)
    (d / "mosquitto.conf").write_text(f"""user root
per_listener_settings true
listener 8883 127.0.0.1
certfile {d}/broker.crt
keyfile {d}/broker.key
allow_anonymous false
password_file {d}/passwords
listener 1884 127.0.0.1
allow_anonymous true
""")
    # The guest is thrown away.
    for path, text in (("/etc/hosts", f"127.0.0.1 localhost {EDGE}\n"), ("/etc/biplane/edge-password", "s3cret\n"),
                       ("/etc/ssl/certs/authority.pem", (d / "ca.crt").read_text())):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
    openssl("rehash", "/etc/ssl/certs")
    Path("/var/lib/biplane").mkdir(parents=True, exist_ok=True)
    with (d / "log").open("wb") as log:
        p = lab.popen("gw", "mosquitto", "-c", d / "mosquitto.conf", stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    wait_until("the edge broker", lambda: b":8883" in lab.run("gw", "ss", "-tlnH").stdout)
    yield
    p.terminate()
    p.wait()


def test_nic_yaml(lab, tmp_path, edge_broker):
    bridge = bridge_of(lab, "e1000e", joined=False)
    nics = bridge.nics
    text = EXAMPLE.read_text()
    for was, is_ in (('"0000:03:00.0"', f'"{nics[0].address}"'), ('"0000:03:00.1"', f'"{nics[1].address}"'),
                     ("workers: [2, 3]", "workers: [1]")):  # the guest has two cores
        assert text.count(was) == 1, f"the example has no {was}"
        text = text.replace(was, is_)
    with behind(lab, bridge), running(lab, tmp_path / "gw", text) as g:
        p = g.command("config", "check", "-c", g.file)
        assert p.returncode == 0, p.stderr
        alarms = Collector(lab, "gw", ("alarm/#",), port=1884)
        device = Publisher(lab, CLOUD)
        for v in (81, 82, 83, 60):  # an alarm at the third in a row
            device.publish("plant/oven/temperature", '{"celsius": %d}' % v)
        device.finish([device.publish("plant/oven/pressure", "3", 1)])
        alarms.wait_count(2)
        assert [json.loads(m)["value"] for _, m in alarms.messages] == [83, 60], "raised at the third in a row, and cleared"
        assert {t for t, _ in alarms.messages} == {"alarm/plant/oven/temperature"}
        alarms.close()
        drops = g.balanced()
        assert drops["drops"] == 0, drops
