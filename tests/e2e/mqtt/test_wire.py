# SPDX-License-Identifier: BSD-3-Clause
"""A bridge of two ports is a wire: every frame arrives, unchanged, in order, in both directions."""

import os

import pytest

from conftest import config_for
from frames import LOCAL_ETHERTYPE, Wire, ethernet
from lab import port_devices
from odd_frames import BACK, THERE, kernel_chatter, odd_frames


@pytest.fixture(params=("af_packet", "af_xdp"))
def driver(request):
    return request.param


def carried(driver, frame):
    """Changes by the kernel before net_af_packet receives a frame: it reassembles IPv4 fragments, and removes the TPID
    of an outer tag. net_af_xdp receives every frame unchanged."""
    if driver == "af_xdp":
        return True
    outer, inner = frame[12:14], frame[16:18]
    if outer in (b"\x88\xa8", b"\x81\x00"):  # taken for a service tag if a VLAN tag follows
        return (outer == b"\x88\xa8") == (inner == b"\x81\x00")
    return not (outer == b"\x08\x00" and len(frame) >= 34 and int.from_bytes(frame[20:22], "big") & 0x3FFF)


def test_every_frame_passes_unchanged(lab, gateway, driver):
    config = config_for(driver)
    config["ports"] = port_devices(driver, ("devices", "cloud"))
    config["bridges"] = [{"name": "bridge0", "ports": ["devices", "cloud"]}]
    g = gateway(config)
    ends = {"dev": Wire(lab, "dev"), "cloud": Wire(lab, "cloud")}
    try:
        for sender, receiver, addresses in (("dev", "cloud", THERE), ("cloud", "dev", BACK)):
            for name, frame in odd_frames(*addresses).items():
                if not carried(driver, frame):
                    continue
                ends[sender].send(frame)
                try:
                    before = [f for f in ends[receiver].listen(frame, 5) if not kernel_chatter(f)]
                except AssertionError as e:
                    raise AssertionError(f"{sender} to {receiver}, {name}: {frame.hex()}: {e}") from None
                assert not before, f"{sender} to {receiver}, before {name}: {[f.hex() for f in before]}"
            end = ethernet(*addresses, LOCAL_ETHERTYPE, os.urandom(46))
            ends[sender].send(end)
            surplus = [f for f in ends[receiver].listen(end) if not kernel_chatter(f)]
            assert not surplus, f"{sender} to {receiver}: frames came twice: {[f.hex() for f in surplus]}"
        drops = g.balanced()
        assert drops["drops"] == 0, drops
        assert drops["originated"] == 0, drops
    finally:
        for e in ends.values():
            e.close()


def test_order_and_count_under_a_burst(lab, gateway, driver):
    """Ten thousand frames one way: all arrive in the order they left, or a counter says which did not."""
    config = config_for(driver)
    config["ports"] = port_devices(driver, ("devices", "cloud"))
    config["bridges"] = [{"name": "bridge0", "ports": ["devices", "cloud"]}]
    g = gateway(config)
    dev, cloud = Wire(lab, "dev"), Wire(lab, "cloud")
    try:
        for burst in range(100):
            frames = [ethernet(*THERE, LOCAL_ETHERTYPE, (burst * 100 + i).to_bytes(4, "big") + bytes(46 + i))
                      for i in range(100)]
            dev.send(*frames)
            got = [f for f in cloud.listen(frames[-1]) if not kernel_chatter(f)]
            assert got == frames[:-1]
        g.balanced()
    finally:
        dev.close()
        cloud.close()
