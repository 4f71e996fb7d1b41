# SPDX-License-Identifier: BSD-3-Clause
"""The sockets of health devices outlive the control plane: datagrams sent while it is down are queued, and no device
gets a port unreachable. The listening ports of section health_devices belong to punt class phd automatically."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from conftest import running_router
from lab import BIPLANE, wait_until
from phd_manager import AARE, RLRE
from router_lab import RIGHT, only_biplane, own
from test_phd_sim import AARQ

pytestmark = only_biplane

UDP, TCP = 7024, 7025  # neither is in punt.health_device_ports
BIN = Path(BIPLANE).resolve().parent
PHD = {"listen": {"udp_port": UDP, "tcp_port": TCP}, "max_sessions": 16384, "cse": {"coap": f"coap://{RIGHT}:5683"}}
RLRQ, ICMP_UNREACHABLE, ICMP6_UNREACHABLE = bytes.fromhex("e40000020000"), 3, 1


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("sockets")
    with running_router(routed_lab, directory, health_devices={**PHD, "store": {"path": str(directory / "phd.db")}}) as r:
        wait_until("the manager", lambda: answers(routed_lab), 30)
        yield r


def aarq(n):
    """An oximeter's association request, of the standard's example, with a system-id of its own."""
    return bytes.fromhex(AARQ["oximeter"][2].replace("1122334455667788", f"0022092270{n:06x}"))


def udp(lab, family=4, port=UDP):
    """A device's socket; connected, so that it would receive an ICMP port unreachable as an error."""
    with lab.inside("left"):
        s = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((own("left", family), port))
    s.settimeout(30)
    return s


def choice(data):
    return int.from_bytes(data[:2], "big")


def answers(lab, port=UDP):
    with udp(lab, port=port) as s:
        s.settimeout(0.5)
        try:
            s.send(aarq(0xffffff))
            done = choice(s.recv(2000)) == AARE
            s.send(RLRQ)
            s.recv(2000)
            return done
        except OSError:
            return False


@contextlib.contextmanager
def unreachable(lab):
    """The ICMP of the left host, of both families; yields what says "unreachable" so far."""
    with lab.inside("left"):
        raw = (socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
               socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6))
    for s in raw:
        s.setblocking(False)

    def seen():
        got = []
        for s, at, kind in ((raw[0], 20, ICMP_UNREACHABLE), (raw[1], 0, ICMP6_UNREACHABLE)):
            with contextlib.suppress(BlockingIOError):
                while True:
                    packet = s.recv(2000)
                    if packet[at] == kind:
                        got.append(packet)
        return got
    try:
        yield seen
    finally:
        for s in raw:
            s.close()


@contextlib.contextmanager
def no_control_plane(router, how):
    """Stopped, or dead with no one to start another: until the block ends."""
    pid = router.plane("control plane")["pid"]
    if how == signal.SIGSTOP:
        os.kill(pid, signal.SIGSTOP)
    else:
        os.kill(router.process.pid, signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        wait_until("its end", lambda: state(pid) == "Z")
    try:
        yield
    finally:
        os.kill(pid if how == signal.SIGSTOP else router.process.pid, signal.SIGCONT)


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def waiting(router):
    """Bytes in the socket that devices send to, by the gateway's kernel."""
    lines = Path(f"/proc/{router.process.pid}/net/udp6").read_text().splitlines()[1:]
    return [int(f[4].split(":")[1], 16) for f in map(str.split, lines) if f[1].endswith(f":{UDP:04X}")]


@pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGKILL])
def test_datagrams_wait(routed_lab, router, how):
    """Association requests of devices that send once only: each is answered when there is a control plane again."""
    devices = [udp(routed_lab, family) for family in (4, 6) for _ in range(20)]
    with unreachable(routed_lab) as seen:
        with no_control_plane(router, how):
            for n, s in enumerate(devices):
                s.send(aarq(how << 8 | n))
                # an ICMP port unreachable would be an error of the next call, which would lose the datagram that
                # arrives then
                wait_until("it to wait in the socket", lambda: sum(waiting(router)) > n * 56)
            assert len(waiting(router)) == 1
        for s in devices:
            assert choice(s.recv(2000)) == AARE
            s.send(RLRQ)
            assert choice(s.recv(2000)) == RLRE
            s.close()
        assert not seen()
        # A closed port is reported to this socket: so it would have been detected.
        with udp(routed_lab, port=9) as closed, pytest.raises(ConnectionRefusedError):
            closed.send(b"x")
            closed.recv(10)
        assert len(seen()) == 1
    wait_until("the control plane", lambda: router.plane("control plane")["running"], 30)
    router.balanced()


