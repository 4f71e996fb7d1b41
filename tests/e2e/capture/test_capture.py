# SPDX-License-Identifier: BSD-3-Clause
"""`biplane capture` on a running gateway: what it writes, what it counts, and how it ends."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

import pcapng
from captured import capinfos, capturing, config, exchange, frame, refused
from frames import LOCAL_ETHERTYPE, Wire, ethernet
from json_doc import differences
from lab import BIPLANE, MAC, wait_until

SLOTS = 8


@pytest.fixture(scope="module")
def g(lab, module_gateway):
    g = module_gateway(config())
    # each station is known: nothing is flooded
    for ns in ("dev", "cloud", "edge"):
        w = Wire(lab, ns)
        w.send(ethernet("ff:ff:ff:ff:ff:ff", MAC[ns], LOCAL_ETHERTYPE, b"hello".ljust(46)))
        w.close()
    yield g
    g.stop()


def test_capture_equals_what_was_sent(lab, g, tmp_path):
    """Received at one port and sent at the other, in order, byte by byte, with nanoseconds and directions."""
    sent = [frame(n, size=60 + n % 1400) for n in range(500)]
    before = time.time_ns()
    with capturing(g, "-w", tmp_path / "c.pcapng", "-i", "devices", "-i", "cloud", f"ether proto {LOCAL_ETHERTYPE:#x}") as c:
        assert "native code" in c.begun or "interpreter" in c.begun
        exchange(lab, sent)
        captured, lost = c.finish()
    assert (captured, lost) == (1000, 0)
    got = pcapng.read((tmp_path / "c.pcapng").read_bytes())
    assert [i["name"] for i in got.interfaces] == ["devices", "cloud", "edge"]
    assert {i["filter"] for i in got.interfaces} == {f"ether proto {LOCAL_ETHERTYPE:#x}"}
    assert got.frames("devices", "rx") == sent and got.frames("cloud", "tx") == sent and len(got.packets) == 1000
    times = [p.time_ns for p in got.packets]
    assert times == sorted(times) and before < times[0] and times[-1] < time.time_ns()
    assert len({t % 1000 for t in times}) > 1, "nanoseconds"
    assert got.received == {"devices": 500, "cloud": 500, "edge": 0} and not any(got.dropped.values())
    assert "Number of packets:   1000" in capinfos(tmp_path / "c.pcapng")
    assert (tmp_path / "c.pcapng").stat().st_mode & 0o007 == 0


def test_direction_snap_length_and_count(lab, g, tmp_path):
    with capturing(g, "-w", tmp_path / "c.pcapng", "--direction", "tx", "-s", 34, "-c", 7,
                   f"ether proto {LOCAL_ETHERTYPE:#x}") as c:
        exchange(lab, [frame(n, size=200) for n in range(50)])
        assert c.finish(0) == (7, 0)
    got = pcapng.read((tmp_path / "c.pcapng").read_bytes())
    assert got.frames("cloud", "tx") == [frame(n, size=200)[:34] for n in range(7)] == got.frames()
    assert {p.length for p in got.packets} == {200}


def test_drops_have_reason_and_node(lab, g, tmp_path):
    """To a station on the same port: the bridge drops it."""
    w = Wire(lab, "dev")
    other = "02:99:00:00:00:77"
    w.send(ethernet("ff:ff:ff:ff:ff:ff", other, LOCAL_ETHERTYPE, b".".ljust(46)))
    w.close()
    before = g.counter("hairpin")
    hairpin = [ethernet(other, MAC["dev"], LOCAL_ETHERTYPE, bytes([n]).ljust(46)) for n in range(20)]
    with capturing(g, "--drops", "-w", tmp_path / "c.pcapng") as c:
        exchange(lab, [*hairpin, frame(1)])
        captured, lost = c.finish()
    assert g.counter("hairpin") == before + 20
    got = pcapng.read((tmp_path / "c.pcapng").read_bytes())
    ours = [p for p in got.packets if p.data in hairpin]
    assert [p.data for p in ours] == hairpin and captured == len(got.packets) and lost == 0
    assert {(p.interface, p.direction, p.comment) for p in ours} == {("devices", "", "dropped: hairpin in node bridge")}
    assert frame(1) not in got.frames()
    shown = subprocess.run(["tshark", "-r", tmp_path / "c.pcapng", "-T", "fields", "-e", "frame.comment", "-e", "frame.interface_name"],
                           capture_output=True, text=True, check=True).stdout
    assert shown.splitlines().count("dropped: hairpin in node bridge\tdevices") == 20


def test_text_without_a_file(lab, g):
    with capturing(g, "-c", 2, "-i", "devices", f"ether proto {LOCAL_ETHERTYPE:#x}") as c:
        exchange(lab, [frame(1), frame(2), frame(3)])
        c.finish(0)
    lines = c.out.decode().splitlines()
    assert len(lines) == 2
    assert re.fullmatch(rf"20\S+Z devices rx 60 bytes {MAC['dev']} > {MAC['cloud']} EtherType 0x88b5", lines[0]), lines


def test_live_in_a_pipe(lab, g):
    """The reader sees the frames while the capture runs."""
    with capturing(g, "-w", "-", f"ether proto {LOCAL_ETHERTYPE:#x}") as c:
        tshark = subprocess.Popen(["tshark", "-l", "-r", "-", "-T", "fields", "-e", "frame.len", "-e", "frame.interface_name"],
                                  stdin=c.process.stdout, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        c.process.stdout.close()
        exchange(lab, [frame(1, size=333)])
        assert [tshark.stdout.readline().strip() for _ in range(2)] == ["333\tdevices", "333\tcloud"]
        # a closed pipe ends the capture without an error
        tshark.kill()
        tshark.wait()
        tshark.stdout.close()
        exchange(lab, [frame(2), frame(3)])
        assert c.process.wait(20) == 0
        assert "Broken" not in c.process.stderr.read().decode()


def test_several_at_a_time_and_no_more(lab, g, tmp_path):
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(capturing(g, "-w", tmp_path / f"{n}.pcapng", "-i", "devices", f"ether[14:4] = {n}"))
                   for n in range(SLOTS)]
        p = refused(g, "-w", tmp_path / "more.pcapng")
        assert p.returncode == 69 and "8 captures and traces are running" in p.stderr
        assert not (tmp_path / "more.pcapng").exists()
        exchange(lab, [frame(n) for n in range(SLOTS)] * 3)
        for n, c in enumerate(running):
            assert c.finish() == (3, 0), n
    for n in range(SLOTS):
        assert pcapng.read((tmp_path / f"{n}.pcapng").read_bytes()).frames() == [frame(n)] * 3


def test_killed_command_ends_its_capture(lab, g, tmp_path):
    for _ in range(3):
        with contextlib.ExitStack() as stack:
            running = [stack.enter_context(capturing(g, "-w", tmp_path / f"{n}.pcapng")) for n in range(SLOTS)]
            for c in running:
                c.process.kill()
                c.process.wait()
        # the control plane sees each connection end: a new capture begins
        wait_until("a free slot", lambda: refused(g, "-c", 1, "--duration", "1s", "ether proto 0xffff").returncode == 0)


def test_files_are_rotated(lab, g, tmp_path):
    big = [frame(n, size=1400) for n in range(4000)]
    with capturing(g, "-w", tmp_path / "all", "-C", 1, "-i", "devices", f"ether proto {LOCAL_ETHERTYPE:#x}") as a, \
            capturing(g, "-w", tmp_path / "last", "-C", 1, "-W", 3, "-i", "devices", f"ether proto {LOCAL_ETHERTYPE:#x}") as b:
        exchange(lab, big)
        a.finish()
        b.finish()
    names = ["all", *(f"all{n}" for n in range(1, 6))]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*names, "last0", "last1", "last2"])
    files = [pcapng.read((tmp_path / n).read_bytes()) for n in names]
    assert [f for c in files for f in c.frames()] == big
    assert all(c.received["devices"] == len(c.packets) for c in files)
    assert all(900_000 < (tmp_path / n).stat().st_size < 1_010_000 for n in names[:-1])
    last = [f for n in (0, 1, 2) for f in pcapng.read((tmp_path / f"last{n}").read_bytes()).frames()]
    assert last[-1] == big[-1] or sorted(last)[-1] == big[-1]


def test_full_disk_ends_the_capture_with_a_valid_file(lab, g, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", small], check=True)
    try:
        with capturing(g, "-w", small / "c.pcapng", f"ether proto {LOCAL_ETHERTYPE:#x}") as c:
            exchange(lab, [frame(n, size=1400) for n in range(200)])
            c.finish(0, status=74)
            assert "No space left on device" in c.err and "c.pcapng" in c.err
        data = (small / "c.pcapng").read_bytes()
        assert 10 < len(pcapng.read(data).packets) < 48
    finally:
        subprocess.run(["umount", small], check=True)


def test_stopped_reader_loses_frames_and_counts_them(lab, g, tmp_path):
    """The gateway forwards as before; what was overwritten is counted exactly."""
    frames = [frame(n, size=1400) for n in range(6000)]  # twice: more than 4 MiB
    with capturing(g, "-w", tmp_path / "c.pcapng", f"ether proto {LOCAL_ETHERTYPE:#x}") as c:
        os.kill(c.process.pid, signal.SIGSTOP)
        exchange(lab, frames)
        os.kill(c.process.pid, signal.SIGCONT)
        captured, lost = c.finish()
    assert captured + lost == 2 * len(frames) and lost > 0
    got = pcapng.read((tmp_path / "c.pcapng").read_bytes())
    assert len(got.packets) == captured and sum(got.dropped.values()) == lost
    assert got.frames("devices", "rx")[-1] == frames[-1] and got.frames("cloud", "tx")[-1] == frames[-1]


@pytest.mark.parametrize("args, status, words", [
    (("tcp port",), 64, "filter 'tcp port'"), (("-i", "nowhere"), 69, "there is no port 'nowhere'"),
    (("-W", "3"), 64, "-W needs -C"), (("-C", "3"), 64, "-C needs -w FILE"), (("-s", "0"), 64, "1 to 65535"),
    (("-c", "plant.yaml"), 64, "a number"), (("--direction", "in"), 64, "rx, tx or both"), (("--duration", "1d"), 64, "10s"),
    (("-w", "/nonexistent/x"), 73, "/nonexistent/x: No such file"),
    ((" or ".join(f"host 10.1.{n // 250}.{n % 250}" for n in range(400)),), 64, "at most 512"),
])
def test_wrong_arguments(g, args, status, words):
    p = refused(g, *args)
    assert p.returncode == status and words in p.stderr, p.stderr


def test_group_is_enough_and_others_are_refused(g, tmp_path):
    """No root, no capability: only the group of the control socket."""
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--bounding-set=-all", "--inh-caps=-all")
    for parent in (*g.dir.parents[:3], g.dir, g.dir / "run"):  # of pytest, for the user alone
        os.chmod(parent, 0o755)
    with capturing(g, "-c", 1, "--duration", "1s", prefix=(*nobody, "--groups=0")) as c:
        c.finish(0)
    p = subprocess.run([*nobody, "--clear-groups", BIPLANE, "capture", "--config", g.identity], capture_output=True, text=True,
                       check=False, timeout=30)
    assert p.returncode == 69 and "Permission denied" in p.stderr, p.stderr


def test_requests_at_the_socket(g):
    """What the control plane refuses, with a sentence each; a connection has one capture, which ends with it."""
    path = str(g.dir / "run" / f"{g.config['name']}.sock")

    def connect():
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(20)
        s.connect(path)
        return s, s.makefile("rw")

    def ask(f, request):
        f.write(json.dumps(request) + "\n")
        f.flush()
        return json.loads(f.readline())

    s, f = connect()
    start = {"command": "capture-start", "kind": "frames", "rx": True}
    assert "no capture" in ask(f, {"command": "capture-keep"})["errors"][0]
    for bad, words in [({"ports": []}, "list of names"), ({"ports": ["x"]}, "no port 'x'"), ({"ports": [1]}, "no port"),
                       ({"snap_length": 0}, "snap length"), ({"snap_length": 2**40}, "snap length"),
                       ({"filter": "tcp"}, "not a program"), ({"filter": "0"}, "no instruction"), ({"filter": 5}, "not a program"),
                       ({"filter": "1,5 0 0 0"}, "leads out"), ({"filter": "2,40 0 0 4294963200,6 0 0 1"}, "2 GiB")]:
        answer = ask(f, {**start, **bad})
        assert not answer["ok"] and words in answer["errors"][0], (bad, answer)
    divisions = {**start, "filter": "34,128 0 0 0," + "52 0 0 3," * 32 + "6 0 0 1"}
    long = {**start, "filter": "300," + "128 0 0 0," * 299 + "6 0 0 1"}
    assert "up to 514 instructions" in ask(f, divisions)["errors"][0]
    second, h = connect()
    assert ask(h, long)["ok"] and "running captures 300; all together may take 512" in ask(f, long)["errors"][0]
    assert ask(h, {"command": "capture-stop"})["ok"] and ask(f, long)["ok"]
    for x in (h, second, f, s):
        x.close()
    s, f = connect()
    first = ask(f, {**start, "filter": "1,6 0 0 1"})
    assert first["ok"] and "already" in ask(f, start)["errors"][0]
    assert ask(f, {"command": "capture-stop"})["ok"] and ask(f, {"command": "capture-keep"})["ok"]
    f.close()
    s.close()
    for _ in range(100):  # whatever ends a connection frees the slot
        s, f = connect()
        wait_until("a slot", lambda: ask(f, start)["ok"], every=0.1)
        f.close()
        s.close()


def test_show_lists_what_runs(lab, g, tmp_path):
    assert g.show("captures")["captures"] == []
    assert "no capture or trace is running" in g.command("show", "captures", "-c", g.identity).stdout
    expression = f"ether proto {LOCAL_ETHERTYPE:#x}"
    before = time.time()
    with capturing(g, "-w", tmp_path / "c.pcapng", "-i", "devices", "--direction", "rx", expression) as c:
        exchange(lab, [frame(n, size=200) for n in range(20)])
        row, = g.show("captures")["captures"]
        assert not differences("show captures", g.show("captures"))
        assert row["kind"] == "capture" and row["pid"] == c.process.pid and row["uid"] == os.getuid()
        assert row["ports"] == ["devices"] and row["points"] == ["rx"] and row["filter"] == expression
        assert row["engine"] in ("native code", "interpreter") and row["filter_instructions"] > 0 and row["matched"] == 20
        assert 0 <= row["age_s"] <= time.time() - before + 1
        text = g.command("show", "captures", "-c", g.identity).stdout
        assert re.search(rf"^ *\d+ +capture +{c.process.pid} .* devices .* rx .* 20 +{expression}$", text, re.M), text
        c.finish()
    wait_until("the slot to be free", lambda: g.show("captures")["captures"] == [])
