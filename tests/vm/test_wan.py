# SPDX-License-Identifier: BSD-3-Clause
"""The experiment of Atutxa et al. (2021), "Achieving Low Latency Communications in Smart Industrial Networks with
Programmable Data Planes": how soon a device hears of its own alarm, by way of the cloud behind a WAN of 25 ms there and
back (scenario A), and by way of the gateway and the edge (scenario B).

The guest is an emulated machine, so that what is said is a relation: B spares what the WAN costs."""

import contextlib
import socket
import statistics
import struct
import time

import pytest

from conftest import running
from guest import KINDS, call
from lab import CLOUD, DEVICE, EDGE, MAC, wait_until
from peers import Collector, Publisher
from vlan_tap import PACKET_OUTGOING, open_raw
from wire import OVERHEAT

ONE_WAY = 0.0125
SO_TIMESTAMPNS = 35
MESSAGES = 12
CLONE = {"name": "clone", "topic": "kiln/+/temperature", "value": "text", "raise": "> 80", "action": "mirror",
         "payload": "original", "publish": {"topic": "alarm/{topic}"}}


class TimedCollector(Collector):
    """Knows when it heard of each."""

    def _on_message(self, client, userdata, message):
        self.times.append((message.payload, time.monotonic()))
        super()._on_message(client, userdata, message)

    def heard(self):
        return dict(reversed(self.times))  # the first of each counts