def test_connections_reconnect(routed_lab, router):
    """TCP: the connection of the device is closed immediately; a new one is accepted, and waits for the control
    plane."""
    def connect():
        with routed_lab.inside("left"):
            s = socket.create_connection((own("left"), TCP), timeout=30)
        s.send(aarq(0x900000))
        return s
    with connect() as s:
        assert choice(s.recv(2000)) == AARE
        with no_control_plane(router, signal.SIGKILL):
            assert s.recv(2000) == b""
            again = connect()
    with again:
        assert choice(again.recv(2000)) == AARE
        again.send(RLRQ)
        assert choice(again.recv(2000)) == RLRE


def tree_values(resource, values, device=None):
    """{(device, container): contents} below a resource of the sink's tree."""
    for child in resource["children"]:
        if child["ty"] == 4:
            values.setdefault((device, resource["rn"]), []).append(json.loads(child["attributes"]["con"], parse_float=str, parse_int=str)["v"])
        else:
            tree_values(child, values, device or child["rn"])
    return values


@pytest.mark.parametrize("transport,port", (("udp", UDP), ("tcp", TCP)))
def test_measurements_survive(routed_lab, router, tmp_path, transport, port):
    """The control plane is killed while devices report: all of it is at the CSE, once."""
    with (tmp_path / "devices").open("w+") as log:
        sink = routed_lab.popen("right", BIN / "biplane-cse-sink", "--listen", f"{RIGHT}:5683", stdout=subprocess.PIPE)
        assert sink.stdout.readline() == b"ready 5683\n"
        load = routed_lab.popen("left", BIN / "biplane-phd-sim", "--device", "oximeter", "--to", f"{own('left')}:{port}",
                                "--transport", transport, "--count", 5, "--confirmed", "--reports", 20, "--rate", 25,
                                "--retries", 0, "--timeout", "500ms", "--system-id", f"0022092271{port:04x}00",
                                "--report-file", "-", stdout=log)
        try:
            for n in (20, 50):
                wait_until("reports", lambda: Path(log.name).read_text().count('"answer"') >= n, 60)
                router.kill_plane("control plane")
            assert load.wait(120) == 0
        finally:
            load.kill()
            load.wait()
            sink.send_signal(signal.SIGTERM)
            said = json.loads(sink.communicate(timeout=30)[0])
        lines = [json.loads(line) for line in Path(log.name).read_text().splitlines()]
    measured = {}
    for line in lines:
        if line.get("event") == "report":
            for v in line["values"]:
                name = {"2:19384": "spo2", "2:18458": "pulse_rate"}[v["code"]]
                measured.setdefault((line["device"], name), []).append(str(v["value"]))
    assert len(measured) == 10 and all(len(v) == 20 for v in measured.values())
    got = tree_values(said["tree"], {})
    assert {k: sorted(v) for k, v in got.items()} == {k: sorted(v) for k, v in measured.items()}
    assert said["violations"] == 0
    # TCP devices lost their connection twice; UDP devices noticed nothing.
    assert lines[-1]["associations"] == (15 if transport == "tcp" else 5)


def holders(router, kind):
    """Inode of the socket that devices send to, and which of the gateway's processes have it open."""
    port, table = (UDP, "udp6") if kind == "udp" else (TCP, "tcp6")
    lines = [line.split() for line in Path(f"/proc/{router.process.pid}/net/{table}").read_text().splitlines()[1:]]
    (inode,) = [f[9] for f in lines if f[1].endswith(f":{port:04X}") and f[2].endswith(":0000")]
    pids = {p["plane"]: p["pid"] for p in router.status()["planes"]}
    assert pids["supervisor"] == router.process.pid and len(pids) == 3
    return inode, {name for name, pid in pids.items()
                   if f"socket:[{inode}]" in {link(f) for f in Path(f"/proc/{pid}/fd").iterdir()}}


def link(f):
    try:
        return os.readlink(f)
    except FileNotFoundError:
        return None


