# SPDX-License-Identifier: BSD-3-Clause
"""Rules with absent: devices that stop and speak again, and planes that are killed meanwhile."""

import contextlib
import json
import threading

from conftest import config_for
from lab import CLOUD, wait_until
from peers import Collector, Publisher

RULES = [{"name": "dead", "topic": "plant/+/temperature", "absent": "3s"},
         {"name": "never", "topic": "plant/press/state", "absent": "2s", "publish": {"topic": "alarm/{topic}"}}]
ALIVE, DEAD, NEVER = "plant/alive/temperature", "plant/dead/temperature", "plant/press/state"


@contextlib.contextmanager
def alive(lab):
    """A device that never stops."""
    device, stop = Publisher(lab, CLOUD, client_id="alive"), threading.Event()

    def speak():
        while not stop.wait(0.1):
            device.publish(ALIVE, "21")
    thread = threading.Thread(target=speak)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        device.finish()


def alarms(edge, topic):
    return [json.loads(p) for t, p in list(edge.messages) if t == f"alarm/{topic}"]


def states(edge, topic):
    return [a["state"] for a in alarms(edge, topic)]


def test_devices_that_stop(lab, gateway):
    edge = Collector(lab, "edge", ("alarm/#",), qos=1)
    g = gateway({**config_for(rules=RULES), "poll_mode": "adaptive"})  # the workers sleep
    with alive(lab):
        devices_stop_and_speak(lab, g, edge)
    edge.close()
    assert g.stop() == 0


def devices_stop_and_speak(lab, g, edge):
    device = Publisher(lab, CLOUD, client_id="dead-7")
    wait_until("the device that speaks to be watched", lambda: g.counter("topics_watched") >= 2)
    device.publish(DEAD, "no number")
    wait_until("both alarms", lambda: states(edge, DEAD) == states(edge, NEVER) == ["raised"], 30)
    raised = alarms(edge, DEAD)[0]
    assert (raised["rule"], raised["topic"], raised["client_id"]) == ("dead", DEAD, "dead-7")
    assert raised["value"] >= 3
    explained = json.loads(g.command("explain", "topic", DEAD, "-c", g.identity, "--json").stdout)
    assert explained["verdict"] == "raised"
    assert {c["check"] for c in explained["rules"][0]["checks"]} >= {"watched", "state"}
    never = alarms(edge, NEVER)[0]
    assert (never["client"], never["client_id"]) == (None, None)

    g.kill_plane("data plane")
    g.kill_plane("control plane")
    # two clears that have the restarts between them and their raises
    device.publish(DEAD, "21")
    device.publish(NEVER, "1")
    wait_until("the clears", lambda: states(edge, DEAD)[1:] == ["cleared"] and states(edge, NEVER)[1:2] == ["cleared"], 30)
    assert alarms(edge, DEAD)[1]["value"] > raised["value"]
    g.kill_plane("data plane")
    wait_until("the device to be silent again", lambda: states(edge, DEAD) == ["raised", "cleared", "raised"], 30)
    assert states(edge, ALIVE) == []
    device.finish()
