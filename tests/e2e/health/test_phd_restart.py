# SPDX-License-Identifier: BSD-3-Clause
"""Health devices over restarts of every kind: they continue without associating again, and each measurement is stored
exactly once. Exception: a report in flight when the segment is lost is stored at least once."""

import collections
import contextlib
import itertools
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import running_router
from lab import BIPLANE, remove_segment, wait_until
from router_lab import RIGHT, only_biplane, own
from test_phd import SIM

SINK = os.environ.get("BP_CSE_SINK", str(Path(BIPLANE).resolve().parent / "biplane-cse-sink"))
KILLS = int(os.environ.get("BP_PHD_KILLS", "20"))
KINDS = ("oximeter", "activity")  # a standard configuration, and one that the device declares itself
RAISE = 1 << 20
MOVED = "new-"  # containers, where the path is another
pytestmark = only_biplane


@pytest.fixture
def directory(tmp_path):
    return tmp_path


@pytest.fixture
def router(routed_lab, hugepages, directory):
    phd = {"listen": {"udp_port": 6024, "tcp_port": 6024}, "max_sessions": 1024, "store": {"path": str(directory / "store" / "phd.db")},
           "cse": {"coap": f"coap://{RIGHT}:5683", "path": "cse-in/{system_id}/{object}"}}
    with running_router(routed_lab, directory, health_devices=phd) as r:
        yield r


class Sink:
    """The sink that replaces the CSE, on the right."""

    def __init__(self, lab, directory):
        self.file, self.moved = directory / "sink.json", 0
        self.process = lab.popen("right", SINK, "--listen", f"{RIGHT}:5683", "--report-file", self.file,
                                 stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().split()[0] == "ready"

    def values(self):
        """Ends it. {device: the values that it has, as text, with how often}"""
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(30) == 0, self.file.read_text()[:4000]
        said = json.loads(self.file.read_text())
        assert said["violations"] == 0
        found = collections.defaultdict(collections.Counter)
        for ae in said["tree"]["children"]:
            for container in ae["children"]:
                for i in container.get("children", ()):
                    con = json.loads(i["attributes"]["con"], parse_float=str, parse_int=str)
                    found[ae["rn"]][str(con["v"])] += 1
                    self.moved += container["rn"].startswith(MOVED)
        return found

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def sink(routed_lab, router, directory):
    s = Sink(routed_lab, directory)
    yield s
    s.close()


_ids = itertools.count(1)


class Devices:
    """Simulated devices on the left that measure until they are ended. Their log is read while it grows."""

    def __init__(self, lab, directory, kind, count=10):
        self.count = count
        self.file = directory / f"{kind}.log"
        self.process = lab.popen("left", SIM, "--to", f"{own('left')}:6024", "--report-file", self.file, "--system-id",
                                 f"00220922580e{next(_ids):02x}00", "--device", kind, "--count", count, "--confirmed",
                                 "--reports", 0, "--rate", 3 * count, "--retries", 0, "--timeout", "500ms", stdout=subprocess.PIPE)

    def lines(self):
        text = self.file.read_text() if self.file.exists() else ""
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]

    def reports(self):
        """[(device, when it was sent first, when it was answered or None, its values as text)]"""
        last, got = {}, []
        for e in self.lines():
            if e["event"] == "report":
                last[e["device"]] = [e["device"], e["time"], None, [str(v["value"]) for v in e["values"]]]
                got.append(last[e["device"]])
            elif e["event"] == "answer" and e["kind"] == "rors":
                last[e["device"]][2] = e["time"]
        return got

    def measured(self, each, since=0.0):
        """Waits until each device has the given number of answers to reports first sent after `since`."""
        def enough():
            n = collections.Counter(d for d, sent, answered, _ in self.reports() if sent > since and answered)
            return len(n) == self.count and min(n.values()) >= each
        wait_until(f"{each} measurements of each of {self.count} devices", enough, 60, 0.2)

    def finish(self):
        """Ends them once what is on its way is answered. The summary."""
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, out
        return json.loads(out)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture
def devices(routed_lab, sink, directory):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(Devices(routed_lab, directory, k))) for k in KINDS]


def notice_nothing(devices):
    """Ends the devices; returns their output."""
    for d in devices:
        s = d.finish()
        assert s["associations"] == d.count and s["released"] == d.count, s
        assert s["aborted"] == s["aborts_sent"] == s["rejected"] == s["refused"] == s["given_up"] == 0, s
        assert s["answered"] == s["reports"] > 0, s


def check_stored(devices, sink, lost_at=None, back_at=None):
    """Each value is there, once. Of reports that were on their way while the segment was lost it may be there twice."""
    found = sink.values()
    for d in devices:
        sent = collections.defaultdict(collections.Counter)
        twice = collections.defaultdict(collections.Counter)
        for device, begun, answered, values in d.reports():
            sent[device].update(values)
            if lost_at is not None and begun < back_at and answered > lost_at:
                twice[device].update(values)
        assert len(sent) == d.count
        for device, values in sent.items():
            assert not values - found[device], f"{device}: not stored"
            assert not found[device] - values - twice[device], f"{device}: stored twice"


