# SPDX-License-Identifier: BSD-3-Clause
"""The resources of health devices, made in a real CSE by HTTP (TS-0009), and mended by both bindings: first by what
provisions alone, then by a gateway with devices."""

import contextlib
import os
import signal
import subprocess
import threading

import pytest

import acme
import coap
from conftest import running_router
from lab import wait_until
from router_lab import RIGHT, only_biplane, own
from test_phd import PHD, Tree, assert_once, devices, ended as sim_ended
from test_phd_acme import ACTIVITY, DEVICES, MANY, OXIMETER, PROVISION, Cse, done, running

BINDINGS = ("http", "coap")
SPO2 = f"cse-in/{OXIMETER}/spo2"


def http_answers(cse):
    """Its HTTP server comes a little later than its CoAP server."""
    def answers():
        try:
            return cse.ask_http("cse-in")
        except OSError:
            return False
    wait_until("the CSE's answer by HTTP", answers, seconds=180)


@pytest.fixture(scope="module")
def shared_cse(tmp_path_factory):
    """Its start takes seconds: one for the module's tests."""
    with running(tmp_path_factory.mktemp("shared"), "memory") as c:
        http_answers(c)
        yield c


@pytest.fixture
def cse(shared_cse):
    """As if it were new; but message ids continue, since it remembers them."""
    shared_cse.clear()
    return shared_cse


def provision(cse, path="cse-in/{system_id}/{object}", originator="Cbiplane", keep=0, timeout_ms=2000, by="http",
              env=None):
    port = cse.http if by == "http" else cse.port
    return subprocess.Popen([PROVISION, by, cse.address, str(port), path, originator, str(keep), str(timeout_ms)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, **(env or {})})


def give(p, devices):
    p.stdin.write("".join(" ".join(d) + "\n" for d in devices))
    p.stdin.close()


def ended(p, devices):
    """Waits until all devices are ready; returns the log."""
    said = p.stdout.read().splitlines()
    err = p.stderr.read()
    assert p.wait(60) == 0, err
    assert sorted(line for line in said if line.startswith("ready ")) == sorted(f"ready {d[0]}" for d in devices)
    p.stdout.close()
    p.stderr.close()
    return err


def test_created_and_recreated(cse):
    said, counts, _ = done(provision(cse, keep=100))
    assert sorted(said) == [f"ready {OXIMETER}", f"ready {ACTIVITY}"]
    assert counts["requests"] == counts["answered"] == 2 + 2 + 4
    assert cse.tree("cse-in/" + OXIMETER) == [f"cse-in/{OXIMETER}/{o}" for o in ("pulse_rate", "spo2")]
    before = {p: cse.get(p).json() for p in (f"cse-in/{OXIMETER}", SPO2, "cse-in/biplane", "cse-in/biplane/phd")}
    assert before[f"cse-in/{OXIMETER}"]["m2m:ae"]["aei"] == "C" + OXIMETER
    assert before[f"cse-in/{OXIMETER}"]["m2m:ae"]["acpi"] == [before["cse-in/biplane/phd"]["m2m:acp"]["ri"]]
    assert before[SPO2]["m2m:cnt"]["mni"] == 100
    # A second time all is there already, and nothing changes. The other binding finds the same.
    for by in BINDINGS:
        said, counts, err = done(provision(cse, keep=100, by=by))
        assert sorted(said) == [f"ready {OXIMETER}", f"ready {ACTIVITY}"] and not err
    assert before == {p: cse.get(p).json() for p in before}
    assert cse.client.create(SPO2, coap.CIN, "Cbiplane", con="1").rsc == 2001


