# SPDX-License-Identifier: BSD-3-Clause
"""The peer in the same test: two servers, each with mosquitto and an application that decides, and keepalived moves their
address (VRRP). Devices, servers and the edge broker are on one segment."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from faults import FAULTS, nothing
from lab import Lab, wait_until

VIRTUAL, EDGE = "10.30.0.100", "10.30.0.3"
HOSTS = {"dev": 1, "edge": 3, "srv1": 11, "srv2": 12}
SERVERS = ("srv1", "srv2")
ADVERTISEMENT = float(os.environ.get("BP_BFD_MS", "100")) / 1000  # the other server begins after three of them

KEEPALIVED = """
global_defs {{
	router_id {name}
	script_user root
	enable_script_security
	vrrp_version 3
	vrrp_garp_master_delay 1
}}
vrrp_script broker {{
	script "/usr/bin/timeout 1 /bin/bash -c '</dev/tcp/127.0.0.1/1883'"
	interval 1
	fall 1
	rise 1
}}
vrrp_instance fleet {{
	state BACKUP
	interface eth0
	virtual_router_id 30
	priority {priority}
	advert_int {advertisement}
	virtual_ipaddress {{
		{address}/24 dev eth0
	}}
	track_script {{
		broker
	}}
}}
"""
MOSQUITTO = """user root
listener 1883
allow_anonymous true
set_tcp_nodelay true
max_queued_messages 0
max_inflight_messages 1000
persistence false
"""


class PeerLab(Lab):
    kafka = None
    names, broker = ["srv1"], VIRTUAL  # the server that has the address when nothing is wrong

    def __init__(self, name):
        super().__init__(name)
        self.processes = {}

    def start(self):
        self.down()  # remains of a killed run
        self.state.mkdir(parents=True)
        self._ip("netns", "add", f"{self.prefix}sw")
        self.run("sw", "ip", "link", "add", "br0", "type", "bridge")
        self.run("sw", "ip", "link", "set", "br0", "up")
        for ns, n in HOSTS.items():
            self._ip("netns", "add", self.prefix + ns)
            self._ip("link", "add", "eth0", "netns", self.prefix + ns, "type", "veth", "peer", "name", ns, "netns", f"{self.prefix}sw")
            self.run("sw", "ip", "link", "set", "dev", ns, "master", "br0", "up")
            self.run(ns, "ip", "link", "set", "lo", "up")
            self.run(ns, "ip", "addr", "add", f"10.30.0.{n}/24", "dev", "eth0")
            self.run(ns, "ip", "link", "set", "eth0", "up")
        self._broker("edge")
        for srv in SERVERS:
            self.begin(srv)
        wait_until("srv1 to have the address", lambda: self.owner() == ["srv1"], 30)

    def stop(self):
        spaces = [ns for ns in (*HOSTS, "sw") if Path(f"/run/netns/{self.prefix}{ns}").exists()]
        for ns in spaces:
            for pid in subprocess.run(["ip", "netns", "pids", self.prefix + ns], stdout=subprocess.PIPE, check=False, text=True).stdout.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for p in (p for ps in self.processes.values() for p in ps):
            p.wait()
        self.processes = {}
        for ns in spaces:
            self._ip("netns", "del", self.prefix + ns)
        shutil.rmtree(self.state, ignore_errors=True)

    def _ip(self, *args):
        subprocess.run(["ip", *args], check=True)

    # ------------------------------------------------------------ servers

    def begin(self, srv):
        self._broker(srv)
        self._start(srv, sys.executable, Path(__file__).with_name("peer_app.py"), "127.0.0.1", EDGE)
        conf = self.state / f"keepalived-{srv}.conf"
        conf.write_text(KEEPALIVED.format(name=srv, priority=150 if srv == "srv1" else 100, advertisement=ADVERTISEMENT, address=VIRTUAL))
        self._start(srv, "keepalived", "-n", "-l", "-f", conf, "-p", self.state / f"keepalived-{srv}.pid", "-r", self.state / f"vrrp-{srv}.pid")

    def _broker(self, ns):
        conf = self.state / "mosquitto.conf"
        conf.write_text(MOSQUITTO)
        self._start(ns, "mosquitto", "-c", conf)
        wait_until(f"the broker of {ns}", lambda: b":1883 " in self.run(ns, "ss", "-tlnH").stdout)

    def _start(self, ns, *argv):
        with (self.state / f"{ns}.log").open("ab") as log:
            self.processes.setdefault(ns, []).append(self.popen(ns, *argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def owner(self):
        return [s for s in SERVERS if VIRTUAL in self.run(s, "ip", "-4", "addr", "show", "dev", "eth0").stdout.decode()]

    def signal(self, srv, number, which=None):
        """To all processes of the server, or only one: 0 the broker, 1 the application, 2 keepalived."""
        processes = self.processes[srv] if which is None else [self.processes[srv][which]]
        pids = [p.pid for p in processes]
        if which is None:  # keepalived has a process for VRRP
            pids += map(int, subprocess.run(["ps", "-o", "pid=", "--ppid", str(pids[2])], stdout=subprocess.PIPE, check=False, text=True).stdout.split())
        for pid in pids:
            os.kill(pid, number)

    # ------------------------------------------------------------ the views of a fleet that a round reads

    def inspected(self, prefix):
        return None

    def connections(self, srv):
        return {}

    def status(self, srv):
        return None


def kill_server(lab, srv):
    lab.signal(srv, signal.SIGKILL)
    for p in lab.processes.pop(srv):
        p.wait()


def start_server(lab, srv):
    lab.run(srv, "ip", "addr", "del", f"{VIRTUAL}/24", "dev", "eth0", check=False)  # a dead keepalived has left it; a reboot does not
    lab.begin(srv)
    wait_until(f"{srv} to have the address", lambda: srv in lab.owner(), 30)


def kill_broker(lab, srv):
    """A service manager starts it again."""
    lab.signal(srv, signal.SIGKILL, 0)
    lab.processes[srv][0].wait()
    others = lab.processes[srv][1:]
    lab.processes[srv] = []
    lab._broker(srv)  # noqa: SLF001
    lab.processes[srv] += others


def settled(lab, srv):
    wait_until(f"{srv} to have the address alone", lambda: lab.owner() == [srv], 30)


def stop_server(lab, srv):
    lab.signal(srv, signal.SIGSTOP)


def continue_server(lab, srv):
    lab.signal(srv, signal.SIGCONT)
    settled(lab, srv)


def stop_application(lab, srv):
    lab.signal(srv, signal.SIGSTOP, 1)


def continue_application(lab, srv):
    lab.signal(srv, signal.SIGCONT, 1)


def link_down(lab, srv):
    lab.run("sw", "ip", "link", "set", "dev", srv, "down")


def link_up(lab, srv):
    lab.run("sw", "ip", "link", "set", "dev", srv, "up")
    settled(lab, srv)


# Its connections do not move: they are reset.
PEER_FAULTS = {name: replace(FAULTS[name], inject=inject, heal=heal, moves=False) for name, inject, heal in (
    ("none", nothing, nothing),
    ("kill-planes", kill_server, start_server),
    ("kill-dataplane", kill_broker, settled),
    ("stop", stop_server, continue_server),
    ("stop-controlplane", stop_application, continue_application),
    ("link-down", link_down, link_up),
)}
