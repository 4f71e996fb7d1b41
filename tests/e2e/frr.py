# SPDX-License-Identifier: BSD-3-Clause
"""FRR in a namespace of the laboratory: its daemons, sockets and files in a folder of their own."""

import grp
import json
import os
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

from lab import wait_until

DAEMONS = Path("/usr/lib/frr")


class Frr:
    """zebra and the given daemons in `ns`, with an integrated frr.conf."""

    def __init__(self, lab, ns, daemons, config):
        self.lab, self.ns = lab, ns
        user, group = pwd.getpwnam("frr"), grp.getgrnam("frr")
        # FRR gives up root: its sockets are in a folder of its user. `scripts/lab down` removes it, too.
        self.dir = lab.state / f"frr-{ns}"
        shutil.rmtree(self.dir, ignore_errors=True)
        self.dir.mkdir(mode=0o755)
        os.chown(self.dir, user.pw_uid, group.gr_gid)
        (self.dir / "frr.conf").write_text(config)
        (self.dir / "vtysh.conf").touch()
        self.processes = {}
        try:
            for d in ("zebra", *daemons):
                self._start(d)
            self.vtysh("-b")
        except BaseException:
            self.dump()
            self.stop()
            raise

    def _start(self, daemon):
        # Port 0: no telnet. zebra's Netlink buffer in bytes, for 100,000 routes at a time.
        more = ["-s", "90000000"] if daemon == "zebra" else []
        with (self.dir / f"{daemon}.log").open("ab") as log:
            self.processes[daemon] = self.lab.popen(
                self.ns, DAEMONS / daemon, "-u", "frr", "-g", "frr", "--vty_socket", self.dir,
                "-z", self.dir / "zserv.api", "-i", self.dir / f"{daemon}.pid", "-f", "/dev/null", "-P", "0",
                "--log", "stdout", "--log-level", "informational", *more, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        socket = self.dir / ("zserv.api" if daemon == "zebra" else f"{daemon}.vty")

        def ready():
            assert self.processes[daemon].poll() is None, f"{daemon} ended: {(self.dir / f'{daemon}.log').read_text()[-2000:]}"
            return socket.exists() and (self.dir / f"{daemon}.vty").exists()
        wait_until(f"{daemon} in {self.ns}", ready)

    def vtysh(self, *args):
        p = self.lab.run(self.ns, "vtysh", "--vty_socket", self.dir, "--config_dir", self.dir, *args)
        return p.stdout.decode()

    def show(self, what):
        text = self.vtysh("-c", f"show {what} json")
        return json.loads(text)

    def configure(self, *lines):
        self.vtysh("-c", "configure terminal", *(x for line in lines for x in ("-c", line)))

    def ospf_full(self, address):
        """Whether the OSPF neighbor with that interface address is adjacent; then for how long, in ms."""
        for n in (n for ns in self.show("ip ospf neighbor")["neighbors"].values() for n in ns):
            # 8.4 calls it ifaceAddress and nbrState, later versions also address.
            if n.get("ifaceAddress", n.get("address")) == address and n.get("nbrState", n.get("state")).startswith("Full"):
                return n
        return None

    def bgp_peer(self, address, family="ipv4Unicast"):
        return self.show("bgp summary").get(family, {}).get("peers", {}).get(address)

    def bgp_up(self, address):
        p = self.bgp_peer(address)
        return p and p["state"] == "Established" and p

    def stop(self):
        for p in reversed(self.processes.values()):
            if p.poll() is None:
                p.send_signal(signal.SIGTERM)
        for p in self.processes.values():
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def dump(self):
        for log in sorted(self.dir.glob("*.log")):
            print(f"----- {log.name} in {self.ns}\n{log.read_text()[-1500:]}")
