# SPDX-License-Identifier: BSD-3-Clause
"""biplane doctor on real (emulated) NICs: what --fix does, --undo takes back, also when it was killed. Each test
gives the NICs back to whom it found them with, so that it may run next to the others."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from guest import call, pci

BIPLANE = os.environ.get("BIPLANE", "biplane")
PAGES = Path("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages")
JOURNAL = Path("/run/biplane-doctor.journal")
DRIVERS = {"e1000e": "e1000e", "vmxnet3": "vmxnet3"}


def doctor(*args, env=None):
    return subprocess.run([BIPLANE, "doctor", *args], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(env or {})})


def undo():
    """Again while a modprobe of a fix that was killed is still at work."""
    while (undone := doctor("--undo")).returncode == 69 and "is running" in undone.stderr:
        time.sleep(0.1)
    return undone


def device(address):
    return Path("/sys/bus/pci/devices") / address


def driver(address):
    link = device(address) / "driver"
    return link.resolve().name if link.exists() else None


def interface(address):
    names = [p.name for p in device(address).glob("net/*")]
    return names[0] if names else None


def is_up(name):
    return int(Path(f"/sys/class/net/{name}/flags").read_text(), 16) & 1


def bind(address, to):
    (device(address) / "driver_override").write_text("\n" if to != "vfio-pci" else to)
    if driver(address):
        (device(address) / "driver/unbind").write_text(address)
    Path("/sys/bus/pci/drivers_probe").write_text(address)
    assert driver(address) == to


def state(addresses):
    """All that a fix may change."""
    override = {a: (device(a) / "driver_override").read_text().strip() for a in addresses}
    links = {a: (interface(a), is_up(interface(a)) if interface(a) else None) for a in addresses}
    modules = sorted(m for m in ("vfio", "vfio_pci", "vfio_iommu_type1", "vhost_net", "tun") if Path("/sys/module", m).exists())
    return {"drivers": {a: driver(a) for a in addresses}, "override": override, "links": links, "modules": modules,
            "pages": PAGES.read_text().strip(), "journal": JOURNAL.exists()}


@pytest.fixture
def nics():
    """Two NICs of different drivers, with the kernel; the first one is up."""
    kinds = os.environ["VM_NICS"].split()
    found = [(pci(2 * n), DRIVERS[kinds[n]]) for n in {kinds.index(k): k for k in DRIVERS if k in kinds}]
    assert len(found) == 2, f"the guest's NICs are {kinds}"
    had = {a: driver(a) for a, _ in found}
    for address, its_own in found:
        call("modprobe", its_own)
        if driver(address) != its_own:
            bind(address, its_own)
    call("ip", "link", "set", interface(found[0][0]), "up")
    yield [a for a, _ in found]
    assert not JOURNAL.exists()
    for address, before in had.items():
        if before == "vfio-pci":
            bind(address, before)


def fix_arguments(nics):
    pages = int(PAGES.read_text()) + 20
    return ["--fix", "--yes", "--hugepages", str(pages), *(w for a in nics for w in ("--nic", a))]


def test_fix_and_undo(nics):
    before = state(nics)
    grades = {n["address"]: n["grade"] for n in json.loads(doctor("--json").stdout)["nics"]}
    assert [grades[a] for a in nics] == ["safe", "safe"]
    fixed = doctor(*fix_arguments(nics))
    assert fixed.returncode == 0, fixed.stderr
    assert [driver(a) for a in nics] == ["vfio-pci", "vfio-pci"]
    assert int(PAGES.read_text()) == int(before["pages"]) + 20
    report = json.loads(doctor("--json").stdout)
    grades = {n["address"]: n["grade"] for n in report["nics"]}
    assert [grades[a] for a in nics] == ["bound", "bound"]
    items = {i["item"]: i["verdict"] for i in report["items"]}
    assert [items[i] for i in ("IOMMU", "vfio-pci", "vhost-net", "tun", "NICs")] == ["ok"] * 5
    undone = doctor("--undo")
    assert undone.returncode == 0, undone.stderr
    assert state(nics) == before


def test_the_default_route_and_ssh_stay(nics):
    name = interface(nics[0])
    before = state(nics)
    call("ip", "address", "add", "198.18.7.1/24", "dev", name)
    try:
        ssh = doctor(*fix_arguments(nics), "--force", env={"SSH_CONNECTION": "198.18.7.9 50000 198.18.7.1 22"})
        call("ip", "route", "add", "default", "via", "198.18.7.2", "dev", name, "table", "77")
        route = doctor(*fix_arguments(nics), "--force")
    finally:
        call("ip", "address", "flush", "dev", name)
    assert ssh.returncode == 1 and f"{name} carries an SSH session (from 198.18.7.9)" in ssh.stderr
    assert route.returncode == 1 and f"{name} carries the default route (IPv4, table 77)" in route.stderr
    assert state(nics) == before


def test_a_fix_that_is_killed(nics):
    """Killed at any step: each step in the journal is started, completed or neither."""
    before = state(nics)
    steps = set()
    for wanted in (2, 4, 7):  # lines of the journal: its head, and a step each
        with subprocess.Popen([BIPLANE, "doctor", *fix_arguments(nics)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              stdin=subprocess.DEVNULL) as p:
            while p.poll() is None and (not JOURNAL.exists() or JOURNAL.read_text().count("\n") <= wanted):
                time.sleep(0.001)
            p.send_signal(signal.SIGKILL)
        steps.add(JOURNAL.read_text().count("\n"))
        undone = undo()
        assert undone.returncode == 0, undone.stderr
        assert state(nics) == before
    assert len(steps) >= 2, steps


def test_undo_does_not_block(nics):
    """A NIC that a program has open would keep the kernel waiting."""
    before = state(nics)
    assert doctor(*fix_arguments(nics)).returncode == 0
    group = (device(nics[1]) / "iommu_group").resolve().name
    with Path("/dev/vfio", group).open("r+b", buffering=0):
        refused = doctor("--undo")
        assert refused.returncode == 71 and f"process {os.getpid()}" in refused.stderr
        assert driver(nics[1]) == "vfio-pci"
    assert doctor("--undo").returncode == 0
    assert state(nics) == before
