# SPDX-License-Identifier: BSD-3-Clause
"""The planes as two users that are not root, as the units start them."""

import ctypes
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from conftest import _gateways, config_for, overheat
from lab import CLOUD, EDGE, MAC, segment_files, wait_until
from peers import Expected, Publisher, digest
from service import CONTROL, DATA, LOOK, STRANGER, VIEWER, Service, drop_in, unit

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
SET = {"net_bind_service": 10, "net_admin": 12, "net_raw": 13, "ipc_lock": 14}


@pytest.fixture
def service(lab, hugepages):
    made = []

    def make(config, start=True, **kw):
        s = Service(lab, config, **kw)
        made.append(s)
        _gateways.append(s)
        if start:
            s.start()
        return s
    yield make
    for s in made:
        _gateways.remove(s)
        s.stop()


def config():
    """Clones from the data plane, and alarms that the control plane publishes."""
    return config_for(rules=[overheat(action="mirror"),
                             overheat(name="pressure", topic="plant/+/pressure")],
                      mirror={"port": "edge", "mac": MAC["edge"], "ipv4_address": EDGE})


def capabilities(pid, which="CapEff"):
    return int(re.search(rf"{which}:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())[1], 16)


def test_both_pass_traffic_and_raise_alarms(lab, service, collect):
    s = service(config())
    for plane, user in (("dataplane", DATA), ("controlplane", CONTROL)):
        pid = s.planes[plane].pid
        assert os.stat(f"/proc/{pid}").st_uid == user
        assert re.search(r"^NoNewPrivs:\s*1$", Path(f"/proc/{pid}/status").read_text(), re.M)
    # af_packet needs two; no port is routed, so the control plane keeps only the capability for low ports
    assert capabilities(s.planes["dataplane"].pid) & ~(1 << SET["ipc_lock"]) == 1 << SET["net_raw"] | 1 << SET["net_admin"]
    assert capabilities(s.planes["controlplane"].pid) == 1 << SET["net_bind_service"]

    edge, cloud = collect("edge"), collect("cloud")
    expected = Expected()
    p = Publisher(lab, CLOUD, expected)
    p.finish([p.publish(f"plant/oven{i}/{what}", f"{70 + i}.5", 1) for i in range(20) for what in ("temperature", "pressure")])
    cloud.wait_count(40)
    assert cloud.counts() == expected.cloud()
    due = {(f"alarm/{t}", digest(d)) for t, d in expected.published if t.endswith("pressure") and float(d) > 80}
    wait_until("the alarms at the edge broker", lambda: set(edge.counts()) >= due)
    assert s.counter("mirror_frame") == 10
    assert (s.lib / "spool.db").stat().st_uid == CONTROL
    s.balanced()


def test_access_control(service):
    s = service(config())
    seen = s.as_other(VIEWER, [LOOK], s.biplane, "status", "-c", s.identity, "--json")
    assert seen.returncode in (0, 2), seen.stdout
    assert [p["running"] for p in json.loads(seen.stdout)["planes"][:2]] == [True, True]
    # a reader cannot change anything, neither in the segment nor by the socket
    for part in segment_files(s.segment):
        assert s.as_other(VIEWER, [LOOK], "test", "-w", part).returncode != 0
    refused = s.as_other(VIEWER, [LOOK], s.biplane, "reload", "-c", s.file)
    assert refused.returncode == 69 and "Permission denied" in refused.stdout, refused.stdout
    stranger = s.as_other(STRANGER, [], s.biplane, "status", "-c", s.identity)
    assert stranger.returncode == 69, stranger.stdout
    # an operator, in the control plane's group
    operator = s.as_other(VIEWER, [LOOK, CONTROL], s.biplane, "reload", "-c", s.file)
    assert operator.returncode == 0, operator.stdout


def writable(s, *tops):
    """Files and directories below these that the control plane's user can write."""
    script = """if True:
        import os, sys
        for top in sys.argv[1:]:
            for where, dirs, files in os.walk(top):
                for path in [where, *(os.path.join(where, f) for f in files)]:
                    if os.access(path, os.W_OK) and not os.path.islink(path):
                        print(path)
        """
    p = s.as_other(CONTROL, [LOOK], "/usr/bin/python3", "-c", script, *tops)
    assert p.returncode == 0, p.stdout
    return set(p.stdout.split())


def test_memory_writable_by_the_control_plane(service):
    s = service(config())
    name = s.config["name"]
    tops = [s.top, *(["/dev/hugepages"] if os.path.ismount("/dev/hugepages") else [])]
    _, control, shared = map(str, segment_files(s.segment))
    segment = {control, shared, str(s.run_dir / "data" / f"biplane-{name}.lock")}
    own = {p for p in writable(s, *tops) if p.startswith((f"{s.run_dir}/control", f"{s.lib}"))}
    notify = {str(s.manager[p].path) for p in s.manager}  # the service manager's, not the gateway's
    assert writable(s, *tops) - own - notify == segment
    assert {p for p in own if Path(p).is_dir()} == {str(s.run_dir / "control"), str(s.lib)}

    script = f"""if True:
        import os, socket
        pid, data, segment = {s.planes["dataplane"].pid}, {str(s.run_dir / "data")!r}, {s.segment!r}
        def denied(what, *args):
            try:
                what(*args)
            except PermissionError:
                return
            except OSError as e:
                raise SystemExit(f"{{what}}{{args}}: {{e}}")
            raise SystemExit(f"{{what}}{{args}} was allowed")
        denied(os.kill, pid, 0)
        denied(os.kill, pid, 15)
        denied(os.listdir, f"/proc/{{pid}}/fd")
        denied(open, f"/proc/{{pid}}/mem", "rb")
        denied(os.listdir, data + "/dpdk")
        denied(open, data + "/new", "w")
        denied(open, segment, "r+b")
        denied(os.unlink, segment)
        denied(os.unlink, segment + "-control")
        denied(os.rename, segment, segment + "2")
        denied(open, os.path.dirname(segment) + "/new", "w")
        denied(open, {str(s.file)!r}, "a")
        denied(socket.socket, socket.AF_PACKET, socket.SOCK_RAW)
        open(segment, "rb").close()
        open(segment + "-control", "r+b").close()
        print("all denied")
        """
    p = s.as_other(CONTROL, [LOOK], "/usr/bin/python3", "-c", script)
    assert p.stdout.strip() == "all denied"


def test_each_plane_restarts_alone(lab, service):
    """The control plane finds the segment of a data plane that is another user, and that of the next one."""
    s = service(config())
    s.planes["controlplane"].kill()
    s.planes["controlplane"].wait()
    s.manager["controlplane"].heard.clear()
    s.spawn("controlplane")
    s.ready("controlplane")
    s.planes["dataplane"].kill()
    s.planes["dataplane"].wait()
    s.manager["dataplane"].heard.clear()
    s.spawn("dataplane")
    s.ready("dataplane")
    assert [p["running"] for p in s.status()["planes"][:2]] == [True, True]
    lab.run("dev", "ping", "-n", "-c", 3, "-i", "0.2", CLOUD)


def test_the_control_plane_waits_for_the_segment(service):
    """As its user it cannot make one."""
    s = service(config(), start=False)
    s.write()
    s.file.chmod(0o644)
    s.identity.write_text(s.file.read_text())
    s.spawn("controlplane")
    wait_until("it to say so", lambda: "waiting for the data plane to create the shared segment" in s.text("controlplane"))
    assert not s.manager["controlplane"].has("READY=1")
    s.spawn("dataplane")
    s.ready("dataplane")
    s.ready("controlplane")
    s.segment = s.status()["segment"]["path"]


def test_a_capability_that_is_missing_is_named(service):
    s = service(config(), start=False)
    s.write()
    s.file.chmod(0o644)
    for cap in unit("dataplane")["AmbientCapabilities"].split():
        assert s.spawn("dataplane", without=[cap]).wait(60) == 69
        assert re.search(rf"^<3>error dataplane: port devices \(net_af_packet0\) needs {cap}, to open packet sockets.*"
                         r"; start it as the unit", s.text("dataplane"), re.M), s.text("dataplane")
        (s.top / "dataplane.log").unlink()


def test_heartbeat_and_log_levels(service):
    s = service(config(), watchdog_s=2)
    for plane in s.manager:
        wait_until(f"life signs of the {plane}", lambda m=s.manager[plane]: m.take() is None or m.heard.count("WATCHDOG=1") >= 3)
        heard = s.manager[plane].heard
        assert heard.count("READY=1") == 1
        assert any(h.startswith("STATUS=") for h in heard)
        assert "STOPPING=1" not in heard
    assert "STATUS=3 ports, 1 worker" in s.manager["dataplane"].heard
    for plane in s.manager:
        assert s.end(plane) == 0
        assert s.manager[plane].has("STOPPING=1")
    lines = s.text("controlplane").splitlines()
    assert lines and all(re.match(r"<[346]>(error|warning|info) controlplane: ", line) for line in lines), lines
    assert any(line.startswith("<6>info controlplane: ") for line in lines)
    assert re.search(r"^<4>warning dataplane: .* port=devices ", s.text("dataplane"), re.M)


def silent_while(s, plane, passed):
    """No heartbeat comes from now until passed()."""
    m = s.manager[plane]
    m.take()
    before = len(m.heard)
    wait_until("that time", passed, 60, 0.1)
    m.take()
    assert "WATCHDOG=1" not in m.heard[before:], "a life sign of what hangs"


def sounds_again(s, plane):
    m = s.manager[plane]
    m.take()
    before = len(m.heard)
    wait_until("life signs again", lambda: m.take() is None or "WATCHDOG=1" in m.heard[before:], 60)


@pytest.mark.parametrize("plane", ("dataplane", "controlplane"))
def test_stalled_plane_sends_no_heartbeat(service, plane):
    s = service(config(), watchdog_s=2)
    pid = s.planes[plane].pid
    sounds_again(s, plane)
    os.kill(pid, signal.SIGSTOP)
    wait_until("it to stand", lambda: Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T")
    end = time.monotonic() + 3
    silent_while(s, plane, lambda: time.monotonic() > end)
    os.kill(pid, signal.SIGCONT)
    sounds_again(s, plane)


def worker_thread(pid):
    for task in Path(f"/proc/{pid}/task").iterdir():
        if "worker" in (name := (task / "comm").read_text()):
            return int(task.name), name
    raise AssertionError("no worker thread")


def test_hung_worker_stops_the_heartbeat(service):
    """All else of the data plane continues: its main thread's heartbeat, above all."""
    s = service(config(), watchdog_s=2)
    tid, _ = worker_thread(s.planes["dataplane"].pid)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    sounds_again(s, "dataplane")
    try:
        assert libc.ptrace(PTRACE_SEIZE, tid, 0, 0) == 0, os.strerror(ctypes.get_errno())
        assert libc.ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0
        os.waitpid(tid, 0x40000000)  # __WALL: it is stopped
        sounds = s.manager["dataplane"]
        # a change before the stop may count once
        end = time.monotonic() + 1
        wait_until("a last sign", lambda: time.monotonic() > end)
        sounds.take()

        def main_goes_on():
            """Two watchdogs' time has passed, at the end of which the main thread still gave its heartbeat."""
            passed = time.monotonic() - end
            return passed > 4 and s.status()["planes"][0]["heartbeat_age_s"] < passed - 3
        silent_while(s, "dataplane", main_goes_on)
    finally:
        libc.ptrace(PTRACE_DETACH, tid, 0, 0)
    sounds_again(s, "dataplane")


def test_af_xdp_with_its_drop_in(lab, service):
    c = config_for("af_xdp")
    del c["mqtt"]
    s = service(c, more=drop_in("af-xdp.conf"))
    assert {p["driver"] for p in s.show("ports")["ports"]} == {"net_af_xdp"}
    lab.run("dev", "ping", "-n", "-c", 3, "-i", "0.2", "-w", 30, CLOUD)


def test_routing_with_unprivileged_planes(lab, service):
    """The kernel interface is the data plane's, its address and a router's settings the control plane's."""
    c = config_for()
    c["bridges"] = [{"name": "plant", "ports": ["devices", "cloud", "edge"], "host_interface": {"addresses": ["10.99.0.100/24"]}}]
    del c["mqtt"]
    s = service(c)
    assert capabilities(s.planes["controlplane"].pid) == 1 << SET["net_bind_service"] | 1 << SET["net_admin"]
    lab.run("dev", "ip", "neigh", "flush", "dev", "eth0")
    lab.run("dev", "ping", "-n", "-c", 3, "-i", "0.2", "-w", 30, "10.99.0.100")
    lab.run("dev", "ip", "neigh", "flush", "dev", "eth0")
