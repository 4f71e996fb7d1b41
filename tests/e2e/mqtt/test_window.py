# SPDX-License-Identifier: BSD-3-Clause
"""Rules with a window: the mean of the last values and the count of a time, and planes that are killed meanwhile."""

import json

from conftest import config_for
from lab import CLOUD, wait_until
from peers import Collector, Publisher

TOPIC = "plant/press/temperature"
RULES = [{"name": "mean", "topic": "plant/+/temperature", "window": {"values": 4, "function": "mean"},
          "raise": {"above": 80}, "clear": {"below": 70}, "repeat": "on_change"},
         {"name": "few", "topic": "plant/+/temperature", "window": {"time": "2s", "function": "count"},
          "raise": {"below": 1}, "repeat": "on_change"}]


def alarms(edge, rule):
    return [(a["state"], a["value"]) for _, p in list(edge.messages) for a in [json.loads(p)] if a["rule"] == rule]


def test_windows_and_kills(lab, gateway):
    edge = Collector(lab, "edge", ("alarm/#",), qos=1)
    g = gateway(config_for(rules=RULES))
    device = Publisher(lab, CLOUD, client_id="press-7")
    for value in (90, 90, 70):
        device.publish(TOPIC, str(value))
    wait_until("three values without a result", lambda: g.counter("window_no_result") >= 3)
    g.kill_plane("data plane")  # the window has three of four values
    device.publish(TOPIC, "90")
    wait_until("the mean of four values", lambda: alarms(edge, "mean") == [("raised", 85)], 30)
    # without a publication, the count falls to 0
    wait_until("the alarm of an empty window", lambda: alarms(edge, "few") == [("raised", 0)], 30)
    told = [json.loads(p) for _, p in list(edge.messages)][-1]
    assert (told["topic"], told["client_id"]) == (TOPIC, "press-7")
    g.kill_plane("data plane")
    g.kill_plane("control plane")
    for value in (60, 60, 61):
        device.publish(TOPIC, str(value))
    wait_until("the mean of the last four", lambda: alarms(edge, "mean")[1:] == [("cleared", 67.75)], 30)
    wait_until("both changes of the count", lambda: alarms(edge, "few")[1:] == [("cleared", 1), ("raised", 0)], 30)
    device.finish()
    edge.close()
    assert g.stop() == 0
