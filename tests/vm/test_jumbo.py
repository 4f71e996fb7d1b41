# SPDX-License-Identifier: BSD-3-Clause
"""Frames that are longer than a buffer."""

import random

import pytest

from frames import LOCAL_ETHERTYPE, ethernet
from guest import KINDS
from lab import CLOUD
from wire import bridges, carries, offload, port


@pytest.fixture(scope="module")
def gateway(lab, tmp_path_factory):
    with bridges(lab, tmp_path_factory.mktemp("jumbo"), mtu=9000) as g:
        yield g


@pytest.mark.parametrize("kind", KINDS)
def test_jumbo_frames(lab, gateway, kind):
    """An MTU of 9,000 bytes: frames of every length up to it arrive, whether the driver scatters them over buffers or not."""
    bridge = gateway.bridges[kind]
    rng = random.Random(9)
    assert all(port(gateway, name)["mtu"] == 9000 for name in bridge.names)
    assert offload(gateway, bridge.names[0], "rx_scatter") == ("software" if kind == "vmxnet3" else "hardware")
    sizes = [*range(1490, 9000, 613), 1500, 1501, 2048 - 14, 2049 - 14, 4096, 8999, 9000]
    for sender, receiver, addresses in bridge.ways:
        frames = [ethernet(*addresses, LOCAL_ETHERTYPE, rng.randbytes(n)) for n in sizes]
        frames += [ethernet(*addresses, LOCAL_ETHERTYPE, rng.randbytes(n), [(0x8100, 7)]) for n in (1500, 5000, 9000)]
        carries(lab, frames, sender, receiver, addresses)
    p = lab.run(bridge.spaces[0], "ping", "-n", "-M", "do", "-s", 8972, "-i", "0.1", "-c", 3, CLOUD, check=False)
    assert p.returncode == 0, p.stdout
    assert gateway.balanced()["drops"] == 0
