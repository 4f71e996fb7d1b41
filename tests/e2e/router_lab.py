# SPDX-License-Identifier: BSD-3-Clause
"""The routed laboratory of scripts/lab, and the router under test in it: biplane, or the plain kernel.

BP_ROUTER=kernel runs the routing tests with Linux itself as the router, which verifies the tests; checks of features
that only biplane has (counters, show commands, two planes) are omitted.
"""

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab import BIPLANE, LAB_NAME, Gateway, Lab, wait_until

ROUTER = os.environ.get("BP_ROUTER", "biplane")
LOAD = os.environ.get("BP_ROUTE_LOAD", str(Path(BIPLANE).resolve().parents[1] / "tests" / "e2e" / "route_load"))

SIDES = {"left": 1, "right": 2, "edge": 3}  # networks 10.N.0.0/24 and fd0N::/64
LEFT, RIGHT, FAR = "10.1.0.2", "10.2.0.2", "10.3.0.2"
LEFT6, RIGHT6, FAR6 = "fd01::2", "fd02::2", "fd03::2"

only_biplane = pytest.mark.skipif(ROUTER != "biplane", reason="the plain kernel has nothing of that")


def own(side, family=4):
    """The router's address in a network."""
    return f"10.{SIDES[side]}.0.1" if family == 4 else f"fd0{SIDES[side]}::1"


def host(side, family=4):
    return f"10.{SIDES[side]}.0.2" if family == 4 else f"fd0{SIDES[side]}::2"


def router_mac(side):
    return f"02:10:0{SIDES[side]}:00:00:01"


def host_mac(side):
    return f"02:10:0{SIDES[side]}:00:00:02"


def family_of(address):
    return 6 if ":" in address else 4


class RoutedLab(Lab):
    def __init__(self):
        super().__init__(LAB_NAME[:7] + "r")

    def up(self, *args):
        super().up("--routed", *args)

    def ip(self, ns, *args, check=True):
        return self.run(ns, "ip", *args, check=check).stdout.decode()

    def ip_json(self, ns, *args):
        return json.loads(self.ip(ns, "-j", *args) or "[]")

    def batch(self, ns, lines, family=4, force=False):
        """`ip -batch` of many commands in one process."""
        argv = ["ip", f"-{family}", *(["-force"] if force else []), "-batch", "-"]
        return self.run(ns, *argv, input=("\n".join(lines) + "\n").encode(), check=not force)

    def sysctl(self, ns, **values):
        """sysctl(ns, net__ipv4__ip_forward=1): two underscores for a dot."""
        self.run(ns, "sysctl", "-qw", *(f"{k.replace('__', '.')}={v}" for k, v in values.items()))

    def pings(self, ns, address, *options, check=True, count=3):
        """Whether `count` pings in a row are answered."""
        p = self.run(ns, "ping", "-n", "-i", "0.05", "-W", "2", "-c", count, *options, address, check=False)
        assert not check or p.returncode == 0, f"{ns} got no answer from {address}:\n{p.stdout.decode()}"
        return p.returncode == 0

    @contextlib.contextmanager
    def extra(self, ns, *command):
        """`ip COMMAND` in a block: objects that `add` adds are deleted afterwards."""
        self.ip(ns, *command)
        undo = ["del" if c == "add" else c for c in command]
        try:
            yield
        finally:
            self.ip(ns, *undo, check=False)


class KernelRouter:
    """The plain Linux kernel in the gateway's namespace, with interfaces called as biplane's are."""
    kind = "kernel"

    def __init__(self, lab):
        self.lab = lab

    def start(self):
        for side, n in SIDES.items():
            self.lab.ip("gw", "link", "set", f"p-{side}", "down")
            self.lab.ip("gw", "link", "set", f"p-{side}", "name", side)
            self.lab.sysctl("gw", **{f"net__ipv6__conf__{side}__disable_ipv6": 0,
                                     f"net__ipv4__conf__{side}__rp_filter": 0})
            self.lab.ip("gw", "link", "set", side, "arp", "on", "promisc", "off", "up")
            self.lab.ip("gw", "addr", "add", f"10.{n}.0.1/24", "dev", side)
            self.lab.ip("gw", "addr", "add", f"fd0{n}::1/64", "dev", side, "nodad")
        return self

    def stop(self):
        for side in SIDES:
            self.lab.ip("gw", "link", "set", side, "down")
            self.lab.ip("gw", "addr", "flush", "dev", side)
            self.lab.sysctl("gw", **{f"net__ipv6__conf__{side}__disable_ipv6": 1,
                                     f"net__ipv4__conf__{side}__rp_filter": 1})
            self.lab.ip("gw", "link", "set", side, "name", f"p-{side}")
            self.lab.ip("gw", "link", "set", f"p-{side}", "address", router_mac(side), "mtu", "1500",
                        "arp", "off", "promisc", "on", "up")

    def dump(self):
        for what in (("addr",), ("-s", "link"), ("neigh",), ("route",), ("-6", "route")):
            print(f"----- ip {' '.join(what)} in gw\n{self.lab.ip('gw', *what, check=False)[-3000:]}")

    @contextlib.contextmanager
    def counts(self, at_most=None, **expected):
        yield

    def settled(self, seconds=10):
        """The kernel's tables are the forwarding tables."""

    def balanced(self):
        pass


