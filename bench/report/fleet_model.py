# SPDX-License-Identifier: BSD-3-Clause
"""Load of Redis and etcd in a fleet of any size, from the figures of case fleet of scripts/bench (bench/fleet/fleet.py).

Every cost is the measured CPU time of one operation, multiplied by the number of operations: it does not assume that a
larger Redis or etcd becomes slower or faster, and network and replicas of the engines are not part of it.
"""
import math

DEVICES = 10000  # per gateway
STORE_INTERVAL_S = 0.04  # a connection is stored at most once in this time
STORE_MOST = 64 * 1000 // 3  # records per second of a gateway: 64 each 3 ms
COPIES_MOST = 65536  # copies of alarms per gateway
FULL = 0.7  # of a core; above this, the answers of an engine with one thread wait for each other
ALARMS_PER_VALUE = 0.001
GIB = 1 << 30


def records_per_s(devices, rate):
    """Of one gateway, of whose devices each publishes at this rate."""
    return min(devices * min(rate, 1 / STORE_INTERVAL_S), STORE_MOST)


def costs(fleet):
    """CPU seconds and bytes of each operation, of a measured result."""
    redis, poll = fleet["redis"], fleet["etcd"]["poll"]
    return {"record_s": fleet["cost"]["on"]["redis_us"] / 1e6, "record_bytes": redis["connections"]["bytes"],
            "copy_s": redis["copies"]["redis_us"] / 1e6, "copy_bytes": redis["copies"]["bytes"],
            "poll_s": poll["etcd_us"] / 1e6, "polls_per_s": poll["calls_per_s"], "etcd_idle": poll["etcd_idle"]}


def redis_cpu(cost, devices, rate, outage):
    """Cores of Redis for one gateway. outage: the destination of the alarms is unreachable, so that each alarm is copied."""
    copies = devices * rate * ALARMS_PER_VALUE if outage else 0
    return records_per_s(devices, rate) * cost["record_s"] + copies * cost["copy_s"]


def redis_bytes(cost, devices, outage):
    return devices * cost["record_bytes"] + (COPIES_MOST * cost["copy_bytes"] if outage else 0)


def saturation(cost, devices, rate, outage=True):
    """Gateways that one Redis serves."""
    return math.floor(FULL / redis_cpu(cost, devices, rate, outage))


def etcd_saturation(cost):
    """Gateways whose polls take FULL of a core of etcd."""
    return math.floor((FULL - cost["etcd_idle"]) / (cost["polls_per_s"] * cost["poll_s"]))


def step(cost, gateways, rate, devices=DEVICES):
    """The load of a fleet, with all alarms copied."""
    cpu = gateways * redis_cpu(cost, devices, rate, True)
    polls = gateways * cost["polls_per_s"]
    return {"gateways": gateways, "devices": gateways * devices, "rate": rate, "records_per_s": gateways * records_per_s(devices, rate),
            "redis_cpu": cpu, "redis_servers": max(1, math.ceil(cpu / FULL)), "redis_gib": gateways * redis_bytes(cost, devices, True) / GIB,
            "polls_per_s": polls, "etcd_cpu": cost["etcd_idle"] + polls * cost["poll_s"]}
