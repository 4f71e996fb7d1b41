# SPDX-License-Identifier: BSD-3-Clause
"""NICs with several queues and RSS, and with checksums left to the next hop: virtio-net with two queues."""

import socket

import pytest

from frames import Wire, ethernet, ip4, tcp
from lab import CLOUD, DEVICE, wait_until
from mqtt_session import Session
from odd_frames import BACK, THERE
from peers import Collector, Publisher
from wan import Tap
from wire import bridges, port
from wire import offload as by_whom

SESSIONS = 8


@pytest.fixture(scope="module")
def gateway(lab, tmp_path_factory):
    with bridges(lab, tmp_path_factory.mktemp("rss"), ("rss",), workers=2) as g:
        yield g


def test_connections_are_distributed_and_complete(lab, gateway):
    """Each worker has some; and both directions of each are one worker's, or it could not follow the connection."""
    for name in ("devices", "cloud"):
        p = port(gateway, name)
        assert p["rx_queues"] == 2 and p["workers"] == [0, 1], p
    sessions = [Session(lab) for _ in range(SESSIONS)]
    raised = gateway.counter("alarms_raised")
    try:
        for s in sessions:
            s.connect()
            s.publish("plant/shared/temperature", "90")
        wait_until("every alarm", lambda: gateway.counter("alarms_raised") == raised + SESSIONS)
        of_port = {s.port: s for s in sessions}
        flows = [f for f in gateway.show("connections")["connections"] if int(f["client"].rsplit(":", 1)[1]) in of_port]
        assert len(flows) == SESSIONS, "a connection is followed by two workers, or by none"
        assert {f["worker"] for f in flows} == {0, 1}
        for f in flows:
            assert f["to_broker"] == f["from_broker"] == "inspecting" and f["publishes"] == 1, f
        for s in sessions:
            s.all_arrived()
    finally:
        for s in sessions:
            s.close()
    gateway.balanced()


def test_other_flows_are_distributed(lab, gateway):
    """Either direction of other connections, by what each worker's first node got: both have some, and no frame is lost."""
    def received():
        return {n["worker"]: n["packets"] for n in gateway.show("nodes")["nodes"] if n["node"].startswith("ethernet")}
    before = received()
    def flow(sender, n):
        """Five frames, with a number in each."""
        way, addresses, ports = ((THERE, ("10.95.0.1", "10.95.0.2"), (2000 + n, 3000)) if sender == "dev" else
                                 (BACK, ("10.95.0.2", "10.95.0.1"), (3000, 2000 + n)))
        return [ethernet(*way, 0x0800, ip4(*addresses, 6, tcp(*addresses, *ports, bytes([i]) * 50))) for i in range(5)]
    for sender, receiver in (("dev", "cloud"), ("cloud", "dev")):
        flows = [flow(sender, n) for n in range(32)]
        due = {f for frames in flows for f in frames}
        out = Wire(lab, sender)
        with Tap(lab, receiver, "eth0") as into:
            out.send(*(f for n in range(5) for f in (frames[n] for frames in flows)))
            wait_until(f"all frames from {sender} to {receiver}", lambda d=due, i=into: d <= set(i.frames()))
            for frames in flows:
                assert [f for f in into.heard if f in frames] == frames, "not in order, or twice"
        out.close()
    grown = {w: n - before[w] for w, n in received().items()}
    assert len(grown) == 2 and all(n > 32 for n in grown.values()), grown


def partial(gateway):
    """Frames whose checksum was biplane's to complete, or to leave to the NIC that they leave by."""
    return gateway.counter("checksum_completed") + gateway.counter("checksum_offloaded")


@pytest.mark.parametrize("offload", ("on", "off"))
def test_checksums_that_are_left_to_the_next_hop(lab, gateway, offload):
    """A virtual machine next to ours sends frames without a checksum, when its driver may: they are read all the same, and
    leave with one."""
    assert by_whom(gateway, "devices", "rx_checksum") == by_whom(gateway, "devices", "rss") == "hardware"
    for ns in ("dev", "cloud"):
        lab.run(ns, "ethtool", "-K", "eth0", "tx", offload)
    before = partial(gateway), gateway.counter("alarms_raised")
    cloud, edge = Collector(lab, "cloud"), Collector(lab, "gw", ("alarm/#",))
    try:
        p = Publisher(lab, CLOUD)
        infos = [p.publish("plant/offload/temperature", f"{90 + i}", 1) for i in range(5)]
        infos.append(p.publish("plant/picture", bytes(range(256)) * 100, 1))
        p.finish(infos)
        cloud.wait_count(6)
        assert cloud.wait_for_topic("plant/picture") == bytes(range(256)) * 100
        edge.wait_count(5)
        assert [m for _, m in edge.messages] == [b"%d" % (90 + i) for i in range(5)]
    finally:
        cloud.close()
        edge.close()
    with lab.inside("cloud"):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with lab.inside("dev"):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sender, receiver:
        receiver.settimeout(20)
        receiver.bind((CLOUD, 9999))
        sender.bind((DEVICE, 0))
        sender.sendto(b"by UDP", (CLOUD, 9999))
        assert receiver.recv(100) == b"by UDP"
    assert gateway.counter("alarms_raised") == before[1] + 5
    grown = partial(gateway) - before[0]
    assert grown > 5 if offload == "on" else grown == 0, grown
    gateway.balanced()
