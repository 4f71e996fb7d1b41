# SPDX-License-Identifier: BSD-3-Clause
"""What the soak test does to the gateways, one after the other. Each returns once the gateways are as before."""

import copy
import time

from lab import wait_until
from lcl_load import flow

CLOUD_NS, EDGE_NS = "server", "near"  # namespaces with a broker


def ready(gateway):
    def running():
        status = gateway.try_status()
        return status and all(p["running"] for p in status["planes"]) and (
            "publisher" not in gateway.config.get("mqtt", {}) or status["publisher"]["connected"]) and (
            "fleet" not in gateway.config or (status["fleet"] or {}).get("connected"))
    wait_until(f"{gateway.ns} to be ready", running, 60, 0.05)


def kill(which, plane):
    def fault(soak):
        g = getattr(soak.pair, which)
        g.kill_plane(plane)
        ready(g)
    return fault


def reload(soak):
    """Another rule, another rule of the policy and another flow of LCL come, and go the next time."""
    g = soak.pair.near
    config = copy.deepcopy(g.config)
    name = "more"
    rules, policy, flows = config["mqtt"]["rules"], config["mqtt"]["policy"]["rules"], config["lcl"]["flows"]
    if any(r["name"] == name for r in rules):
        rules[:] = [r for r in rules if r["name"] != name]
        policy[:] = [r for r in policy if r["name"] != name]
        flows[:] = [r for r in flows if r["name"] != name]
    else:
        rules.append({**rules[0], "name": name, "topic": "soak/none/temperature"})
        policy.insert(0, {"name": name, "packet": "publish", "topic": "soak/none/#", "action": "observe"})
        flows.insert(0, flow(name, 7001, 8))
    p = g.reload(config)
    assert p.returncode == 0, p.stdout + p.stderr
    g.config = config


def bad_reload(soak):
    g = soak.pair.near
    config = copy.deepcopy(g.config)
    config["mqtt"]["rules"][0]["raise"] = {"above": "hot"}
    p = g.reload(config)
    assert p.returncode != 0, "an invalid configuration was accepted"
    g.write()


def outage(server, seconds):
    def fault(soak):
        soak.servers[server].stop()
        time.sleep(seconds)
        soak.servers[server].start()
        ready(soak.pair.near)
    return fault


def link_down(soak):
    soak.lab.ip("wan", "link", "set", "near", "down")
    time.sleep(2)
    soak.lab.ip("wan", "link", "set", "near", "up")
    soak.lab.ip("wan", "route", "replace", "10.7.0.0/24", "via", "10.8.0.1")  # the kernel has removed it
    wait_until("the WAN", lambda: soak.answers(), 60)


def interface_removed(soak):
    soak.lab.ip("near", "link", "del", "devices")
    wait_until("the kernel interface", lambda: soak.lab.run("sensors", "ping", "-c", 1, "-W", 1, "10.7.0.1", check=False).returncode == 0, 60)


FAULTS = {
    "reload": reload,
    "refused reload": bad_reload,
    "near: control plane killed": kill("near", "control plane"),
    "near: data plane killed": kill("near", "data plane"),
    "far: control plane killed": kill("far", "control plane"),
    "far: data plane killed": kill("far", "data plane"),
    "cloud broker stopped for 3 s": outage(CLOUD_NS, 3),
    "edge broker stopped for 5 s": outage(EDGE_NS, 5),
    "Redis killed for 3 s": outage("redis", 3),
    "link down for 2 s": link_down,
    "kernel interface removed": interface_removed,
}

# During these the gateways forward all datagrams.
LOSSLESS = {"reload", "refused reload", "near: control plane killed", "far: control plane killed", "cloud broker stopped for 3 s",
            "edge broker stopped for 5 s", "Redis killed for 3 s"}
