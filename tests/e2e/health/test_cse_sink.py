# SPDX-License-Identifier: BSD-3-Clause
"""The sink that replaces a CSE: it accepts the requests that a real CSE was observed to accept, and reports all
others."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import coap
from lab import BIPLANE, wait_until

SINK = os.path.join(os.path.dirname(BIPLANE), "biplane-cse-sink")
CAPTURED = json.loads((Path(__file__).parents[2] / "fixtures" / "coap-onem2m.json").read_text())
NEW_AE = {"api": "Nbiplane", "rr": False, "srv": ["4"]}
CON = '{"v":97.5,"u":"%","t":"2026-01-01T12:00:00.00"}'


class Sink:
    def __init__(self, *args, listen="127.0.0.1:0"):
        self.process = subprocess.Popen([SINK, "--listen", listen, *args], stdout=subprocess.PIPE, text=True)
        word, port = self.process.stdout.readline().split()
        assert word == "ready"
        self.port = int(port)
        self.client = coap.Client("127.0.0.1" if listen[0] == "1" else "::1", self.port, timeout=0.3)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def report(self, code=0):
        """Ends it; returns its output."""
        self.process.send_signal(signal.SIGTERM)
        said = json.loads(self.process.stdout.read())
        assert self.process.wait(20) == code, said["what_was_wrong"]
        return said

    def ask(self, message):
        return self.client.exchange(message, tries=1)

    def provision(self, fr="CgwAE", rn="gwAE", container="spo2"):
        assert self.client.create("cse-in", coap.AE, fr, rn=rn, **NEW_AE).rsc == 2001
        assert self.client.create("cse-in/" + rn, coap.CNT, fr, rn=container).rsc == 2001


def instance(mid, rn="65c000000001000000010000", con=CON, path="cse-in/gwAE/spo2", query=("rcn=0",), **more):
    body = {"m2m:cin": {"rn": rn, "con": con, "cnf": "application/json:0", **more}}
    return coap.request(coap.POST, path, "CgwAE", coap.CIN, body, query, mid=mid, token=b"12345678")


def captured(title):
    return next(c for c in CAPTURED if c["title"] == title)


@pytest.mark.parametrize("title", [c["title"] for c in CAPTURED if c.get("response", {"type": "RST"})["type"] != "RST"
                                   and c["title"] not in ("ERR unsupported content-format 99", "retrieve latest",
                                                          "create CIN CSE-relative with SP-relative form ~",
                                                          "create CIN absolute form _")])
def test_captured_requests(title):
    """Its answers have the codes that the real CSE's had, where the contents of the instances are not the point."""
    c = captured(title)
    with Sink("--unnamed") as s:
        if title not in ("create AE (originator CgwAE)", "retrieve CSEBase"):
            s.client.create("cse-in", coap.AE, "CgwAE", rn="gwAE", **NEW_AE)
        if title not in ("create container",):
            s.client.create("cse-in/gwAE", coap.CNT, "CgwAE", rn="spo2")
        got = s.ask(coap.Message.decode(bytes.fromhex(c["request_hex"])))
        kind, code = got.type, f"{got.code >> 5}.{got.code & 31:02d}"
        said = s.report(1 if "contentInstance" in title or ("ERR" in title and "duplicate" not in title) else 0)
        assert kind == {"ACK": coap.ACK, "NON": coap.NON}[c["response"]["type"]]
        assert got.token.hex() == c["response"]["token"]
        if title.startswith("create contentInstance"):  # not of the gateway's form
            assert code == "4.00" and said["violations"] == 1
        elif title in ("ERR no privilege", "ERR target not found"):  # their contents are not of that form either
            assert code == "4.00"
        elif title == "ERR missing RVI":
            assert code == "4.00" and said["what_was_wrong"][0]["what"] == "an RVI of another release"
        else:
            assert (code, got.rsc) == (c["response"]["code"], next(
                o["value"] for o in c["response"]["opts"] if o["num"] == coap.RSC))


@pytest.mark.parametrize("title", ["ERR old option numbers FR=256 RQI=257 TY=267", "ERR unknown critical option 2049",
                                   "ERR truncated payload marker"])
def test_captured_invalid_requests(title):
    with Sink() as s:
        message = bytes.fromhex(captured(title)["request_hex"])
        s.client.socket.send(message)
        got = coap.Message.decode(s.client.socket.recv(100))
        assert got.type == coap.RST and got.mid == int.from_bytes(message[2:4], "big")
        said = s.report(1)
        assert said["violations"] == 1 and said["what_was_wrong"][0]["hex"] == message.hex()


