# SPDX-License-Identifier: BSD-3-Clause
"""Commands for sessions of health devices: show sessions, status, session disconnect, and the allow list."""

import contextlib
import copy
import json
import signal
import socket
import subprocess

import pytest

from conftest import running_router
from lab import wait_until
from phd_manager import ABRT, ACCEPTED, ACCEPTED_UNKNOWN_CONFIG, AARE, patch
from router_lab import LEFT, LEFT6, RIGHT, only_biplane, own
from test_cse_sink import SINK
from test_events import check
from test_phd import SIM

pytestmark = only_biplane

TRANSIENT, UNAUTHORIZED = 2, 7  # results of an association
RLRQ, RLRE = "e40000020000", "e50000020000"
# A pulse oximeter with configuration 400; its system-id is at 36, its configuration at 44.
AARQ = "e2000032800000000001002a507900268000000080008000000000000000008000000008112233445566778801900001010000000000"
OWN_CONFIG = 0x4000

PHD = {"listen": {"udp_port": 6024, "tcp_port": 6024}, "max_sessions": 1024, "timeouts": {"config": "1h", "release": "1h"},
       "cse": {"coap": f"coap://{RIGHT}:5683", "path": "cse-in/{system_id}/{object}", "max_retry_interval": "1s"}}


class Sink:
    """A CSE that takes all, on the right."""

    def __init__(self, lab):
        self.process = lab.popen("right", SINK, "--listen", f"{RIGHT}:5683", "--any", stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().startswith("ready")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=30)
        return json.loads(out) if out else {"violations": 0}  # ended before


def served(r):
    """Waits until the manager listens."""
    wait_until("port 6024 to be open", lambda: b":6024" in r.lab.run("gw", "ss", "-uln", "sport", "=", ":6024").stdout, 30)


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("phd")
    with running_router(routed_lab, directory, health_devices={**PHD, "store": {"path": str(directory / "phd.db")}}) as r:
        r.sink = Sink(routed_lab)
        try:
            served(r)
            yield r
        finally:
            assert r.sink.end()["violations"] == 0


@pytest.fixture(autouse=True)
def nobody(routed_lab, router):
    """Each test ends without a session, with nothing asked of the CSE, and with all of it in the words, so that the next
    sees nothing of it."""
    yield
    wait_until("all sessions to end", lambda: router.show("sessions")["total"] == 0)
    before = router.status()["health_devices"]["signalling"]["malformed"]
    with Device(routed_lab, "0" * 15 + "1") as d:
        d.say("ffff")  # once it is counted, the words are newer than all that came before it

    def rest():
        phd = router.status()["health_devices"]
        return (phd["signalling"]["malformed"] > before and
                phd["sessions"]["open"] == phd["provisioning"]["pending"] == phd["cse"]["in_flight"] == 0)
    wait_until("the words to say so", rest, 20, 0.1)


class Device:
    """A pulse oximeter of a few bytes. Its session ends with the block."""

    def __init__(self, lab, system_id, address=own("left"), config=400):
        self.system_id, self.config = system_id, config
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with lab.inside("left"):
            self.socket = socket.socket(family, socket.SOCK_DGRAM)
        self.socket.settimeout(20)
        self.socket.connect((address, 6024))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(OSError):
            self.say(f"{ABRT:04x}00020000")
        self.socket.close()

    def say(self, hexes):
        self.socket.send(bytes.fromhex(hexes))

    def ask(self):
        aarq = bytearray(patch(AARQ, (44, self.config)))
        aarq[36:44] = bytes.fromhex(self.system_id)
        self.socket.send(aarq)

    def result(self):
        aare = self.socket.recv(65536)
        assert int.from_bytes(aare[:2], "big") == AARE, aare.hex()
        return int.from_bytes(aare[4:6], "big")

    def associate(self):
        self.ask()
        return self.result()


