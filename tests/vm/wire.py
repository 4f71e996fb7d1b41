# SPDX-License-Identifier: BSD-3-Clause
"""Bridges of two ports, with the devices behind one and the cloud's broker behind the other."""

import contextlib
import os
from collections import Counter
from dataclasses import dataclass

from conftest import running
from frames import LOCAL_ETHERTYPE, Wire, ethernet
from guest import KINDS, GuestLab, Nic
from lab import CLOUD, DEVICE, MAC, wait_until
from odd_frames import BACK, THERE, kernel_chatter
from wan import Tap

OVERHEAT = {"name": "overheat", "topic": "plant/+/temperature", "value": "text", "raise": "> 80", "payload": "original",
            "publish": {"topic": "alarm/{topic}"}}


@dataclass(frozen=True)
class Bridge:
    """One of them: two NICs of a kind, the ports' names, and the namespaces behind them."""
    kind: str
    nics: tuple[Nic, Nic]
    names: tuple[str, str]
    spaces: tuple[str, str]

    @property
    def ways(self):
        """(sender, receiver, MACs) there and back."""
        return (*self.spaces, THERE), (*reversed(self.spaces), BACK)


def bridge_of(lab, kind, joined=True):
    """joined: it shares its gateway with bridges of other kinds."""
    last = f"-{kind}" if joined else ""
    return Bridge(kind, tuple(lab.of_kind(kind)[:2]), (f"devices{last}", f"cloud{last}"), (f"dev{last}", f"cloud{last}"))


@contextlib.contextmanager
def behind(lab: GuestLab, bridge, mtu=1500):
    """The networks behind the ports of a gateway, while the block runs."""
    for ns, nic, mac, address in zip(bridge.spaces, bridge.nics, (MAC["dev"], MAC["cloud"]), (DEVICE, CLOUD), strict=True):
        lab.give(ns, nic, mac=mac, mtu=mtu, addresses=[f"{address}/24"])
    lab.broker(bridge.spaces[1])
    try:
        yield
    finally:
        lab.take()


@contextlib.contextmanager
def bridges(lab: GuestLab, directory, kinds=KINDS, mtu=None, **more):
    """A running gateway with a bridge of each kind of NIC; alarms go to a broker in its own namespace."""
    lab.broker("gw")
    made = {k: bridge_of(lab, k) if len(kinds) > 1 else bridge_of(lab, k, False) for k in kinds}
    config = {"ports": [{"name": name, "device": nic.address, **({"mtu": mtu} if mtu else {})}
                        for b in made.values() for name, nic in zip(b.names, b.nics, strict=True)],
              "bridges": [{"name": f"bridge-{k}", "ports": list(b.names)} for k, b in made.items()],
              "mqtt": {"publisher": {"broker": "mqtt://127.0.0.1", "client_id": "biplane-vm"}, "rules": [OVERHEAT]}, **more}
    with contextlib.ExitStack() as stack:
        for b in made.values():
            stack.enter_context(behind(lab, b, mtu or 1500))
        g = stack.enter_context(running(lab, directory, config))
        g.bridges = made
        yield g


def padded(frame):
    """As a wire carries it: no NIC sends less than 60 bytes."""
    return frame.ljust(60, b"\0")


def port(g, name):
    return next(p for p in g.show("ports")["ports"] if p["name"] == name)


def offload(g, name, which):
    """By whom it is done for a port: "hardware", "software" or "unused"."""
    return next(o["outcome"] for o in port(g, name)["offloads"] if o["offload"] == which)


def emulated(kind, frame):
    """Whether QEMU sends a frame on a NIC of this kind. Models that parse the IP headers drop a frame with an invalid
    header (net_tx_pkt_parse() of QEMU); a real NIC does not check it."""
    if kind == "virtio":
        return True
    at = 12
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8") and at < 20:
        at += 4
    ethertype, ip = frame[at:at + 2], frame[at + 2:]
    if ethertype == b"\x08\x00":
        return len(ip) >= 20 and 20 <= (ip[0] & 15) * 4 <= len(ip)
    return ethertype != b"\x86\xdd" or (len(ip) >= 40 and ip[6] not in (0, 43, 44, 50, 51, 60, 135))


def carries(lab, frames, sender, receiver, addresses, seconds=60):
    """All of them arrive exactly once and unchanged, and no others; those of the tests' own EtherType in order. (Others
    may overtake them between the receiving kernel and the socket, because it delivers frames of unknown types in
    batches.)"""
    frames = list(frames)
    due = [f for f in map(padded, frames) if not kernel_chatter(f)]
    end = ethernet(*addresses, LOCAL_ETHERTYPE, os.urandom(46))
    out = Wire(lab, sender)
    try:
        with Tap(lab, receiver, "eth0") as into:
            def arrived():
                return [f for f in map(padded, into.frames()) if f != end and not kernel_chatter(f)]
            out.send(*frames)
            with contextlib.suppress(AssertionError):  # which ones are missing is said below
                wait_until("all of them", lambda: not Counter(due) - Counter(arrived()), seconds)
            # Frames received after them.
            out.send(end)
            wait_until(f"the last frame from {sender} to {receiver}", lambda: end in into.frames(), seconds)
            got = arrived()
    finally:
        out.close()
    missing, surplus = Counter(due) - Counter(got), Counter(got) - Counter(due)
    assert not missing and not surplus, (
        f"{sender} to {receiver}: missing of {sorted(map(len, missing))} bytes, such as {[f.hex()[:200] for f in missing][:2]}; "
        f"not sent but received {[f.hex()[:200] for f in surplus][:2]}")
    ours = LOCAL_ETHERTYPE.to_bytes(2, "big")
    assert [f for f in got if f[12:14] == ours] == [f for f in due if f[12:14] == ours], "not in order"
