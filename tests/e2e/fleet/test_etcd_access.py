# SPDX-License-Identifier: BSD-3-Clause
"""The client of etcd with TLS, client certificates, users and passwords. The agent runs without an instance: it waits for one."""

import json
import os
import shutil
import signal
import subprocess

import pytest

from lab import BIPLANE, wait_until
from test_fleet import free_ports, run


def openssl(directory, *args):
    subprocess.run(["openssl", *args], cwd=directory, check=True, capture_output=True, timeout=30)


def certificate(directory, name, ca, extensions):
    """NAME.key and NAME.pem, signed by CA."""
    (directory / f"{name}.ext").write_text(extensions)
    openssl(directory, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/O={name}", "-keyout", f"{name}.key",
            "-out", f"{name}.csr")
    openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", "2",
            "-extfile", f"{name}.ext", "-out", f"{name}.pem")


class SecureEtcd:
    """One server that accepts only TLS with a client certificate, and only users with a password."""

    def __init__(self, directory):
        self.dir, self.process = directory, None
        self.client, peer = free_ports(2)
        for ca in ("ca", "other-ca"):
            openssl(directory, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/O={ca}",
                    "-keyout", f"{ca}.key", "-out", f"{ca}.pem")
        # the JSON gateway of etcd is a client with this certificate, too
        certificate(directory, "server", "ca", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n")
        certificate(directory, "gw", "ca", "extendedKeyUsage=clientAuth\n")
        certificate(directory, "stranger", "other-ca", "extendedKeyUsage=clientAuth\n")
        self.args = ["etcd", "--name", "n0", "--data-dir", directory / "data", "--unsafe-no-fsync",
                     "--listen-client-urls", f"https://127.0.0.1:{self.client}", "--advertise-client-urls", f"https://127.0.0.1:{self.client}",
                     "--cert-file", directory / "server.pem", "--key-file", directory / "server.key", "--client-cert-auth",
                     "--trusted-ca-file", directory / "ca.pem", "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                     "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}", "--initial-cluster", f"n0=http://127.0.0.1:{peer}"]

    def start(self, user=()):
        with (self.dir / "etcd.log").open("ab") as log:
            self.process = subprocess.Popen(self.args, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_until("etcd", lambda: self.ctl(*user, "get", "/biplane/ready").returncode == 0)

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ctl(self, *args):
        return subprocess.run(["etcdctl", "--endpoints", f"https://127.0.0.1:{self.client}", "--cacert", self.dir / "ca.pem", "--cert", self.dir / "gw.pem",
                               "--key", self.dir / "gw.key", "--command-timeout", "2s", *args], check=False, text=True, capture_output=True,
                              env={**os.environ, "ETCDCTL_API": "3"}, timeout=30)

    def enable_users(self):
        for args in (("user", "add", "root:secret"), ("user", "grant-role", "root", "root"), ("role", "add", "fleet"),
                     ("role", "grant-permission", "fleet", "readwrite", "--prefix=true", "/biplane/"), ("user", "add", "gw1:first"),
                     ("user", "grant-role", "gw1", "fleet"), ("auth", "enable")):
            p = self.ctl(*args)
            assert p.returncode == 0, p.stderr


@pytest.fixture(scope="module")
def etcd(tmp_path_factory):
    for tool in ("etcd", "etcdctl", "openssl"):
        if not shutil.which(tool):
            pytest.exit(f"{tool} is missing; run scripts/setup", 2)
    e = SecureEtcd(tmp_path_factory.mktemp("etcd"))
    try:
        e.start()
        e.enable_users()
        yield e
    finally:
        e.stop()


def write_config(etcd, name, **changes):
    """A file of a member, and its password file."""
    password = etcd.dir / f"{name}.password"
    password.write_text(changes.pop("password", "first") + "\n")
    file = etcd.dir / f"{name}.yaml"
    file.write_text(json.dumps({
        "version": 1, "name": name, "runtime": {"directory": str(etcd.dir / "run"), "hugepages": "never"},
        "ports": [{"name": "a", "device": "net_null0"}, {"name": "b", "device": "net_null1"}], "bridges": [{"name": "line", "ports": ["a", "b"]}],
        "fleet": {"name": "plant", "labels": {"site": "north"}, "config": {
            "server": f"etcds://127.0.0.1:{etcd.client}", "keys": [str(etcd.dir / "sign.pub")], "directory": str(etcd.dir / "fleet"),
            "ca_file": str(etcd.dir / "ca.pem"), "cert_file": str(etcd.dir / "gw.pem"), "key_file": str(etcd.dir / "gw.key"),
            "username": "gw1", "password_file": str(password), **changes}},
    }, indent=1))
    return file


def members(file):
    p = run("fleet", "members", "-c", file, "--json")
    return {m["member"]: m["state"] for m in json.loads(p.stdout)["members"]} if p.returncode == 0 else None


def test_wrong_credentials_are_refused(etcd):
    assert run("fleet", "keygen", etcd.dir / "sign").returncode == 0
    assert members(write_config(etcd, "good")) == {}
    for changes, error in (
            ({"ca_file": str(etcd.dir / "other-ca.pem")}, "certificate"),
            ({"cert_file": str(etcd.dir / "stranger.pem"), "key_file": str(etcd.dir / "stranger.key")}, f"etcd 127.0.0.1:{etcd.client}: "),
            ({"password": "wrong"}, "authentication failed"),
            ({"username": "gw2"}, "authentication failed")):
        p = run("fleet", "members", "-c", write_config(etcd, "bad", **changes))
        assert p.returncode == 69 and error in p.stderr, (changes, p.stderr)
        assert "first" not in p.stderr and "wrong" not in p.stderr


def test_agent_logs_in_again(etcd):
    file, log = write_config(etcd, "gw1"), etcd.dir / "agent.log"
    with log.open("wb") as out:
        agent = subprocess.Popen([BIPLANE, "fleet", "agent", "-c", file], stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    try:
        wait_until("the member", lambda: members(file) == {"gw1": "idle"})
        # the tokens of etcd are lost with its process, and the agent has to log in again
        etcd.stop()
        wait_until("the loss to be noticed", lambda: "nothing changes until etcd answers again" in log.read_text())
        etcd.start(("--user", "root:secret"))
        bundle = etcd.dir / "bundle.yaml"
        bundle.write_text("mqtt: {rules: []}\n")
        p = run("fleet", "push", "-c", file, "--selector", "site=north", "--sign", etcd.dir / "sign", bundle)
        assert p.returncode == 0, p.stderr
        wait_until("the agent to read the rollout", lambda: members(file) == {"gw1": "waiting"})
        assert agent.poll() is None
    finally:
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(30) == 0, log.read_text()