def released(router, system_id, *args):
    return router.command("session", "disconnect", system_id, "-c", router.identity, *args)


def ids(router, *filters):
    got = router.show("sessions", *filters)
    assert got["total"] == len(got["sessions"])
    return {s["system_id"] for s in got["sessions"]}


def gone(router, *system_ids):
    wait_until("the sessions to end", lambda: not ids(router) & set(system_ids))


@contextlib.contextmanager
def words(router, **expected):
    """words(associations={"requested": 2}): by the end of the block these words have risen by exactly so much."""
    before = router.status()["health_devices"]
    yield
    grown = {}

    def risen():
        now = router.status()["health_devices"]
        grown.update({g: {n: now[g][n] - before[g][n] for n in names} for g, names in expected.items()})
        return grown == expected
    try:
        wait_until("the words to rise", risen, 10, 0.1)
    except AssertionError as e:
        raise AssertionError(f"{e}: {grown}, not {expected}") from None


# ---------------------------------------------------------------- session disconnect


def test_release_waits_for_the_device(routed_lab, router):
    """By the bytes: RLRQ, and nothing ends before the device has answered."""
    one, other = "0022092258010001", "0022092258010002"
    with words(router, signalling={"releases_sent": 1, "timeout_release": 0, "aborts_sent": 0}), \
            Device(routed_lab, one) as d, Device(routed_lab, other) as kept:
        assert d.associate() == kept.associate() == ACCEPTED
        p = released(router, one)
        assert p.returncode == 0 and p.stdout == f"{one}: release requested\n", p.stderr
        assert d.socket.recv(65536).hex() == RLRQ
        assert ids(router, "--state", "releasing") == {one} and ids(router, "--state", "operating") == {other}
        p = released(router, one.upper())
        assert p.returncode == 0 and "requested before" in p.stdout
        d.say(RLRE)
        gone(router, one)
        assert ids(router) == {other}
        p = released(router, one)
        assert p.returncode == 69 and f"no health device {one} is associated" in p.stderr and not p.stdout
        d.say(RLRE)  # once more: no one minds
    gone(router, other)


@pytest.mark.parametrize("transport", ("udp", "tcp"))
def test_release_of_a_simulated_device(routed_lab, router, transport):
    """The simulator, which was written from the standard's side, is asked, and agrees."""
    system_id = "00220922580100aa"
    sim = routed_lab.popen("left", SIM, "--to", f"{own('left')}:6024", "--device", "activity", "--transport", transport,
                           "--reports", 1, "--rate", 1, "--stay", "--again", "60m", "--system-id", system_id,
                           "--report-file", "-", stdout=subprocess.PIPE)
    try:
        wait_until("it to operate", lambda: ids(router, "--state", "operating") == {system_id}, 30)
        with words(router, signalling={"releases_sent": 1, "timeout_release": 0, "aborts_sent": 0}):
            assert released(router, system_id).returncode == 0
            gone(router, system_id)
    finally:
        sim.send_signal(signal.SIGTERM)
        out, _ = sim.communicate(timeout=30)
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["by"] for line in lines if line["event"] == "release"] == ["manager"]
    assert not [line for line in lines if line["event"] == "abort"]


def test_release_by_the_socket(router):
    """A request that does not come from the command line tool is also answered with the expected form."""
    path = f"{router.config['runtime']['directory']}/{router.config['name']}.sock"
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(path)
        lines = s.makefile("rw")
        for id_ in ({}, {"id": 2209225801}, {"id": ""}, {"id": "002209225801000"}, {"id": "0" * 16}, {"id": "x" * 16}):
            lines.write(json.dumps({"command": "sessions-release", **id_}) + "\n")
            lines.flush()
            said = json.loads(lines.readline())
            assert said["ok"] is False and "16 hexadecimal digits" in said["errors"][0], (id_, said)


def test_release_when_nothing_runs(router):
    p = router.command("session", "disconnect", "0022092258010001", "-i", "nobody-of-this-name")
    assert p.returncode == 69 and "is this instance running?" in p.stderr


