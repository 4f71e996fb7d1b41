# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/drivers.md, the rows of emulated NICs. tests/e2e/ports/test_drivers.py has those of other drivers."""

import json
import os

import pytest

from driver_rows import BACK, THERE, check_row, long_frames, mtu_limit, row_of, send, wakeup
from lab import BIPLANE
from wan import Tap
from wire import bridge_of, bridges

DRIVERS = {"e1000e": "net_e1000_em", "igb": "net_e1000_igb", "vmxnet3": "net_vmxnet3", "rss": "net_virtio"}
MTU_MAX = 65000  # of the configuration
POLLS_WITHOUT_INTERRUPT = 6  # more than a worker accepts before it takes naps


def largest_mtu(lab, directory, kind):
    """By the error of a data plane with a larger one."""
    bridge = bridge_of(lab, kind, joined=False)
    file = directory / "limit.yaml"
    file.write_text(json.dumps({
        "version": 1, "name": "limit", "runtime": {"directory": str(directory / "limit")}, "poll_mode": "adaptive",
        "ports": [{"name": n, "device": nic.address, "mtu": MTU_MAX} for n, nic in zip(bridge.names, bridge.nics, strict=True)],
        "bridges": [{"name": "line", "ports": list(bridge.names)}]}))
    return mtu_limit(lab.run("gw", BIPLANE, "dataplane", "-c", file, check=False, timeout=120).stdout.decode())


@pytest.mark.parametrize("kind", DRIVERS)
def test_row_of_a_nic(lab, tmp_path, kind):
    if kind not in os.environ["VM_NICS"].split():
        pytest.skip(f"this QEMU does not emulate {kind}")
    mtu = largest_mtu(lab, tmp_path, kind)
    with bridges(lab, tmp_path, (kind,), mtu=mtu, workers=2) as g:
        bridge = g.bridges[kind]
        for ns in bridge.spaces:
            lab.run(ns, "ip", "link", "set", "eth0", "mtu", mtu + 200)
        with Tap(lab, bridge.spaces[0], "eth0") as dev, Tap(lab, bridge.spaces[1], "eth0") as cloud:
            for _ in range(POLLS_WITHOUT_INTERRUPT):
                for sender, receiver, addresses in ((dev, cloud, THERE), (cloud, dev, BACK)):
                    wakeup(g, 3)
                    receiver.clear()
                    send(sender, receiver, long_frames(addresses, mtu)[:1])
            row = row_of(g, bridge.names, dev, cloud, mtu)
        assert ("NIC does not send receive interrupts" in g.log.read_text()) == (row["Wakeup"] == "naps")
        check_row({"Driver": DRIVERS[kind], "Largest MTU": str(mtu), **row})