class Stamped:
    """An interface of a namespace, and when its kernel got each frame that ends as given."""

    def __init__(self, lab, ns):
        with lab.inside(ns):
            self.socket = open_raw("eth0")
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.setblocking(False)
        self.frames = []  # (seconds, bytes)

    def _receive(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, more, _, address = self.socket.recvmsg(65536, 256)
                stamps = [struct.unpack("qq", d[:16]) for level, kind, d in more
                          if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS]
                if address[2] != PACKET_OUTGOING and stamps:
                    self.frames.append((stamps[0][0] + stamps[0][1] / 1e9, frame))

    def when(self, payload):
        self._receive()
        return next((t for t, f in self.frames if f.endswith(payload) and b"/one/temperature" in f), None)

    def close(self):
        self.socket.close()


class Application(Collector):
    """In the cloud: says for each value over the threshold that there is an alarm, as biplane does at the edge."""

    def _on_message(self, client, userdata, message):
        super()._on_message(client, userdata, message)
        if float(message.payload) > 80:
            client.publish(f"alarm/{message.topic}", message.payload, 0)


@pytest.fixture(scope="module")
def gateway(lab, tmp_path_factory):
    """Three ports of three kinds on one segment. The cloud is behind a WAN; the control plane reaches the edge's broker by a
    link of its own, as it would by a management network."""
    nics = [lab.of_kind(k)[0] for k in KINDS]
    config = {"ports": [{"name": name, "device": nic.address} for name, nic in zip(("devices", "cloud", "edge"), nics, strict=True)],
              "bridges": [{"name": "bridge0", "ports": ["devices", "cloud", "edge"]}],
              "mqtt": {"publisher": {"broker": "mqtt://10.98.0.3", "client_id": "biplane-vm"}, "rules": [OVERHEAT, CLONE],
                       "mirror": {"port": "edge", "mac": MAC["edge"], "ipv4_address": EDGE}}}
    for ns in ("cloud", "edge"):
        lab.broker(ns)
    try:
        lab.give("dev", nics[0], mac=MAC["dev"], addresses=[f"{DEVICE}/24"])
        lab.give("edge", nics[2], mac=MAC["edge"], addresses=[f"{EDGE}/24"])
        lab.give("wan", nics[1])
        call("ip", "link", "add", "far", "netns", lab.prefix + "wan", "type", "veth", "peer", "name", "eth0",
             "netns", lab.prefix + "cloud", "address", MAC["cloud"])
        lab.ip("wan", "link", "add", "wire", "type", "bridge", "mcast_snooping", "0")
        for i in ("eth0", "far"):
            lab.ip("wan", "link", "set", i, "master", "wire")
        for ns, i in (("wan", "wire"), ("wan", "far"), ("cloud", "eth0")):
            lab.ip(ns, "link", "set", i, "up")
        lab.ip("cloud", "addr", "add", f"{CLOUD}/24", "dev", "eth0")
        for ns, i in (("wan", "far"), ("cloud", "eth0")):
            lab.run(ns, "tc", "qdisc", "add", "dev", i, "root", "netem", "delay", f"{ONE_WAY * 1e6:.0f}us", "limit", "10000")
        call("ip", "link", "add", "mgmt", "netns", lab.prefix + "gw", "type", "veth", "peer", "name", "mgmt",
             "netns", lab.prefix + "edge")
        for ns, a in (("gw", "10.98.0.1/24"), ("edge", "10.98.0.3/24")):
            lab.ip(ns, "addr", "add", a, "dev", "mgmt")
            lab.ip(ns, "link", "set", "mgmt", "up")
        with running(lab, tmp_path_factory.mktemp("wan"), config) as g:
            yield g
    finally:
        lab.ip("gw", "link", "del", "mgmt", check=False)
        lab.ip("wan", "link", "del", "far", check=False)
        lab.ip("wan", "link", "del", "wire", check=False)
        lab.take()


def test_edge_alarm_precedes_the_cloud_answer(lab, gateway, figure):
    p = lab.run("dev", "ping", "-n", "-q", "-i", "0.2", "-c", 5, CLOUD)
    least = float(p.stdout.decode().rsplit("= ", 1)[1].split("/")[0])
    assert least >= 25, f"this is no WAN of 25 ms: {p.stdout}"
    application = Application(lab, "cloud", ("plant/+/temperature",), qos=0)
    a = TimedCollector(lab, "dev", ("alarm/#",), qos=0, host=CLOUD)
    b = TimedCollector(lab, "dev", ("alarm/#",), qos=0, host=EDGE)
    device = Publisher(lab, CLOUD)
    sent = {}
    try:
        for n in range(MESSAGES):
            payload = b"%d.5" % (100 + n)
            sent[payload] = time.monotonic()
            device.publish("plant/oven/temperature", payload)
            wait_until(f"both alarms of {payload}", lambda p=payload: p in a.heard() and p in b.heard())
        device.finish()
    finally:
        for c in (application, a, b):
            c.close()
    by_cloud, by_edge = ([c.heard()[p] - t for p, t in sent.items()] for c in (a, b))
    figure(f"alarm at the device: scenario A, by the cloud: {times(by_cloud)}; scenario B, by the edge: {times(by_edge)}")
    assert min(by_cloud) >= 2 * ONE_WAY
    spared = statistics.median(by_cloud) - statistics.median(by_edge)
    assert spared > ONE_WAY / 2, f"B spares {1000 * spared:.1f} ms: A {times(by_cloud)}, B {times(by_edge)}"


def times(seconds):
    ms = sorted(1000 * s for s in seconds)
    return f"{ms[0]:.1f} to {ms[-1]:.1f} ms, median {statistics.median(ms):.1f} ms"


def test_mirrored_frame_reaches_the_edge_before_the_cloud(lab, gateway, figure):
    """The data plane alone, as in the paper: frames to the edge need neither a broker nor the control plane."""
    device = Publisher(lab, CLOUD)
    ahead = []
    edge, cloud = Stamped(lab, "edge"), Stamped(lab, "cloud")
    try:
        for n in range(MESSAGES):
            payload = b"%d.25" % (200 + n)
            device.publish("kiln/one/temperature", payload)
            wait_until(f"both frames with {payload}", lambda p=payload: edge.when(p) and cloud.when(p))
            ahead.append(cloud.when(payload) - edge.when(payload))
        clones = [f for _, f in edge.frames if b"alarm/kiln/one/temperature" in f]
        assert len(clones) == MESSAGES and all(f[:6].hex(":") == MAC["edge"] for f in clones)
    finally:
        edge.close()
        cloud.close()
    device.finish()
    assert gateway.counter("mirror_frame") == MESSAGES
    figure(f"a clone is at the edge before the original is in the cloud by {times(ahead)}")
    assert statistics.median(ahead) > ONE_WAY / 2, times(ahead)