def test_instances_are_kept_and_repeats_are_not_taken_twice():
    with Sink() as s:
        s.provision()
        first = s.ask(instance(100))
        again = s.ask(instance(100))  # the same message
        other = s.ask(instance(101))  # another one of the same name
        assert (first.rsc, again.rsc, other.rsc) == (2001, 2001, 4105)
        assert s.ask(instance(102, rn="65c000000001000000020000")).rsc == 2001
        said = s.report()
    assert (said["instances"], said["repeats"], said["conflicts"]) == (2, 1, 1)
    ae = said["tree"]["children"][0]
    container = ae["children"][0]
    assert (said["tree"]["rn"], ae["rn"], ae["fr"], container["rn"]) == ("cse-in", "gwAE", "CgwAE", "spo2")
    assert [i["rn"] for i in container["children"]] == ["65c000000001000000010000", "65c000000001000000020000"]
    assert container["children"][0]["attributes"]["con"] == CON


@pytest.mark.parametrize("message,what", [
    (instance(1, con="98"), "a content that is not JSON"),
    (instance(1, con="[98]"), "a measurement that is not an object"),
    (instance(1, con='{"v":NaN,"t":null}'), "a content that is not JSON"),
    (instance(1, con='{"v":null,"t":null}'), "a measurement without a number and without a reason"),
    (instance(1, con='{"v":1,"t":"2026-01-01 12:00:00"}'), "a time in an unexpected format"),
    (instance(1, con='{"v":1}'), "a measurement without a time, which may be null"),
    (instance(1, con='[{"v":1,"t":null}]'), "one of several measurements without its object's name"),
    (instance(1, con='{"v":[1,"x"],"t":null}'), "a compound value with a member that is not a number"),
    (instance(1, more=1), "a contentInstance with an unexpected attribute"),
    (instance(1, rn="a b"), "an invalid resource name"),
    (instance(1, query=("rcn=1",)), "a Uri-Query other than rcn=0"),
    (coap.request(coap.POST, "cse-in/gwAE/spo2", "CgwAE", coap.CIN, {"m2m:cin": {"con": CON, "cnf": "application/json:0"}}),
     "a contentInstance without a name"),
    (coap.request(coap.POST, "cse-in/gwAE/spo2", "CgwAE", coap.CIN, {"m2m:cnt": {"rn": "x"}}),
     "a payload that is not the JSON of its TY"),
    (coap.request(coap.PUT, "cse-in/gwAE/spo2", "CgwAE", None, {"m2m:cnt": {}}), "a method other than GET and POST"),
    (coap.request(coap.POST, "cse-in/gwAE/spo2", "CgwAE", coap.CIN, {"m2m:cin": {}}, rvi="3"), "an RVI of another release"),
])
def test_errors_are_detected(message, what):
    with Sink() as s:
        s.provision()
        assert s.ask(message).code == 0x80
        said = s.report(1)
        assert [w["what"] for w in said["what_was_wrong"]] == [what] and said["instances"] == 0


@pytest.mark.parametrize("con", [CON, '{"v":null,"why":"NaN","u":"%","t":null}', '{"v":-100.0,"t":null,"s":"questionable","p":2}',
                                 '{"v":[120,80,93.3],"n":["sys","dia","mean"],"u":"mmHg","t":"2026-01-01T12:00:00.00+05:00"}',
                                 '{"v":"80000000","t":null}', '[{"o":"spo2","v":1,"t":null},{"o":"pulse_rate","v":2,"t":null}]'])
def test_encoding_of_measurements(con):
    with Sink() as s:
        s.provision()
        assert s.ask(instance(1, con=con)).rsc == 2001
        s.report()


def test_a_message_id_used_again():
    with Sink("--any") as s:
        assert s.ask(instance(5, rn="a")).rsc == 2001
        assert s.ask(instance(5, rn="b")).rsc == 2001
        second = coap.Client("127.0.0.1", s.port)  # another source port
        assert second.exchange(instance(5, rn="c")).rsc == 2001
        second.close()
        said = s.report(1)
        assert [w["what"] for w in said["what_was_wrong"]] == ["a message id used again within 247 s"]


def test_any_container():
    with Sink("--any") as s:
        assert s.ask(instance(5, path="cse-in/x/y/z")).rsc == 2001
        assert s.ask(instance(6, path="other/x/y/z")).rsc == 4004
        said = s.report()
        assert said["tree"]["children"][0]["children"][0]["children"][0]["instances"] == 1


