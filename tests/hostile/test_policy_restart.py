# SPDX-License-Identifier: BSD-3-Clause
"""The data plane is killed, again and again, while clients publish what a policy refuses: none of it reaches the broker, and the
connection of a client that publishes nothing of that continues."""

import itertools
import threading

import paho.mqtt.client as mqtt

from conftest import config_for
from lab import CLOUD, Background, wait_until
from peers import Collector

KILLS = 3
POLICY = {"fail": "closed", "rules": [{"name": "secrets", "action": "close", "packet": "publish", "topic": "plant/secret/#"}]}


class Honest:
    """Publishes with QoS 1, in one connection."""

    def __init__(self, lab):
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="honest", reconnect_on_failure=False)
        self.ends = []
        self.client.on_disconnect = lambda c, u, flags, reason, properties: self.ends.append(reason)
        with lab.inside("dev"):
            self.client.connect(CLOUD, 1883, keepalive=300)
            self.client.loop_start()
        wait_until("a connection", self.client.is_connected)
        self.n = 0

    def publish(self, some):
        for _ in range(some):
            self.client.publish("plant/open", str(self.n), qos=1).wait_for_publish(60)
            self.n += 1
        assert not self.ends


class Hostile:
    """mosquitto_pub of each version and QoS, with packets that are refused, until the test ends"""

    def __init__(self, lab):
        self.lab, self.n, self.stop = lab, 0, threading.Event()
        self.thread = Background(self._run)
        self.thread.start()

    def _run(self):
        for version, qos in itertools.cycle(itertools.product(("mqttv311", "mqttv5"), "012")):
            if self.stop.is_set():
                return
            self.lab.run("dev", "timeout", "2", "mosquitto_pub", "-h", CLOUD, "-V", version, "-q", qos, "-t", f"plant/secret/{version}/{qos}",
                         "-m", "x", check=False)
            self.n += 1

    def finish(self):
        self.stop.set()
        self.thread.finish(60)


def test_nothing_refused_arrives_while_the_data_plane_is_killed(lab, gateway):
    g = gateway(config_for(policy=POLICY))
    cloud = Collector(lab, "cloud")
    honest, hostile = Honest(lab), Hostile(lab)
    for _ in range(KILLS):
        honest.publish(20)
        goal = hostile.n + 3
        g.kill_plane("data plane")
        honest.publish(20)
        wait_until("refused publications", lambda goal=goal: hostile.n >= goal, 60)
    hostile.finish()
    wait_until("the publications", lambda: sum(t == "plant/open" for t, _ in list(cloud.messages)) >= honest.n)
    assert not [t for t, _ in list(cloud.messages) if t.startswith("plant/secret")]
    assert not honest.ends
    assert g.counted()["policy_refused"] > 0
    honest.client.disconnect()
    honest.client.loop_stop()
    cloud.close()
