# SPDX-License-Identifier: BSD-3-Clause
"""The guest that scripts/vm boots, as a laboratory: its NICs, one of each pair for biplane and one for the kernel of a
namespace, and QEMU's monitor. It uses modules of tests/e2e."""

import os
import select
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab import Lab, wait_until

FIRST_SLOT = 8  # as scripts/vm has it
KINDS = ("e1000e", "vmxnet3", "virtio")
SPACES = ("gw", "dev", "cloud", "edge", "wan", *(f"{side}-{kind}" for kind in KINDS for side in ("dev", "cloud")))
MODULES = ("vfio-pci", "virtio_net", "vhost_net", "tun", "8021q", "vrf", "veth", "bridge", "sch_netem")
HUGEPAGES = 400  # of 2 MiB


@dataclass(frozen=True)
class Nic:
    """One pair: `address` is bound to vfio-pci, for biplane; `partner` is an interface of the kernel."""
    kind: str
    number: int
    partner: str

    @property
    def address(self):
        return pci(2 * self.number)

    @property
    def mac(self):
        """The partner's."""
        return f"52:54:00:00:{self.number:02x}:02"

    @property
    def monitor_name(self):
        return f"nic{2 * self.number}"


def pci(n):
    """The address of a NIC: at this slot, or behind the root port that is there."""
    slot = f"0000:00:{FIRST_SLOT + n:02x}.0"
    behind = list(Path(f"/sys/bus/pci/devices/{slot}").glob("0000:??:00.0"))
    return behind[0].name if behind else slot


def call(*argv):
    p = subprocess.run(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                       stdin=subprocess.DEVNULL)
    assert p.returncode == 0, f"{' '.join(map(str, argv))}: {p.stdout}"
    return p.stdout


class Monitor:
    """QEMU's, by the serial port that scripts/vm connects to it."""

    def __init__(self):
        name = next(p.parent.name for p in Path("/sys/class/virtio-ports").glob("*/name") if p.read_text().strip() == "monitor")
        self.fd = os.open(f"/dev/{name}", os.O_RDWR)
        self._until_prompt()

    def _until_prompt(self):
        text = b""
        while not text.endswith(b"(qemu) "):
            assert select.select([self.fd], [], [], 20)[0], f"QEMU's monitor does not answer; it said {text!r}"
            text += os.read(self.fd, 4096)
        return text.decode(errors="replace")

    def command(self, line):
        os.write(self.fd, line.encode() + b"\n")
        answer = self._until_prompt()
        assert "Error" not in answer and "unknown" not in answer, f"QEMU's monitor says of {line}: {answer}"


class GuestLab(Lab):
    def __init__(self):
        super().__init__("vm")
        self.nics, self.links, self.brokers = [], [], {}

    def up(self, *args):
        self.state.mkdir()
        call("modprobe", "-a", *MODULES)
        call("sysctl", "-qw", f"vm.nr_hugepages={HUGEPAGES}")
        kinds = os.environ["VM_NICS"].split()
        # As the README describes it: the peer ports stay with the kernel.
        call("dpdk-devbind.py", "-b", "vfio-pci", *(pci(2 * n) for n in range(len(kinds))))
        for n, kind in enumerate(kinds):
            there = list(Path(f"/sys/bus/pci/devices/{pci(2 * n + 1)}").glob("virtio*/net/*"))
            assert len(there) == 1, f"the kernel has no interface of {pci(2 * n + 1)}"
            call("ip", "link", "set", there[0].name, "name", f"partner{n}")
            self.nics.append(Nic(kind, n, f"partner{n}"))
        for ns in SPACES:
            call("ip", "netns", "add", self.prefix + ns)
            self.ip(ns, "link", "set", "lo", "up")
            # Unsolicited packets of the kernels are not part of the tests.
            self.run(ns, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1", "net.ipv6.conf.default.accept_dad=0",
                     "net.ipv6.conf.default.router_solicitations=0")
        self.monitor = Monitor()

    def down(self):
        for p in self.brokers.values():
            p.terminate()
            p.wait()

    def of_kind(self, kind):
        nics = [n for n in self.nics if n.kind == kind]
        assert nics, f"the guest has no NIC {kind}; VM_NICS is {os.environ['VM_NICS']}"
        return nics

    def ip(self, ns, *args, check=True):
        return self.run(ns, "ip", *args, check=check).stdout.decode()

    def give(self, ns, nic, name="eth0", mac=None, mtu=1500, addresses=()):
        """The NIC's partner becomes interface `name` of a namespace; take() gives it back."""
        call("ip", "link", "set", nic.partner, "netns", self.prefix + ns, "name", name)
        self.links.append((ns, name, nic.partner))
        if any(":" in a for a in addresses):
            self.run(ns, "sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=0")
        # Promiscuous, because the tests send to MACs that no one has, and look whether it arrives.
        self.ip(ns, "link", "set", name, "mtu", mtu, "promisc", "on", "address", mac or nic.mac, "up")
        # The default fq_codel lets frames overtake each other.
        self.run(ns, "tc", "qdisc", "replace", "dev", name, "root", "pfifo", "limit", "10000")
        for a in addresses:
            self.ip(ns, "addr", "add", a, "dev", name, *(["nodad"] if ":" in a else []))

    def take(self):
        """All partners back, without anything that they were given."""
        while self.links:
            ns, name, partner = self.links.pop()
            self.ip(ns, "addr", "flush", "dev", name)
            self.ip(ns, "link", "set", name, "down", "promisc", "off", "nomaster")
            self.ip(ns, "link", "set", name, "netns", "1", "name", partner)

    def broker(self, ns, action="start"):
        """A mosquitto there, for the rest of the session."""
        assert action == "start"
        if ns in self.brokers:
            return
        folder = self.state / f"broker-{ns}"
        folder.mkdir()
        (folder / "mosquitto.conf").write_text(
            "user root\nlistener 1883\nallow_anonymous true\nset_tcp_nodelay true\nmax_queued_messages 0\n")
        with (folder / "log").open("ab") as log:
            self.brokers[ns] = self.popen(ns, "mosquitto", "-c", folder / "mosquitto.conf", stdout=log, stderr=log,
                                          stdin=subprocess.DEVNULL)
        wait_until(f"the broker in {ns}", lambda: b":1883 " in self.run(ns, "ss", "-tlnH").stdout)

    def link(self, nic, up):
        """The cable of biplane's NIC, plugged or pulled out."""
        self.monitor.command(f"set_link {nic.monitor_name} {'on' if up else 'off'}")