# ---------------------------------------------------------------- events


def test_sessions_have_events(routed_lab, router):
    """As far as `biplane tail` sees them: who began it, how it ended, and the same flow for both."""
    four, six, new = (f"00220922580a000{i}" for i in range(1, 4))

    def events():
        p = router.command("tail", "events", "-c", router.identity, "--type", "session", "--json", "-n", 1000, "--no-follow")
        assert p.returncode == 0, p.stderr
        return check([json.loads(line) for line in p.stdout.splitlines()])

    with Device(routed_lab, four) as a, Device(routed_lab, six, own("left", 6)) as b, Device(routed_lab, new, config=OWN_CONFIG) as c:
        assert [x.associate() for x in (a, b)] == [ACCEPTED] * 2
        assert c.associate() == ACCEPTED_UNKNOWN_CONFIG  # not operating: no event
        address = a.socket.getsockname()
        assert released(router, four).returncode == 0
        assert a.socket.recv(65536).hex() == RLRQ
        a.say(RLRE)
        gone(router, four)
        b.say(f"{ABRT:04x}00020000")
        gone(router, six)
    gone(router, new)
    got = [e for e in events() if e["session"]["system_id"] in (four, six, new)]
    assert [(e["session"]["system_id"], e["session"]["state"], e["session"].get("reason")) for e in got] == [
        (four, "associated", None), (six, "associated", None), (four, "released", "gateway"), (six, "aborted", "device")]
    first, third = got[0], got[2]
    assert (first["src_ip"], first["src_port"], first["dest_ip"], first["dest_port"]) == (*address, own("left"), 6024)
    assert first["session"]["specialization"] == "pulse_oximeter" and third["session"]["reports"] == 0
    assert first["flow_id"] == third["flow_id"] != got[1]["flow_id"]
    assert (got[1]["src_ip"], got[1]["dest_ip"], got[1]["proto"]) == (LEFT6, own("left", 6), "UDP")


# ---------------------------------------------------------------- show sessions


def test_session_list_is_filtered(routed_lab, router):
    four, six, new, hub = (f"002209225802000{i}" for i in range(1, 5))
    with Device(routed_lab, four) as a, Device(routed_lab, six, own("left", 6)) as b, \
            Device(routed_lab, new, config=OWN_CONFIG) as c, Device(routed_lab, hub) as d:
        assert [x.associate() for x in (a, b, d)] == [ACCEPTED] * 3
        assert c.associate() == ACCEPTED_UNKNOWN_CONFIG
        for filters, expected in (
                ((), {four, six, new, hub}),
                (("--state", "operating"), {four, six, hub}),
                (("--state", "configuring"), {new}),
                (("--state", "releasing"), set()),
                (("--type", "pulse_oximeter"), {four, six, hub}),
                (("--type", "4100"), {four, six, hub}),
                (("--type", "unknown"), {new}),
                (("--type", "thermometer"), set()),
                (("--address", LEFT), {four, new, hub}),
                (("--address", "10.1.0.0/24"), {four, new, hub}),
                (("--address", "10.2.0.0/24"), set()),
                (("--address", LEFT6), {six}),
                (("--address", "fd01::/64"), {six}),
                (("--address", "::/0"), {six}),
                ((six,), {six}),
                ((six.upper(), "--state", "configuring"), set()),
                (("--address", "10.0.0.0/8", "--type", "4100", "--state", "operating"), {four, hub})):
            assert ids(router, *filters) == expected, filters
        got = router.show("sessions", "--type", "pulse_oximeter", "-n", 2)
        assert got["total"] == 3 and len(got["sessions"]) == 2
        text = router.command("show", "sessions", "-c", router.identity, "--state", "configuring").stdout.splitlines()
        assert len(text) == 2 and text[0].split()[0] == "SYSTEM-ID" and text[1].split()[0] == new
    gone(router, four, six, new, hub)


