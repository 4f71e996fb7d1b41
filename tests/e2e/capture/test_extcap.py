# SPDX-License-Identifier: BSD-3-Clause
"""Wireshark's extcap: the calls that Wireshark makes, and Wireshark's own programs making them."""

import os
import re
import shutil
import socket
import subprocess

import pytest

import pcapng
from captured import config, exchange, frame
from frames import LOCAL_ETHERTYPE
from lab import BIPLANE, ROOT, wait_until

EXTCAP = ROOT / "install" / "extcap" / "biplane"


def extcap(*args, directory=None, check=True):
    env = {**os.environ, "BIPLANE": BIPLANE, "PATH": f"{os.path.dirname(BIPLANE)}:{os.environ['PATH']}"}
    if directory:
        env["BIPLANE_RUNTIME_DIRECTORY"] = str(directory)
    p = subprocess.run([EXTCAP, *map(str, args)], capture_output=True, text=True, check=False, env=env, timeout=60)
    assert not check or p.returncode == 0, p.stderr
    return p


@pytest.fixture(scope="module")
def g(lab, module_gateway):
    g = module_gateway(config())
    yield g
    g.stop()


def test_running_instances_are_interfaces(g):
    name = g.config["name"]
    out = extcap("--extcap-interfaces", "--extcap-version=4.0", directory=g.dir / "run").stdout
    assert out.splitlines()[0].startswith("extcap {version=")
    assert f"interface {{value=biplane-{name}}}{{display=biplane instance {name}}}" in out.splitlines()
    assert len(extcap("--extcap-interfaces", directory=g.dir).stdout.splitlines()) == 1


def test_other_sockets_are_no_interfaces(tmp_path):
    """Names that end the value, or add a line, are left out."""
    for name in ("plant", "x}{display=y", "a\nb"):
        socket.socket(socket.AF_UNIX).bind(str(tmp_path / f"{name}.sock"))
    lines = extcap("--extcap-interfaces", directory=tmp_path).stdout.splitlines()
    assert lines[1:] == ["interface {value=biplane-plant}{display=biplane instance plant}"]


def test_ports_are_no_patterns(tmp_path):
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    (tmp_path / "file").touch()
    p = subprocess.run([EXTCAP, "--capture", "--extcap-interface", "biplane-x", "--fifo", "f", "--ports", "*,b"], cwd=tmp_path,
                       env={**os.environ, "BIPLANE": str(program)}, capture_output=True, text=True, check=True, timeout=60)
    assert p.stdout.split()[-4:] == ["-i", "*", "-i", "b"]


def test_settings_have_unique_numbers(g):
    out = extcap("--extcap-config", "--extcap-interface", "biplane-x").stdout
    numbers = re.findall(r"^arg \{number=(\d+)\}\{call=--(\w+)\}", out, re.M)
    assert [n for n, _ in numbers] == ["0", "1", "2"] and [c for _, c in numbers] == ["ports", "frames", "config"]
    assert set(re.findall(r"^value \{arg=(\d+)\}", out, re.M)) <= {n for n, _ in numbers}
    assert extcap("--extcap-dlts", "--extcap-interface=biplane-x").stdout == "dlt {number=1}{name=EN10MB}{display=Ethernet}\n"


@pytest.mark.parametrize("args", [("--capture",), ("--capture", "--fifo"), ("--wrong",), ()])
def test_wrong_calls_fail(args):
    assert extcap(*args, check=False).returncode == 64


def test_capture_into_a_fifo(lab, g, tmp_path):
    """Wireshark makes the FIFO and reads it; it ends the program with a signal."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    env = {**os.environ, "BIPLANE": BIPLANE}
    p = subprocess.Popen([EXTCAP, "--capture", "--extcap-interface", "biplane-x", "--fifo", fifo, "--config", g.identity,
                          "--ports", "devices,cloud", "--frames", "rx", "--extcap-capture-filter",
                          f"ether proto {LOCAL_ETHERTYPE:#x}"], env=env, stderr=subprocess.PIPE)
    data = b""
    with fifo.open("rb", buffering=0) as f:
        assert b"capturing" in p.stderr.readline()
        exchange(lab, [frame(n) for n in range(20)])
        while data.count(frame(19)) == 0:
            data += f.read(65536)
        p.terminate()
        data += b"".join(iter(lambda: f.read(65536), b""))
    assert p.wait(20) == 0
    p.stderr.close()
    got = pcapng.read(data)
    assert got.frames("devices", "rx") == [frame(n) for n in range(20)] == got.frames()


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_tshark_lists_and_captures(lab, g, tmp_path):
    """Wireshark's programs find the interface in the folder of extcap programs, and capture on it."""
    folder = tmp_path / "extcap"
    folder.mkdir()
    shutil.copy(EXTCAP, folder / "biplane")
    # root gets no folder of its own; the group of the control socket is enough
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--groups=0")
    for parent in (*g.dir.parents[:3], g.dir, g.dir / "run"):  # of pytest, for the user alone
        parent.chmod(0o755)
    tmp_path.chmod(0o777)
    env = {**os.environ, "WIRESHARK_EXTCAP_DIR": str(folder), "BIPLANE": BIPLANE, "HOME": str(tmp_path),
           "BIPLANE_RUNTIME_DIRECTORY": str(g.dir / "run")}
    name = g.config["name"]
    listed = subprocess.run([*nobody, "tshark", "-D"], env=env, capture_output=True, text=True, check=False, timeout=60).stdout
    assert f"biplane-{name} (biplane instance {name})" in listed, listed
    out = tmp_path / "out.pcapng"
    t = subprocess.Popen([*nobody, "tshark", "-i", f"biplane-{name}", "-o", f"extcap.biplane_{name.replace('-', '_')}.config:{g.identity}",
                          "-f", f"ether proto {LOCAL_ETHERTYPE:#x}", "-w", str(out), "-c", "2"], env=env,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        wait_until("tshark to end", lambda: exchange(lab, [frame(1)]) or t.poll() is not None, 30, 0.2)
    finally:
        t.kill()
        err = t.communicate()[1]
    assert t.returncode == 0 and out.exists(), err
