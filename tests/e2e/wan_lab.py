# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory `scripts/lab up --wan`: sensors, gateway NEAR, WAN, gateway FAR, server.

Both gateways are `biplane run` processes. They bridge (all of it is one segment, 10.6.0.0/24, and a Wan
of wan.py joins the two wires in its middle) or route (the WAN's kernel does too).
"""

import copy
import ipaddress

from lab import BIPLANE, LAB_NAME, Background, Gateway, Lab, wait_until

SENSORS = 200
PORT = 5555  # of the server
SERVER = {"bridged": {4: "10.6.0.3", 6: "fd06::3"}, "routed": {4: "10.10.0.2", 6: "fd10::2"}}
NETWORK = {"bridged": {4: "10.6.0.0/24", 6: "fd06::/64"}, "routed": {4: "10.7.0.0/24", 6: "fd07::/64"}}
MAC = {"sensors": "02:06:00:00:00:02", "server": "02:06:00:00:00:03", "far at wan": "02:06:00:00:00:09",
       "near": "02:06:00:00:01:02", "far": "02:06:00:00:02:01", "near at wan": "02:06:00:00:00:08"}


def sensor(n, kind="bridged", family=4):
    """Address of sensor 0..199."""
    return str(ipaddress.ip_network(NETWORK[kind][family])[11 + n])


class WanLab(Lab):
    def __init__(self):
        super().__init__(LAB_NAME[:7] + "w")

    def up(self, *args):
        super().up("--wan", *args)
        for family in (4, 6):
            lines = [f"addr add {sensor(n, kind, family)}/{ipaddress.ip_network(NETWORK[kind][family]).prefixlen} dev eth0"
                     + (" nodad" if family == 6 else "") for kind in NETWORK for n in range(SENSORS)]
            self.run("sensors", "ip", f"-{family}", "-batch", "-", input=("\n".join(lines) + "\n").encode())
            # A neighbor that is asked for while a gateway is away would make its messages late, and fewer.
            self.ip("sensors", "neigh", "replace", SERVER["bridged"][family], "lladdr", MAC["server"], "dev", "eth0", "nud", "permanent")

    def ip(self, ns, *args, check=True):
        return self.run(ns, "ip", *args, check=check).stdout.decode()


PORTS = {"near": {"devices": "p-devices", "wan": "p-wan"}, "far": {"wan": "p-wan", "server": "p-server"}}
OWN = {("near", "devices"): ("10.7.0.1/24", "fd07::1/64"), ("near", "wan"): ("10.8.0.1/24", "fd08::1/64"),
       ("far", "wan"): ("10.9.0.1/24", "fd09::1/64"), ("far", "server"): ("10.10.0.1/24", "fd10::1/64")}
ROUTES = {"near": (("10.9.0.0/24", "10.8.0.2"), ("10.10.0.0/24", "10.8.0.2"), ("fd10::/64", "fd08::2")),
          "far": (("10.8.0.0/24", "10.9.0.2"), ("10.7.0.0/24", "10.9.0.2"), ("fd07::/64", "fd09::2"))}


class WanGateway(Gateway):
    """NEAR or FAR. `services`: sections of its configuration."""

    def __init__(self, lab, which, directory, kind="bridged", driver="af_packet", queues=1, **services):
        # A burst of the test must fit in the ring of a port, or it would be lost before the gateway.
        extra = f",framecnt=4096,qpairs={queues}" if driver == "af_packet" else ""
        ports = [{"name": name, "device": f"net_{driver}{i},iface={device}{extra}"}
                 for i, (name, device) in enumerate(PORTS[which].items())]
        if "mqtt" in services:  # a spool belongs to one instance
            services["mqtt"] = {**services["mqtt"], "spool": {"path": str(directory / "spool.db")}}
        config = {"name": f"lab-{lab.name}-{which}", "ports": ports, **services}
        if kind == "routed":
            for p in ports:
                p["routed"] = {"addresses": list(OWN[which, p["name"]])}
            config["netlink"] = {"route_table": "main"}
        else:
            config["bridges"] = [{"name": "bridge0", "ports": [p["name"] for p in ports]}]
        super().__init__(lab, directory, config)
        self.ns, self.kind = which, kind

    def start(self, *args, edge=False):
        super().start(*args, edge=edge)  # there is no broker in this laboratory
        if self.kind == "routed":
            wait_until("the kernel interfaces to be up", self._interfaces, 20)
            for prefix, via in ROUTES[self.ns]:
                self.lab.ip(self.ns, "route", "replace", prefix, "via", via)
            wait_until("the routes", self._tables_equal, 20)
        return self

    def _interfaces(self):
        return all("LOWER_UP" in self.lab.ip(self.ns, "link", "show", "dev", p, check=False) and
                   "inet6 fd" in self.lab.ip(self.ns, "addr", "show", "dev", p, check=False) for p in PORTS[self.ns])

    def _tables_equal(self):
        return all(self.lab.run(self.ns, BIPLANE, "show", view, "--diff", "-c", self.identity, check=False).returncode == 0
                   for view in ("routes", "neighbors"))

    def next_hops_known(self):
        """Whether neighbors of both families are known on both ports, to the kernel and to the workers."""
        known = [self.lab.ip(self.ns, f"-{family}", "neigh", "show", "dev", p, "nud", "reachable", "nud", "stale", "nud", "delay", "nud", "probe")
                 for family in (4, 6) for p in PORTS[self.ns]]
        return all(" lladdr " in lines for lines in known) and self._tables_equal()

    def counters(self):
        return {c["name"]: c["count"] for c in self.show("counters")["counters"]}

    def services(self, **lists):
        """Reloads with these lists of section aggregation instead of its own; the limits stay."""
        limits = {k: v for k, v in self.config.get("aggregation", {}).items() if k not in ("encapsulate", "decapsulate")}
        self.config = {**self.config, "aggregation": {**limits, **lists}}
        p = self.reload(self.config)
        assert p.returncode == 0, p.stdout + p.stderr
        return self


def to(kind="bridged", family=4, udp=PORT):
    return {"address": SERVER[kind][family], "udp_port": udp}


def aggregate(kind="bridged", family=4, udp=PORT, **more):
    return {"port": "devices", "to": to(kind, family, udp), "format": "full", "max_messages": 8, "max_delay": "100ms", **more}


def disaggregate(kind="bridged", family=4, udp=PORT, **more):
    return {"port": "wan", "to": to(kind, family, udp), "format": "full", "allowed_senders": [NETWORK[kind][family]], **more}


class Pair:
    """NEAR and FAR with rules that belong together."""

    def __init__(self, lab, directory, kind="bridged", near=None, far=None, driver="af_packet", limits=None, far_services=None, **more):
        self.lab, self.kind = lab, kind
        self.near = WanGateway(lab, "near", directory / "near", kind, driver,
                               aggregation={**(limits or {}), "encapsulate": near or [aggregate(kind)]}, **more)
        self.far = WanGateway(lab, "far", directory / "far", kind, driver,
                              aggregation={**(limits or {}), "decapsulate": far or [disaggregate(kind)]}, **{**more, **(far_services or {})})
        self.both = (self.near, self.far)

    def start(self):
        tasks = [Background(g.start) for g in self.both]
        for t in tasks:
            t.start()
        for t in tasks:
            t.finish()
        if self.kind == "routed":
            self._neighbors()
        return self

    def _neighbors(self):
        """Both families' next hops are known all the way, so that no first packet goes by the kernel, behind later ones."""
        for family in (4, 6):
            self.lab.run("sensors", "ping", "-n", "-i", "0.1", "-W", "2", "-c", 2, SERVER["routed"][family], check=False)
        for g in self.both:
            wait_until("the gateways to know their neighbors", g.next_hops_known, 20)

    def stop(self):
        """Also where one of them does not end as it should, the other is stopped."""
        try:
            self.near.stop()
        finally:
            self.far.stop()

    def services(self, near, far):
        self.near.services(encapsulate=copy.deepcopy(near))
        self.far.services(decapsulate=copy.deepcopy(far))

    def counters(self):
        return {g.ns: g.counters() for g in self.both}

    def counted(self, before, **expected):
        """counted(before, near={"encap_message": 5}): since `before` these have grown by exactly so much."""
        now = self.counters()
        grown = {ns: {k: now[ns][k] - before[ns][k] for k in names} for ns, names in expected.items()}
        assert grown == expected

    def balanced(self):
        """The sum of packets of each gateway, exact."""
        return [g.balanced() for g in self.both]