# ---------------------------------------------------------------- status


def test_report_numbers_increase(routed_lab, router):
    """The counters match those of the simulator: associations, reports, and an instance for each of an oximeter's two
    values. Over TCP, so that the control plane converts all reports."""
    with words(router, sessions={"open": 0, "operating": 0}, associations={"requested": 3, "accepted": 3, "rejected_rate": 0},
               signalling={"releases_received": 3, "unknown_session": 0}, reports={"sent": 12, "lost": 0, "pending": 0},
               instances={"sent": 24, "stored": 24}, provisioning={"completed": 3, "pending": 0}, udp={"dropped": 0}):
        p = routed_lab.run("left", SIM, "--to", f"{own('left')}:6024", "--device", "oximeter", "--count", 3, "--confirmed",
                           "--transport", "tcp", "--reports", 4, "--rate", 0, "--retries", 0, "--timeout", "1s", "--association-timeout", "30s",
                           "--system-id", "0022092258030000")
        summary = json.loads(p.stdout.splitlines()[-1])
        assert summary["answered"] == 12 and summary["refused"] == 0, summary
        gone(router, *(f"002209225803000{i}" for i in range(3)))


def test_report_state_survives_the_control_plane(routed_lab, router):
    with words(router, associations={"requested": 2, "accepted": 2}, sessions={"open": 0, "adopted": 1}):
        with words(router, associations={"requested": 1, "accepted": 1}, sessions={"open": 1, "adopted": 0}), \
                contextlib.ExitStack() as stay:
            one = stay.enter_context(Device(routed_lab, "0022092258040001"))
            assert one.associate() == ACCEPTED
            keep = stay.pop_all()  # over the restart
        with keep:
            router.kill_plane("control plane")
            with Device(routed_lab, "0022092258040002") as two:
                served(router)
                assert two.associate() == ACCEPTED
                assert ids(router) == {"0022092258040001", "0022092258040002"}
        gone(router, "0022092258040001", "0022092258040002")


# ---------------------------------------------------------------- who may associate


@contextlib.contextmanager
def reloaded(router, **phd):
    """With these settings in section health_devices instead; as before after that."""
    config = copy.deepcopy(router.config)
    config["health_devices"].update(phd)
    p = router.reload(config)
    assert p.returncode == 0, p.stderr
    try:
        yield
    finally:
        assert router.reload(router.config).returncode == 0


def test_limit_of_an_address(routed_lab, router):
    with reloaded(router, limits={"sessions_per_address": 2}), \
            words(router, associations={"accepted": 4, "rejected_transient": 1, "rejected_address": 1}), \
            contextlib.ExitStack() as stay:
        a, b, c = (stay.enter_context(Device(routed_lab, f"002209225805000{i}")) for i in range(3))
        six = stay.enter_context(Device(routed_lab, "0022092258050006", own("left", 6)))
        assert a.associate() == b.associate() == six.associate() == ACCEPTED
        assert c.associate() == TRANSIENT
        b.say(f"{ABRT:04x}00020000")
        gone(router, b.system_id)
        assert c.associate() == ACCEPTED
    gone(router, a.system_id, c.system_id, six.system_id)


def test_limit_of_a_second(routed_lab, router):
    """One a second: of many that wait together, some come too soon."""
    with reloaded(router, limits={"association_rate": 1}), contextlib.ExitStack() as stay:
        devices = [stay.enter_context(Device(routed_lab, f"00220922580600{i:02x}")) for i in range(20)]
        before = router.status()["health_devices"]["associations"]
        for d in devices:
            d.ask()
        results = [d.result() for d in devices]
        assert results[0] == ACCEPTED and set(results) == {ACCEPTED, TRANSIENT}
        rejected = results.count(TRANSIENT)

        def counted():
            now = router.status()["health_devices"]["associations"]
            return (now["requested"] - before["requested"] == 20 and
                    now["rejected_rate"] - before["rejected_rate"] == rejected and
                    now["rejected_transient"] - before["rejected_transient"] == rejected)
        wait_until("each to be counted", counted)
    gone(router, *(d.system_id for d in devices))


