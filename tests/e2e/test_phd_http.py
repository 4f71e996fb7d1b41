# SPDX-License-Identifier: BSD-3-Clause
"""The resources of health devices, made in a real CSE by HTTP (TS-0009), and mended by both bindings."""

import os
import signal
import subprocess

import pytest

import acme
import coap
from lab import wait_until
from test_phd_acme import ACTIVITY, DEVICES, MANY, OXIMETER, PROVISION, Cse, done

BINDINGS = ("http", "coap")
SPO2 = f"cse-in/{OXIMETER}/spo2"


@pytest.fixture
def cse(tmp_path):
    acme.require()
    c = Cse(tmp_path / "cse", "memory")
    c.up()
    yield c
    c.stop()
    c.client.close()


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
    """All devices are ready; what it said in the log."""
    said = p.stdout.read().splitlines()
    err = p.stderr.read()
    assert p.wait(60) == 0, err
    assert sorted(line for line in said if line.startswith("ready ")) == sorted(f"ready {d[0]}" for d in devices)
    p.stdout.close()
    p.stderr.close()
    return err


def test_made_and_made_again(cse):
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
def test_whose_ae(cse, path, originator, shared, by):
    """What the file may say of AEs and originators works with several devices, of one type and of two."""
    devices = DEVICES + [("0022092258030000", "pulse_oximeter", "spo2,pulse_rate")]
    for _ in range(2):
        said, _, err = done(provision(cse, path, originator, by=by), devices)
        assert len(said) == len(devices) and not err
    fr = originator.replace("{system_id}", OXIMETER)
    assert cse.client.create(shared, coap.CIN, fr, con="1").rsc == 2001


@pytest.mark.parametrize("by", BINDINGS)
def test_one_ae_has_one_originator(cse, by):
    """Why `biplane check` refuses it: the device that comes first registers the AE, all others are refused."""
    p = provision(cse, "cse-in/ward/{system_id}/{object}", "Cphd-{system_id}", by=by)
    give(p, DEVICES)
    said = {}
    while sorted(said.values()) != ["ready", "refused"]:
        word, sid = p.stdout.readline().split()
        said[sid] = word
    p.kill()
    assert "ready" not in p.stdout.read()
    assert "an AE of that name is there, of another originator" in p.stderr.read()
    p.wait()
    p.stdout.close()
    p.stderr.close()


@pytest.mark.parametrize("originator", ["biplane", "C", "S"])
def test_no_originator_of_an_ae(cse, originator):
    """Why `biplane check` refuses these: a CSE takes none that begins otherwise, and a letter alone asks for another."""
    p = provision(cse, originator=originator)
    give(p, DEVICES)
    assert "the CSE does not take the" in p.stderr.readline()
    p.kill()
    assert "ready" not in p.stdout.read()
    p.wait()
    p.stdout.close()
    p.stderr.close()


def test_an_originator_that_has_another_ae(cse):
    assert cse.client.create("cse-in", coap.AE, "Cbiplane", rn="another", api="Nx", rr=False, srv=["4"]).rsc == 2001
    p = provision(cse)
    give(p, DEVICES)
    assert "has registered an AE of another name there" in p.stderr.readline()
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
def test_an_ae_of_somebody_else_stays_as_it_is(cse, by):
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


def test_not_there_at_first(tmp_path):
    """The port is closed, then the CSE starts."""
    acme.require()
    cse = Cse(tmp_path / "cse", "memory")
    try:
        p = provision(cse)
        give(p, DEVICES)
        wait_until("it to notice", lambda: "does not answer" in p.stderr.readline(), seconds=60)
        cse.up()
        assert "the CSE answers again" in ended(p, DEVICES)
        assert cse.tree("cse-in/" + OXIMETER) == [f"cse-in/{OXIMETER}/{o}" for o in ("pulse_rate", "spo2")]
    finally:
        cse.stop()
        cse.client.close()


def test_stopped_for_a_while(cse):
    """Frozen, it takes connections and answers none: requests end by their time, and all is made once in the end."""
    os.kill(cse.process.pid, signal.SIGSTOP)
    p = provision(cse, timeout_ms=300)
    give(p, MANY[:30])
    wait_until("it to notice", lambda: "does not answer" in p.stderr.readline(), seconds=60)
    os.kill(cse.process.pid, signal.SIGCONT)
    ended(p, MANY[:30])
    made = {f"cse-in/{d[0]}/{o}" for d in MANY[:30] for o in ("fixed_dose", "variable_dose")}
    assert set(cse.tree("cse-in", coap.CNT)) == made
