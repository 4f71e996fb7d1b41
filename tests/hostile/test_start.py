# SPDX-License-Identifier: BSD-3-Clause
"""An operator in a hurry: the same interface twice, a second instance next to the first, a stop amid a start, more
memory asked for than there is; and what a stopped instance leaves."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import config_for
from lab import BIPLANE, wait_until


def command(*argv, **kw):
    return subprocess.run([BIPLANE, *map(str, argv)], capture_output=True, text=True, timeout=120, check=False, **kw)


@pytest.mark.parametrize("first,second", [
    ("net_af_packet0,iface=eth7", "net_af_packet1,iface=eth7,framecnt=512"),
    ("net_af_packet0,iface=eth7", "net_af_xdp0,iface=eth7"),
    ("0000:03:00.0", "03:00.0,arg=1"),
    ("0000:0a:00.0", "0000:0A:00.0"),
])
def test_two_ports_on_one_interface_are_refused(tmp_path, first, second):
    """Each would forward what the other has sent."""
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps({"version": 1, "ports": [{"name": "a", "device": first}, {"name": "b", "device": second}],
                                "bridges": [{"name": "bridge0", "ports": ["a", "b"]}]}))
    p = command("config", "check", "-c", file)
    assert p.returncode == 78 and "port 'a' has the same device" in p.stderr, p.stderr


def test_queues_of_one_interface_may_be_ports(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps({"version": 1, "ports": [{"name": "a", "device": "net_af_xdp0,iface=eth7,start_queue=0"},
                                          {"name": "b", "device": "net_af_xdp1,iface=eth7,start_queue=1"}],
                                "bridges": [{"name": "bridge0", "ports": ["a", "b"]}]}))
    p = command("config", "check", "-c", file)
    assert p.returncode == 0, p.stderr


def another(gateway, directory, **runtime):
    """The gateway's configuration under another name, with other directories."""
    config = json.loads(Path(gateway.file).read_text())
    config["name"] += "2"
    config["runtime"] = {"directory": str(directory / "run"), **runtime}
    if "mqtt" in config and "spool" in config["mqtt"]:
        config["mqtt"]["spool"]["path"] = str(directory / "spool.db")
    file = directory / "second.yaml"
    file.write_text(json.dumps({"version": 1, **config}))
    return file


def test_a_second_instance_on_the_same_interfaces_is_refused(lab, gateway, tmp_path):
    """Both would forward every frame: every frame would arrive twice."""
    g = gateway(config_for())
    file = another(g, tmp_path)
    (tmp_path / "run").mkdir()
    for _ in range(3):
        p = lab.run("gw", BIPLANE, "dataplane", "-c", file, check=False, stderr=subprocess.PIPE)
        said = p.stderr.decode()
        assert p.returncode == 69 and "is a port of another data plane that runs" in said, said
        assert f"process {g.plane('data plane')['pid']})" in said
    g.balanced()


def plain(tmp_path, **mqtt):
    """Two ports that need no device."""
    config = config_for(**mqtt)
    config["ports"] = [{"name": n, "device": f"net_null{i}"} for i, n in enumerate(("devices", "cloud"))]
    config["bridges"] = [{"name": "bridge0", "ports": ["devices", "cloud"]}]
    config["mqtt"].pop("mirror", None)
    config["name"] = f"start{os.getpid()}"
    config["runtime"] = {"directory": str(tmp_path / "run")}
    config["mqtt"]["spool"] = {"path": str(tmp_path / "spool.db")}
    return config


def free_hugepages():
    with open("/proc/meminfo", encoding="ascii") as f:
        words = {line.split(":")[0]: int(line.split()[1]) for line in f}
    return words["HugePages_Free"] * words["Hugepagesize"] << 10


def test_hugepages_that_are_required(tmp_path, hugepages):
    """The segment does not fit; ordinary pages were taken in silence."""
    if free_hugepages() >= 4 << 30:
        pytest.skip("hugepages enough for everything that can be asked for")
    config = plain(tmp_path, max_connections=16777216)
    config["runtime"]["hugepages"] = "require"
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps({"version": 1, **config}))
    p = command("dataplane", "-c", file)
    assert p.returncode == 69 and "hugepages are required" in p.stderr, p.stderr
    assert not list((tmp_path / "run").rglob("*.seg*"))


def test_stop_during_start(tmp_path):
    """Tables of many gigabytes are being made when the operator thinks better of it."""
    config = plain(tmp_path, max_connections=16777216)
    config["runtime"]["hugepages"] = "never"
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps({"version": 1, **config}))
    (tmp_path / "run").mkdir()
    process = subprocess.Popen([BIPLANE, "dataplane", "-c", file], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_until("the segment to be under way", lambda: list((tmp_path / "run").rglob("*.seg*")), 20)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0  # the kernel fills the mapping before it delivers the signal
    finally:
        process.kill()
        process.wait()
    p = command("clean", "-c", file)
    assert p.returncode == 0, p.stderr
    assert not list((tmp_path / "run").rglob("*.seg*"))


def test_clean_removes_leftovers_of_a_stop(gateway):
    g = gateway(config_for())
    p = command("clean", "-c", g.file)
    assert p.returncode == 69, "it is not to take memory away from a gateway that runs"
    g.balanced()
    segments = [Path(line.split()[-1]) for pid in [g.plane("data plane")["pid"]]
                for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if line.endswith(".seg")]
    assert segments and all(s.exists() for s in segments)
    g.segment = None  # which the helper would remove itself
    g.stop()
    assert all(s.exists() for s in segments), "the next start is to find it"
    p = command("clean", "-c", g.file)
    assert p.returncode == 0 and "is removed" in p.stdout, p.stderr
    assert not any(s.exists() for s in segments)
    assert not list((g.dir / "run").rglob("*.lock")) and not list((g.dir / "run").rglob("*.pid"))
    p = command("clean", "-c", g.file)
    assert p.returncode == 0 and "has no segment" in p.stdout
