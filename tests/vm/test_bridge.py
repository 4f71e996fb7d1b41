# SPDX-License-Identifier: BSD-3-Clause
"""NICs under vfio-pci, behind an IOMMU, as a transparent bridge: frames are unchanged, and MQTT is inspected."""

import random

import pytest

from frames import LOCAL_ETHERTYPE, ethernet
from guest import KINDS
from lab import CLOUD, wait_until
from mqtt_session import Session
from odd_frames import THERE, odd_frames
from peers import Collector, Publisher
from wan import Tap
from wire import bridges, carries, emulated, offload, port

DRIVERS = {"e1000e": "net_e1000_em", "vmxnet3": "net_vmxnet3", "virtio": "net_virtio"}


@pytest.fixture(scope="module")
def gateway(lab, tmp_path_factory):
    """One for all kinds, with a bridge of each."""
    with bridges(lab, tmp_path_factory.mktemp("bridge")) as g:
        yield g


@pytest.fixture(params=KINDS)
def bridge(request, gateway):
    return gateway.bridges[request.param]


def test_ports_are_up(lab, gateway, bridge):
    for name, nic in zip(bridge.names, bridge.nics, strict=True):
        p = port(gateway, name)
        assert p["driver"] == DRIVERS[bridge.kind] and p["device"] == nic.address
        assert p["link_up"] and p["mtu"] == 1500


def test_every_frame_passes_unchanged(lab, gateway, bridge):
    for sender, receiver, addresses in bridge.ways:
        frames = [f for f in odd_frames(*addresses).values() if emulated(bridge.kind, f)]
        assert len(frames) > 60
        carries(lab, frames, sender, receiver, addresses)
    drops = gateway.balanced()
    assert drops["drops"] == 0, drops


def test_bursts_stay_in_order(lab, gateway, bridge):
    rng = random.Random(3)
    for sender, receiver, addresses in bridge.ways:
        for n in range(5):
            carries(lab, [ethernet(*addresses, LOCAL_ETHERTYPE, bytes([n, i]) + rng.randbytes(rng.randrange(1498)))
                          for i in range(100)], sender, receiver, addresses)


def test_alarms_of_forwarded_publishes(lab, gateway, bridge):
    """Publications, also of a connection with a VLAN tag: each arrives at the cloud, and those over the threshold as alarms."""
    raised = gateway.counter("alarms_raised")
    cloud, edge = Collector(lab, bridge.spaces[1]), Collector(lab, "gw", ("alarm/#",))
    for ns, n in zip(bridge.spaces, (1, 2), strict=True):
        lab.ip(ns, "link", "add", "link", "eth0", "name", "tagged", "type", "vlan", "id", "10")
        lab.ip(ns, "addr", "add", f"10.97.0.{n}/24", "dev", "tagged")
        lab.ip(ns, "link", "set", "tagged", "up")
    try:
        values = [f"{70 + i}.5" for i in range(20)]
        for name, host in (("plain", CLOUD), ("tagged", "10.97.0.2")):
            p = Publisher(lab, host, ns=bridge.spaces[0])
            infos = [p.publish(f"plant/{name}/temperature", v, i % 3) for i, v in enumerate(values)]
            p.finish(infos)
        cloud.wait_count(40)
        edge.wait_count(20)
        for name in ("plain", "tagged"):  # of several QoS, so not in order
            due = sorted(v.encode() for v in values if float(v) > 80)
            assert sorted(m for t, m in edge.messages if t == f"alarm/plant/{name}/temperature") == due
        assert gateway.counter("alarms_raised") == raised + 20
    finally:
        cloud.close()
        edge.close()
        for ns in bridge.spaces:
            lab.ip(ns, "link", "del", "tagged")


def test_a_segment_with_a_wrong_checksum_is_forwarded_and_never_read(lab, gateway, bridge):
    """Whoever computes the sum, the NIC or biplane: the offload is used where the driver has it."""
    assert offload(gateway, bridge.names[0], "rx_checksum") == ("software" if bridge.kind == "virtio" else "hardware")
    before = gateway.counter("alarms_raised"), gateway.counter("segments_bad_checksum")
    with Session(lab, *bridge.spaces) as s:
        s.connect()
        s.publish("plant/raw/temperature", "90")
        wait_until("the alarm", lambda: gateway.counter("alarms_raised") == before[0] + 1)
        s.publish("plant/raw/temperature", "91", bad_sum=True)
        wait_until("the damaged segment to be counted", lambda: gateway.counter("segments_bad_checksum") == before[1] + 1)
        s.again()  # the sender repeats it, and now it is good
        wait_until("its alarm", lambda: gateway.counter("alarms_raised") == before[0] + 2)
        s.all_arrived()
    assert gateway.counter("segments_bad_checksum") == before[1] + 1


def test_link_down_and_up(lab, gateway, bridge):
    """Frames to a port without a link are dropped with that reason; when the link is up, the traffic continues."""
    nic = bridge.nics[1]
    frame = ethernet(*THERE, LOCAL_ETHERTYPE, bytes(100))
    lab.link(nic, False)
    try:
        wait_until("the port to be down", lambda: not port(gateway, bridge.names[1])["link_up"])
        assert port(gateway, bridge.names[0])["link_up"]
        before = gateway.counter("tx_down")
        with Tap(lab, bridge.spaces[0], "eth0") as dev:
            dev.send(*[frame] * 10)
        wait_until("10 frames to be dropped", lambda: gateway.counter("tx_down") >= before + 10)
    finally:
        lab.link(nic, True)
    wait_until("the port to be up", lambda: port(gateway, bridge.names[1])["link_up"])
    for sender, receiver, addresses in bridge.ways:
        carries(lab, [ethernet(*addresses, LOCAL_ETHERTYPE, bytes([i]) * 200) for i in range(20)], sender, receiver, addresses)
    gateway.balanced()
