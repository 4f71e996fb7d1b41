# SPDX-License-Identifier: BSD-3-Clause
"""The proof that the planes are two: either is killed while routes change and packets flow."""

import os
import signal
import socket
import threading
import time

from churn import Field, kill_control_plane
from lab import wait_until
from router_lab import RIGHT, SIDES, only_biplane, pause, send_all, traffic

KILLS = int(os.environ.get("BP_KILLS", "10"))


def test_routes_change_under_traffic(routed_lab, router):
    """No packet is lost, doubled or sent where neither the old nor the new table says."""
    with Field(routed_lab, seed=3) as f:
        f.begin(router)
        pause(3)
        sent, changes = f.finish()
        assert sent > 5000 and changes > 2000
        router.settled()
        print(f"{changes} changes, {sent} packets")
    router.settled()


@only_biplane
def test_control_plane_killed_while_routes_change(routed_lab, router):
    data_plane = router.plane("data plane")
    with Field(routed_lab) as f:
        f.begin(router)
        took = kill_control_plane(router, f, KILLS)
        sent, changes = f.finish()
        print(f"{KILLS} kills, {changes} changes, {sent} packets; tables equal after {max(took):.2f} s at most")
    assert router.plane("data plane")["pid"] == data_plane["pid"]
    router.settled()
    router.balanced()


def started(pid):
    """When a process began, on the clock of time.clock_gettime(CLOCK_BOOTTIME), to 10 ms."""
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")


class Beats:
    """A packet every 2 ms from left to right, and when each arrived."""

    def __init__(self, lab):
        with lab.inside("right"):
            self.taker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.taker.bind((RIGHT, 0))
        with lab.inside("left"):
            self.giver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.taker.settimeout(0.1)
        self.times, self.stop = [], threading.Event()
        self.threads = [threading.Thread(target=t, daemon=True) for t in (self.give, self.take)]
        for t in self.threads:
            t.start()

    def give(self):
        while not self.stop.wait(0.002):
            self.giver.sendto(b"beat", self.taker.getsockname())

    def take(self):
        while not self.stop.is_set():
            try:
                self.taker.recv(16)
                self.times.append(time.clock_gettime(time.CLOCK_BOOTTIME))
            except TimeoutError:
                pass

    def close(self):
        self.stop.set()
        for t in self.threads:
            t.join()
        self.taker.close()
        self.giver.close()


def kernel_state(lab):
    links = {s: lab.ip_json("gw", "link", "show", "dev", s)[0] for s in SIDES}
    return ({s: (i["ifindex"], i["address"], "UP" in i["flags"]) for s, i in links.items()},
            lab.ip("gw", "route", "show"), lab.ip("gw", "-6", "route", "show"),
            {s: sorted(a["local"] for a in lab.ip_json("gw", "addr", "show", "dev", s)[0]["addr_info"]) for s in SIDES})


@only_biplane
def test_data_plane_killed(routed_lab, router):
    """Forwarding is back from the tables as they were, while the control plane can do nothing."""
    lab = routed_lab
    lab.ip("gw", "route", "add", "30.0.0.0/8", "via", RIGHT)
    lab.ip("right", "route", "replace", "local", "30.0.0.0/8", "dev", "lo")
    beats = None
    try:
        router.settled()
        lab.pings("left", RIGHT)
        before, old = kernel_state(lab), router.plane("data plane")["pid"]
        control_plane = router.plane("control plane")["pid"]
        beats = Beats(lab)
        wait_until("packets to arrive", lambda: len(beats.times) > 50)
        os.kill(control_plane, signal.SIGSTOP)
        try:
            killed = time.clock_gettime(time.CLOCK_BOOTTIME)
            os.kill(old, signal.SIGKILL)
            new = wait_until("the data plane to be restarted",
                             lambda: (p := router.try_status()) and (q := next(
                                 x for x in p["planes"] if x["plane"] == "data plane"))["pid"] != old and q["running"] and q["pid"], 30)
            back = wait_until("packets to arrive again", lambda: next(
                (t for t in list(beats.times) if t > started(new)), None), 30)
        finally:
            os.kill(control_plane, signal.SIGCONT)
        print(f"forwarding was back {back - started(new):.3f} s after the new data plane began, {back - killed:.3f} s after the kill")
        assert kernel_state(lab) == before, "the kernel's interfaces, addresses or routes are not what they were"
        send_all(lab, "left", ["30.1.2.3"], ("right",), 100, rate=2000).check_all_arrived()
        router.settled()
        lab.pings("left", RIGHT)
        for side in SIDES:
            lab.pings(side, f"10.{SIDES[side]}.0.1")
    finally:
        if beats:
            beats.close()
        lab.ip("gw", "route", "del", "30.0.0.0/8", check=False)
        lab.ip("right", "route", "del", "local", "30.0.0.0/8", "dev", "lo", check=False)
    router.settled()


