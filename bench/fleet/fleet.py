#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Case fleet of scripts/bench: the cost of a fleet for a gateway, and the load of its engines.

  bench/fleet/fleet.py BUILD ROUNDS [--ends]

prints one JSON object with these members, all of them CPU times or counts; the values are medians of the rounds:

  cost      one gateway in the laboratory, with fleet.state and without by turns, each round in the other order: CPU time
            of the worker for a received frame at 20,000 values/s, of the control plane for a second, and the delay of an
            alarm at 100/s, while the connections publish 2,000 values/s
  redis     CPU time of Redis and of the control plane for a stored connection and a stored alarm, memory, and the
            same at 1,000 alarms/s while the edge broker answers
  etcd      CPU time of etcd and number of requests for the poll of one agent, and for a rollout
  gateways  CPU time of a frame in one, two and three gateways that run at the same time, with ports in memory
"""
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLOUD, EDGE, MGMT = "10.99.0.2", "10.99.0.3", "10.98.0.3"
RATE, BACKGROUND, ALARM_RATE = 20000, 2000, 1000
RULE = {"name": "overheat", "topic": "plant/+/temperature", "value": "text", "raise": {"above": 80}, "action": "publish",
        "payload": "envelope", "publish": {"topic": "alarm/{topic}"}}  # as the laboratory has it
MODES = ("off", "on")
SETTLED_S = 0.25  # a changed connection is stored within 0.1 s, and an alarm after 10 ms


class Sizes:
    """What --ends shortens."""

    def __init__(self, ends):
        self.connections, self.many = (1000, 1000) if ends else (1000, 10000)
        self.alarms, self.seconds, self.agents, self.poll_s = (50, 0.5, 5, 1) if ends else (300, 3, 20, 10)
        self.gateways, self.bench_s = ((1, 2), 0.3) if ends else ((1, 2, 3), 1)


def fail(why):
    sys.exit(f"bench/fleet/fleet.py: {why}")


def wait_for(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            fail(f"{what}: not within {seconds} s")
        time.sleep(0.05)
    return value


def process_cpu(pid):
    """Seconds; the clock of the process (clock_getcpuclockid(3)) is finer than /proc."""
    return time.clock_gettime((~pid << 3) | 2)


def thread_cpu(pid, tid):
    return int(Path(f"/proc/{pid}/task/{tid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


class Lab:
    """The laboratory of scripts/lab, with Redis and etcd in the namespace of the edge broker."""

    def __init__(self, build, work):
        self.name = "b" + os.environ.get("BIPLANE_BENCH", str(os.getpid()))
        self.build, self.work = build, work
        self.biplane = build / "apps" / "biplane"
        self.env = {**os.environ, "BP_LAB": self.name, "BIPLANE": str(self.biplane)}
        self.children, self.gateway = [], None
        self.file = work / "biplane.yaml"
        self.directory = Path(f"/run/biplane-lab-{self.name}/biplane")

    def script(self, *args):
        return subprocess.run([ROOT / "scripts" / "lab", *args], env=self.env, check=True, stdout=subprocess.PIPE, text=True).stdout

    def within(self, ns, *args):
        return ["ip", "netns", "exec", f"bp-{self.name}-{ns}", *map(str, args)]

    def start(self, ns, *args, **more):
        log = (self.work / "log").open("ab")
        with log:
            p = subprocess.Popen(self.within(ns, *args), stderr=log, **{"stdin": subprocess.DEVNULL, "stdout": log, **more})
        self.children.append(p)
        return p

    def end(self, p):
        p.terminate()
        try:
            p.wait(20)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
        self.children.remove(p)

    def down(self):
        for p in list(self.children):
            self.end(p)
        subprocess.run([ROOT / "scripts" / "lab", "down"], env=self.env, check=False, stdout=sys.stderr)

    def show(self, *args):
        p = subprocess.run(self.within("gw", self.biplane, *args, "--json", "-c", self.file), check=False, capture_output=True, text=True)
        return json.loads(p.stdout) if p.stdout and p.returncode in (0, 2) else None

    # ---- engines

    def start_engines(self):
        print(self.script("up"), file=sys.stderr)
        self.redis = self.start("edge", "redis-server", "--bind", MGMT, "--protected-mode", "no", "--save", "", "--dir", self.work)
        url = f"http://{MGMT}:2379"
        self.etcd = self.start("edge", "etcd", "--name", "bench", "--data-dir", self.work / "etcd", "--listen-client-urls", url,
                               "--advertise-client-urls", url, "--listen-peer-urls", "http://127.0.0.1:2380",
                               "--initial-advertise-peer-urls", "http://127.0.0.1:2380",
                               "--initial-cluster", "bench=http://127.0.0.1:2380")
        wait_for("Redis", lambda: self.redis_cli("ping") == "PONG\n")
        wait_for("etcd", lambda: "true" in self.http("/health"))
        subprocess.run([self.biplane, "fleet", "keygen", self.work / "key"], check=True, stdout=subprocess.DEVNULL)

    def redis_cli(self, *args):
        return subprocess.run(self.within("edge", "redis-cli", "-h", MGMT, *args), check=False, capture_output=True, text=True).stdout

    def http(self, path):
        return subprocess.run(self.within("edge", "curl", "-s", f"http://{MGMT}:2379{path}"), check=False, capture_output=True, text=True).stdout

    def redis_load(self):
        """CPU seconds, commands and bytes."""
        info = dict(line.split(":", 1) for line in self.redis_cli("info", "all").splitlines() if ":" in line)
        return process_cpu(self.redis.pid), int(info["total_commands_processed"]), int(info["used_memory"])

    def etcd_load(self):
        """CPU seconds, and requests of clients through the JSON gateway: each is a call of gRPC."""
        calls = sum(float(line.split()[-1]) for line in self.http("/metrics").splitlines()
                    if line.startswith("grpc_server_handled_total{") and 'grpc_type="unary"' in line)
        return process_cpu(self.etcd.pid), calls

    # ---- gateway

    def start_gateway(self, state):
        section = {"name": "bench", "labels": {"site": "bench"},
                   "config": {"server": f"etcd://{MGMT}:2379", "keys": [str(self.work / "key.pub")], "trial_time": "1s",
                              "directory": str(self.work / "bundles")}}
        if state:
            section["state"] = {"server": f"redis://{MGMT}"}
        self.file.write_text(self.script("config", "af_packet") + "fleet: " + json.dumps(section) + "\n", encoding="utf-8")
        self.directory.mkdir(exist_ok=True)
        self.gateway = self.start("gw", self.biplane, "run", "-c", self.file)

        def ready():
            if self.gateway.poll() is not None:
                fail("the gateway ended: " + (self.work / "log").read_text(errors="replace")[-2000:])
            s = self.show("status")
            return s and all(p["running"] for p in s["planes"]) and s["publisher"]["connected"] and \
                (not state or self.stored() is not None)
        wait_for("the gateway", ready)
        self.planes = {p["plane"]: p["pid"] for p in self.show("status")["planes"]}
        self.worker = next(int(t.name) for t in Path(f"/proc/{self.planes['data plane']}/task").iterdir()
                           if (t / "comm").read_text().startswith("rte-worker"))

    def stop_gateway(self):
        self.end(self.gateway)

    def cpu(self):
        """CPU seconds of the worker and of the control plane."""
        return thread_cpu(self.planes["data plane"], self.worker), process_cpu(self.planes["control plane"])

    def frames(self):
        return sum(p["rx_packets"] for p in self.show("show", "ports")["ports"])

    def answer(self):
        """The answer of the control plane to the command status: unlike the segment, it has the present counters."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(self.directory / f"lab-{self.name}.sock"))
            s.sendall(b'{"command":"status"}\n')
            with s.makefile() as line:
                return json.loads(line.readline())

    def stored(self):
        """Connections whose record Redis has acknowledged; None while it is not connected."""
        state = self.answer()["fleet_state"]
        return state["stored"] if state["connected"] else None

    def copies(self):
        return self.answer()["fleet_alarms"]["stored"]