def test_allow_list(routed_lab, router):
    yes, no = "0022092258070001", "0022092258070002"
    with reloaded(router, allow=[yes]), words(router, associations={"accepted": 1, "rejected_unauthorized": 1}), \
            Device(routed_lab, yes) as a, Device(routed_lab, no) as b:
        assert a.associate() == ACCEPTED and b.associate() == UNAUTHORIZED
        assert ids(router) == {yes}
    gone(router, yes)


@pytest.mark.parametrize("allow", ({}, {"allow": ["0022092258080009"]}), ids=("alone", "beside a list"))
def test_allow_file(routed_lab, router, tmp_path, allow):
    """Listed: accepted; not listed: unauthorized; changed: by the next reload; broken: refused, and nothing changes."""
    first, second = "0022092258080001", "0022092258080002"
    listed = tmp_path / "allowed"
    listed.write_text(f"# ward 3\n{first} # bed 1\n")

    def result(system_id):
        with Device(routed_lab, system_id) as d:
            got = d.associate()
        gone(router, system_id)
        return got

    with reloaded(router, allow_file=str(listed), **allow), \
            words(router, associations={"accepted": 6 + len(allow), "rejected_unauthorized": 5 - len(allow)}):
        assert (result(first), result(second)) == (ACCEPTED, UNAUTHORIZED)
        assert result("0022092258080009") == (ACCEPTED if allow else UNAUTHORIZED)
        listed.write_text(f"{first}\n{second}\n")
        assert result(second) == UNAUTHORIZED  # not before it is read
        assert router.reload().returncode == 0
        assert (result(first), result(second)) == (ACCEPTED, ACCEPTED)
        for broken, why in ((f"{first}\n{second}0\n", f"{listed}:2: not a system-id"), (None, f"{listed}: No such file")):
            if broken is None:
                listed.unlink()
            else:
                listed.write_text(broken)
            p = router.command("config", "check", "-c", router.file)
            assert p.returncode == 78 and why in p.stderr
            p = router.reload()
            assert p.returncode == 78 and "nothing changed" in p.stderr and why in p.stderr
            assert result(second) == ACCEPTED  # as before
        listed.write_text(f"{second}\n")
        assert router.reload().returncode == 0
        assert (result(first), result(second)) == (UNAUTHORIZED, ACCEPTED)
        assert result("0022092258080003") == UNAUTHORIZED


# ---------------------------------------------------------------- the CSE is away


def test_cse_away(routed_lab, router):
    """No one listens there: said, with who waits; gone when it is back."""
    one = "0022092258090001"
    assert router.sink.end()["violations"] == 0
    with words(router, provisioning={"completed": 1, "pending": 0}), Device(routed_lab, one) as d:
        assert d.associate() == ACCEPTED
        phd = wait_until("the CSE to be known as away", lambda: (
            p := router.status()["health_devices"])["cse"]["unreachable_s"] > 0 and p, 60, 0.1)
        assert phd["provisioning"]["pending"] == phd["sessions"]["without_containers"] == 1
        assert phd["cse"]["port_closed"] > 0
        assert "warning: the CSE has been unreachable for" in router.command("status", "-c", router.identity).stdout
        assert router.show("sessions", one)["sessions"][0]["containers"] is False
        router.sink = Sink(routed_lab)
        phd = wait_until("the CSE to be back", lambda: (
            p := router.status()["health_devices"])["sessions"]["without_containers"] == 0 and p, 60, 0.1)
        assert phd["cse"]["unreachable_s"] == 0
        assert router.show("sessions", one)["sessions"][0]["containers"] is True
