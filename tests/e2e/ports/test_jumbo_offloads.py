# SPDX-License-Identifier: BSD-3-Clause
"""Jumbo frames through virtio ports, in buffers of 2 KiB or of the MTU, as one piece or many.

    capture ─▶ testpmd ─▶ net_vhost ═ virtio_user ─▶ biplane ─▶ virtio_user ═ net_vhost ─▶ testpmd ─▶ capture
"""

import shutil

import captures
import pytest
from frames import LOCAL_ETHERTYPE, ethernet
from lab import wait_until
from vhost_lab import Gateway, Peer, far_end, virtio

pytestmark = pytest.mark.skipif(shutil.which("dpdk-testpmd") is None, reason="dpdk-testpmd (package dpdk-dev) is missing")


def frame(length, tags=()):
    return ethernet("02:00:00:00:00:02", "02:00:00:00:00:01", LOCAL_ETHERTYPE,
                    bytes(i % 251 for i in range(length - 14)), tags)


FRAMES = [frame(n) for n in (64, 1514, 2048, 2049, 4500, 9014)] + [frame(9014, ((0x8100, 5),))]


@pytest.mark.parametrize("scatter, tx_multi_segs", [("auto", "auto"), ("off", "auto"), ("auto", "off")])
def test_jumbo_frames(tmp_path, scatter, tx_multi_segs):
    captures.write(tmp_path / "in.pcap", [(i * 1000, f) for i, f in enumerate(FRAMES)])
    offloads = {"mtu": 9000, "offloads": {"rx_scatter": scatter, "tx_multi_segs": tx_multi_segs}}
    made = []
    try:
        far = far_end(tmp_path)
        made.append(far)
        near = Peer(tmp_path, "near", "set fwd io\n", f"net_pcap0,rx_pcap={tmp_path / 'in.pcap'}",
                    f"net_vhost1,iface={tmp_path / 'in.sock'}")
        made.append(near)
        wait_until("the testpmds", lambda: far.ready() and near.ready(), 60)
        g = Gateway(tmp_path, {"device": virtio(tmp_path, "in.sock"), **offloads},
                    {"device": virtio(tmp_path, "out.sock", 1), **offloads})
        made.append(g)
        wait_until("the gateway", lambda: len(g.ports()) == 2, 60)
        did = {o["offload"]: o["outcome"] for o in g.ports()["a"]["offloads"]}
        assert did["rx_scatter"] == ("software" if scatter == "off" else "hardware")
        # in pieces are frames only where they are received so
        assert did["tx_multi_segs"] == ("unused" if scatter == "off" else
                                        "software" if tx_multi_segs == "off" else "hardware")
        near.tell("start")
        wait_until("all frames to be sent on", lambda: g.ports()["b"]["tx_packets"] == len(FRAMES), 60)
        assert g.ports()["b"]["tx_dropped"] == 0
    finally:
        for m in reversed(made):
            m.stop()
    assert [f for _, f in captures.read(tmp_path / "out.pcap")] == FRAMES
