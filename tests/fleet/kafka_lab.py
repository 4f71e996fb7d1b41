# SPDX-License-Identifier: BSD-3-Clause
"""A mock cluster of Kafka in the namespace of the edge broker, which all gateways reach through their ports, and a consumer."""

import json
import subprocess
import sys
from pathlib import Path

from lab import wait_until

TOPIC, BROKERS, PARTITIONS = "biplane-alarms", 3, 4
INFLIGHT_MAX = 256


class Kafka:
    """The cluster listens on 127.0.0.1 and says so to its clients: the namespaces of the gateways translate the address."""

    def __init__(self, lab, host):
        self.lab, self.host = lab, host
        self.process = lab.popen("edge", sys.executable, Path(__file__).with_name("kafka_mock.py"), BROKERS, TOPIC, PARTITIONS,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ports = self.process.stdout.readline().split()
        assert len(self.ports) == BROKERS, "no mock cluster of Kafka"
        self._translate("edge", "prerouting", "-100", f"ip daddr {host}", "127.0.0.1")
        for gw in lab.names:
            self._translate(gw, "output", "-100", "ip daddr 127.0.0.1", host)
        self.file = lab.state / "kafka.consumer"
        with self.file.open("wb") as out:
            # it meets the errors of the cluster, too, and must not wait for longer than the judge does
            patience = ("reconnect.backoff.max.ms=500", "topic.metadata.refresh.interval.ms=1000", "fetch.error.backoff.ms=100")
            self.consumer = lab.popen("edge", "kcat", "-q", "-E", "-X", "log_level=0", *(x for p in patience for x in ("-X", p)),
                                      "-C", "-u", "-b", self.servers(), "-t", TOPIC, "-o", "beginning", "-f", "%s\n",
                                      stdin=subprocess.DEVNULL, stdout=out)
        self._read, self._rest, self._alarms = 0, b"", []

    def _translate(self, ns, hook, priority, match, to):
        self.lab.run(ns, "sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1")
        rules = (f"table ip kafka {{ chain {hook} {{ type nat hook {hook} priority {priority}; "
                 f"{match} tcp dport {{ {', '.join(self.ports)} }} dnat to {to}; }}\n")
        if hook == "output":
            rules += f"chain postrouting {{ type nat hook postrouting priority 100; ip saddr 127.0.0.1 ip daddr {to} masquerade; }}\n"
        self.lab.run(ns, "nft", "-f", "-", input=f"{rules}}}\n".encode())

    def servers(self):
        return ",".join(f"127.0.0.1:{p}" for p in self.ports)

    def settings(self):
        """mqtt.kafka of a gateway."""
        return {"brokers": f"kafka://{self.servers()}", "topic": TOPIC, "max_inflight": INFLIGHT_MAX,
                "ack_timeout": "1s"}

    def command(self, text):
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ok\n", f"the mock cluster of Kafka does not '{text}'"

    def alarms(self, prefix):
        """As Consumer.alarms()."""
        with self.file.open("rb") as f:
            f.seek(self._read)
            data = f.read()
        self._read += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._alarms += map(json.loads, lines)
        return [a for a in self._alarms if a["topic"].startswith(f"plant/{prefix}")]

    def close(self):
        for p in (self.consumer, self.process):
            p.kill()
            p.wait()
        for f in (self.process.stdin, self.process.stdout):
            f.close()


def fail_kafka(lab, gw):
    before = {g: lab.status(g)["kafka"]["acknowledged"] for g in lab.names}
    lab.kafka.command("fail")
    wait_until("alarms that are acknowledged among errors", lambda: any(
        (s := lab.status(g)) and s["kafka"]["acknowledged"] > n for g, n in before.items()), 60, 0.2)


def mend_kafka(lab, gw):
    lab.kafka.command("mend")

    def sent(g):
        k = (lab.status(g) or {}).get("kafka")
        return k and k["state"] == "connected" and k["fault"] is None and k["spool_rows"] == 0
    wait_until("empty spools of Kafka", lambda: all(map(sent, lab.names)), 120, 0.2)