def test_no_proxy_of_the_environment(cse):
    proxy = {name: "http://127.0.0.1:9" for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY")}
    said, counts, err = done(provision(cse, env=proxy))
    assert len(said) == len(DEVICES) and counts["refused"] == 0 and not err


@pytest.mark.parametrize("path,originator,shared", [
    ("cse-in/ward/{system_id}/{object}", "Cbiplane", f"cse-in/ward/{OXIMETER}/spo2"),
    ("cse-in/{type}/{system_id}-{object}", "Cbiplane", f"cse-in/pulse_oximeter/{OXIMETER}-spo2"),
    ("cse-in/phd-{system_id}/{object}", "Cbiplane", f"cse-in/phd-{OXIMETER}/spo2"),
    ("cse-in/{system_id}/{object}", "Cphd-{system_id}", SPO2),
])
@pytest.mark.parametrize("by", BINDINGS)
def test_ae_owner(cse, path, originator, shared, by):
    """All configurations of AEs and originators work with several devices, of one type and of two."""
    devices = DEVICES + [("0022092258030000", "pulse_oximeter", "spo2,pulse_rate")]
    for _ in range(2):
        said, _, err = done(provision(cse, path, originator, by=by), devices)
        assert len(said) == len(devices) and not err
    fr = originator.replace("{system_id}", OXIMETER)
    assert cse.client.create(shared, coap.CIN, fr, con="1").rsc == 2001


@pytest.mark.parametrize("by", BINDINGS)
def test_one_ae_has_one_originator(cse, by):
    """Why `biplane config check` refuses it: the device that comes first registers the AE, all others are refused."""
    p = provision(cse, "cse-in/ward/{system_id}/{object}", "Cphd-{system_id}", by=by)
    give(p, DEVICES)
    said = {}
    while sorted(said.values()) != ["ready", "refused"]:
        word, sid = p.stdout.readline().split()
        said[sid] = word
    # a CSE that is still creating the AE refuses the name, and does not have it yet: the next attempt tells
    end = threading.Timer(60, p.kill)
    end.start()
    reasons = []
    while not any("an AE with this name exists, of another originator" in r for r in reasons) and (line := p.stderr.readline()):
        reasons.append(line)
    end.cancel()
    p.kill()
    assert "ready" not in p.stdout.read()
    assert "an AE with this name exists, of another originator" in "".join(reasons)
    p.wait()
    p.stdout.close()
    p.stderr.close()


@pytest.mark.parametrize("originator", ["biplane", "C", "S"])
def test_no_originator_of_an_ae(cse, originator):
    """Why `biplane config check` refuses these: a CSE takes none that begins otherwise, and a letter alone asks for another."""
    p = provision(cse, originator=originator)
    give(p, DEVICES)
    assert "CSE rejected the" in p.stderr.readline()
    p.kill()
    assert "ready" not in p.stdout.read()
    p.wait()
    p.stdout.close()
    p.stderr.close()


def test_an_originator_that_has_another_ae(cse):
    assert cse.client.create("cse-in", coap.AE, "Cbiplane", rn="another", api="Nx", rr=False, srv=["4"]).rsc == 2001
    p = provision(cse)
    give(p, DEVICES)
    assert "has registered an AE with another name" in p.stderr.readline()
    # It is tried again, and works once that is gone.
    assert cse.client.ask(coap.DELETE, "cse-in/another", "Cbiplane").rsc == 2002
    ended(p, DEVICES)


@pytest.mark.parametrize("by", BINDINGS)
def test_the_policy_was_deleted(cse, by):
    """It is stripped from the AEs with that, so that the gateway may make nothing in them until they have it again."""
    done(provision(cse, by=by))
    assert cse.client.create(SPO2, coap.CIN, "Cbiplane", con="1").rsc == 2001
    assert cse.client.ask(coap.DELETE, "cse-in/biplane/phd", "Cbiplane").rsc == 2002
    assert cse.client.create(SPO2, coap.CIN, "Cbiplane", con="2").rsc == 2001
    assert cse.client.create(f"cse-in/{OXIMETER}", coap.CNT, "Cbiplane", rn="temperature").rsc == 4103
    more = [(OXIMETER, "pulse_oximeter", "spo2,pulse_rate,temperature"), DEVICES[1]]
    said, _, _ = done(provision(cse, by=by), more)
    assert {f"ready {sid}" for sid, _, _ in more} <= set(said)
    policy = cse.get("cse-in/biplane/phd").json()["m2m:acp"]["ri"]
    for sid, _, _ in more:
        assert cse.get(f"cse-in/{sid}").json()["m2m:ae"]["acpi"] == [policy]
    assert cse.client.create(f"cse-in/{OXIMETER}/temperature", coap.CIN, "Cbiplane", con="36.6").rsc == 2001
    assert [i["con"] for i in cse.instances(SPO2)] == ["1", "2"]


@pytest.mark.parametrize("by", BINDINGS)
def test_the_policy_was_taken_from_an_ae(cse, by):
    done(provision(cse, by=by))
    ae = f"cse-in/{OXIMETER}"
    assert cse.client.ask(coap.PUT, ae, "Cbiplane", None, {"m2m:ae": {"acpi": None}}).rsc == 2004
    assert cse.get(ae, "Cbiplane").rsc == 4103
    said, _, err = done(provision(cse, by=by))
    assert sorted(said) == [f"ready {OXIMETER}", f"ready {ACTIVITY}"] and not err
    assert cse.get(ae, "Cbiplane").rsc == 2000


@pytest.mark.parametrize("by", BINDINGS)
def test_ae_of_another_originator_is_unchanged(cse, by):
    ae = f"cse-in/{OXIMETER}"
    assert cse.client.create("cse-in", coap.AE, "Cother", rn=OXIMETER, api="Nx", rr=False, srv=["4"]).rsc == 2001
    before = cse.get(ae, "Cother").json()
    p = provision(cse, by=by)
    give(p, DEVICES)
    wanted = {f"ready {ACTIVITY}", f"refused {OXIMETER}"}
    while wanted:
        wanted.discard(p.stdout.readline().strip())
    p.kill()
    assert "of another originator" in p.stderr.read()
    p.wait()
    p.stdout.close()
    p.stderr.close()
    assert cse.get(ae, "Cother").json() == before


def test_absent_at_start(tmp_path):
    """The port is closed, then the CSE starts."""
    acme.require()
    cse = Cse(tmp_path / "cse", "memory")
    try:
        p = provision(cse)
        give(p, DEVICES)
        wait_until("it to notice", lambda: "does not answer" in p.stderr.readline(), seconds=180)
        cse.up()
        assert "CSE answers again" in ended(p, DEVICES)
        assert cse.tree("cse-in/" + OXIMETER) == [f"cse-in/{OXIMETER}/{o}" for o in ("pulse_rate", "spo2")]
    finally:
        cse.end()
        cse.client.close()


def test_stopped_for_a_while(cse):
    """Frozen, it takes connections and answers none: requests end by their time, and all is made once in the end."""
    os.kill(cse.process.pid, signal.SIGSTOP)
    p = provision(cse, timeout_ms=300)
    give(p, MANY[:30])
    wait_until("it to notice", lambda: "does not answer" in p.stderr.readline(), seconds=180)
    os.kill(cse.process.pid, signal.SIGCONT)
    ended(p, MANY[:30])
    made = {f"cse-in/{d[0]}/{o}" for d in MANY[:30] for o in ("fixed_dose", "variable_dose")}
    assert set(cse.tree("cse-in", coap.CNT)) == made


# ---------------------------------------------------------------- a gateway with devices


@contextlib.contextmanager
def gateway(lab, directory):
    cse = {**PHD["cse"], "http": f"http://{RIGHT}:8080", "max_retry_interval": "1s"}
    with running_router(lab, directory, health_devices={**PHD, "cse": cse, "store": {"path": str(directory / "phd.db")}}) as r:
        yield r


@pytest.fixture
def right_cse(routed_lab, tmp_path):
    """Of the right-hand network; not started."""
    acme.require()
    with routed_lab.inside("right"):
        client = coap.Client(RIGHT)
    c = acme.Acme(tmp_path / "cse", RIGHT, argv=lambda *a: routed_lab.argv("right", *a))
    c.client = client
    yield c
    c.end()
    client.close()


def connections_taken(lab):
    """TCP connections that were taken in the right-hand network: there, only the CSE's HTTP server does."""
    names, values = [line.split() for line in lab.run("right", "cat", "/proc/net/snmp").stdout.decode().splitlines()
                     if line.startswith("Tcp:")]
    return int(values[names.index("PassiveOpens")])


@only_biplane
def test_gateway_before_its_cse(routed_lab, hugepages, tmp_path, right_cse):
    """Devices measure before there is a CSE; it starts, is stopped and loses all, and starts again."""
    with gateway(routed_lab, tmp_path) as router:
        for n in (1, 2):
            load = devices(routed_lab, "--device", "oximeter", "--count", 3, "--confirmed", "--reports", 3, "--rate", 0,
                           "--retries", 0, "--timeout", "500ms")
            wait_until("it to notice", lambda: router.log.read_text().count("CSE does not answer") >= n, seconds=180)
            before = connections_taken(routed_lab)
            right_cse.start(right_cse.client)
            status, lines, summary = sim_ended(load)
            assert status == 0 and summary["answered"] == 9, summary
            assert connections_taken(routed_lab) > before  # no one else asked it by HTTP yet
            assert_once(Tree(routed_lab, right_cse), lines)
            assert router.log.read_text().count("CSE answers again") >= n
            right_cse.end()
        router.balanced()


CODES = {"spo2": "2:19384", "pulse_rate": "2:18458"}


@only_biplane
def test_gateway_loses_its_tree(routed_lab, hugepages, tmp_path, right_cse):
    """While devices measure, one loses its AE, one a container, and all lose the policy: all comes back, and continues
    without a gap and without anything twice."""
    right_cse.start(right_cse.client)
    with routed_lab.inside("right"):
        http_answers(right_cse)
    tree = Tree(routed_lab, right_cse)
    with gateway(routed_lab, tmp_path) as router:
        load = devices(routed_lab, "--device", "oximeter", "--count", 3, "--confirmed", "--reports", 0, "--rate", 12,
                       "--retries", 0, "--timeout", "500ms")
        name = next(a for a in load.args if str(a).startswith("0022092258"))
        sids = [f"{int(name, 16) + i:016x}" for i in range(3)]
        containers = [f"cse-in/{sid}/{o}" for sid in sids for o in CODES]

        def have(n):
            with routed_lab.inside("right"):
                there = set(right_cse.tree("cse-in", coap.CNT))
            return there.issuperset(containers) and all(len(tree.contents(c)) >= n for c in containers)
        wait_until("some measurements of each", lambda: have(3), seconds=60, every=0.2)
        with routed_lab.inside("right"):
            (policy,) = [p for p in right_cse.tree("cse-in", coap.ACP) if p.endswith("/phd")]
        for path in (policy, f"cse-in/{sids[0]}", f"cse-in/{sids[1]}/spo2"):
            assert right_cse.client.ask(coap.DELETE, path, acme.ADMIN).rsc == 2002, path
        assert right_cse.client.ask(coap.GET, f"cse-in/{sids[2]}", "Cbiplane").rsc == 4103
        wait_until("all of it again", lambda: have(3), seconds=60, every=0.2)
        for sid in sids[:2]:  # under the policy; the third has what it needs, and is checked when it lacks something
            assert right_cse.client.ask(coap.GET, f"cse-in/{sid}", "Cbiplane").rsc == 2000
        load.terminate()
        status, lines, summary = sim_ended(load)
        assert status == 0, summary
        for sid in sids:
            reports = [line["values"] for line in lines if line["event"] == "report" and line["device"] == sid]
            for name, code in CODES.items():
                sent = [str(v["value"]) for values in reports for v in values if v["code"] == code]
                found = [str(c["v"]) for c in tree.contents(f"cse-in/{sid}/{name}")]
                deleted = sid == sids[0] or (sid == sids[1] and name == "spo2")
                assert found == (sent[-len(found):] if deleted else sent), (sid, name)
                assert len(found) < len(sent) or not deleted
        router.balanced()
