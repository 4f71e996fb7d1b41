# SPDX-License-Identifier: BSD-3-Clause
"""
One gateway, one rule to MQTT and one to Kafka. The cluster is the mock of librdkafka in a kcat process, and another kcat
is the consumer, both in the namespace of the edge broker; the gateway reaches the cluster through a relay with TLS.
"""

import json
import select
import socket
import ssl
import subprocess

import pytest

from conftest import config_for, overheat
from lab import wait_until
from load import Load
from peers import Collector, Expected
from relay_thread import RelayThread
from test_edge_tls import certificate

TOPIC = "biplane-alarms"
KCAT = ("kcat", "-q", "-X", "log_level=0")


class Relay(RelayThread):
    """
    From the broker's address in the gateway's namespace to the same one in the broker's; brokers tell their address to
    clients. It ends TLS, which the mock cluster lacks, and requires a certificate of the client. "down" closes all
    connections, and "mute" loses the answers of the broker.
    """

    def __init__(self, lab, port, pki):
        super().__init__()
        self.tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=pki / "ca.crt")
        self.tls.load_cert_chain(pki / "broker.crt", pki / "broker.key")
        self.tls.verify_mode = ssl.CERT_REQUIRED
        self.refused, self.names = [], set()
        self.lab, self.port, self.mode = lab, port, "up"
        self.listener, self.other, self.clients = None, {}, set()

    def sockets(self):
        return [*self.other, *([self.listener] if self.listener else [])]

    def close_all(self):
        for s in self.sockets():
            s.close()
        self.listener, self.other, self.clients = None, {}, set()

    def listen(self):
        with self.lab.inside("gw"):
            self.listener = socket.create_server(("127.0.0.1", self.port))

    def accept(self):
        client, _ = self.listener.accept()
        client.settimeout(5)
        try:
            client = self.tls.wrap_socket(client, server_side=True)
        except OSError as e:
            self.refused.append(str(e))
            client.close()
            return
        self.names.add(dict(x for (x,) in client.getpeercert()["subject"])["commonName"])
        with self.lab.inside("edge"):
            server = socket.create_connection(("127.0.0.1", self.port))
        self.other |= {client: server, server: client}
        self.clients.add(client)

    def forward(self, s):
        try:
            data = s.recv(65536)
            while s in self.clients and s.pending():
                data += s.recv(65536)
            if data and (self.mode != "mute" or s in self.clients):
                self.other[s].sendall(data)
        except OSError:
            data = b""
        if not data:
            for each in (s, self.other.pop(s)):
                self.other.pop(each, None)
                self.clients.discard(each)
                each.close()

    def turn(self):
        if self.mode == "down":
            self.close_all()
        elif self.listener is None:
            self.listen()
        ready, _, _ = select.select([self.wake, *self.sockets()], [], [], 0.01)
        for s in ready:
            if s is self.listener:
                self.accept()
            elif s in self.other:
                self.forward(s)
        return self.wake not in ready


class Consumer:
    """Another client of the cluster: all messages of the topic, as kcat has received them so far."""

    def __init__(self, lab, port, file):
        self.file = file
        with file.open("wb") as out:
            self.process = lab.popen("edge", *KCAT, "-C", "-u", "-b", f"127.0.0.1:{port}", "-t", TOPIC, "-o", "beginning",
                                     "-f", "%k\t%h\t%s\n", stdin=subprocess.DEVNULL, stdout=out)

    def messages(self):
        whole = self.file.read_text().rpartition("\n")[0]
        return [(key, dict(h.split("=", 1) for h in headers.split(",")), json.loads(value))
                for key, headers, value in (line.split("\t") for line in whole.splitlines())]

    def by_uid(self):
        """Each alarm once: a repetition has the same uid, and the same content."""
        alarms = {}
        for key, headers, a in self.messages():
            assert key == f"{a['rule']}:{a['topic']}" and headers["rule"] == a["rule"] == "to-kafka"
            assert headers["state"] == a["state"] == "raised" and int(headers["id"]) == a["id"] and headers["uid"] == a["uid"]
            assert alarms.setdefault(a["uid"], a) == a
        return alarms


