# SPDX-License-Identifier: BSD-3-Clause
"""The resources of health devices in a real CSE: made once, found again, and made while the CSE comes and goes."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading

import pytest

import acme
import coap
from lab import BIPLANE, wait_until
from test_cse_sink import converted

PROVISION = os.path.join(os.path.dirname(BIPLANE), "..", "tests", "e2e", "phd_provision")
OXIMETER, ACTIVITY = "0022092258010000", "0022092258020000"
DEVICES = [(OXIMETER, "pulse_oximeter", "spo2,pulse_rate"), (ACTIVITY, "activity_monitor", "steps,distance")]


def free_port(kind):
    """Below those that the kernel gives to connections: one of these may have it by the time the CSE starts, even one
    to this very port."""
    while True:
        port = random.randrange(10000, 30000)
        with socket.socket(socket.AF_INET, kind) as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Cse(acme.Acme):
    """On loopback, with the admin's client to look into it."""

    def __init__(self, directory, database):
        super().__init__(directory, port=free_port(socket.SOCK_DGRAM), http=free_port(socket.SOCK_STREAM), database=database)
        self.client = coap.Client(self.address, self.port)

    def up(self):
        self.start(self.client)

    def clear(self):
        """Deletes what the tests before made; all of it, or the test that is to come fails."""
        def cleared():
            left = [p for p in self.tree("cse-in") if p not in self.own]
            for p in left:
                if p.count("/") == 1:
                    self.client.ask(coap.DELETE, p, acme.ADMIN)
            return not left
        wait_until("a CSE with nothing in it", cleared, seconds=30)

    def get(self, path, fr=acme.ADMIN):
        return self.client.retrieve(path, fr)


@contextlib.contextmanager
def running(directory, database):
    acme.require()
    c = Cse(directory / "cse", database)
    try:
        c.up()
        c.own = set(c.tree("cse-in"))  # it makes some resources itself
        yield c
    finally:
        c.end()
        c.client.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Its start takes seconds: one for the module's tests."""
    with running(tmp_path_factory.mktemp("shared"), "memory") as c:
        yield c


@pytest.fixture
def cse(shared):
    """As if it were new; but message ids continue, since it remembers them."""
    shared.clear()
    return shared


@pytest.fixture
def own_cse(tmp_path):
    """For one test alone, with resources that outlive its end."""
    with running(tmp_path, "tinydb") as c:
        yield c


