# SPDX-License-Identifier: BSD-3-Clause
"""A defect, or an attacker with the rights of a plane, overwrites the segment's files while both planes run or before
they are started again: a damaged part is set aside and created again, traffic passes, alarms arrive, and no plane
restarts endlessly."""

import json
import mmap
import os
import random
import signal
from pathlib import Path

import pytest

from conftest import config_for
from lab import CLOUD, segment_files, wait_until
from peers import Collector, Expected, Publisher
from router_lab import host

PARTS = ("data", "control", "shared")
HEADER = 64 + 64 * 64  # struct header of shm/segment_part.h
PLANES = ("data plane", "control plane")


def overwrite(path, at, data_of):
    """data_of(n): n bytes; from `at` to the end. By a mapping: hugetlbfs knows no write()."""
    size = os.path.getsize(path)
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), size) as m:
        for i in range(at, size, 1 << 20):
            n = min(1 << 20, size - i)
            m[i:i + n] = data_of(n)


def cut(path):
    try:
        os.truncate(path, HEADER // 2)
    except OSError:  # hugepages come whole
        os.truncate(path, 0)


def zeros(path):
    overwrite(path, 0, bytes)


def noise(path):
    overwrite(path, 0, random.Random(7).randbytes)


def noise_behind_the_header(path):
    overwrite(path, HEADER, random.Random(8).randbytes)


def zeros_behind_the_header(path):
    overwrite(path, HEADER, bytes)


def header_zeroed(path):
    with open(path, "r+b") as f, mmap.mmap(f.fileno(), os.path.getsize(path)) as m:
        m[0:HEADER] = bytes(HEADER)


class Plant:
    """A device whose values pass, and raise alarms."""

    def __init__(self, lab):
        self.lab, self.n = lab, 0
        self.cloud, self.edge = Collector(lab, "cloud"), Collector(lab, "edge", ("alarm/#",))

    def works(self, seconds=60):
        """A new connection's publications reach the cloud, and their alarms the edge."""
        self.n += 1
        topic = f"plant/oven{self.n}/temperature"
        p = Publisher(self.lab, CLOUD, Expected())
        p.finish([p.publish(topic, f"9{i}", 1) for i in range(5)])
        for collector, t in ((self.cloud, topic), (self.edge, f"alarm/{topic}")):
            wait_until(f"5 messages of {t}", lambda c=collector, t=t: sum(
                1 for got, _ in list(c.messages) if got == t) >= 5, seconds)

    def close(self):
        self.cloud.close()
        self.edge.close()


@pytest.fixture
def plant(lab):
    p = Plant(lab)
    yield p
    p.close()


def restarts(g):
    text = g.log.read_text(errors="replace")
    return {plane: text.count(f"{plane} restarted pid=") for plane in PLANES}


def pids(g):
    return {p: g.plane(p)["pid"] for p in PLANES}


def settled(g):
    """The control plane ends once more if the data plane has replaced a file after it was opened."""
    files = {str(f) for f in segment_files(g.segment)}

    def mapped(pid):
        fields = (line.split(maxsplit=5) for line in Path(f"/proc/{pid}/maps").read_text().splitlines())
        return {f[5] for f in fields if len(f) > 5 and ".seg" in f[5]}
    try:
        return all(mapped(pid) == files for pid in pids(g).values())
    except (FileNotFoundError, ProcessLookupError):
        return False


def kill_after(g, damage, path):
    """Both planes are stopped during the overwrite, so that neither repairs it, and are then killed."""
    before = pids(g)
    for pid in before.values():
        os.kill(pid, signal.SIGSTOP)
    damage(path)
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)

    def again():
        planes = g.try_status()
        now = planes and {p["plane"]: p for p in planes["planes"]}
        return now and all(now[p]["running"] and now[p]["pid"] != before[p] for p in PLANES)
    wait_until("both planes to be started again", again, 60)
    g.wait_ready()
    wait_until("both planes to have the same files", lambda: settled(g), 60)


