# SPDX-License-Identifier: BSD-3-Clause
"""`biplane capture` while planes end and begin, on a full disk, and where the configuration disables it."""

import os
import subprocess

import pcapng
from captured import capturing, config, exchange, frame, refused
from conftest import config_for
from frames import LOCAL_ETHERTYPE
from lab import CLOUD, wait_until
from peers import Collector, Publisher


def test_planes_restart(lab, gateway, tmp_path):
    """A capture survives the data plane. With the control plane it ends, and its file is whole."""
    g = gateway(config())
    with capturing(g, "-w", tmp_path / "c.pcapng", "-i", "cloud", "--direction", "tx", f"ether proto {LOCAL_ETHERTYPE:#x}") as c:
        exchange(lab, [frame(1)])
        g.kill_plane("data plane")
        wait_until("traffic", lambda: g.show("ports")["ports"][0]["link_up"])
        wait_until("the capture in the new data plane", lambda: again(lab, tmp_path / "c.pcapng", 2))
        g.kill_plane("control plane")
        c.finish(0, status=69)
        assert "control plane ended" in c.err
    wait_until("the new control plane", lambda: refused(g, "--duration", "1s", "ether proto 0xffff").returncode == 0)
    got = pcapng.read((tmp_path / "c.pcapng").read_bytes())
    assert got.frames()[0] == frame(1) and frame(2) in got.frames()
    with capturing(g, "-c", 1, "-i", "cloud", f"ether proto {LOCAL_ETHERTYPE:#x}") as c:
        exchange(lab, [frame(3)])
        c.finish(0)


def again(lab, path, n):
    exchange(lab, [frame(n)])
    return frame(n) in path.read_bytes()


def test_off_by_configuration(gateway):
    g = gateway(config(monitoring={"capture_buffer": "off"}))
    p = refused(g, "-c", 1)
    assert p.returncode == 69 and "monitoring.capture_buffer" in p.stderr


def test_full_disk_disturbs_nothing_else(lab, gateway, tmp_path):
    """The alarm of a publication while the disk is full is delivered, and each frame has its outcome."""
    g = gateway(config_for())
    edge = Collector(lab, "edge")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=True)
    try:
        with capturing(g, "-w", small / "c.pcapng", f"ether proto {LOCAL_ETHERTYPE:#x}") as c:
            exchange(lab, [frame(n, size=1400) for n in range(200)])
            c.finish(0, status=74)
        assert os.statvfs(small).f_bavail == 0
        p = Publisher(lab, CLOUD, client_id="oven-7")
        p.finish([p.publish("plant/oven/temperature", "81.5", 1)])
        assert edge.wait_for_topic("alarm/plant/oven/temperature") == b"81.5"
        assert [a["value"] for a in g.show("alarms")["alarms"]] == [81.5]
        g.balanced()
    finally:
        edge.close()
        subprocess.run(["umount", small], check=True)
    assert g.stop() == 0