class Devices:
    def __init__(self, lab, n):
        self.lab = lab
        self.p = lab.start("dev", sys.executable, ROOT / "bench" / "fleet" / "devices.py", CLOUD, n, stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
        if self.p.stdout.readline() != "ready\n":
            fail("the devices did not connect: " + (lab.work / "log").read_text(errors="replace")[-2000:])

    def begin(self, rate, seconds, percent):
        self.p.stdin.write(f"{rate} {seconds} {percent}\n")
        self.p.stdin.flush()

    def wait(self):
        return json.loads(self.p.stdout.readline() or fail("the devices ended"))

    def run(self, *load):
        self.begin(*load)
        return self.wait()

    def end(self):
        self.p.stdin.close()
        self.p.wait(30)
        self.lab.children.remove(self.p)


# ---- the parts ----

def delays(lab, devices, sizes, mode):
    """The delay of alarms at 100/s, next to the connections of the devices."""
    devices.begin(BACKGROUND, sizes.alarms / 100 + 1, 0)
    subprocess.run(lab.within("dev", lab.build / "bench" / "alarm_latency", "-p", CLOUD, "-a", EDGE, "-N", f"/run/netns/bp-{lab.name}-edge",
                              "-i", "10000", "-n", sizes.alarms, "-w", lab.work / f"times.{mode}"), check=True, stdout=subprocess.DEVNULL)
    devices.wait()


def cost_of(lab, sizes, mode):
    """CPU times of a load of one gateway; it is not stopped."""
    lab.redis_cli("flushall")  # records of an earlier round would expire while memory is measured
    lab.start_gateway(state=mode == "on")
    devices = Devices(lab, sizes.connections)
    delays(lab, devices, sizes, mode)
    stored = settle(lab.stored) if mode == "on" else 0
    frames, (worker, control), redis, begin = lab.frames(), lab.cpu(), process_cpu(lab.redis.pid), time.monotonic()
    sent = devices.run(RATE, sizes.seconds, 0)
    (worker_end, control_end), frames_end, end = lab.cpu(), lab.frames(), time.monotonic()
    redis = process_cpu(lab.redis.pid) - redis
    n = settle(lab.stored) - stored if mode == "on" else 0
    devices.end()
    return {"frame_us": 1e6 * (worker_end - worker) / (frames_end - frames), "control_cpu": (control_end - control) / (end - begin),
            "values_per_s": sent["sent"] / sent["seconds"], "stored_per_s": n / (end - begin), "redis_us": 1e6 * redis / n if n else None}


def settle(read):
    """Waits until a counter no longer increases. Not between two readings of CPU times: the control plane answers it."""
    last = read()
    while True:
        time.sleep(SETTLED_S)
        now = read()
        if now == last:
            return now
        last = now


def of_connections(lab, sizes):
    memory = lab.redis_load()[2]
    before = settle(lab.stored)
    devices = Devices(lab, sizes.many)
    devices.run(sizes.many, 1.1, 0)
    stored = settle(lab.stored)
    keys, more = stored - before, lab.redis_load()[2] - memory
    (cpu, commands, _), (_, control) = lab.redis_load(), lab.cpu()
    # each connection once a second: it rests between two values
    devices.run(sizes.many, sizes.seconds, 0)
    time.sleep(SETTLED_S)
    (cpu_end, commands_end, _), (_, control_end) = lab.redis_load(), lab.cpu()
    stored_end = settle(lab.stored)
    size = int(lab.redis_cli("dbsize"))
    devices.end()
    n = stored_end - stored
    if n <= 0 or keys <= 0 or size < sizes.many:
        fail(f"{n} writes and {size} keys of {sizes.many} connections")
    return {"connections": sizes.many, "writes": n, "redis_us": 1e6 * (cpu_end - cpu) / n, "control_us": 1e6 * (control_end - control) / n,
            "commands": (commands_end - commands) / n, "bytes": more / sizes.many}


def of_alarms(lab, sizes, broker):
    """1,000 alarms/s, while the edge broker answers or not."""
    devices = Devices(lab, 4)  # few: their own records are rare
    if not broker:
        lab.script("broker", "edge", "stop")
    writes, copies = settle(lab.stored), lab.copies()
    (cpu, commands, memory), (_, control) = lab.redis_load(), lab.cpu()
    sent = devices.run(ALARM_RATE, sizes.seconds, 100)
    time.sleep(SETTLED_S)
    (cpu_end, commands_end, memory_end), (_, control_end) = lab.redis_load(), lab.cpu()
    stored, writes = settle(lab.copies) - copies, lab.stored() - writes
    devices.end()
    if not broker:
        lab.script("broker", "edge", "start")
    if not broker and stored < sent["alarms"] // 2:
        fail(f"{stored} copies of {sent['alarms']} alarms")
    return {"alarms": sent["alarms"], "copies": stored, "connection_writes": writes, "redis_us": 1e6 * (cpu_end - cpu) / sent["alarms"],
            "control_us": 1e6 * (control_end - control) / sent["alarms"], "commands": (commands_end - commands) / sent["alarms"],
            "bytes": (memory_end - memory) / stored if stored and not broker else None}


def of_polls(lab, sizes):
    """Agents alone: they poll without their planes, too."""
    def measure():
        cpu, calls = lab.etcd_load()
        time.sleep(sizes.poll_s)
        cpu_end, calls_end = lab.etcd_load()
        return (cpu_end - cpu) / sizes.poll_s, (calls_end - calls) / sizes.poll_s

    idle, idle_calls = measure()
    agents, pids = [], []
    for i in range(sizes.agents):
        file = lab.work / f"agent{i}.yaml"
        file.write_text(json.dumps({
            "version": 1, "name": f"m{i}", "runtime": {"directory": str(lab.work / f"run{i}"), "hugepages": "never"},
            "ports": [{"name": "a", "device": "net_null0"}, {"name": "b", "device": "net_null1"}], "bridges": [{"name": "line", "ports": ["a", "b"]}],
            "fleet": {"name": "bench", "config": {"server": f"etcd://{MGMT}:2379", "keys": [str(lab.work / "key.pub")],
                                                  "directory": str(lab.work / f"bundles{i}")}}}))
        (lab.work / f"run{i}").mkdir(exist_ok=True)
        agents.append(lab.start("gw", lab.biplane, "fleet", "agent", "-c", file))
        pids.append(agents[-1].pid)
    wait_for("the agents", lambda: len((lab.show("fleet", "members") or {"members": []})["members"]) > sizes.agents)
    before = sum(map(process_cpu, pids))
    busy, calls = measure()
    agent_cpu = (sum(map(process_cpu, pids)) - before) / sizes.poll_s / sizes.agents
    for a in agents:
        lab.end(a)
    calls -= idle_calls
    if calls <= 0:
        fail(f"{calls} polls per second of {sizes.agents} agents")
    return {"agents": sizes.agents, "calls_per_s": calls / sizes.agents, "etcd_us": 1e6 * (busy - idle) / calls, "etcd_idle": idle,
            "agent_cpu": agent_cpu}


def of_rollout(lab, polls, serial):
    bundle = lab.work / "bundle.yaml"
    bundle.write_text(json.dumps({"mqtt": {"rules": [RULE, {"name": f"bench{serial}", "topic": "t", "raise": {"above": 80}}]}}))
    (cpu, calls), begin = lab.etcd_load(), time.monotonic()
    subprocess.run(lab.within("gw", lab.biplane, "fleet", "push", "-c", lab.file, "--selector", "site=bench", "--sign", lab.work / "key", bundle),
                   check=True, stdout=subprocess.DEVNULL)
    wait_for("the rollout", lambda: (lambda a: a["version"] == serial and a["state"] == "applied")(lab.show("status")["fleet_agent"]), 30)
    (cpu_end, calls_end), took = lab.etcd_load(), time.monotonic() - begin
    return {"calls": calls_end - calls - polls["calls_per_s"] * took, "etcd_ms": 1e3 * (cpu_end - cpu - polls["etcd_idle"] * took), "seconds": took}


def of_gateways(lab, n, sizes):
    """CPU time of a frame in n gateways at a time."""
    prefix = f"bench-{os.environ.get('BIPLANE_BENCH', os.getpid())}"
    running = [subprocess.Popen([lab.build / "bench" / "biplane-bench", "--seconds", str(sizes.bench_s), f"--file-prefix={prefix}" + (f"-{i}" if i else ""),
                                 "--pcap", lab.work / "text.pcap", "--inspect"], stdout=subprocess.PIPE, text=True) for i in range(n)]
    out = [p.communicate()[0] for p in running]
    if any(p.returncode for p in running):
        fail(f"biplane-bench, {n} at a time: the counters do not add up: {out}")
    return [json.loads(o)["cpu_ns"] for o in out]


# ---- all ----

def median(rows):
    """Of each member; None if it is None in all rows."""
    return {k: round(statistics.median(v), 4) if (v := [r[k] for r in rows if r[k] is not None]) else None for k in rows[0]}


def progress(what):
    print(f"fleet: {what}", file=sys.stderr)


def measure(lab, rounds, sizes):
    rows = {k: [] for k in ("off", "on", "connections", "alarms", "copies", "polls", "rollout")}
    gateways = {n: [] for n in sizes.gateways}
    subprocess.run([lab.build / "bench" / "make_pcap", "text", lab.work / "text.pcap"], check=True)
    lab.start_engines()
    for r in range(rounds):
        progress(f"round {r + 1} of {rounds}")
        for n in sizes.gateways:
            gateways[n].append(statistics.mean(of_gateways(lab, n, sizes)))
        for mode in MODES if r % 2 == 0 else reversed(MODES):
            rows[mode].append(cost_of(lab, sizes, mode))
            if mode == "on":
                rows["connections"].append(of_connections(lab, sizes))
                rows["alarms"].append(of_alarms(lab, sizes, True))
                rows["polls"].append(of_polls(lab, sizes))
                rows["rollout"].append(of_rollout(lab, rows["polls"][-1], r + 1))
                rows["copies"].append(of_alarms(lab, sizes, False))
            lab.stop_gateway()

    def with_delays(mode):
        d = json.loads(subprocess.run([lab.build / "bench" / "alarm_latency", "-m", lab.work / f"times.{mode}"], check=True,
                                      capture_output=True).stdout)
        return {**median(rows[mode]), "delay": {k: d[k] for k in ("alarms", "median_us", "p99_us")}}

    by_round = [on["frame_us"] / off["frame_us"] for on, off in zip(rows["on"], rows["off"])]
    return {"cost": {**{m: with_delays(m) for m in MODES}, "connections": sizes.connections,
                     "frame_ratios": [round(v, 4) for v in by_round]},
            "redis": {k: median(rows[k]) for k in ("connections", "alarms", "copies")},
            "etcd": {"poll": median(rows["polls"]), "rollout": median(rows["rollout"])},
            "gateways": [{"n": n, "frame_ns": round(statistics.median(v), 2),
                          "ratio": round(statistics.median(a / b for a, b in zip(v, gateways[1])), 4)} for n, v in gateways.items()]}


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--ends"]):
        sys.exit(__doc__)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))  # the brokers inherit it
    with tempfile.TemporaryDirectory() as work:
        lab = Lab(Path(sys.argv[1]).resolve(), Path(work))
        try:
            print(json.dumps(measure(lab, int(sys.argv[2]), Sizes(bool(sys.argv[3:])))))
        finally:
            lab.down()


if __name__ == "__main__":
    main()
