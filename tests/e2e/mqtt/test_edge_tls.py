# SPDX-License-Identifier: BSD-3-Clause
"""The edge broker with TLS, client certificates, user name and password."""

import subprocess

import pytest

from conftest import config_for
from lab import CLOUD, EDGE_MGMT, wait_until
from peers import Collector, Publisher


def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def certificate(d, name, subject, *, signer=None, extension=None):
    """A key and a certificate in d, by itself or by another's hand."""
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", d / f"{name}.key", "-out", d / f"{name}.csr",
            "-subj", subject)
    if extension:
        (d / f"{name}.ext").write_text(extension)
    by = ["-CA", d / f"{signer}.crt", "-CAkey", d / f"{signer}.key", "-CAcreateserial"] if signer else [
        "-signkey", d / f"{name}.key"]
    openssl("x509", "-req", "-in", d / f"{name}.csr", "-out", d / f"{name}.crt", "-days", "2", *by,
            *(["-extfile", d / f"{name}.ext"] if extension else []))


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    d = tmp_path_factory.mktemp("pki")
    ca = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
    certificate(d, "ca", "/CN=plant authority", extension=ca)
    certificate(d, "other", "/CN=somebody else", extension=ca)
    certificate(d, "broker", "/CN=edge", signer="ca", extension=f"subjectAltName=IP:{EDGE_MGMT}\n")
    certificate(d, "gateway", "/CN=biplane", signer="ca")
    return d


@pytest.fixture
def tls_broker(lab, pki, tmp_path):
    passwords = tmp_path / "passwords"
    subprocess.run(["mosquitto_passwd", "-b", "-c", str(passwords), "biplane", "s3cret words"], check=True)
    conf = tmp_path / "mosquitto.conf"
    conf.write_text(f"""user root
per_listener_settings true
listener 8883 {EDGE_MGMT}
cafile {pki}/ca.crt
certfile {pki}/broker.crt
keyfile {pki}/broker.key
require_certificate true
allow_anonymous false
password_file {passwords}
listener 1884 127.0.0.1
allow_anonymous true
""")
    log = tmp_path / "broker.log"
    with log.open("wb") as out:
        p = lab.popen("edge", "mosquitto", "-c", conf, stdout=out, stderr=out)
    wait_until("the TLS broker", lambda: b":8883" in lab.run("edge", "ss", "-tlnH").stdout)
    yield log
    p.terminate()
    p.wait()


def with_tls(tmp_path, pki, ca="ca", password="s3cret words"):
    (tmp_path / "password").write_text(password + "\n")
    config = config_for(spool=tmp_path / "spool.db")
    config["mqtt"]["publisher"].update(
        broker=f"mqtts://{EDGE_MGMT}", username="biplane", password_file=str(tmp_path / "password"),
        tls={"ca": str(pki / f"{ca}.crt"), "cert": str(pki / "gateway.crt"), "key": str(pki / "gateway.key")})
    return config


def test_alarms_over_tls(lab, gateway, tmp_path, pki, tls_broker):
    g = gateway(with_tls(tmp_path, pki))
    # The subscriber is a local one, on a listener of the same broker without TLS.
    edge = Collector(lab, "edge", ("alarm/#",), port=1884)
    p = Publisher(lab, CLOUD)
    p.finish([p.publish("plant/oven/temperature", f"81.{i:03d}", i % 3) for i in range(100)])
    edge.wait_count(100)
    assert sorted(m for _, m in edge.messages) == [b"81.%03d" % i for i in range(100)]
    assert "s3cret" not in g.log.read_text()
    edge.close()


@pytest.mark.parametrize("wrong", ("ca", "password"))
def test_untrusted_broker_receives_nothing(lab, gateway, tmp_path, pki, tls_broker, wrong):
    """A certificate by the wrong authority, or a refused password: a sentence in the log, the alarms in the
    spool; once it is put right and reloaded they arrive."""
    bad = with_tls(tmp_path, pki, **({"ca": "other"} if wrong == "ca" else {"password": "guess"}))
    g = gateway(bad, start=False)
    g.start(edge=False)
    edge = Collector(lab, "edge", ("alarm/#",), port=1884)
    p = Publisher(lab, CLOUD)
    p.finish([p.publish("plant/oven/temperature", f"81.{i:03d}", 1) for i in range(20)])
    wait_until("the alarms in the spool", lambda: g.status()["spool"]["rows"] == 20, 30)
    assert not g.status()["publisher"]["connected"] and not edge.messages
    why = {"ca": "certificate verify failed", "password": "not authorised"}[wrong]
    wait_until("a sentence about it in the log", lambda: why in g.log.read_text())
    assert g.reload({**g.config, "mqtt": with_tls(tmp_path, pki)["mqtt"]}).returncode == 0
    edge.wait_count(20, 60)
    assert sorted(m for _, m in edge.messages) == [b"81.%03d" % i for i in range(20)]
    edge.close()