@pytest.fixture
def cluster(lab):
    """The TCP port of a broker in the namespace of the edge broker. It lives as long as the standard input of kcat."""
    process = lab.popen("edge", *KCAT, "-P", "-b", "replaced", "-t", "unused", "-X", "test.mock.num.brokers=1",
                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def port():
        assert process.poll() is None, "kcat ended"
        sockets = lab.run("edge", "ss", "-tlnpH").stdout.decode().splitlines()
        return next((int(s.split()[3].rpartition(":")[2]) for s in sockets if f"pid={process.pid}," in s), None)
    try:
        yield wait_until("the mock cluster", port)
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def pki(tmp_path):
    ca = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n"
    certificate(tmp_path, "ca", "/CN=plant authority", extension=ca)
    certificate(tmp_path, "other", "/CN=somebody else", extension=ca)
    certificate(tmp_path, "broker", "/CN=broker", signer="ca", extension="subjectAltName=IP:127.0.0.1\n")
    certificate(tmp_path, "gateway", "/CN=biplane", signer="ca")
    return tmp_path


def kafka(g):
    return g.status()["kafka"]


def test_no_alarm_is_lost(lab, gateway, cluster, pki, tmp_path):
    expected = Expected()
    edge = Collector(lab, "edge", ("alarm/#",), qos=1)
    with Relay(lab, cluster, pki) as relay:
        rules = [overheat(payload="envelope"),
                 overheat(name="to-kafka", payload="envelope", publish={"topic": "alarm/{topic}", "destination": "kafka"})]
        tls = {"ca": str(pki / "other.crt"), "cert": str(pki / "gateway.crt"), "key": str(pki / "gateway.key")}
        g = gateway(config_for(rules=rules, spool=tmp_path / "spool.db", kafka={
            "brokers": f"kafkas://127.0.0.1:{cluster}", "topic": TOPIC, "tls": tls, "ack_timeout": "500ms",
            "unreachable_after": "1s"}))
        # a broker whose certificate is of another authority
        wait_until("the gateway to refuse the broker", lambda: any("unknown ca" in e.lower() for e in relay.refused))
        assert kafka(g)["state"] == "unreachable" and not relay.names
        tls["ca"] = str(pki / "ca.crt")
        assert g.reload(g.config).returncode == 0
        load = Load(lab, expected)
        wait_until("alarms in Kafka", lambda: kafka(g)["acknowledged"] >= 100)
        assert relay.names == {"biplane"}
        consumer = Consumer(lab, cluster, tmp_path / "kafka")
        try:
            # the cluster away and back
            relay.mode = "down"
            wait_until("the fault", lambda: (k := kafka(g))["fault"] == "kafka_unreachable" and k["state"] == "unreachable")
            assert g.status()["publisher"]["connected"]
            wait_until("alarms in the spool", lambda: kafka(g)["spool_rows"] > 100)
            relay.mode = "up"
            wait_until("an empty spool", lambda: kafka(g)["spool_rows"] == 0 and kafka(g)["fault"] is None)
            # alarms that are stored, and of which the gateway does not know it when it is killed
            relay.mode = "mute"
            wait_until("alarms without an answer", lambda: len(consumer.by_uid()) > kafka(g)["acknowledged"])
            relay.mode = "down"
            g.kill_plane("control plane")
            relay.mode = "up"
            load.finish()
            wait_until("all alarms in Kafka", lambda: len(consumer.by_uid()) == load.n, 30, 0.1)
            wait_until("no alarm to wait", lambda: kafka(g)["spool_rows"] == kafka(g)["in_flight"] == 0)
            messages, alarms = consumer.messages(), consumer.by_uid()
        finally:
            consumer.process.kill()
            consumer.process.wait()
    assert sorted(a["value"] for a in alarms.values()) == sorted(float(p) for _, p in expected.published)
    assert len(messages) > len(alarms), "nothing was repeated"
    assert messages[-1][2]["id"] == max(a["id"] for a in alarms.values()), "an old alarm is the last one"
    wait_until("all alarms at the edge broker", lambda: len({json.loads(p)["uid"] for _, p in list(edge.messages)}) == load.n)
    assert all(json.loads(p)["rule"] == "overheat" for _, p in edge.messages)
    edge.close()
    assert kafka(g)["rejected"] == kafka(g)["invalid"] == 0
    g.balanced()