@pytest.mark.parametrize("kind", ["udp", "tcp"])
def test_owners_of_sessions(routed_lab, router, kind):
    """run and the control plane, the next one too, and the same socket; not the data plane."""
    before = holders(router, kind)
    assert before[1] == {"supervisor", "control plane"}
    router.kill_plane("control plane")
    wait_until("the same socket in the next one", lambda: holders(router, kind) == before, 30)
    environment = Path(f"/proc/{router.plane('data plane')['pid']}/environ").read_bytes()
    assert b"LISTEN_" not in environment


@pytest.mark.parametrize("family", [4, 6])
def test_listening_ports_use_class_phd(routed_lab, router, family):
    """By the ports of health_devices.listen, each for its own protocol, and of either family."""
    def send(port, times):
        for n in range(times):
            with udp(routed_lab, family, port) as s:
                s.send(b"no APDU")
    routed_lab.pings("left", own("left", family), count=1)  # resolved
    with router.counts(punted_health_devices=10):
        send(UDP, 10)
    with router.counts(punted_local=3, punted_health_devices=0):
        send(TCP, 3)
    before = router.counters()
    with routed_lab.inside("left"):
        socket.create_connection((own("left", family), TCP), timeout=30).close()
    # at least SYN, ACK and FIN
    wait_until("the connection's segments", lambda: router.counters()["punted_health_devices"] >= before["punted_health_devices"] + 3, 10)
    router.balanced()


def listening(router):
    out = router.lab.run("gw", "ss", "-6Hlun", check=True).stdout.decode() + router.lab.run("gw", "ss", "-6Hltn").stdout.decode()
    return {int(p) for p in re.findall(r"(?:\*|\[::\]):(70\d\d)\s", out)}


def test_another_file(routed_lab, router):
    """The next control plane goes by the file as it is then: another port, no section, and back."""
    file = router.config
    try:
        router.write({**file, "health_devices": {**file["health_devices"], "listen": {"udp_port": 7026, "tcp_port": "off"}}})
        p = router.command("reload", "-c", router.file)
        assert p.returncode != 0 and "health_devices.listen.udp_port: changing it needs a restart" in p.stdout + p.stderr
        assert listening(router) == {UDP, TCP}
        router.kill_plane("control plane")
        assert listening(router) == {7026}
        wait_until("the manager at its new port", lambda: answers(routed_lab, 7026), 30)
        router.write({k: v for k, v in file.items() if k != "health_devices"})
        # Without the tables of health devices it needs a new data plane, too; the sockets are gone at once.
        os.kill(router.plane("control plane")["pid"], signal.SIGKILL)
        wait_until("the sockets to be closed", lambda: listening(router) == set(), 30)
    finally:
        router.write(file)
    wait_until("the manager at its port", lambda: answers(routed_lab), 60)
    assert listening(router) == {UDP, TCP}


@pytest.mark.parametrize("command", ["run", "controlplane"])
@pytest.mark.parametrize("kind,names,says", (
    (socket.SOCK_STREAM, "phd-udp", f"descriptor 3 (phd-udp): it is not a datagram socket; expected a UDP socket for IPv6 and "
                                    f"IPv4, bound to [::]:{UDP}"),
    (socket.SOCK_DGRAM, "phd-udp", "descriptor 3 (phd-udp): it has another port"),
    (socket.SOCK_DGRAM, "biplane.socket", "descriptor 3 is called 'biplane.socket'; expected phd-udp or phd-tcp"),
    (socket.SOCK_DGRAM, "phd-udp:phd-tcp", "LISTEN_FDNAMES is 'phd-udp:phd-tcp'; expected 1 names"),
))
def test_other_sockets_are_refused(router, tmp_path, command, kind, names, says):
    """As a service manager starts it: the passed descriptors are checked before anything else."""
    file = tmp_path / "biplane.yaml"
    file.write_text(json.dumps({"version": 1, **router.config, "name": "other", "runtime": {"directory": str(tmp_path)}}))
    with socket.socket(socket.AF_INET6, kind) as s:
        s.bind(("::", 0))
        os.set_inheritable(s.fileno(), True)
        p = subprocess.run(["bash", "-c", f'exec 3<&{s.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES="$1" exec "$2" "$3" -c "$4"',
                            "sh", names, BIPLANE, command, file], pass_fds=(s.fileno(),), text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    assert p.returncode == 78 and says in p.stdout, p.stdout