def test_control_plane_killed_repeatedly(routed_lab, router, sink, devices):
    for d in devices:
        d.measured(1)
    data_plane = router.plane("data plane")["pid"]
    for _ in range(KILLS):
        killed = time.time()
        router.kill_plane("control plane")
        wait_until("measurements after the kill", lambda t=killed: all(
            any(a and a > t for _, _, a, _ in d.reports()) for d in devices), 60, 0.1)
    assert router.plane("data plane")["pid"] == data_plane
    for d in devices:
        d.measured(1, since=time.time())
    notice_nothing(devices)
    check_stored(devices, sink)


def planes_of(router):
    return [router.plane(p)["pid"] for p in ("data plane", "control plane")]


@pytest.mark.parametrize("planes", (("data plane",), ("data plane", "control plane")), ids=("data", "both"))
def test_planes_killed(routed_lab, router, sink, devices, planes):
    """The segment remains: reports in flight are known too."""
    for _ in range(2):
        for d in devices:
            d.measured(1, since=time.time())
        before = {p: router.plane(p)["pid"] for p in planes}
        for pid in before.values():
            os.kill(pid, signal.SIGKILL)
        wait_until("other planes", lambda b=before: (now := router.try_status()) and all(
            p["running"] and p["pid"] != b.get(p["plane"]) for p in now["planes"]), 60)
    for d in devices:
        d.measured(1, since=time.time())
    notice_nothing(devices)
    check_stored(devices, sink)


def stopped(router):
    assert router.stop() == 0  # and the segment is gone
    router.start()


def killed(router):
    """As a machine that lost its power: no one ends properly."""
    planes = planes_of(router)
    router.process.send_signal(signal.SIGSTOP)
    for pid in planes:
        os.kill(pid, signal.SIGKILL)
    router.process.kill()
    router.process.wait()
    router.process = None
    wait_until("the planes to be gone", lambda: not any(lives(pid) for pid in planes))
    remove_segment(router.segment)
    router.start()


def lives(pid):
    """Also in part: its first thread may be gone before the one that still gives memory back, and holds its locks."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


def planes_killed(router):
    """Both planes and the segment, while what watches over them is there and starts them again."""
    planes = planes_of(router)
    router.process.send_signal(signal.SIGSTOP)
    for pid in planes:
        os.kill(pid, signal.SIGKILL)
    remove_segment(router.segment)
    router.process.send_signal(signal.SIGCONT)

    def others():
        assert router.process.poll() is None, f"biplane run ended with {router.process.returncode}"
        now = router.try_status()
        return now and all(p["running"] and p["pid"] not in planes for p in now["planes"])
    wait_until("other planes", others, 60)
    router.wait_ready()


@pytest.mark.parametrize("how", (stopped, killed, planes_killed))
def test_segment_lost(routed_lab, router, sink, devices, how):
    for d in devices:
        d.measured(3)
    lost_at = time.time()
    how(router)
    back_at = time.time()
    for d in devices:
        d.measured(3, since=back_at)
    sessions = router.show("sessions")["sessions"]
    assert len(sessions) == sum(d.count for d in devices)
    for s in sessions:  # the names of its instances continue where no earlier one was
        assert s["state"] == "operating" and RAISE < s["reports"] < 2 * RAISE, s
    notice_nothing(devices)
    check_stored(devices, sink, lost_at, back_at)
    assert router.show("sessions")["sessions"] == []


def test_another_path(routed_lab, router, sink, devices):
    """The configuration names other containers, and the control plane restarts: devices remain associated, although the
    sessions in the segment are for the old containers. (Reports in flight go to either, or to both.)"""
    for d in devices:
        d.measured(2)
    config = json.loads(json.dumps(router.config))
    config["health_devices"]["cse"]["path"] = f"cse-in/{{system_id}}/{MOVED}{{object}}"
    router.write(config)
    lost_at = time.time()
    router.kill_plane("control plane")
    back_at = time.time()
    for d in devices:
        d.measured(2, since=back_at)
    notice_nothing(devices)
    check_stored(devices, sink, lost_at, back_at)
    assert sink.moved >= 2 * 10 * len(KINDS)


def test_store_write_errors(routed_lab, router, sink, directory):
    """Without a file sessions live in the segment, and a warning says so; once there can be one it has all of them. (What
    devices declared meanwhile is lost with the process that learned it: these have a standard configuration.)"""
    with contextlib.ExitStack() as stack:
        store = directory / "store"
        assert router.stop() == 0
        for f in store.iterdir():
            f.unlink()
        store.rmdir()
        store.write_text("in the way")
        router.start()
        many = [stack.enter_context(contextlib.closing(Devices(routed_lab, directory, "oximeter")))]
        for d in many:
            d.measured(1)
        assert "store of health devices" in router.log.read_text()
        router.kill_plane("control plane")
        for d in many:
            d.measured(1, since=time.time())
        store.unlink()
        wait_until("the file to be written", lambda: (store / "phd.db").exists(), 30, 0.1)
        lost_at = time.time()
        stopped(router)
        back_at = time.time()
        for d in many:
            d.measured(1, since=back_at)
        notice_nothing(many)
        check_stored(many, sink, lost_at, back_at)
