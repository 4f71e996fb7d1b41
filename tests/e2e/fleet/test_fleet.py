# SPDX-License-Identifier: BSD-3-Clause
"""A fleet of two gateways and three etcd servers: rollouts, refusals, rollback, no quorum."""

import json
import os
import shutil
import signal
import socket
import subprocess

import pytest

from json_doc import differences
from lab import BIPLANE, wait_until

NAMES = ("gw1", "gw2")


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


class Etcd:
    """Three servers of one cluster."""

    def __init__(self, directory):
        self.clients, peers = free_ports(3), free_ports(3)
        self.servers = "etcd://" + ",".join(f"127.0.0.1:{p}" for p in self.clients)
        cluster = ",".join(f"n{i}=http://127.0.0.1:{p}" for i, p in enumerate(peers))
        self.processes = []
        for i, (client, peer) in enumerate(zip(self.clients, peers)):
            with (directory / f"etcd{i}.log").open("wb") as log:
                self.processes.append(subprocess.Popen([
                    "etcd", "--name", f"n{i}", "--data-dir", directory / f"etcd{i}", "--unsafe-no-fsync",
                    "--listen-client-urls", f"http://127.0.0.1:{client}", "--advertise-client-urls", f"http://127.0.0.1:{client}",
                    "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                    "--initial-cluster", cluster], stdout=log, stderr=log, stdin=subprocess.DEVNULL))
        wait_until("a leader", lambda: self.ctl("put", "ready", "1").returncode == 0)

    def ctl(self, *args):
        endpoints = ",".join(f"127.0.0.1:{p}" for p in self.clients)
        return subprocess.run(["etcdctl", "--endpoints", endpoints, "--command-timeout", "2s", *args], check=False, text=True,
                              capture_output=True, env={**os.environ, "ETCDCTL_API": "3"}, timeout=30)

    def get(self, key):
        return self.ctl("get", "--print-value-only", key).stdout.rstrip("\n")

    def put(self, key, value):
        assert self.ctl("put", "--", key, value).returncode == 0

    def stop(self, processes):
        for p in processes:
            p.kill()
            p.wait()


class Member:
    """`biplane run` with two null ports and the agent."""

    def __init__(self, name, directory, etcd):
        self.name, self.dir, self.file, self.log = name, directory, directory / f"{name}.yaml", directory / f"{name}.log"
        self.process = None
        self.file.write_text(json.dumps({
            "version": 1, "name": name, "poll_mode": "adaptive",
            "runtime": {"directory": str(directory / f"run-{name}"), "hugepages": "never", "memory": "128MiB", "watchdog": "4s"},
            "ports": [{"name": "a", "device": "net_null0"}, {"name": "b", "device": "net_null1"}],
            "bridges": [{"name": "line", "ports": ["a", "b"]}],
            # a machine of tests is busy: poll gaps are no sign of a bad bundle
            "monitoring": {"history": "off", "capture_buffer": "off", "poll_gap_warning": "off", "worker_stall_timeout": "off"},
            "mqtt": {"max_rules": 50, "spool": {"path": str(directory / f"{name}.spool")}, "rules": [rule("local")],
                     "publisher": {"broker": "mqtt://127.0.0.1:1", "unreachable_after": "off"}},
            "fleet": {"name": "plant", "labels": {"site": "north"},
                      "config": {"server": etcd.servers, "keys": [str(directory / "key.pub")], "trial_time": "1s",
                                 "directory": str(directory / "fleet")}},
        }, indent=1))

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([BIPLANE, "run", "-c", self.file, "--", "--no-pci"], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            cwd=self.dir)
        wait_until(f"{self.name} to run", lambda: self.rules() and all(self.pids()), 60)
        return self

    def stop(self):
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(60) == 0
            self.process = None

    def rules(self):
        """The names of the active rules, or None."""
        assert self.process.poll() is None, self.log.read_text()[-4000:]
        p = run("show", "rules", "-c", self.file, "--json")
        return [r["name"] for r in json.loads(p.stdout)["rules"]] if p.returncode == 0 else None

    def status(self):
        return json.loads(run("status", "-c", self.file, "--json").stdout)

    def pids(self):
        return [p["pid"] for p in self.status()["planes"]]

    def agent(self):
        return self.status()["fleet_agent"]

    def metric(self, name):
        lines = run("show", "metrics", "-c", self.file).stdout.splitlines()
        return next((float(line.split()[-1]) for line in lines if line.split(" ")[0] == name), None)

    def rollout_events(self):
        lines = run("tail", "events", "-c", self.file, "--json", "--no-follow", "-n", "1000", "--type", "config").stdout.splitlines()
        return [(e["config"]["state"], e["config"]["serial"]) for e in map(json.loads, lines) if "serial" in e["config"]]


def rule(name, **more):
    return {"name": name, "topic": "t", "raise": {"above": 80}, **more}


def run(*args):
    return subprocess.run([BIPLANE, *args], check=False, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)


class Fleet:
    def __init__(self, directory):
        self.dir = directory
        key = run("fleet", "keygen", directory / "key")
        assert key.returncode == 0, key.stderr
        self.etcd = Etcd(directory)
        self.members = [Member(n, directory, self.etcd) for n in NAMES]

    def command(self, *args):
        return run("fleet", args[0], "-c", self.members[0].file, *args[1:])

    def push(self, bundle, *args):
        file = self.dir / "bundle.yaml"
        file.write_text(json.dumps(bundle, indent=1))
        p = self.command("push", "--selector", "site=north", "--sign", self.dir / "key", "--json", *args, file)
        assert p.returncode == 0, p.stderr
        return json.loads(p.stdout)

    def member(self, name):
        p = self.command("members", "--json")
        assert p.returncode == 0, p.stderr
        return next((m for m in json.loads(p.stdout)["members"] if m["member"] == name), None)

    def wait(self, name, state, serial=None, seconds=30):
        def reached():
            m = self.member(name)
            return m and m["state"] == state and (serial is None or m["serial"] == serial) and m
        return wait_until(f"{name} to be {state}", reached, seconds, 0.2)

    def wait_error(self, name, text):
        def found():
            m = self.member(name)
            return m and any(text in e for e in m["errors"]) and m
        return wait_until(f"an error of {name} with '{text}'", found, 20, 0.2)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.exit("run as root", 2)
    for tool in ("etcd", "etcdctl"):
        if not shutil.which(tool):
            pytest.exit(f"{tool} is missing; run scripts/setup", 2)
    f = Fleet(tmp_path_factory.mktemp("fleet"))
    try:
        for m in f.members:
            m.start()
        for n in NAMES:
            wait_until(f"{n} to be connected", lambda n=n: f.member(n))
        yield f
    finally:
        f.etcd.stop(f.etcd.processes)
        for m in f.members:
            m.stop()


def test_canary_then_all(fleet):
    gw1, gw2 = fleet.members
    before = gw1.pids(), gw2.pids()
    assert gw1.rules() == gw2.rules() == ["local"]
    r = fleet.push({"mqtt": {"rules": [rule("first")]}}, "--canary", "1")
    assert not differences("fleet push", r)
    assert (r["canaries"], r["members"], r["version"]) == (["gw1"], 2, 1)
    waiting = fleet.wait_error("gw2", "canary gw1 has not passed its trial yet")
    assert waiting["state"] == "waiting" and gw2.rules() == ["local"]
    fleet.wait("gw1", "applied", r["serial"])
    assert gw1.rules() == ["first"]
    fleet.wait("gw2", "applied", r["serial"])
    assert gw2.rules() == ["first"]
    assert (gw1.pids(), gw2.pids()) == before
    for command in ("status", "members"):
        assert not differences(f"fleet {command}", json.loads(fleet.command(command, "--json").stdout))
    status = json.loads(fleet.command("status", "--json").stdout)["rollouts"]
    assert [(s["selector"], s["version"], s["members"], s["applied"], s["failed"]) for s in status] == [("site=north", 1, 2, 2, 0)]
    assert '"first"' in run("config", "show", "-c", gw1.file).stdout
    # the same on the gateway itself
    for m in fleet.members:
        a = wait_until("the report of the agent", lambda m=m: m.agent()["state"] == "applied" and m.agent())
        assert (a["member"], a["version"], a["serial"], a["error"], a["results"]["applied"]) == (m.name, 1, 1, None, 1)
        assert a["running"] and a["connected"] and a["leased"]
        assert not differences("status", m.status())
        assert m.rollout_events() == [("rollout_applied", 1)]
    assert (gw1.metric("biplane_fleet_bundle_version"), gw1.metric('biplane_fleet_rollouts_total{result="applied"}')) == (1, 1)
    text = run("status", "-c", gw1.file).stdout
    assert "member gw1, applied, version 1, serial 1, connected to etcd, lease held" in text and "\nfleet agent " in text
    assert "applied" in fleet.command("members").stdout


def test_bundle_with_an_error_is_refused_as_a_whole(fleet):
    # the operator learns it first
    file = fleet.dir / "bad.yaml"
    file.write_text("mqtt:\n  rules:\n    - {name: good, topic: t, raise: {above: 1}}\n    - {name: bad, topic: t, raise: {above: hot}}\n")
    p = fleet.command("push", "--selector", "site=north", "--sign", fleet.dir / "key", file)
    assert p.returncode == 78 and f"{file}:4:44: mqtt.rules[1].raise.above: 'hot' is not" in p.stderr
    p = fleet.command("push", "--selector", "site=north", "--sign", fleet.dir / "key", "--no-check", file)
    assert p.returncode == 0, p.stderr
    for m in fleet.members:
        refused = fleet.wait(m.name, "refused")
        assert refused["errors"][0].startswith("bundles/2:4:44: mqtt.rules[1].raise.above: 'hot' is not")
        assert refused["version"] == 1 and m.rules() == ["first"]
    # what only the control plane can refuse
    r = fleet.push({"mqtt": {"max_rules": 60, "rules": [rule("restart")]}})
    for m in fleet.members:
        refused = fleet.wait(m.name, "refused", r["serial"])
        assert refused["errors"] == ["mqtt.max_rules: changing it needs a restart"]
        assert m.rules() == ["first"] and run("config", "check", "-c", m.file).returncode == 0
        a = wait_until("the report of the agent", lambda m=m: m.agent()["serial"] == r["serial"] and m.agent())
        assert (a["state"], a["error"]) == ("refused", "mqtt.max_rules: changing it needs a restart")
        assert m.rollout_events()[1:] == [("rollout_refused", 2), ("rollout_refused", 3)]


def test_worse_health_is_rolled_back(fleet):
    r = fleet.push({"mqtt": {"publisher": {"unreachable_after": "1s"}, "rules": [rule("worse")]}}, "--trial", "60s", "--canary", "1")
    m = fleet.wait("gw1", "rolled_back", r["serial"])
    assert m["version"] == 1 and "health became worse in the trial time: fault edge_unreachable" in m["errors"][0]
    assert fleet.members[0].rollout_events()[-1] == ("rollout_rolled_back", r["serial"])
    wait_until("the previous rules", lambda: fleet.members[0].rules() == ["first"])
    wait_until("the fault to end", lambda: not fleet.member("gw1")["problems"])
    fleet.wait_error("gw2", "stopped: canary gw1 has rolled back it")
    assert fleet.members[1].rules() == ["first"]


def test_forged_and_old_rollouts_are_refused(fleet):
    key = "/biplane/plant/rollouts/site=north"
    old = fleet.etcd.get(key)
    r = fleet.push({"mqtt": {"rules": [rule("second")]}})
    for m in fleet.members:
        fleet.wait(m.name, "applied", r["serial"])
    new = fleet.etcd.get(key)
    fleet.etcd.put(key, old)
    fleet.wait_error("gw1", "it is refused as a replay")
    serial = r["serial"]
    forged = new.replace(f'\\"serial\\":{serial}', f'\\"serial\\":{serial + 1}')
    assert forged != new
    fleet.etcd.put(key, forged)
    fleet.wait_error("gw1", "rollout site=north is refused: none of fleet.config.keys has signed it")
    # a valid rollout of a bundle that was changed
    fleet.etcd.put(key, new)
    wait_until("no error", lambda: not fleet.member("gw1")["errors"])
    p = fleet.command("diff", str(serial))
    assert p.returncode == 0, p.stdout + p.stderr
    bundle = f"/biplane/plant/bundles/{serial}"
    fleet.etcd.put(bundle, fleet.etcd.get(bundle).replace("second", "forged"))
    assert "none of fleet.config.keys has signed it" in fleet.command("diff", str(serial)).stderr
    assert all(m.rules() == ["second"] for m in fleet.members)


def test_operator_rolls_back(fleet):
    p = fleet.command("rollback", "--selector", "site=north", "--to", "1", "--sign", fleet.dir / "key", "--json")
    assert p.returncode == 0, p.stderr
    serial = json.loads(p.stdout)["serial"]
    for m in fleet.members:
        assert fleet.wait(m.name, "applied", serial)["version"] == 1
        assert m.rules() == ["first"]
    # the rollout is lost, and with it the only trace of its number
    assert fleet.etcd.ctl("del", "/biplane/plant/rollouts/site=north").returncode == 0
    again = {"mqtt": {"rules": [rule("first"), rule("again")]}}
    assert fleet.push(again)["serial"] == serial - 1  # a lower one: its bundle was damaged above
    fleet.wait_error("gw1", f"it is refused as a replay; push it again with --serial {serial + 1}")
    assert fleet.push(again)["serial"] == serial
    for m in fleet.members:
        fleet.wait_error(m.name, f"of another one that is applied: it is refused; push it again with --serial {serial + 1}")
        assert m.rules() == ["first"]
    fleet.push(again, "--serial", str(serial + 1))
    for m in fleet.members:
        assert not fleet.wait(m.name, "applied", serial + 1)["errors"]
        assert m.rules() == ["first", "again"]


def push_elsewhere(fleet, *args, size=0):
    """To members that do not exist. The result, also of a refusal."""
    file = fleet.dir / "elsewhere.yaml"
    file.write_text("mqtt: {rules: []}\n#" + "x" * size)
    return fleet.command("push", "--selector", "site=south", "--no-check", "--sign", fleet.dir / "key", "--json", *args, file)


def test_order_comes_from_signed_documents(fleet):
    first = json.loads(push_elsewhere(fleet).stdout)["serial"]
    # who can write to etcd without a key cannot end the serial numbers
    for value in ("9007199254740992", "garbage"):
        fleet.etcd.put("/biplane/plant/serial", value)
    fleet.etcd.put(f"/biplane/plant/bundles/{first + 1}", "garbage")
    fleet.etcd.put("/biplane/plant/bundles/9007199254740991", "garbage")
    forged = fleet.etcd.get("/biplane/plant/rollouts/site=south").replace(f'\\"serial\\":{first}', '\\"serial\\":9007199254740991')
    fleet.etcd.put("/biplane/plant/rollouts/site=south", forged)
    # the rollout is lost, its signed bundle is not
    p = push_elsewhere(fleet)
    assert p.returncode == 0 and json.loads(p.stdout)["serial"] == first + 1, p.stderr
    # a gap, if members have accepted more than what etcd still has
    p = push_elsewhere(fleet, "--serial", str(first + 10))
    assert json.loads(p.stdout)["serial"] == first + 10
    for wrong in (first + 10, first + 11 + 1000000):
        p = push_elsewhere(fleet, "--serial", str(wrong))
        assert p.returncode == 64 and f"expected a number from {first + 11} to" in p.stderr


def test_rollback_among_many_megabytes_of_bundles(fleet):
    gw1, gw2 = fleet.members
    planes, agents = (gw1.pids(), gw2.pids()), [m.agent()["pid"] for m in fleet.members]
    # meanwhile one agent dies and one hangs: both are started again, the planes are not
    os.kill(agents[0], signal.SIGKILL)
    os.kill(agents[1], signal.SIGSTOP)
    versions = []
    for _ in range(9):  # more than an answer of etcd may have
        p = push_elsewhere(fleet, size=500 << 10)
        assert p.returncode == 0, p.stderr
        versions.append(json.loads(p.stdout)["version"])
    for version in versions[-2], versions[-3]:
        p = fleet.command("rollback", "--selector", "site=south", "--sign", fleet.dir / "key", "--json")
        assert p.returncode == 0 and json.loads(p.stdout)["version"] == version, p.stderr
    for m, old in zip(fleet.members, agents):
        wait_until("a new agent", lambda m=m, old=old: m.agent()["running"] and m.agent()["pid"] != old, 30)
        assert m.agent()["state"] == "applied"
    assert (gw1.pids(), gw2.pids()) == planes
    assert "fleet agent does not respond: no heartbeat" in gw2.log.read_text()


def test_without_quorum_nothing_changes_and_nothing_stops(fleet):
    gw1 = fleet.members[0]
    before = gw1.pids()
    fleet.etcd.stop(fleet.etcd.processes[1:])
    wait_until("the loss to be noticed", lambda: "nothing changes until etcd answers again" in gw1.log.read_text())
    p = fleet.command("push", "--selector", "site=north", "--sign", fleet.dir / "key", fleet.dir / "bundle.yaml")
    assert p.returncode == 69, p.stderr
    assert gw1.pids() == before and gw1.rules() == ["first", "again"]
    wait_until("the report of the agent", lambda: not gw1.agent()["connected"])
    assert gw1.metric("biplane_fleet_etcd_connected") == 0
    # etcd is away at the start, too
    gw1.stop()
    gw1.start()
    wait_until("the stored bundle", lambda: gw1.rules() == ["first", "again"])
