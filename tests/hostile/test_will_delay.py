# SPDX-License-Identifier: BSD-3-Clause
"""Devices that die with a will that has a delay, and a mosquitto that publishes it, or drops it because the device is
back in time: an alarm is raised by what the broker publishes, and by nothing else."""

import json
import socket
import struct

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from conftest import config_for, overheat
from lab import CLOUD, wait_until

DELAY = 3


class Device:
    """A client of MQTT 5.0 that can die: RST, and no DISCONNECT."""

    def __init__(self, lab, name, clean=True, will=True):
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=mqtt.MQTTv5, client_id=name)
        if will:
            properties = Properties(PacketTypes.WILLMESSAGE)
            properties.WillDelayInterval = DELAY
            self.client.will_set(f"plant/{name}/temperature", "91", properties=properties)
        session = Properties(PacketTypes.CONNECT)
        session.SessionExpiryInterval = 600
        up = []
        self.client.on_connect = lambda *a: up.append(a)
        with lab.inside("dev"):
            self.client.connect(CLOUD, 1883, keepalive=60, clean_start=clean, properties=session)
        while not up:
            assert self.client.loop(1) == 0, "no CONNACK"

    def die(self):
        s = self.client.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()


@pytest.mark.parametrize("workers", (1, 2))
def test_delayed_wills(lab, gateway, collect, workers):
    g = gateway({**config_for(rules=[overheat(payload="envelope")]), "workers": workers})
    cloud = collect("cloud", ("plant/#",))
    edge = collect("edge", ("alarm/#",))
    first = {n: Device(lab, n) for n in ("dead", "resumes", "begins", "dies-again")}
    taken = Device(lab, "taken-over")
    for d in first.values():
        d.die()
    wait_until("four wills that wait", lambda: g.counter("wills_delayed") == 4)
    back = [Device(lab, "resumes", clean=False, will=False), Device(lab, "begins", will=False),
            Device(lab, "taken-over", clean=False, will=False)]
    again = Device(lab, "dies-again", clean=False)
    again.die()
    last = Device(lab, "last")
    last.die()
    published = {"dead", "dies-again", "last"}
    # of the last one the delay ended after all others'
    wait_until("all wills that are due", lambda: {"last"} <= topics(cloud) and {"last"} <= alarms(edge), 40)
    wait_until("mosquitto to publish them", lambda: len(cloud.messages) >= len(published), 40)
    assert topics(cloud) == published
    assert alarms(edge) == published
    assert len(edge.messages) == len(published)
    assert g.counter("wills_canceled") == 4  # with the first of dies-again
    del back, taken
    g.balanced()


def topics(collector):
    return {t.split("/")[1] for t, _ in list(collector.messages)}


def alarms(collector):
    return {json.loads(p)["topic"].split("/")[1] for _, p in list(collector.messages)}
