# SPDX-License-Identifier: BSD-3-Clause
"""The faults of the fleet test: each has a function that makes it and one that ends it."""

import os
from dataclasses import dataclass
from typing import Callable

import store_faults as store
from fleet_lab import CONTINUE, EDGE, KILL, ROUTERS, STOP, wait_next_hop
from kafka_lab import fail_kafka, mend_kafka
from lab import wait_until

BFD_PORTS = "{ 3784, 3785 }"


@dataclass(frozen=True)
class Fault:
    name: str
    text: str
    inject: Callable
    heal: Callable
    moves: bool = True  # whether connections must move to other gateways: a round without one fails
    part: str = None  # of the laboratory, besides those of all faults


def nothing(lab, gw):
    pass


def kill_both(lab, gw):
    lab.script("gateway", "kill", gw)
    wait_next_hop(lab, gw, False)


def start_again(lab, gw):
    lab.script("gateway", "start", gw)


def kill_both_after_failover(lab, gw):
    """The others adopt from a replica that has become the primary."""
    store.kill_primary(lab, gw)
    kill_both(lab, gw)


def start_both(lab, gw):
    start_again(lab, gw)
    store.start_primary(lab, gw)


def kill_dataplane(lab, gw):
    lab.signal(gw, KILL, only="data plane")


def running_again(lab, gw):
    wait_until(f"both planes of {gw}", lambda: {"data plane", "control plane"} <= set(lab.pids(gw)), 60, 0.1)
    wait_next_hop(lab, gw, True)


def stop_all(lab, gw):
    lab.signal(gw, STOP)
    wait_next_hop(lab, gw, False)


def continue_all(lab, gw):
    lab.signal(gw, CONTINUE)
    running_again(lab, gw)


def stop_controlplane(lab, gw):
    lab.signal(gw, STOP, only="control plane")


def continue_controlplane(lab, gw):
    for pid in lab.tree(gw):
        os.kill(pid, CONTINUE)  # the watchdog may have replaced it
    running_again(lab, gw)


def link_down(lab, gw):
    lab.run("rl", "ip", "link", "set", gw, "down")
    wait_next_hop(lab, gw, False)


def link_up(lab, gw):
    lab.run("rl", "ip", "link", "set", gw, "up")
    wait_next_hop(lab, gw, True)


def lose_bfd(lab, gw):
    for r in ROUTERS:
        lab.block(r, "fleettest", [("input", f'iifname "{gw}" udp dport {BFD_PORTS}')])
    wait_next_hop(lab, gw, False)


def find_bfd(lab, gw):
    for r in ROUTERS:
        lab.unblock(r, "fleettest")
    wait_next_hop(lab, gw, True)


def fill_disk(lab, gw):
    """The file system of the spool is full, and the broker that would make the spool unnecessary is unreachable."""
    place = lab.state / gw / "spool"
    with (place / "filler").open("wb") as f:
        try:
            while True:
                f.write(bytes(65536))
                f.flush()
        except OSError:
            pass
    lab.block(gw, "fleettest", [("output", f"ip daddr {EDGE} tcp dport 1883"), ("input", f"ip saddr {EDGE} tcp sport 1883")])
    wait_until("an error of the spool", lambda: (lab.status(gw) or {}).get("spool", {}).get("errors"), 60, 0.2)


def free_disk(lab, gw):
    (lab.state / gw / "spool" / "filler").unlink()
    lab.unblock(gw, "fleettest")
    wait_until(f"{gw} to be connected to the edge broker", lambda: (lab.status(gw) or {}).get("publisher", {}).get("connected"), 60, 0.1)


FAULTS = {f.name: f for f in (
    Fault("none", "no fault", nothing, nothing, moves=False),
    Fault("kill-planes", "kill -9 of both planes", kill_both, start_again),
    Fault("kill-dataplane", "kill -9 of the data plane", kill_dataplane, running_again, moves=False),
    Fault("stop", "SIGSTOP of all processes of a gateway", stop_all, continue_all),
    Fault("stop-controlplane", "SIGSTOP of the control plane", stop_controlplane, continue_controlplane, moves=False),
    Fault("link-down", "link between a router and a gateway down", link_down, link_up),
    Fault("bfd-lost", "BFD packets lost, all else works", lose_bfd, find_bfd),
    Fault("redis-killed", "kill -9 of all Redis servers and Sentinels", store.kill_redis, store.start_redis, moves=False),
    Fault("redis-failover", "kill -9 of the Redis primary and its Sentinel; a replica replaces it", store.kill_primary, store.start_primary,
          moves=False),
    Fault("failover-kill", "redis-failover, then kill -9 of both planes", kill_both_after_failover, start_both),
    Fault("redis-partitioned", "Redis unreachable from one gateway", store.part_redis, store.join_redis, moves=False),
    Fault("redis-split", "the Redis primary, its Sentinel and one gateway cut off from all others", store.split_redis, store.join_split,
          moves=False),
    Fault("etcd-no-quorum", "kill -9 of two of three etcd servers", store.kill_quorum, store.start_quorum, moves=False, part="etcd"),
    Fault("kafka-errors", "one of three Kafka brokers down, leaders move, connections are closed", fail_kafka, mend_kafka, moves=False,
          part="kafka"),
    Fault("disk-full", "disk of the spool full, edge broker unreachable from this gateway", fill_disk, free_disk, moves=False),
)}
