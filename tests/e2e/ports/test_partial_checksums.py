# SPDX-License-Identifier: BSD-3-Clause
"""Partial checksums of a local sender, between real virtio and vhost drivers.

    capture ─▶ testpmd ─▶ virtio_user ═ net_vhost ─▶ biplane ─▶ virtio_user ═ net_vhost ─▶ testpmd ─▶ capture

The first testpmd requests TCP and UDP checksum offload of its virtual NIC; the frames at the far end must have correct
checksums.
"""

import shutil

import captures
import pytest
from frames import checksum, ethernet, ip4, tcp
from lab import wait_until
from vhost_lab import Gateway, Peer, far_end, virtio

pytestmark = pytest.mark.skipif(shutil.which("dpdk-testpmd") is None, reason="dpdk-testpmd (package dpdk-dev) is missing")

LEAVE = "\n".join(["port stop 1", *(f"port config 1 tx_offload {p}_cksum on" for p in ("tcp", "udp")), "port start 1",
                   "csum set tcp hw 1", "csum set udp hw 1", "set fwd csum", "start", ""])


def udp(payload):
    src, dst = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    head = bytes([0x9C, 0x40, 0x13, 0x89]) + (8 + len(payload)).to_bytes(2, "big")
    pseudo = src + dst + bytes([0, 17]) + (8 + len(payload)).to_bytes(2, "big")
    s = checksum(pseudo + head + b"\0\0" + payload) or 0xFFFF
    return head + s.to_bytes(2, "big") + payload


def frame(n, tags=(), protocol=6):
    payload = bytes(i % 251 for i in range(n))
    segment = tcp("10.0.0.1", "10.0.0.2", 40000, 5000, payload) if protocol == 6 else udp(payload)
    return ethernet("02:00:00:00:00:02", "02:00:00:00:00:01", 0x0800, ip4("10.0.0.1", "10.0.0.2", protocol, segment), tags)


# Of even and odd lengths, under a tag, and in several buffers.
FRAMES = [frame(0), frame(10), frame(11, ((0x8100, 5),)), frame(1400), frame(1001), frame(3001), frame(100, protocol=17),
          frame(2501, ((0x8100, 7),), 17)]


@pytest.mark.parametrize("offloads, by, counter", [
    ({}, "hardware", "checksum_offloaded"),
    ({"tx_checksum": "off"}, "software", "checksum_completed"),
], ids=["left", "completed"])
def test_checksums_are_there_at_the_far_end(tmp_path, offloads, by, counter):
    captures.write(tmp_path / "in.pcap", [(i * 1000, f) for i, f in enumerate(FRAMES)])
    made = []
    try:
        far = far_end(tmp_path)
        made.append(far)
        wait_until("the far testpmd", far.ready, 60)
        g = Gateway(tmp_path, {"device": f"net_vhost0,iface={tmp_path / 'in.sock'}"},
                    {"device": virtio(tmp_path, "out.sock"), "offloads": offloads},
                    mqtt={"tcp_ports": [5000], "publisher": {"broker": "mqtt://127.0.0.1"}})
        made.append(g)
        wait_until("the gateway", lambda: len(g.ports()) == 2, 60)
        offload = {o["offload"]: o["outcome"] for o in g.ports()["b"]["offloads"]}
        assert offload["tx_checksum"] == by
        near = Peer(tmp_path, "near", LEAVE, f"net_pcap0,rx_pcap={tmp_path / 'in.pcap'}", virtio(tmp_path, "in.sock"))
        made.insert(1, near)
        wait_until("all frames to be sent on", lambda: g.ports()["b"]["tx_packets"] == len(FRAMES), 60)
        counted = g.counted()
        assert counted[counter] == len(FRAMES)
        assert "segments_bad_checksum" not in counted and counted["segments"] == 6, counted
    finally:
        for m in made:
            m.stop()
    # testpmd's csum mode writes MAC addresses of its own; TCP, which is read, may be overtaken
    assert sorted(f[12:] for _, f in captures.read(tmp_path / "out.pcap")) == sorted(f[12:] for f in FRAMES)