class BiplaneRouter(Gateway):
    """biplane with routed ports. `text`: a configuration file instead of a dict; name and runtime
    directory become the laboratory's."""
    kind = "biplane"

    def __init__(self, lab, directory, config, text=None):
        super().__init__(lab, directory, config)
        self.config["runtime"]["watchdog"] = "off"  # tests suspend a plane for as long as they want
        self.text = text

    def write(self, config=None):
        if self.text is None:
            return super().write(config)
        text, n = re.subn(r"(?m)^name: .*$", f"name: {self.config['name']}\nruntime: {{directory: {self.dir / 'run'}}}", self.text)
        assert n == 1
        return self.file.write_text(text)

    def start(self, *args, **kw):
        super().start(*args, **kw)
        wait_until("the kernel interfaces with their addresses", self._interfaces)
        self.settled()
        return self

    def _interfaces(self):
        there = {i["ifname"]: i for i in self.lab.ip_json("gw", "addr", "show")}
        return all(s in there and "LOWER_UP" in there[s]["flags"] and
                   {own(s), own(s, 6)} <= {a["local"] for a in there[s]["addr_info"]}
                   for s in (p["name"] for p in self.config["ports"]))

    def differing(self):
        """The first view whose tables are not the kernel's, or None; asked in its namespace."""
        for view in ("interfaces", "neighbors", "routes"):
            p = self.lab.run("gw", BIPLANE, "show", view, "--diff", "-c", self.identity, check=False)
            # 69: no control plane answers, as just after one was killed.
            assert p.returncode in (0, 1, 69), f"show {view} --diff: {p.returncode} {p.stdout.decode()[-2000:]}"
            if p.returncode:
                return p
        return None

    def stop(self, *args):
        code = super().stop(*args)
        for side in SIDES:  # as the next router is to find them
            self.lab.ip("gw", "link", "set", f"p-{side}", "address", router_mac(side), "mtu", "1500")
        return code

    def _followed(self):
        """Whether the ports' devices have MAC and MTU of their interfaces in the kernel."""
        there = {i["ifname"]: i for i in self.lab.ip_json("gw", "link", "show")}
        sides = [p["name"] for p in self.config["ports"] if f"iface=p-{p['name']}" in p["device"]]
        return all(there[s][k] == there[f"p-{s}"][k] for s in sides for k in ("address", "mtu"))

    def settled(self, seconds=10):
        """Waits until what was set in the kernel is what the data plane uses."""
        wait_until("the ports to have MAC and MTU of their interfaces", self._followed, seconds)
        self.tables_equal(seconds)

    def tables_equal(self, seconds=10):
        """Waits until the forwarding tables are the kernel's. Returns when the comparison began that found
        them equal: it takes long itself where there are many routes and other work."""
        last = None

        def equal():
            nonlocal last
            began = time.monotonic()
            last = self.differing()
            return last is None and began
        try:
            return wait_until("the forwarding tables to be the kernel's", equal, seconds)
        except AssertionError as e:
            raise AssertionError(f"{e}:\n{last.stdout.decode()[-3000:]}") from None

    def counters(self):
        return {c["name"]: c["count"] for c in self.show("counters")["counters"]}

    @contextlib.contextmanager
    def counts(self, at_most=None, **expected):
        """counts(blackhole=5): by the end of the block these counters have risen by exactly so much.
        at_most: {name: n}, by no more."""
        before = self.counters()
        yield
        grown = {}

        def risen():
            now = self.counters()
            grown.update({k: now[k] - before[k] for k in (*expected, *(at_most or {}))})
            return all(grown[k] >= n for k, n in expected.items())
        with contextlib.suppress(AssertionError):
            wait_until("counters", risen, 5)
        assert {k: grown[k] for k in expected} == expected, f"counters rose otherwise than was due: {grown}, not {expected}"
        for k, n in (at_most or {}).items():
            assert grown[k] <= n, f"{k} rose by {grown[k]}"


