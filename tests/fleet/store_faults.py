# SPDX-License-Identifier: BSD-3-Clause
"""Faults of Redis, Sentinel and etcd. Server N has the address 10.25.0.N, gateway gwN 10.25.0.1N."""

import json

from lab import BIPLANE, wait_until

SERVERS = (1, 2, 3)
REDIS_PORTS = "{ 6379, 26379 }"


def space(server):
    return "store" if server == 1 else f"store{server}"


# ------------------------------------------------------------ Redis

def kill_redis(lab, gw):
    lab.script("store", "redis", "kill")


def start_redis(lab, gw):
    lab.script("store", "redis", "start")
    connected(lab)


def part_redis(lab, gw):
    lab.block(gw, "fleettest", [("output", f"tcp dport {REDIS_PORTS}"), ("input", f"tcp sport {REDIS_PORTS}")])


def join_redis(lab, gw):
    lab.unblock(gw, "fleettest")
    connected(lab)


def connected(lab, gateways=None):
    """All, or these gateways, have a connection and nothing that waits for long."""
    def is_connected(gw):
        fleet = (lab.status(gw) or {}).get("fleet")
        return fleet and fleet["connected"] and fleet["lag_ms"] < 1000
    wait_until("the gateways to be connected to Redis", lambda: all(map(is_connected, gateways or lab.names)), 60, 0.1)


def redis(lab, server, *command, port=6379):
    p = lab.run(space(server), "timeout", "5", "redis-cli", "-h", f"10.25.0.{server}", "-p", port, *command, check=False)
    return p.stdout.decode().split() if p.returncode == 0 else []


def primary(lab, servers=SERVERS):
    """The server that the Sentinels of these servers agree on, and that is a primary itself; or None."""
    named = {tuple(redis(lab, s, "sentinel", "get-master-addr-by-name", "lab", port=26379)) for s in servers}
    if len(named) != 1 or not (address := named.pop()):
        return None
    server = int(address[0].rpartition(".")[2])
    return server if server in servers and redis(lab, server, "role")[:1] == ["master"] else None


def wait_other_primary(lab, old):
    others = [s for s in SERVERS if s != old]
    wait_until("another Redis primary", lambda: primary(lab, others), 60, 0.1)


def wait_replica(lab, server):
    """It is a replica of the primary that all Sentinels agree on."""
    def follows():
        role = redis(lab, server, "role")
        return primary(lab) and role[:1] == ["slave"] and "connected" in role
    wait_until(f"Redis {server} to be a replica", follows, 90, 0.2)
    connected(lab)


def begin(lab):
    lab.old = wait_until("a Redis primary", lambda: primary(lab), 60, 0.2)
    return lab.old


def kill_primary(lab, gw):
    lab.script("store", "redis", "kill", str(begin(lab)))
    wait_other_primary(lab, lab.old)
    connected(lab)


def start_primary(lab, gw):
    lab.script("store", "redis", "start", str(lab.old))
    wait_replica(lab, lab.old)


def split_redis(lab, gw):
    """Both halves are active: the gateway continues with the old primary until this one misses its replicas."""
    old = begin(lab)
    one, other = f"10.25.0.{old}", f"10.25.0.1{gw.removeprefix('gw')}"
    both, rest = f"{{ {one}, {other} }}", "10.25.0.0/24"
    for ns in (space(old), gw):
        lab.block(ns, "fleettest", [("input", f"ip saddr {rest} ip saddr != {both}"), ("output", f"ip daddr {rest} ip daddr != {both}")])
    wait_other_primary(lab, old)
    connected(lab, [g for g in lab.names if g != gw])


def join_split(lab, gw):
    for ns in (space(lab.old), gw):
        lab.unblock(ns, "fleettest")
    wait_replica(lab, lab.old)


# ------------------------------------------------------------ etcd

def agents(lab, **expected):
    def fits(gw):
        agent = (lab.status(gw) or {}).get("fleet_agent") or {}
        return all(agent.get(k) == v for k, v in expected.items())
    wait_until(f"agents with {expected}", lambda: all(map(fits, lab.names)), 60, 0.2)


def unchanged(lab):
    """What must not change without a quorum."""
    rules = {gw: [r["name"] for r in (lab.show(gw, "show", "rules") or {}).get("rules", ())] for gw in lab.names}
    return rules, {gw: {**lab.pids(gw), "agent": lab.status(gw)["fleet_agent"]["pid"]} for gw in lab.names}


def push(lab, gw):
    bundle = lab.state / "bundle.yaml"
    bundle.write_text(json.dumps({"mqtt": {"rules": json.loads(lab.file(gw).read_text())["mqtt"]["rules"]}}))
    return lab.run(gw, BIPLANE, "fleet", "push", "-c", lab.file(gw), "--selector", "site=test", "--sign", lab.state / "key", "--trial", "1s",
                   "--json", bundle, check=False)


def kill_quorum(lab, gw):
    lab.before = unchanged(lab)
    for server in SERVERS[1:]:
        lab.script("store", "etcd", "kill", str(server))
    agents(lab, connected=False)
    p = push(lab, gw)
    assert p.returncode == 69, f"without a quorum, push exits with {p.returncode}: {p.stdout}"


def start_quorum(lab, gw):
    """Nothing has changed; after the return, a rollout reaches all members under the load."""
    assert unchanged(lab) == lab.before, f"{unchanged(lab)}, before {lab.before}"
    for server in SERVERS[1:]:
        lab.script("store", "etcd", "start", str(server))
    agents(lab, connected=True, leased=True)
    p = push(lab, gw)
    assert p.returncode == 0, f"push: {p.stdout}"
    agents(lab, serial=json.loads(p.stdout)["serial"], state="applied")