@pytest.mark.parametrize("damage", (zeros, noise, cut))
@pytest.mark.parametrize("part", PARTS)
def test_damaged_part_is_quarantined_and_recreated(lab, gateway, plant, tmp_path, part, damage):
    g = gateway(config_for(spool=tmp_path / "spool.db"))
    plant.works()
    path = segment_files(g.segment)[PARTS.index(part)]
    kill_after(g, damage, path)
    plant.works()
    log = g.log.read_text(errors="replace")
    assert f"{path}" in log and "a new one is made without:" in log, log
    assert g.counter("segment_quarantined") >= 1
    kept = g.dir / "run" / f"{path.name}.damaged"
    assert f"it is kept as {kept}" in log and kept.exists(), log
    # each was killed once; either may have to follow a file that the other one has replaced
    assert all(1 <= n <= 3 for n in restarts(g).values()), restarts(g)
    before = restarts(g), pids(g)
    plant.works()
    assert (restarts(g), pids(g)) == before, "it goes on being restarted"
    segment = g.segment
    g.stop()
    g.segment = None
    assert g.command("clean", "-c", g.file).returncode == 0
    assert not kept.exists() and not any(f.exists() for f in segment_files(segment))


@pytest.mark.parametrize("damage", (zeros_behind_the_header, noise_behind_the_header))
@pytest.mark.parametrize("part", PARTS)
def test_invalid_contents_are_rejected(lab, gateway, plant, tmp_path, part, damage):
    """The header is right, so that what is behind it is taken for tables."""
    g = gateway(config_for(spool=tmp_path / "spool.db"))
    plant.works()
    kill_after(g, damage, segment_files(g.segment)[PARTS.index(part)])
    plant.works()
    assert all(1 <= n <= 4 for n in restarts(g).values()), restarts(g)
    before = restarts(g), pids(g)
    plant.works()
    assert (restarts(g), pids(g)) == before, "it goes on being restarted"
    if damage is zeros_behind_the_header:
        assert g.counter("segment_quarantined") >= 1


@pytest.mark.parametrize("part", PARTS)
def test_a_header_is_restored_while_both_planes_run(lab, gateway, plant, tmp_path, part):
    g = gateway(config_for(spool=tmp_path / "spool.db"))
    plant.works()
    path, before = segment_files(g.segment)[PARTS.index(part)], pids(g)
    for n in range(1, 8):
        header_zeroed(path)
        wait_until("the header to be restored", lambda: g.try_status())
        wait_until("that to be counted", lambda n=n: g.counter("segment_quarantined") >= n)
    plant.works()
    assert pids(g) == before and restarts(g) == dict.fromkeys(PLANES, 0)
    assert any("header of the shared segment was overwritten and is restored" in line and f"segment={path}" in line
               for line in g.log.read_text(errors="replace").splitlines())
    assert g.log.read_text(errors="replace").count("is restored") <= 4, "not every time is worth a line"


def test_control_plane_recreates_its_part_while_the_data_plane_runs(lab, gateway, plant, tmp_path):
    g = gateway(config_for(spool=tmp_path / "spool.db"))
    plant.works()
    path, before = segment_files(g.segment)[1], pids(g)
    for n in range(1, 3):
        last = g.plane("control plane")["pid"]
        zeros(path)
        wait_until("another control plane", lambda n=n, last=last: restarts(g)["control plane"] == n and (
            planes := g.try_status()) and any(
                p["plane"] == "control plane" and p["running"] and p["pid"] != last for p in planes["planes"]), 30)
        g.wait_ready()
        plant.works()
    assert pids(g)["data plane"] == before["data plane"], "forwarding was interrupted"
    assert restarts(g) == {"data plane": 0, "control plane": 2}
    assert g.counter("segment_quarantined") >= 1
    log = g.log.read_text(errors="replace")
    assert "contents of the shared segment were overwritten" in log and f"{path.name}.damaged" in log
    assert json.loads(g.command("show", "rules", "-c", g.identity, "--json").stdout)


def routed(lab, router):
    """The tables are the kernel's, and a packet is answered, once both ends know each other's address again."""
    router.settled(60)
    wait_until("an answer from the other side",
               lambda: lab.pings("left", host("right"), check=False, count=1), 30)


@pytest.mark.parametrize("part", PARTS)
def test_routes_are_those_of_the_kernel_again(routed_lab, router, part):
    """Tables of all of the router's: whatever was in them, they become what the kernel has."""
    lab = routed_lab
    routed(lab, router)
    for damage in (noise_behind_the_header, zeros, noise):
        before = restarts(router)
        kill_after(router, damage, segment_files(router.segment)[PARTS.index(part)])
        routed(lab, router)
        assert all(restarts(router)[p] - before[p] <= 4 for p in PLANES), (before, restarts(router))
    running = pids(router)
    if part == "control":
        zeros(segment_files(router.segment)[1])
        wait_until("another control plane", lambda: router.try_status() and pids(router)[PLANES[1]] != running[PLANES[1]], 30)
        routed(lab, router)
    assert pids(router)["data plane"] == running["data plane"]
