# SPDX-License-Identifier: BSD-3-Clause
"""Health devices that move from one gateway of a fleet to another while they are associated. Two gateways with the same
addresses between two networks, one of them attached at a time; they share their state in Redis.

    left: bridge "net", devices ══ gw1, gw2 ══ right: bridge "net", CSE
                                    ║    ║
                              edge: bridge "mgmt", Redis
"""

import contextlib
import itertools
import socket
import struct
import subprocess

import pytest

from conftest import _gateways
from json_doc import differences
from lab import EDGE_MGMT, LAB_NAME, Gateway, Lab, remove_segment, wait_until
from router_lab import SIDES, host, only_biplane, own, router_mac
from test_bridged_pair import kill
from test_phd import PHD
from test_phd_hostile_cse import Cse
from test_phd_slow_path import accepted, asked, fixed_report

pytestmark = only_biplane
GATEWAYS = ("gw1", "gw2")
NETWORKS = ("left", "right")
OF_MARK, OF_REPORT = 32, 75  # bytes before a record, and in it before the last report
_ids = itertools.count(1)


class FleetLab(Lab):
    def __init__(self):
        super().__init__(LAB_NAME[:7] + "h")
        self.redis = None

    def ip(self, ns, *args):
        return self.run(ns, "ip", *args).stdout.decode()

    def wire(self, ns, bridge, gw, port):
        self.ip(ns, "link", "add", gw, "numtxqueues", 1, "numrxqueues", 1, "type", "veth", "peer", "name", port, "netns", self.prefix + gw,
                "numtxqueues", 1, "numrxqueues", 1)
        for side, dev in ((ns, gw), (gw, port)):
            self.run(side, "ethtool", "-K", dev, *"tx off rx off tso off gso off gro off txvlan off rxvlan off".split())
        if port != "mgmt":
            self.ip(gw, "link", "set", port, "address", router_mac(ns))
        self.ip(ns, "link", "set", gw, "master", bridge)
        self.ip(ns, "link", "set", gw, "up")
        self.ip(gw, "link", "set", port, "up")

    def up(self):
        Lab.down(self)  # remains of a killed run
        for ns in (*NETWORKS, "edge", *GATEWAYS):
            subprocess.run(["ip", "netns", "add", self.prefix + ns], check=True)
            self.ip(ns, "link", "set", "lo", "up")
        for ns, bridge, address in (*((n, "net", host(n)) for n in NETWORKS), ("edge", "mgmt", EDGE_MGMT)):
            self.ip(ns, "link", "add", bridge, "type", "bridge")
            self.ip(ns, "addr", "add", f"{address}/24", "dev", bridge)
            self.ip(ns, "link", "set", bridge, "up")
        for ns in NETWORKS:
            self.ip(ns, "route", "add", "default", "via", own(ns))
        for n, gw in enumerate(GATEWAYS, 1):
            self.wire("edge", "mgmt", gw, "mgmt")
            self.ip(gw, "addr", "add", f"10.98.0.1{n}/24", "dev", "mgmt")
            for ns in NETWORKS:
                self.wire(ns, "net", gw, f"p-{ns}")
        self.redis = self.popen("edge", "redis-server", "--bind", EDGE_MGMT, "--protected-mode", "no", "--save", "",
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until("Redis", lambda: b"PONG" in self.run("edge", "redis-cli", "-h", EDGE_MGMT, "ping", check=False).stdout)

    def use(self, gateway):
        """Attaches this gateway alone."""
        for ns in NETWORKS:
            for gw in sorted(GATEWAYS, key=lambda g: g == gateway):
                self.ip(ns, "link", "set", gw, "up" if gw == gateway else "down")
        wait_until("its interfaces", lambda: all("LOWER_UP" in self.ip(gateway, "link", "show", s) for s in NETWORKS))

    def record(self, device):
        """Invoke id and open parts of the last report in a device's record; None: there is no report."""
        address, port = device.socket.getsockname()
        value = self.run("edge", "redis-cli", "-h", EDGE_MGMT, "get", f"biplane:plant:phd:{address}:{port}").stdout[OF_MARK + OF_REPORT:]
        if len(value) < 17 or value[0] == 0:
            return None
        last, = struct.unpack_from("<Q", value, 1 + 8)
        return last >> 48, last & 0xffffffff

    def down(self):
        if self.redis:
            self.redis.kill()
            self.redis.wait()
        super().down()


@pytest.fixture(scope="module")
def fleet(hugepages):
    the_lab = FleetLab()
    try:
        the_lab.up()
        yield the_lab
    finally:
        the_lab.down()


@pytest.fixture
def gateways(fleet, tmp_path):
    both = []
    for gw in GATEWAYS:
        g = Gateway(fleet, tmp_path / gw, {
            "name": f"lab-{fleet.name}-{gw}",
            "runtime": {"directory": str(tmp_path / gw / "run"), "watchdog": "off"},
            "ports": [{"name": s, "device": f"net_af_packet{i},iface=p-{s},framecnt=1024", "routed": {"addresses": [f"{own(s)}/24"]}}
                      for i, s in enumerate(SIDES) if s in NETWORKS],
            "health_devices": {**PHD, "max_sessions": 1000, "store": {"path": str(tmp_path / f"{gw}.db")}},
            "fleet": {"name": "plant", "state": {"server": f"redis://{EDGE_MGMT}"}},
        })
        g.ns = gw
        both.append(g)
    _gateways.extend(both)
    try:
        for g in both:
            g.start(edge=False)
        fleet.use("gw1")
        for g in both:
            wait_until("Redis to be connected", lambda g=g: (g.show("fleet")["state"] or {}).get("epoch"))
        yield both
    finally:
        for g in both:
            _gateways.remove(g)
            if g.process is None and g.segment:  # killed
                remove_segment(g.segment)
            g.stop()


class Device:
    """An oximeter, associated once; it sends from one address to the address that both gateways have."""

    def __init__(self, lab, cse):
        self.name, self.cse, self.invoke, self.sent = f"0022092258b0{next(_ids):04x}", cse, 0, None
        with lab.inside("left"):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(1)
        self.socket.connect((own("left"), 6024))
        aarq = bytes.fromhex("e2000032800000000001002a507900268000000080008000000000000000008000000008" + self.name + "01900001010000000000")
        assert asked(self.socket, aarq)[:6] == bytes.fromhex("e300002c0000")

    def next(self):
        """Bytes of a new report, of two values."""
        self.invoke += 1
        self.sent = fixed_report(self.invoke, self.invoke, [900 + self.invoke, 600 + self.invoke])
        return self.sent

    def measure(self):
        assert asked(self.socket, self.next()).hex() == accepted(self.invoke).hex()

    def repeat(self):
        assert asked(self.socket, self.sent).hex() == accepted(self.invoke).hex()

    def instances(self):
        return {key: value for key, value in self.cse.stored.items() if self.name in key[0]}


def counted(gateway, name):
    """Shown once a second."""
    return (gateway.show("fleet")["associations"] or {}).get(name)


def test_associated_devices_continue_at_another_gateway(fleet, gateways):
    one, two = gateways
    with Cse(fleet) as cse, contextlib.ExitStack() as stack:
        devices = [Device(fleet, cse) for _ in range(3)]
        for d in devices:
            stack.callback(d.socket.close)
        answered, fast, unanswered = devices
        for d in devices:
            d.measure()
        # by the worker: the sessions are ready
        before = one.counter("cse_stored")
        for d in devices:
            d.measure()
        wait_until("a report by the fast path", lambda: one.counter("cse_stored") > before)
        # the CSE stores this one, and its response does not arrive
        cse.lie = lambda request: []
        unanswered.socket.send(unanswered.next())
        wait_until("the CSE to have both values", lambda: len({m.json()["m2m:cin"]["rn"] for m, _ in cse.lied_to}) == 2)
        names = {(m.path(), m.json()["m2m:cin"]["rn"]) for m, _ in cse.lied_to}
        cse.lie = None
        wait_until("records of the last reports", lambda: [fleet.record(d) for d in devices] == [(2, 0), (2, 0), (3, 3)])

        kill(one)
        fleet.use("gw2")
        answered.repeat()
        assert len(answered.instances()) == 4
        fast.measure()
        fast.repeat()
        unanswered.repeat()
        assert {key for key in unanswered.instances() if key in names} == names
        for d in devices:
            for _ in range(2):
                d.measure()
            d.repeat()
        # each of the reports once, with names of its own
        for d in devices:
            assert len(d.instances()) == 2 * d.invoke, d.instances()
            assert len(set(d.instances().values())) == 2 * d.invoke
        wait_until("adopted associations", lambda: counted(two, "adopted") == 3)
        assert not any(two.show("fleet")["associations"]["not_adopted"].values())
        # no device has associated again, and none was aborted
        status = two.status()["health_devices"]
        assert status["associations"]["requested"] == 0, status["associations"]
        assert status["signalling"]["aborts_sent"] == 0
        # the workers of the second gateway have the reports, also of the one whose report was open
        before = two.counter("cse_stored")
        unanswered.measure()
        assert two.counter("cse_stored") == before + 2
        assert not differences("show fleet", two.show("fleet"))

        # it returns with the sessions of its segment, which are older
        one.start(edge=False)
        wait_until("the first gateway to end the sessions that the second one has", lambda: counted(one, "taken") == 3)
        requested = one.status()["health_devices"]["associations"]["requested"]
        fleet.use("gw1")
        for d in devices:
            d.repeat()
            d.measure()
            assert len(d.instances()) == 2 * d.invoke, d.instances()
        wait_until("associations that are adopted again", lambda: counted(one, "adopted") == 3)
        assert one.status()["health_devices"]["associations"]["requested"] == requested