def routed_config(driver="af_packet", frames=4096, **more):
    """As `scripts/lab config` has it, without the MQTT part."""
    extra = f",framecnt={frames}" if driver == "af_packet" else ""
    return {
        "ports": [{"name": s, "device": f"net_{driver}{i},iface=p-{s}{extra}",
                   "routed": {"addresses": [f"{own(s)}/24", f"{own(s, 6)}/64"]}} for i, s in enumerate(SIDES)],
        "netlink": {"route_table": "main"},
        **more,
    }


def make_router(lab, directory, text=None, **more):
    if ROUTER == "kernel":
        return KernelRouter(lab)
    return BiplaneRouter(lab, directory, routed_config(**more), text)


# ---------------------------------------------------------------- numbered traffic

_runs = itertools.count(os.getpid() << 8 & 0x7FFFFFFF)


class Receiver:
    """route_load receive in a namespace."""

    def __init__(self, lab, ns, run, port):
        self.process = lab.popen(ns, LOAD, "receive", "--run", run, "--port", port, stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == b"ready\n"

    def end(self):
        """{stream: (packets, hash sum)}; returns once nothing more comes."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=30)
        return _streams(out)


def _streams(out):
    return {int(k): (n, int(h, 16)) for k, (n, h) in json.loads(out)["streams"].items()}


class Traffic:
    """Numbered UDP packets from one namespace to many destinations; receivers in others. Hosts take
    what is for addresses beyond their network after takes()."""

    def __init__(self, lab, source, destinations, receivers, rate=2000, sources=1, size=64, port=9000, count=None):
        self.run, self.n, self.sources = next(_runs), len(destinations), sources
        self.destinations = destinations
        self.receivers = {ns: Receiver(lab, ns, self.run, port) for ns in receivers}
        argv = [LOAD, "send", "--run", self.run, "--port", port, "--rate", rate, "--sources", sources, "--size", size]
        if count:
            argv += ["--count", count]
        self.process = lab.popen(source, *argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write("".join(f"{d}\n" for d in destinations).encode())
        self.process.stdin.close()
        self.process.stdin = None

    def stop(self):
        """Ends the sender (or awaits its count), then the receivers. Sent and received packets are in self.sent and
        self.got[ns]."""
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0
        self.sent = _streams(out)
        self.got = {ns: r.end() for ns, r in self.receivers.items()}
        self.receivers = {}
        return self

    def finish(self):
        self.process.send_signal(signal.SIGTERM)
        return self.stop()

    def kill(self):
        for p in (self.process, *(r.process for r in self.receivers.values())):
            if p.poll() is None:
                p.kill()
                p.wait()

    def destination(self, stream):
        return self.destinations[stream % self.n]

    def together(self):
        """The packets of all receivers together."""
        total = {}
        for streams in self.got.values():
            for k, (n, h) in streams.items():
                m, g = total.get(k, (0, 0))
                total[k] = (m + n, (g + h) & (1 << 64) - 1)
        return total

    def count_sent(self):
        return sum(n for n, _ in self.sent.values())

    def check_all_arrived(self):
        """Every packet that was sent arrived exactly once, at whichever receiver."""
        got = self.together()
        lost = {self.destination(k): n - got.get(k, (0, 0))[0] for k, (n, _) in self.sent.items()
                if n != got.get(k, (0, 0))[0]}
        assert not lost, f"lost (negative: doubled) of {self.count_sent()}, by destination: {dict(list(lost.items())[:20])}"
        assert got == self.sent, "as many as were sent, but not the same ones"

    def check_places(self, allowed):
        """allowed(destination): the namespaces where its packets may arrive."""
        for ns, streams in self.got.items():
            wrong = {self.destination(k): n for k, (n, _) in streams.items() if ns not in allowed(self.destination(k))}
            assert not wrong, f"arrived in {ns}, where no table sends them: {wrong}"


@contextlib.contextmanager
def traffic(*args, **kw):
    """Traffic while the block runs. After it no packet is in flight."""
    t = Traffic(*args, **kw)
    try:
        yield t
    except BaseException:
        t.kill()
        raise
    finally:
        t.kill()


def send_all(lab, source, destinations, receivers, count, **kw):
    """`count` packets, sent and received to the end."""
    with traffic(lab, source, destinations, receivers, count=count, **kw) as t:
        return t.stop()


def takes(lab, ns, *prefixes):
    """The host in `ns` takes whatever is sent to these prefixes for its own (Linux's AnyIP)."""
    # Without a rule of its own a namespace has tables local and main in one, where a longer prefix of main would win
    # over these.
    lab.ip(ns, "rule", "add", "pref", "32000", "lookup", "main", check=False)
    for p in prefixes:
        lab.ip(ns, *(["-6"] if family_of(p) == 6 else []), "route", "replace", "local", p, "dev", "lo")


def pause(seconds):
    """For a condition that is about time itself; never for waiting until something has happened."""
    time.sleep(seconds)