def provision(cse, path="cse-in/{system_id}/{object}", originator="Cbiplane", keep=0, ack_ms=2000):
    return subprocess.Popen([PROVISION, "coap", cse.address, str(cse.port), path, originator, str(keep), str(ack_ms)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def done(p, devices=DEVICES):
    """Its output for the devices, and its counters."""
    out, err = p.communicate("".join(" ".join(d) + "\n" for d in devices), timeout=120)
    assert p.returncode == 0, err
    *said, counts = out.splitlines()
    return said, json.loads(counts), err


def test_created_and_recreated(cse):
    said, counts, _ = done(provision(cse, keep=100))
    assert sorted(said) == [f"ready {OXIMETER}", f"ready {ACTIVITY}"]
    assert counts["requests"] == 2 + 2 + 4 and counts["repeats"] == 0
    assert cse.tree("cse-in/" + OXIMETER) == [f"cse-in/{OXIMETER}/{o}" for o in ("pulse_rate", "spo2")]
    before = {p: cse.get(p).json() for p in (f"cse-in/{OXIMETER}", f"cse-in/{OXIMETER}/spo2", "cse-in/biplane", "cse-in/biplane/phd")}
    assert before[f"cse-in/{OXIMETER}"]["m2m:ae"]["aei"] == "C" + OXIMETER
    assert before[f"cse-in/{OXIMETER}"]["m2m:ae"]["acpi"] == [before["cse-in/biplane/phd"]["m2m:acp"]["ri"]]
    assert before[f"cse-in/{OXIMETER}/spo2"]["m2m:cnt"]["mni"] == 100
    # A second time all is there already, and nothing changes.
    said, counts, err = done(provision(cse, keep=100))
    assert sorted(said) == [f"ready {OXIMETER}", f"ready {ACTIVITY}"] and not err
    assert before == {p: cse.get(p).json() for p in before}
    # The originator of the instances may make them, and no one else.
    new = {"rn": "65c000000001000000010000", "con": '{"v":97.5}', "cnf": "application/json:0"}
    assert cse.client.create(f"cse-in/{OXIMETER}/spo2", coap.CIN, "Cbiplane", **new).rsc == 2001
    assert cse.client.create(f"cse-in/{OXIMETER}/spo2", coap.CIN, "Cbiplane", **new).rsc == 4105
    assert cse.client.create(f"cse-in/{OXIMETER}/spo2", coap.CIN, "Cother", **new).rsc == 4103
    assert [i["con"] for i in cse.instances(f"cse-in/{OXIMETER}/spo2")] == [new["con"]]


@pytest.mark.parametrize("release", ["2a", "3", "4", "5"])
def test_accepts_converter_output(cse, release):
    """Requests of the data plane's converter: each makes one instance, in its place, as it says."""
    messages = [m for r, m in converted() if r == release and m.option(coap.TY) == b"\x04"]
    objects = {}
    for m in messages:
        _, system_id, name = m.path().split("/")
        objects.setdefault(system_id, {})[name] = []
    said, _, _ = done(provision(cse), [(s, "any", ",".join(names)) for s, names in objects.items()])
    assert len(said) == len(objects)
    for n, m in enumerate(messages):
        m.mid = next(cse.client.mids) & 0xffff  # the examples share theirs, and some their names
        body = m.json()["m2m:cin"]
        m.payload = m.payload.replace(body["rn"].encode(), f"{n:022x}".encode())
        got = cse.client.exchange(m)
        assert (got.type, got.code, got.rsc, got.token) == (coap.ACK, 0x41, 2001, m.token)
        objects[m.path().split("/")[1]][m.path().split("/")[2]].append((f"{n:022x}", body["con"], body["cnf"]))
    for system_id, names in objects.items():
        for name, expected in names.items():
            got = cse.instances(f"cse-in/{system_id}/{name}")
            assert sorted((i["rn"], i["con"], i["cnf"]) for i in got) == expected


@pytest.mark.parametrize("path,originator,found", [
    ("cse-in/phd-{system_id}/{type}/{object}", "Cbiplane",
     [f"cse-in/phd-{OXIMETER}/pulse_oximeter{o}" for o in ("", "/pulse_rate", "/spo2")]),
    ("cse-in/ward/{system_id}/{object}", "Cbiplane", [f"cse-in/ward/{OXIMETER}{o}" for o in ("", "/pulse_rate", "/spo2")]),
    ("cse-in/{system_id}/{object}", "Cphd-{system_id}", [f"cse-in/{OXIMETER}/{o}" for o in ("pulse_rate", "spo2")]),
    ("cse-in/{type}/{system_id}-{object}", "Cbiplane", [f"cse-in/pulse_oximeter/{OXIMETER}-{o}" for o in ("pulse_rate", "spo2")]),
])
def test_container_paths_are_created(cse, path, originator, found):
    for _ in range(2):
        said, _, err = done(provision(cse, path, originator))
        assert sorted(said) == [f"ready {OXIMETER}", f"ready {ACTIVITY}"] and not err
        assert [p for p in cse.tree("cse-in/" + found[0].split("/")[1]) if OXIMETER in p or "pulse_oximeter/" in p
                or p.endswith("pulse_oximeter")] == found
    fr = originator.replace("{system_id}", OXIMETER)
    assert cse.client.create(found[-1], coap.CIN, fr, con="1").rsc == 2001


def test_name_conflict(own_cse):
    # This CSE takes an originator for registered (4117) whose registration it refused for the name, for ever.
    cse = own_cse
    assert cse.client.create("cse-in", coap.AE, "Cother", rn=OXIMETER, api="Nx", rr=False, srv=["4"]).rsc == 2001
    p = provision(cse)
    p.stdin.write("".join(" ".join(d) + "\n" for d in DEVICES))
    p.stdin.close()
    wanted = {f"ready {sid}" for sid, _, _ in DEVICES if sid != OXIMETER} | {f"refused {OXIMETER}"}
    while wanted:  # a refused request does not delay others
        wanted.discard(p.stdout.readline().strip())
    # It is tried again, and the log does not fill with it.
    while p.stdout.readline().strip() != f"refused {OXIMETER}":
        pass
    p.kill()
    assert p.stderr.read().count("CSE rejected the AE") == 1
    p.wait()
    p.stdout.close()
    p.stderr.close()


def test_deleted_resources_are_recreated(cse):
    done(provision(cse))
    for path, fr in ((f"cse-in/{OXIMETER}", "Cbiplane"), ("cse-in/biplane/phd", "Cbiplane")):
        assert cse.client.ask(coap.DELETE, path, fr).rsc == 2002
    done(provision(cse), DEVICES[:1])
    assert cse.tree("cse-in/" + OXIMETER) == [f"cse-in/{OXIMETER}/{o}" for o in ("pulse_rate", "spo2")]
    assert cse.get("cse-in/biplane/phd").rsc == 2000


MANY = [(f"002209225803{n:04x}", "medication", "fixed_dose,variable_dose") for n in range(120)]


def test_disconnect_and_reconnect(own_cse):
    """Killed in the middle, and started with nothing, since what it writes then need not be whole: all that was to be
    made after that is there in the end."""
    cse = own_cse
    p = provision(cse, ack_ms=50)
    p.stdin.write("".join(" ".join(d) + "\n" for d in MANY))
    p.stdin.close()
    said = []

    def collect():
        for line in p.stdout:
            said.append(line.strip())
    reader = threading.Thread(target=collect)
    reader.start()
    wait_until("some of them", lambda: len(said) >= 20, seconds=180)
    cse.end()  # else it would continue until all are made
    wait_until("it to notice", lambda: "does not answer" in p.stderr.readline(), seconds=180)
    # All that was made until now is said by now, and lost.
    before = {line.split()[1] for line in said if line.startswith("ready ")}
    shutil.rmtree(cse.directory / "data", ignore_errors=True)
    cse.up()
    assert p.wait(120) == 0
    reader.join()
    counts = json.loads(said.pop())
    assert counts["timed_out"] + counts["refused"] > 0
    # "refused" is said of those that have to wait
    assert sorted(line for line in said if line.startswith("ready ")) == sorted(f"ready {d[0]}" for d in MANY)
    assert "CSE answers again" in p.stderr.read()
    p.stdout.close()
    p.stderr.close()
    assert len(before) < len(MANY)
    for sid in {d[0] for d in MANY} - before:
        assert cse.tree("cse-in/" + sid) == [f"cse-in/{sid}/{o}" for o in ("fixed_dose", "variable_dose")]


def test_stopped_for_a_while(cse):
    """Frozen, it loses nothing that it was sent: answers come late, and nothing is made twice."""
    os.kill(cse.process.pid, signal.SIGSTOP)
    p = provision(cse, ack_ms=100)
    p.stdin.write("".join(" ".join(d) + "\n" for d in MANY[:30]))
    p.stdin.close()
    wait_until("it to notice", lambda: "does not answer" in p.stderr.readline(), seconds=180)
    os.kill(cse.process.pid, signal.SIGCONT)
    said = p.stdout.read().splitlines()
    assert p.wait(60) == 0 and len(said) == 31 and "refused" not in "".join(said[:-1])
    p.stdout.close()
    p.stderr.close()
    made = {f"cse-in/{d[0]}/{o}" for d in MANY[:30] for o in ("fixed_dose", "variable_dose")}
    assert set(cse.tree("cse-in", coap.CNT)) == made
