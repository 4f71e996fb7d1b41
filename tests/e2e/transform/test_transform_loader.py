# SPDX-License-Identifier: BSD-3-Clause
"""Matrices that change while readings pass: the authors' loader, and biplane transform matrix."""

import contextlib
import json
import socket
import struct
import threading
from pathlib import Path

import pytest

from lab import CLOUD, DEVICE, MAC, port_devices, wait_until
from readings import IDENTITY, ROTATED, SLANTED, Robot, Tracker, assert_exact, some, source, transform

MESSAGES = json.loads((Path(__file__).parents[2] / "fixtures" / "transform.json").read_text())["matrix_messages"]
ROBOT, TCP = 20000, 16400
TO_CLOUD = {"address": CLOUD, "udp_port": ROBOT, "mac": MAC["cloud"]}


def config(*entries, **more):
    return {"ports": port_devices("af_packet"), "bridges": [{"name": "bridge0", "ports": ["devices", "cloud", "edge"]}], "transform": {
        "max_matrices": 64, "matrix_loader": {"address": "127.0.0.1", "tcp_port": TCP, "max_connections": 2}, "entries": list(entries)}, **more}


def loaded(**more):
    return transform(receiver=TO_CLOUD, matrix_loader=True, **more)


@pytest.fixture(scope="module")
def gw(module_gateway, lab):
    lab.run("gw", "ip", "link", "set", "lo", "up")
    g = module_gateway(config(loaded()))
    yield g
    g.balanced()


@pytest.fixture
def fresh(gw):
    """The same entry without what was set for its sources before."""
    yield gw
    for m in matrices(gw):
        if m["from"] in ("set", "added"):
            assert gw.command("transform", "matrix", "clear", m["source"], "-c", gw.file).returncode == 0


@pytest.fixture
def robot(lab):
    with Robot(lab, "cloud", ROBOT) as r:
        yield r


def matrices(g):
    p = g.command("transform", "matrix", "list", "--json", "-c", g.file)
    assert p.returncode == 0, p.stderr
    return json.loads(p.stdout)["matrices"]


def message(address, rows):
    return socket.inet_aton(address) + struct.pack("!12d", *(rows[r][c] for r in range(3) for c in range(3)), *(row[3] for row in rows))


class Loader(contextlib.AbstractContextManager):
    """A client of the loader, as the authors' is."""

    def __init__(self, lab):
        with lab.inside("gw"):
            self.socket = socket.create_connection(("127.0.0.1", TCP), 20)

    def load(self, data):
        self.socket.sendall(data)
        return self.socket.recv(1024)

    def __exit__(self, *exc):
        self.socket.close()


def rows_of(m):
    flat = m["row_major_3x4"]
    return [flat[i:i + 4] for i in range(0, 12, 4)]


@pytest.mark.parametrize("m", MESSAGES, ids=lambda m: m["name"])
def test_messages_of_kunze2021(lab, fresh, robot, m):
    """Answered as their server answers them, and active with the answer; theirs are for 127.0.0.1, ours for the tracker."""
    data = bytes.fromhex(m["hex"])
    assert message("127.0.0.1", rows_of(m)) == data
    sent = some(20, radius=10)
    with Loader(lab) as loader, Tracker(lab, "dev", CLOUD) as t:
        assert loader.load(data) == m["reply"].encode()
        assert loader.load(socket.inet_aton(DEVICE) + data[4:]) == m["reply"].encode()
        t.send(sent)
        assert_exact(sent, robot.wait(len(sent)), rows_of(m))


def test_each_reading_by_the_whole_of_one_matrix(lab, fresh, robot):
    """Matrices change all the time, and every result is by the one or the other; none is lost."""
    gw, sent, stop, sets = fresh, some(4000), threading.Event(), [0]

    def change():
        with Loader(lab) as loader:
            while not stop.is_set():
                assert loader.load(message(DEVICE, (ROTATED, SLANTED)[sets[0] & 1])) == b"ok"
                sets[0] += 1
    with Loader(lab) as loader:
        assert loader.load(message(DEVICE, SLANTED)) == b"ok"
    changer = threading.Thread(target=change)
    with Tracker(lab, "dev", CLOUD) as t:
        changer.start()
        try:
            for i in range(0, len(sent), 50):
                t.send(sent[i:i + 50])
                robot.wait(i + 50)
        finally:
            stop.set()
            changer.join()
    got = robot.got()
    assert [c.reading for c in got] == sent
    by = [min((c.off(matrix), n) for n, matrix in enumerate((ROTATED, SLANTED))) for c in got]
    assert max(off for off, _ in by) < 0.2
    assert {n for _, n in by} == {0, 1} and sets[0] > 100
    gw.balanced()


