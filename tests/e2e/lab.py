# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory of scripts/lab and a gateway in it, as objects."""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIPLANE = os.environ.get("BIPLANE", str(ROOT / "build" / "apps" / "biplane"))
LAB_NAME = os.environ.get("BP_LAB", "e2e")
PATIENCE = float(os.environ.get("BP_PATIENCE", "1"))  # how much longer than default to wait: on an emulated machine

DEVICE, CLOUD, EDGE = "10.99.0.1", "10.99.0.2", "10.99.0.3"
CLOUD6 = "fd99::2"
EDGE_MGMT = "10.98.0.3"
MAC = {"dev": "02:99:00:00:00:01", "cloud": "02:99:00:00:00:02", "edge": "02:99:00:00:00:03"}

# Output of a failed test.
VIEWS = ("ports", "health", "drops", "counters", "rules", "connections")
ROUTING_VIEWS = ("interfaces", "neighbors")

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def wait_until(what, condition, seconds=20, every=None):
    """Polls until condition() is true, and returns what it returned; fails the test after `seconds`.

    A condition mostly runs a command, and several laboratories share the processors: without `every`, the pauses grow
    with the time waited.
    """
    begin = time.monotonic()
    end = begin + seconds * PATIENCE
    while True:
        got = condition()
        if got:
            return got
        now = time.monotonic()
        if now > end:
            raise AssertionError(f"waited {seconds * PATIENCE:g} s in vain for {what}")
        time.sleep(every or min(0.02 + (now - begin) / 10, 0.2))



def segment_files(segment):
    """The files of a segment, whose first is the data plane's: the control plane's, and what both write."""
    return [Path(segment + end) for end in ("", "-control", "-shared")]


def remove_segment(segment):
    for f in segment_files(segment):
        f.unlink(missing_ok=True)


class Lab:
    def __init__(self, name=LAB_NAME):
        self.name = name
        self.prefix = f"bp-{name}-"
        self.state = Path(f"/run/biplane-lab-{name}")

    def script(self, *args):
        """scripts/lab with these arguments; its sentence in the failure when it fails."""
        p = subprocess.run([str(ROOT / "scripts" / "lab"), *args], env={**os.environ, "BP_LAB": self.name},
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                           text=True, check=False, errors="replace")
        assert p.returncode == 0, f"scripts/lab {' '.join(args)}: {p.stdout}"

    def up(self, *args):
        self.script("up", *args)

    def down(self):
        self.script("down")

    def broker(self, where, action):
        self.script("broker", where, action)

    def argv(self, ns, *args):
        return ["ip", "netns", "exec", self.prefix + ns, *map(str, args)]

    def run(self, ns, *args, check=True, **kw):
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.STDOUT)
        kw.setdefault("timeout", 60)
        p = subprocess.run(self.argv(ns, *args), check=False, **kw)
        assert not check or p.returncode == 0, f"{args} in {ns} exited with {p.returncode}: {p.stdout}"
        return p

    def popen(self, ns, *args, **kw):
        return subprocess.Popen(self.argv(ns, *args), **kw)

    @contextlib.contextmanager
    def inside(self, ns):
        """This thread in a namespace. A socket made here, and a thread begun here, stay there."""
        with open("/proc/thread-self/ns/net") as home, open(f"/run/netns/{self.prefix}{ns}") as there:
            _setns(there)
            try:
                yield
            finally:
                _setns(home)

    def set_mtu(self, ns, mtu):
        self.run(ns, "ip", "link", "set", "eth0", "mtu", mtu)
        if mtu >= 1280:
            self.restore_ipv6(ns)

    def restore_ipv6(self, ns):
        """Gives eth0 the IPv6 address again that the kernel removed with a smaller MTU, or while the link was down."""
        n = {"dev": 1, "cloud": 2, "edge": 3}[ns]
        self.run(ns, "sysctl", "-qw", "net.ipv6.conf.eth0.accept_dad=0", check=False)
        self.run(ns, "ip", "addr", "replace", f"fd99::{n}/64", "dev", "eth0", "nodad", check=False)

    @contextlib.contextmanager
    def link_down(self, ns):
        """eth0 down inside the block, and up with its addresses after it."""
        self.run(ns, "ip", "link", "set", "eth0", "down")
        try:
            yield
        finally:
            self.run(ns, "ip", "link", "set", "eth0", "up")
            self.restore_ipv6(ns)