@only_biplane
def test_both_planes_killed(routed_lab, router):
    lab = routed_lab
    router.kill_plane("control plane")
    router.kill_plane("data plane")
    wait_until("forwarding to be back", lambda: lab.pings("left", RIGHT, check=False, count=1), 20)
    router.settled()
    for side in SIDES:
        lab.pings(side, f"10.{SIDES[side]}.0.1")


@only_biplane
def test_netlink_overrun(routed_lab, router):
    """The control plane is stopped while 150,000 changes are made, so the kernel drops events: it must
    read everything again, without ever emptying the tables under the traffic."""
    lab = routed_lab
    prefixes = [f"54.{i >> 8 & 255}.{i & 255}.{(i >> 16) << 7}/25" for i in range(100000)]
    lab.ip("gw", "route", "add", "55.0.0.0/8", "via", RIGHT)
    lab.ip("right", "route", "replace", "local", "55.0.0.0/8", "dev", "lo")
    control_plane = router.plane("control plane")["pid"]
    try:
        router.settled()
        with traffic(lab, "left", ["55.0.0.1", RIGHT], ("right",), rate=5000) as t:
            os.kill(control_plane, signal.SIGSTOP)
            try:
                lab.batch("gw", [f"route add {p} via {RIGHT}" for p in prefixes])
                lab.batch("gw", [f"route del {p}" for p in prefixes[::2]])
            finally:
                os.kill(control_plane, signal.SIGCONT)
            began = time.monotonic()
            router.settled(30)
            print(f"read anew in {time.monotonic() - began:.2f} s")
            t.finish()
        t.check_all_arrived()
        assert router.plane("control plane")["pid"] == control_plane
    finally:
        for p in ("54.0.0.0/8", "55.0.0.0/8"):
            lab.ip("gw", "route", "flush", "root", p, check=False)
        lab.ip("right", "route", "del", "local", "55.0.0.0/8", "dev", "lo", check=False)
    router.settled(30)


@only_biplane
def test_kernel_interface_removed(routed_lab, router):
    """It is back with its addresses and the MAC of its port, and forwards and answers, without a restart."""
    lab = routed_lab
    before, pids = kernel_state(lab), [router.plane(p)["pid"] for p in ("data plane", "control plane")]
    lab.ip("gw", "link", "del", "left")
    wait_until("the interface to be created again", lambda: lab.pings("left", "10.1.0.1", check=False, count=1), 20)
    wait_until("forwarding to be back", lambda: lab.pings("left", RIGHT, check=False, count=1), 20)
    after = kernel_state(lab)
    assert after[0]["left"][0] != before[0]["left"][0] and after[0]["left"][1:] == before[0]["left"][1:]
    assert after[0]["right"] == before[0]["right"] and after[3] == before[3]
    assert [router.plane(p)["pid"] for p in ("data plane", "control plane")] == pids
    router.settled()
    send_all(lab, "left", [RIGHT], ("right",), 100, rate=2000).check_all_arrived()
