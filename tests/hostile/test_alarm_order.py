# SPDX-License-Identifier: BSD-3-Clause
"""An edge broker that goes away, a control plane that is killed, and devices whose alarms are raised and cleared all
the while: a consumer that takes the last alarm of a topic for its state must end in the right one."""

import json
import threading
import time

import pytest

from conftest import config_for, overheat
from lab import CLOUD, Background, wait_until
from peers import Collector, Publisher

TOPICS, DEVICES = 40, 4


class Devices:
    """Each of the devices publishes on topics of its own, in turn above and below the rule's threshold: 91.000001 for
    the first publication of a topic, 70.000002 for the second, and so on."""

    def __init__(self, lab):
        self.publishers = [Publisher(lab, CLOUD) for _ in range(DEVICES)]
        self.published = [0] * TOPICS
        self._stop = threading.Event()
        self._threads = [Background(self._run, d) for d in range(DEVICES)]
        for t in self._threads:
            t.start()

    def _run(self, device):
        mine = [t for t in range(TOPICS) if t % DEVICES == device]
        infos = []
        while not self._stop.is_set():
            for t in mine:
                n = self.published[t] + 1
                infos.append(self.publishers[device].publish(
                    f"plant/{t}/temperature", f"{91 if n % 2 else 70}.{n:06d}", 1))
                self.published[t] = n
            if len(infos) > 2000:  # messages must not accumulate here if the broker is slow
                infos[-1500].wait_for_publish(60)
                del infos[:1500]
            time.sleep(0.001)
        self.publishers[device].finish(infos, 120)

    def go_on(self, alarms):
        goal = sum(self.published) + alarms
        while sum(self.published) < goal:
            assert all(t.is_alive() for t in self._threads), "a device ended by itself"
            time.sleep(0.01)

    def finish(self):
        self._stop.set()
        for t in self._threads:
            t.finish(180)


def sequence(alarm):
    return int(f"{alarm['value']:.6f}".split(".")[1])


def arrivals(collector):
    """Of each topic the sequence numbers, in the order of arrival."""
    got = {t: [] for t in range(TOPICS)}
    for _, payload in list(collector.messages):
        a = json.loads(payload)
        n = sequence(a)
        assert a["state"] == ("raised" if n % 2 else "cleared")
        got[int(a["topic"].split("/")[1])].append(n)
    return got


def inversions(numbers):
    """First arrivals behind a newer one."""
    newest, seen, found = 0, set(), 0
    for n in numbers:
        found += n < newest and n not in seen
        seen.add(n)
        newest = max(newest, n)
    return found


@pytest.fixture(autouse=True)
def broker_back(lab):
    yield
    if not lab.run("edge", "ss", "-tlnH").stdout.count(b":1883 "):
        lab.broker("edge", "start")


def test_alarm_order_is_kept_during_an_outage(lab, gateway, tmp_path):
    config = config_for(rules=[overheat(payload="envelope", clear="< 75")], spool=tmp_path / "spool.db")
    config["workers"] = 1
    g = gateway(config)
    edge = Collector(lab, "edge", ("alarm/#",), qos=1, client_id="order", clean=False)
    devices = Devices(lab)
    devices.go_on(8000)
    lab.broker("edge", "stop")
    wait_until("biplane to see it", lambda: not g.status()["publisher"]["connected"])
    devices.go_on(30_000)
    assert g.status()["spool"]["rows"] > 5000
    lab.broker("edge", "start")
    edge.wait_subscribed()
    devices.go_on(4000)  # with the backlog on its way
    g.kill_plane("control plane")
    devices.go_on(15_000)
    devices.finish()
    wait_until("an empty spool", lambda: g.status()["spool"]["rows"] == 0, 120, 0.1)
    due = sum(devices.published)
    wait_until(f"{due} alarms at the edge",
               lambda: sum(len(set(n)) for n in arrivals(edge).values()) >= due, 60, 0.5)
    got = arrivals(edge)
    assert g.counter("alarms_queue_full") == 0
    for t in range(TOPICS):
        assert sorted(set(got[t])) == list(range(1, devices.published[t] + 1)), "an alarm was lost or made up"
    assert sum(inversions(n) for n in got.values()) == 0
    assert all(got[t][-1] == devices.published[t] for t in range(TOPICS)), "the last alarm is not the newest"
    assert due > 57_000
    edge.close()
