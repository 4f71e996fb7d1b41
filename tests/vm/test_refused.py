# SPDX-License-Identifier: BSD-3-Clause
"""NICs that biplane cannot have: it says so before it starts anything, and what to do."""

import json
from pathlib import Path

from conftest import running
from guest import pci
from lab import BIPLANE
from wire import bridge_of


def refused(lab, folder, device):
    """The immediate error message of `biplane run` for a port on this device."""
    folder.mkdir(exist_ok=True)
    (folder / "biplane.yaml").write_text(json.dumps({"version": 1,
        "name": "refused", "runtime": {"directory": str(folder)}, "poll_mode": "adaptive",
        "ports": [{"name": "lan", "device": device, "routed": {"addresses": ["10.9.0.1/24"], "host_interface": {"backend": "off"}}}]}))
    p = lab.run("gw", BIPLANE, "run", "-c", folder / "biplane.yaml", check=False)
    assert p.returncode not in (0, None)
    return p.stdout.decode()


def test_nic_with_a_kernel_driver(lab, tmp_path):
    address = pci(1)  # of a partner
    said = refused(lab, tmp_path, address)
    assert f"PCI device {address} is bound to the kernel's driver virtio-pci" in said, said
    assert f"biplane doctor --fix --nic {address}" in said


def test_nic_without_driver(lab, tmp_path):
    address = lab.of_kind("e1000e")[0].address
    driver = Path("/sys/bus/pci/drivers/vfio-pci")
    override = Path("/sys/bus/pci/devices", address, "driver_override")
    (driver / "unbind").write_text(address)
    try:
        said = refused(lab, tmp_path, address)
        assert f"PCI device {address} is bound to no driver" in said, said
    finally:
        override.write_text("vfio-pci\n")
        (driver / "bind").write_text(address)
        override.write_text("\n")


def test_missing_nic(lab, tmp_path):
    said = refused(lab, tmp_path, "0000:7f:1f.7")
    assert "this machine has no PCI device 0000:7f:1f.7" in said, said


def test_nic_of_another_gateway(lab, tmp_path):
    """The one that has it continues."""
    bridge = bridge_of(lab, "virtio", joined=False)
    config = {"ports": [{"name": n, "device": nic.address} for n, nic in zip(bridge.names, bridge.nics, strict=True)],
              "bridges": [{"name": "bridge0", "ports": list(bridge.names)}]}
    with running(lab, tmp_path / "first", config) as g:
        said = refused(lab, tmp_path / "second", bridge.nics[0].address)
        assert "is it used by another process" in said, said
        assert all(p["running"] for p in g.status()["planes"])
