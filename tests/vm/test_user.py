# SPDX-License-Identifier: BSD-3-Clause
"""NICs under vfio-pci for a user that is not root, as the units start the planes: behind an IOMMU it takes no capability."""

import os
import random
import re
from pathlib import Path

import pytest

from conftest import _gateways
from frames import LOCAL_ETHERTYPE, ethernet
from service import DATA, Service
from wire import behind, bridge_of, carries, port


@pytest.fixture
def groups_of_the_data_plane(lab):
    """Applies the udev rule of install/, as at boot."""
    nodes = [Path("/dev/vfio/vfio")]
    for nic in bridge_of(lab, "e1000e").nics:
        nodes.append(Path("/dev/vfio", Path(f"/sys/bus/pci/devices/{nic.address}/iommu_group").resolve().name))
    before = [n.stat() for n in nodes]
    for n in nodes:
        os.chown(n, 0, DATA)
        n.chmod(0o660)
    yield
    for n, st in zip(nodes, before, strict=True):
        os.chown(n, st.st_uid, st.st_gid)
        n.chmod(st.st_mode & 0o7777)


def test_veth_without_any_capability(lab, groups_of_the_data_plane):
    bridge = bridge_of(lab, "e1000e", joined=False)
    service = Service(lab, {"ports": [{"name": name, "device": nic.address}
                                      for name, nic in zip(bridge.names, bridge.nics, strict=True)],
                            "bridges": [{"name": "bridge0", "ports": list(bridge.names)}], "mqtt": {"spool": {}}})
    _gateways.append(service)
    try:
        with behind(lab, bridge):
            service.start(edge=False)
            status = Path(f"/proc/{service.planes['dataplane'].pid}/status").read_text()
            assert re.search(r"^Uid:\s+(\d+)", status, re.M)[1] == str(DATA)
            for which in ("CapEff", "CapPrm", "CapAmb"):
                assert int(re.search(rf"^{which}:\s*(\w+)", status, re.M)[1], 16) == 0, status
            assert all(port(service, name)["link_up"] for name in bridge.names)
            rng = random.Random(4)
            for sender, receiver, addresses in bridge.ways:
                carries(lab, [ethernet(*addresses, LOCAL_ETHERTYPE, rng.randbytes(n)) for n in (46, 100, 777, 1500)],
                        sender, receiver, addresses)
            assert service.balanced()["drops"] == 0
    finally:
        _gateways.remove(service)
        service.stop()