def test_old_releases():
    with Sink("--release", "2", "--any") as s:
        m = instance(9)
        m.options = [({coap.FR: 256, coap.RQI: 257}.get(n, n), v) for n, v in m.options if n != coap.RVI]
        m.options.sort(key=lambda o: o[0])
        got = s.ask(m)
        assert got.code == 0x41 and got.option(265) == b"\x07\xd1" and got.option(257) == b"r9"
        s.report()


def test_lost_messages_are_counted():
    with Sink("--any", "--drop", "50", "--seed", "3") as s:
        got = [s.ask(instance(n, rn=f"n{n}")) for n in range(30)]
        said = s.report()
        lost = sum(g is None for g in got)
        assert 5 < lost < 25 and said["dropped"] == lost and said["instances"] == 30 - lost
    with Sink("--any", "--drop-answers", "50", "--seed", "3") as s:
        got = [s.ask(instance(n, rn=f"n{n}")) for n in range(30)]
        said = s.report()
        assert said["answers_dropped"] == sum(g is None for g in got) and said["instances"] == 30


def test_errors_as_configured():
    with Sink("--error", "100:5.03:5103", "--instances-only") as s:
        s.provision()
        got = s.ask(instance(1))
        assert (got.code, got.rsc) == (0xa3, 5103)
        assert s.ask(instance(1)).rsc == 5103  # the same message has the same answer
        said = s.report()
        assert said["errors"] == 1 and said["instances"] == 0


def test_separate_responses_and_delay():
    with Sink("--any", "--separate", "100", "--delay", "50") as s:
        s.client.socket.settimeout(5)
        s.client.socket.send(instance(7).encode())
        first, second = (coap.Message.decode(s.client.socket.recv(2000)) for _ in range(2))
        assert (first.type, first.code, first.mid) == (coap.ACK, 0, 7)
        assert (second.type, second.rsc, second.token) == (coap.CON, 2001, b"12345678")
        s.client.socket.send(coap.Message(coap.ACK, 0, second.mid).encode())
        wait_until("the acknowledgement", lambda: s.ask(coap.Message(coap.CON, 0, 1)) is not None)
        assert s.report()["separate_acked"] == 1


def converted():
    """Output of the converter for examples: (release, message)."""
    out = subprocess.run([os.path.join(os.path.dirname(BIPLANE), "..", "tests", "unit", "services", "health", "wire_requests")],
                         check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        release, *_, message = line.split()
        yield ("1", "2", "2a", "3", "4", "5")[int(release)], coap.Message.decode(bytes.fromhex(message))


@pytest.mark.parametrize("release", ["1", "2", "2a", "3", "4", "5"])
def test_accepts_converter_output(release):
    """The gateway's requests, of each release, have nothing that the sink would not expect of them."""
    messages = [m for r, m in converted() if r == release]
    assert messages
    with Sink("--any", "--release", release) as s:
        for n, m in enumerate(messages):
            m.mid = n  # the examples share theirs
            got = s.ask(m)
            assert got.rsc in (2001, 4105) if release not in "12" else got.code in (0x41, 0x83)
        said = s.report()
        assert said["instances"] + said["conflicts"] == len(messages)


def test_ipv6_and_ipv4_clients():
    with Sink("--any", listen="[::]:0") as s:
        assert s.ask(instance(7)).rsc == 2001
        four = coap.Client("127.0.0.1", s.port)
        assert four.exchange(instance(7, rn="other")).rsc == 2001
        four.close()
        assert s.report()["instances"] == 2


def test_tshark_reads_its_answers(tmp_path):
    """A third reader of the same bytes."""
    with Sink("--any") as s:
        s.client.socket.send(instance(7).encode())
        answer = s.client.socket.recv(2000)
        s.report()
    dump = tmp_path / "hex"
    dump.write_text("0000 " + " ".join(f"{b:02x}" for b in answer) + "\n")
    subprocess.run(["text2pcap", "-q", "-u", "5683,20000", dump, tmp_path / "pcap"], check=True, stderr=subprocess.DEVNULL)
    got = subprocess.run(["tshark", "-r", tmp_path / "pcap", "-T", "fields", "-e", "coap.code", "-e", "coap.mid", "-e",
                          "coap.token"], check=True, capture_output=True, text=True).stdout.split()
    assert got == ["65", "7", "3132333435363738"]


def test_options_that_are_wrong():
    for args, sentence in ((["--error", "x"], "expected for example 10:5.03:5103"), (["--release", "9"], "expected 1, 2, 2a"),
                           (["--drop", "101"], "expected a number from 0 to 100"), (["more"], "'more' is no option")):
        p = subprocess.run([SINK, *args], capture_output=True, text=True, check=False)
        assert p.returncode == 64 and sentence in p.stderr