def _setns(f):
    if _libc.setns(f.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def port_devices(driver, names=("devices", "cloud", "edge")):
    # with its 512 frames the driver loses some where others have the processor for some milliseconds
    ring = ",framecnt=4096" if driver == "af_packet" else ""
    return [{"name": n, "device": f"net_{driver}{i},iface={n}{ring}"} for i, n in enumerate(names)]


class Gateway:
    """`biplane run` in the gateway's namespace, with a configuration given as a dict."""

    def __init__(self, lab, directory, config):
        self.lab, self.dir = lab, Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.file = self.dir / "biplane.yaml"
        self.identity = self.dir / "identity.yaml"  # selects the instance for show, also when the file is invalid
        self.log = self.dir / "log"
        self.config = {
            "name": f"lab-{lab.name}",  # as scripts/lab calls it, which cleans up after a kill
            "runtime": {"directory": str(self.dir / "run")},
            "workers": 1,
            "poll_mode": "adaptive",
            **config,
        }
        self.process = self.segment = None
        self.ns = "gw"

    def write(self, config=None):
        # JSON is YAML.
        self.file.write_text(json.dumps({"version": 1, **(config or self.config)}, indent=1) + "\n")

    def start(self, *args, edge=True):
        self.write()
        self.identity.write_text(self.file.read_text())
        with self.log.open("ab") as log:
            self.process = self.lab.popen(self.ns, BIPLANE, "run", "-c", self.file, *args, stdout=log, stderr=log,
                                          stdin=subprocess.DEVNULL, cwd=self.dir)
        self.wait_ready(edge=edge)
        return self

    def wait_ready(self, seconds=60, edge=True):
        def ready():
            assert self.process.poll() is None, f"biplane run ended with {self.process.returncode}"
            planes = self.try_status()
            if not planes or any(not p["running"] for p in planes["planes"]):
                return False
            if len(planes["ports"]) != len(self.config["ports"]) or planes["workers"] < 1:
                return False
            if "rules" in self.config.get("mqtt", {}) and planes["reloads"]["generation"] < 1:
                return False
            return not edge or "publisher" not in self.config.get("mqtt", {}) or planes["publisher"]["connected"]
        wait_until("both planes to be ready and the edge broker to be connected", ready, seconds)
        self.segment = self.status()["segment"]["path"]

    def command(self, *args):
        p = subprocess.run([BIPLANE, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           check=False, timeout=60, stdin=subprocess.DEVNULL)
        return p

    def try_show(self, view, *args):
        p = self.command("show", view, "-c", self.identity, "--json", *args)
        return json.loads(p.stdout) if p.returncode == 0 else None

    def show(self, view, *args):
        p = self.command("show", view, "-c", self.identity, "--json", *args)
        assert p.returncode == 0, f"show {view}: {p.returncode} {p.stderr}"
        return json.loads(p.stdout)

    def try_status(self):
        p = self.command("status", "-c", self.identity, "--json")
        return json.loads(p.stdout) if p.returncode in (0, 2) else None  # 2: a fault is open

    def status(self):
        status = self.try_status()
        assert status is not None, "no status"
        return status

    def counter(self, name):
        for group in self.show("counters")["counters"]:
            if group["name"] == name:
                return group["count"]
        raise AssertionError(f"no counter {name}")

    def counted(self):
        """Counters that are not 0, for the words of a failure."""
        return {c["name"]: c["count"] for c in self.show("counters")["counters"] if c["count"]}

    def plane(self, name):
        return next(p for p in self.status()["planes"] if p["plane"] == name)

    def kill_plane(self, name):
        """kill -9 of "data plane" or "control plane"; returns once run has brought up another."""
        before = self.plane(name)
        os.kill(before["pid"], signal.SIGKILL)

        def again():
            planes = self.try_status()
            now = planes and next(p for p in planes["planes"] if p["plane"] == name)
            return now and now["running"] and now["pid"] != before["pid"] and now["restarts"] > before["restarts"] and now
        return wait_until(f"the {name} to be restarted", again, 60)

    def balanced(self):
        """The packet sum once the gateway is at rest; fails when it does not become exact."""
        last = None

        def equal():
            nonlocal last
            last = self.show("drops")
            return last["balanced"] and last == self.show("drops") and last
        try:
            return wait_until("an exact packet sum", equal, 15, 0.2)
        except AssertionError as e:
            raise AssertionError(f"{e}: {last}") from None

    def reload(self, config=None):
        if config is not None:
            self.write(config)
        while True:
            p = self.command("reload", "-c", self.file)
            if "too many requests by this user" not in p.stderr: # as many as the control socket takes in a second
                return p
            time.sleep(0.2)

    def stop(self, seconds=120):
        """SIGTERM, as an operator stops it; returns the exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.dump()
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"biplane run did not end within {seconds} s of SIGTERM") from None
        code, self.process = self.process.returncode, None
        # The segment outlives biplane, by design; the next test begins with a new one.
        if self.segment:
            counters = self.try_show("counters")
            remove_segment(self.segment)
            # a node took an edge that is not in its table
            assert not counters or not any(c["count"] for c in counters["counters"] if c["name"] == "no_next_node"), self.log
        return code

    def dump(self, lines=60):
        """Diagnostics after a failed test."""
        print(f"\n----- the end of {self.log}")
        if self.log.exists():
            print("\n".join(self.log.read_text(errors="replace").splitlines()[-lines:]))
        views = (*VIEWS, *(ROUTING_VIEWS if any("routed" in p for p in self.config["ports"]) else ()))
        for command in ("status",), *(("show", v) for v in views):
            with contextlib.suppress(Exception):
                p = self.command(*command, "-c", self.identity)
                print(f"----- biplane {' '.join(command)}\n{p.stdout}{p.stderr}")


class Background(threading.Thread):
    """A thread whose exception reaches the test, at join."""

    def __init__(self, target, *args, **kw):
        super().__init__(daemon=True)
        self.call, self.error, self.result = (target, args, kw), None, None

    def run(self):
        target, args, kw = self.call
        try:
            self.result = target(*args, **kw)
        except BaseException as e:  # noqa: BLE001
            self.error = e

    def finish(self, seconds=120):
        self.join(seconds)
        assert not self.is_alive(), "a background task did not end"
        if self.error:
            raise self.error
        return self.result