def test_invalid_matrix_is_refused(lab, fresh, robot):
    """An invalid matrix gives an error message, and the former matrix remains."""
    sent = some(10)
    with Loader(lab) as loader, Tracker(lab, "dev", CLOUD) as t:
        assert loader.load(message(DEVICE, ROTATED)) == b"ok"
        assert loader.load(message(DEVICE, [[0] * 4] * 3)).startswith(b"error: the matrix is singular")
        assert loader.load(message(DEVICE, [[float("nan")] * 4] * 3)).startswith(b"error: the matrix has a number that is not finite")
        assert loader.load(message("255.255.255.255", ROTATED)) == b"error: its address is not the address of a host\n"
        t.send(sent)
        assert_exact(sent, robot.wait(len(sent)), ROTATED)
        loader.socket.sendall(b"exit")
        assert loader.socket.recv(10) == b""
    with Loader(lab) as again:
        assert again.load(message(DEVICE, SLANTED)) == b"ok"


def test_matrix_survives_reload_and_restart(lab, fresh, robot):
    """Over a reload, and over kill -9 of either plane in the middle of loading."""
    gw, sent = fresh, some(60)
    with Loader(lab) as loader, Tracker(lab, "dev", CLOUD) as t:
        assert loader.load(message(DEVICE, ROTATED)) == b"ok"
        assert gw.reload({**gw.config, **config(loaded(overflow="drop"))}).returncode == 0
        t.send(sent[:20])
        assert_exact(sent[:20], robot.wait(20), ROTATED)
        loader.socket.sendall(message("10.9.9.9", SLANTED) * 20)
        gw.kill_plane("control plane")
        t.send(sent[20:40])
        assert_exact(sent[:40], robot.wait(40), ROTATED)
        gw.kill_plane("data plane")
        # a kernel's interface takes a moment to be promiscuous again
        wait_until("the line to be back", lambda: t.send(sent[40:41]) or len(robot.heard()) > 40, 20, 0.2)
        assert {c.reading for c in robot.got()[40:]} == {sent[40]}
        assert max(c.off(ROTATED) for c in robot.got()) < 0.2
    assert gw.reload({**gw.config, **config(loaded())}).returncode == 0


def test_the_command(lab, fresh, robot, tmp_path):
    """set from a file for a new source, then clear: its readings are dropped again."""
    gw, frame, sent = fresh, tmp_path / "frame.yaml", some(20)
    frame.write_text(json.dumps(SLANTED))
    with Tracker(lab, "dev", CLOUD) as t:
        p = gw.command("transform", "matrix", "set", DEVICE, frame, "-c", gw.file)
        assert p.returncode == 69 and f"has a source {DEVICE}/32" in p.stderr
        p = gw.command("transform", "matrix", "set", DEVICE, frame, "--add", "-c", gw.file)
        assert p.returncode == 0, p.stderr
        t.send(sent)
        assert_exact(sent, robot.wait(len(sent)), SLANTED)
        (one,) = (m for m in matrices(gw) if m["source"] == f"{DEVICE}/32")
        assert one == {"entry": 0, "source": f"{DEVICE}/32", "receiver": 0, "from": "added", "matrix": SLANTED}
        assert gw.command("transform", "matrix", "clear", DEVICE, "-c", gw.file).returncode == 0
        before = gw.counter("transform_unknown_source")
        t.send(sent)
        wait_until("all to be dropped", lambda: gw.counter("transform_unknown_source") == before + len(sent), 20)
        assert len(robot.got()) == len(sent)
    assert gw.command("transform", "matrix", "clear", DEVICE, "-c", gw.file).returncode == 69


def test_a_file_source_is_the_files_again(lab, fresh, robot):
    gw, sent = fresh, some(30)
    assert gw.reload({**gw.config, **config(loaded(sources=[source(DEVICE, {"matrix": IDENTITY})]))}).returncode == 0
    with Loader(lab) as loader, Tracker(lab, "dev", CLOUD) as t:
        t.send(sent[:10])
        assert_exact(sent[:10], robot.wait(10), IDENTITY)
        assert loader.load(message(DEVICE, ROTATED)) == b"ok"
        t.send(sent[10:20])
        assert_exact(sent[10:20], robot.wait(20)[10:], ROTATED)
        assert gw.command("transform", "matrix", "clear", DEVICE, "-c", gw.file).returncode == 0
        t.send(sent[20:])
        assert_exact(sent[20:], robot.wait(30)[20:], IDENTITY)
    assert gw.reload({**gw.config, **config(loaded())}).returncode == 0
