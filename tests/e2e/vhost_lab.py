# SPDX-License-Identifier: BSD-3-Clause
"""A gateway between two testpmds, over real virtio and vhost drivers in user space."""

import json
import os
import subprocess

from lab import BIPLANE

class Peer:
    """A testpmd that obeys commands from a file, then from here."""

    def __init__(self, directory, name, commands, *devices):
        (directory / f"{name}.cmd").write_text(commands)
        cpu = min(os.sched_getaffinity(0))
        self.log = directory / f"{name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["dpdk-testpmd", "--no-huge", "-m", "256", "--no-pci", "--no-shconf", "--no-telemetry",
                 f"--lcores=0@{cpu},1@{cpu}", *(a for d in devices for a in ("--vdev", d)),
                 "--", "-i", "--total-num-mbufs=4096", "--no-flush-rx", f"--cmdline-file={directory / f'{name}.cmd'}"],
                stdin=subprocess.PIPE, stdout=log, stderr=log)

    def tell(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def ready(self):
        return "testpmd>" in self.log.read_text()

    def stop(self):
        if self.process.poll() is None:
            try:
                self.process.communicate(b"stop\nquit\n", 60)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()


class Gateway:
    """A data plane that bridges two such ports, a and b."""

    def __init__(self, directory, a, b, **more):
        self.file = directory / "c.yaml"
        self.file.write_text(json.dumps({"version": 1,
            "name": f"vhost-{os.getpid()}",
            "runtime": {"directory": str(directory), "hugepages": "never", "memory": "128MiB"}, "poll_mode": "adaptive",
            "ports": [{"name": "a", **a}, {"name": "b", **b}], "bridges": [{"name": "bridge0", "ports": ["a", "b"]}], **more}))
        self.log = directory / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([BIPLANE, "dataplane", "-c", self.file], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)

    def show(self, view):
        assert self.process.poll() is None, self.log.read_text()
        p = subprocess.run([BIPLANE, "show", view, "-c", self.file, "--json"], stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.PIPE, check=False, timeout=60)
        return json.loads(p.stdout) if p.returncode == 0 else None

    def ports(self):
        view = self.show("ports")
        return {p["name"]: p for p in view["ports"]} if view else {}

    def counted(self):
        return {c["name"]: c["count"] for c in self.show("counters")["counters"] if c["count"]}

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)


def far_end(directory):
    """Writes what comes through out.sock to out.pcap, once stopped."""
    return Peer(directory, "far", "set fwd io\nstart\n", f"net_vhost0,iface={directory / 'out.sock'}",
                f"net_pcap1,tx_pcap={directory / 'out.pcap'}")


def virtio(directory, name, number=0):
    return f"net_virtio_user{number},path={directory / name},mrg_rxbuf=1"
