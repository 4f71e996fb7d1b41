# SPDX-License-Identifier: BSD-3-Clause
"""Health devices in replay: captures are made here of vectors, what comes out is read by codecs of the tests alone."""

import ipaddress
import itertools
import json
import os
import signal
import struct
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest

import coap
import phd_manager as phd
from conftest import running_router
from frames import checksum, ethernet, ip4, mac, tcp
from lab import BIPLANE, ROOT, wait_until
from router_lab import RIGHT, host_mac, only_biplane, own, routed_config, router_mac

V = {v["id"]: bytes.fromhex(v["hex"]) for v in json.loads((ROOT / "tests/fixtures/phd-apdus.json").read_text())}
T0 = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
STAMP = "2026-01-01T12:00:00.00"
MANAGER = "fedcba9876543210"  # of phd_manager's vectors
ACTIVITY, OXIMETER = "0022092258080001", "1122334455667788"
PORTS = ("devices", "cloud")
GW_MAC = ["02:00:00:00:00:00", "02:00:00:00:00:01"]  # as replay gives them
CSE_MAC, CSE, CSE6 = "02:00:00:00:cc:02", "10.2.0.2", "fd02::2"
OUR, OUR6 = "10.1.0.1", "fd01::1"


# ---------------------------------------------------------------- frames and captures


def datagram(src, dst, sport, dport, payload, to, by, fragment=0):
    """A UDP datagram in an Ethernet frame, of either family."""
    family = ipaddress.ip_address(src).version
    a, b = ipaddress.ip_address(src).packed, ipaddress.ip_address(dst).packed
    head = struct.pack("!HHHH", sport, dport, 8 + len(payload), 0)
    pseudo = a + b + struct.pack("!HH" if family == 4 else "!IHH", *((17, 8 + len(payload)) if family == 4
                                                                  else (8 + len(payload), 0, 17)))
    udp = head[:6] + struct.pack("!H", checksum(pseudo + head + payload) or 0xffff) + payload
    if family == 6:
        return ethernet(to, by, 0x86dd, struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + a + b + udp)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 7, fragment, 64, 17, 0) + a + b
    return ethernet(to, by, 0x800, ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + udp)


class Device:
    def __init__(self, n, family=4, port=50000):
        self.address = f"10.1.0.{n}" if family == 4 else f"fd01::{n:x}"
        self.to, self.mac, self.port = OUR if family == 4 else OUR6, f"02:00:00:00:aa:{n:02x}", port

    def says(self, apdu):
        return datagram(self.address, self.to, self.port, 6024, apdu, GW_MAC[0], self.mac)


Out = namedtuple("Out", "time dst src from_ to sport dport payload")


def write(path, timed):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
        for t, frame in timed:
            f.write(struct.pack("<IIII", t // SECOND, t % SECOND, len(frame), len(frame)) + frame)
    return path


def dissect(t, frame):
    """A UDP frame that is right in every length and checksum."""
    dst, src, kind = frame[:6], frame[6:12], int.from_bytes(frame[12:14], "big")
    ip = frame[14:]
    if kind == 0x86dd:
        udp = ip[40:]
        assert (ip[0] >> 4, ip[6], int.from_bytes(ip[4:6], "big")) == (6, 17, len(udp))
        a, b, pseudo = ip[8:24], ip[24:40], struct.pack("!IHH", len(udp), 0, 17)
    else:
        udp = ip[20:]
        assert (kind, ip[0], ip[9], int.from_bytes(ip[2:4], "big")) == (0x800, 0x45, 17, len(ip))
        assert checksum(ip[:20]) == 0
        a, b, pseudo = ip[12:16], ip[16:20], struct.pack("!HH", 17, len(udp))
    sport, dport, length, total = struct.unpack("!HHHH", udp[:8])
    assert length == len(udp) and total != 0 and checksum(a + b + pseudo + udp) == 0
    return Out(t, dst, src, str(ipaddress.ip_address(a)), str(ipaddress.ip_address(b)), sport, dport, udp[8:])


def read(path):
    data = Path(path).read_bytes()
    assert data[:4] == struct.pack("<I", 0xa1b23c4d)
    at, got = 24, []
    while at < len(data):
        s, ns, n, whole = struct.unpack_from("<IIII", data, at)
        assert n == whole
        got.append(dissect(s * SECOND + ns, data[at + 16:at + 16 + n]))
        at += 16 + n
    return got


# ---------------------------------------------------------------- replays


def config(family=4, path="cse-in/{system_id}/{object}", reached=True, **more):
    cse = CSE if family == 4 else CSE6
    settings = {"system_id": MANAGER, **more}
    settings["cse"] = {"coap": f"coap://{cse}" if family == 4 else f"coap://[{cse}]", "path": path, **settings.pop("cse", {})}
    neighbors = [{"address": a, "mac": CSE_MAC, "interface": "cloud"} for a in (CSE, CSE6)] if reached else []
    return {"ports": [{"name": "devices", "device": "net_null0", "routed": {"addresses": [f"{OUR}/24", f"{OUR6}/64"]}},
                      {"name": "cloud", "device": "net_null1", "routed": {"addresses": ["10.2.0.1/24", "fd02::1/64"]}}],
            "routing": {"static_neighbors": neighbors}, "health_devices": settings}


class Replay:
    """One run: `said` is its JSON, `out` what left by each port."""

    def __init__(self, directory, settings, timed=(), *options, cloud=(), name="r", text=False):
        names = [p["name"] for p in settings["ports"]]
        file = directory / f"{name}.yaml"
        file.write_text(json.dumps({"version": 1, **settings}))
        self.pcap = {p: directory / f"{name}.{p}.pcap" for p in names}
        argv = [BIPLANE, "replay", "-c", file, *([] if text else ["--json"]), *options]
        for port, frames in zip(names, (timed, cloud)):
            if isinstance(frames, Path) or frames:
                argv += ["--in", f"{port}={frames if isinstance(frames, Path) else write(directory / f'{name}.{port}.in', frames)}"]
        for port, pcap in self.pcap.items():
            argv += ["--out", f"{port}={pcap}"]
        self.process = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      check=False, timeout=120, stdin=subprocess.DEVNULL)
        assert self.process.returncode == 0, f"{self.process.returncode}: {self.process.stderr}"
        self.out = {p: read(pcap) for p, pcap in self.pcap.items()}
        if not text:
            self.said = json.loads(self.process.stdout)
            self.health = self.said["health_devices"]
            assert self.said["totals"]["balanced"], self.said["totals"]

    def requests(self, port="cloud"):
        return [coap.Message.decode(o.payload) for o in self.out[port]]

    def answers(self, device=None):
        """The answers to all devices, or to one of them, with their times."""
        told = [(o.time, o.payload) for o in self.out["devices"] if device is None or
                (o.to, o.dport) == (device.address, device.port)]
        return told if device is None else [apdu for _, apdu in told]


def every(frames, step=SECOND // 10, start=T0):
    return [(start + i * step, f) for i, f in enumerate(frames)]


def association(system_id, config_id):
    return phd.patch(V["A01"].hex(), (44, config_id))[:36] + bytes.fromhex(system_id) + phd.patch(
        V["A01"].hex(), (44, config_id))[44:]


def aare(result):
    """The vector's, with what was chosen of the association."""
    return phd.aare(result)


def instance(m):
    """Container, and the content as text of each number."""
    con = json.loads(m.json()["m2m:cin"]["con"], parse_float=str, parse_int=str)
    return m.path(), con


def measured(r, port="cloud"):
    """Container and content of each request: of a session in the order of its reports and their parts, as names say."""
    return [instance(m) for m in sorted(r.requests(port), key=lambda m: m.json()["m2m:cin"]["rn"])]


def shape(m, rvi="4", fr="Cbiplane"):
    """Fields of every create request."""
    assert (m.type, m.code, len(m.token)) == (coap.CON, coap.POST, 8)
    assert m.option(coap.TY) == coap.uint(coap.CIN) and m.option(coap.RVI) == rvi.encode()
    assert m.option(coap.FR) == fr.encode() and m.option(coap.CONTENT_FORMAT) == coap.uint(50)
    assert m.option(coap.RQI) == m.token.hex().encode() and m.option(coap.URI_QUERY) == b"rcn=0"


def unconfirmed(apdu):
    return phd.patch(apdu.hex(), (8, 0x0100))


def renumbered(apdu, invoke, number):
    return phd.patch(apdu.hex(), (6, invoke), (24, number))


@pytest.fixture(scope="module")
def session():
    """An activity monitor that declares itself, and an oximeter of a standard configuration, side by side."""
    monitor, oximeter = Device(2), Device(3, port=50001)
    return monitor, oximeter, every([
        monitor.says(V["A04"]), oximeter.says(V["A01"]), monitor.says(V["C03"]), oximeter.says(V["S02"]),
        monitor.says(V["S10"]), monitor.says(V["S11"]), oximeter.says(unconfirmed(renumbered(V["S06"], 22, 7))),
        oximeter.says(V["R01"]), monitor.says(V["R01"])])


def test_from_association_to_release(tmp_path, session):
    monitor, oximeter, timed = session
    r = Replay(tmp_path, config(), timed, "--assume-stored")
    # devices: byte by byte what a manager of the standard's examples says
    assert r.answers(monitor) == [aare(3), phd.config_answer(2, 0x4000), phd.patch(phd.GET_MDS, (6, 0)),
                                  phd.report_answer(32, phd.FIXED), phd.report_answer(33, phd.VAR),
                                  bytes.fromhex(phd.RELEASED)]
    assert r.answers(oximeter) == [aare(0), phd.report_answer(16, phd.FIXED), bytes.fromhex(phd.RELEASED)]
    assert {(o.dst, o.src, o.from_, o.sport) for o in r.out["devices"] if o.to == monitor.address} == {
        (mac(monitor.mac), mac(GW_MAC[0]), OUR, 6024)}, "no neighbor is known: back to where it came from"
    assert [o.time for o in r.out["devices"]] == sorted(o.time for o in r.out["devices"])
    assert {o.time for o in r.out["devices"]} <= {t for t, _ in timed}, "the captures' time"
    # the CSE
    assert {(o.dst, o.src, o.from_, o.to, o.dport) for o in r.out["cloud"]} == {
        (mac(CSE_MAC), mac(GW_MAC[1]), "10.2.0.1", CSE, 5683)}
    assert all(20000 <= o.sport <= 29999 for o in r.out["cloud"])
    requests = r.requests()
    for m in requests:
        shape(m)
    got = measured(r)
    found = {ACTIVITY: [], OXIMETER: []}
    for path, con in got:
        found[path.split("/")[1]].append((path.split("/")[2], con["v"]))
    assert found[OXIMETER] == [("spo2", "97.5"), ("pulse_rate", "61"), ("spo2", "88")]
    assert [v for _, v in found[ACTIVITY]] == ["8432", "6250", "95", "62", "412", "1234.5"]
    assert len({o for o, _ in found[ACTIVITY][:5]}) == 5 and found[ACTIVITY][5][0] == found[ACTIVITY][1][0]
    assert {con["t"] for path, con in got if ACTIVITY in path} == {STAMP}
    names = [(m.path(), m.json()["m2m:cin"]["rn"]) for m in requests]
    assert len(set(names)) == len(names) and {n[:8] for _, n in names} == {f"{T0 // SECOND:08x}"}
    assert len({(o.sport, m.mid) for o, m in zip(r.out["cloud"], requests)}) == len(requests)
    # the report
    h = r.health
    assert h["associations"] == {"requests": 2, "accepted": 2, "rejected": 0, "retransmissions_answered": 0, "released": 2,
                                 "aborted_by_devices": 0, "aborted_by_gateway": 0, "timeouts": 0, "open": 0}
    assert (h["configurations_accepted"], h["reports"], h["reports_confirmed"]) == (1, 4, 3)
    assert (h["cse_requests"], h["stored"], h["acknowledgments_assumed"], h["responses"]) == (9, 9, 9, 3)
    assert set(h["discarded"].values()) == {0} == set(h["not_replayed"].values())
    i = r.said["counters"]
    assert i["phd_manager_received"] == 5 and i["phd_manager_frame"] == len(r.out["devices"])
    assert r.said["totals"]["drops"] == 0


def test_twice_the_same_bytes(tmp_path, session):
    runs = [Replay(tmp_path, config(), session[2], "--assume-stored", name=f"r{i}") for i in range(2)]
    for port in PORTS:
        assert runs[0].pcap[port].read_bytes() == runs[1].pcap[port].read_bytes()
    assert runs[0].process.stdout.replace("r0.", "") == runs[1].process.stdout.replace("r1.", "")
    text = [Replay(tmp_path, config(), session[2], "--assume-stored", name=f"t{i}", text=True) for i in range(2)]
    assert text[0].process.stdout.replace("t0.", "") == text[1].process.stdout.replace("t1.", "")
    said = text[0].process.stdout
    for line in ("2 requested, 2 accepted", "reports: 4, 3 of them confirmed", "requests to the CSE: 9, 9 of them stored",
                 "responses to reports: 3", ": exact\n"):
        assert line in said


@pytest.mark.skipif(subprocess.run(["which", "tshark"], stdout=subprocess.DEVNULL, check=False).returncode != 0,
                    reason="no tshark")
def test_as_tshark_reads_it(tmp_path, session):
    r = Replay(tmp_path, config(), session[2], "--assume-stored")
    rows = []
    for port, fields in (("cloud", ("coap.code", "coap.token", "coap.opt.uri_path_recon")), ("devices", ("udp.port",))):
        out = subprocess.run(["tshark", "-r", r.pcap[port], "-n", "-o", "ip.check_checksum:TRUE", "-o",
                              "udp.check_checksum:TRUE", "-T", "fields", "-e", "ip.checksum.status", "-e",
                              "udp.checksum.status", *itertools.chain(*(("-e", f) for f in fields))],
                             capture_output=True, text=True, check=True).stdout
        rows.append([line.split("\t") for line in out.splitlines()])
    assert len(rows[0]) == 9 and len(rows[1]) == len(r.out["devices"])
    assert all(row[:2] == ["1", "1"] for row in rows[0] + rows[1])
    assert [(int(row[2]), row[3], row[4].strip("/")) for row in rows[0]] == [
        (m.code, m.token.hex(), m.path()) for m in r.requests()]


def reply(o, code, rsc, token=None):
    """The response of a CSE to a request in the output."""
    m = coap.Message.decode(o.payload)
    said = coap.Message(coap.ACK, code, m.mid, m.token if token is None else token, [
        (coap.RQI, m.option(coap.RQI)), (coap.RSC, coap.uint(rsc))])
    return datagram(CSE, o.from_, 5683, o.sport, said.encode(), GW_MAC[1], CSE_MAC)


CREATED = 2 << 5 | 1, 2001


def test_acknowledgements_of_the_capture(tmp_path, session):
    """A capture of the CSE's side that answers what an earlier replay wrote: the key of replay is always the same."""
    _, oximeter, timed = session
    timed = [t for t in timed if oximeter.mac == t[1][6:12].hex(":")][:2]  # AARQ, and a report of two values
    alone = Replay(tmp_path, config(), timed, name="alone")
    assert (alone.health["cse_requests"], alone.health["stored"], alone.health["responses"]) == (2, 0, 0)
    assert alone.answers(oximeter) == [aare(0)]
    requests = alone.out["cloud"]
    assert len(requests) == 2
    late = timed[-1][0] + SECOND // 2

    def with_replies(*replies):
        return Replay(tmp_path, config(), timed, cloud=[(late + i, f) for i, f in enumerate(replies)])

    r = with_replies(reply(requests[0], *CREATED), reply(requests[1], *CREATED))
    assert r.pcap["cloud"].read_bytes() == alone.pcap["cloud"].read_bytes()
    assert r.answers()[-1] == (late + 1, phd.report_answer(16, phd.FIXED)), "with the last part's, and in its time"
    assert (r.health["stored"], r.health["responses"], r.health["acknowledgments_assumed"]) == (2, 1, 0)
    r = with_replies(reply(requests[0], 4 << 5 | 3, 4103))
    assert r.answers()[-1] == (late, phd.roer(16, 2)) and r.said["counters"]["cse_denied"] == 1
    r = with_replies(reply(requests[0], 4 << 5 | 4, 4004))
    assert r.answers()[-1] == (late, phd.rorj(16, 103)) and r.said["counters"]["cse_no_target"] == 1
    # its containers exist again: the repeated report is sent as a new request
    r = Replay(tmp_path, config(), [*timed, (late + SECOND, oximeter.says(V["S02"]))], cloud=[
        (late, reply(requests[0], 4 << 5 | 4, 4004))])
    assert [m.payload for m in r.requests()[:2]] == [m.payload for m in r.requests()[2:]]
    assert not {(o.sport, m.mid) for o, m in zip(r.out["cloud"][:2], r.requests()[:2])} & {
        (o.sport, m.mid) for o, m in zip(r.out["cloud"][2:], r.requests()[2:])}
    other = bytes([*coap.Message.decode(requests[0].payload).token[:7], 0x5a])
    assert other != coap.Message.decode(requests[0].payload).token
    r = with_replies(reply(requests[0], *CREATED, token=other))
    assert r.answers(oximeter) == [aare(0)] and r.health["unknown_tokens"] == 1
    assert r.said["drops"]["cse_unknown_token"] == 1


@pytest.mark.parametrize("family,cse_family", ((6, 4), (4, 6), (6, 6)))
@pytest.mark.parametrize("confirmable", (True, False))
def test_each_address_family(tmp_path, family, cse_family, confirmable):
    d = Device(9, family)
    r = Replay(tmp_path, config(cse_family, cse={"confirmable": confirmable}), every(
        [d.says(V["A01"]), d.says(V["S02"])]), "--assume-stored")
    assert r.answers(d) == [aare(0), phd.report_answer(16, phd.FIXED)]
    assert [con["v"] for _, con in measured(r)] == ["97.5", "61"]
    assert {(o.from_, o.to) for o in r.out["cloud"]} == {("10.2.0.1", CSE) if cse_family == 4 else ("fd02::1", CSE6)}
    assert {m.type for m in r.requests()} == {coap.CON if confirmable else coap.NON}
    assert r.health["stored"] == 2


def test_old_options(tmp_path):
    """The CSE's word that is assumed is in the numbers of the release."""
    d = Device(2)
    r = Replay(tmp_path, config(cse={"release": 1}), every([d.says(V["A01"]), d.says(V["S02"])]), "--assume-stored")
    assert r.answers(d)[1:] == [phd.report_answer(16, phd.FIXED)] and r.health["stored"] == 2
    assert all(m.option(coap.OLD_FR) == b"Cbiplane" and m.option(coap.FR) is None for m in r.requests())


def test_ack_forwarded_does_not_wait_for_the_cse(tmp_path, session):
    """confirm: forwarded answers at once, whatever the CSE says."""
    r = Replay(tmp_path, config(ack="forwarded"), session[2])
    assert r.answers(session[1]) == [aare(0), phd.report_answer(16, phd.FIXED), bytes.fromhex(phd.RELEASED)]
    assert (r.health["responses"], r.health["stored"]) == (3, 0)


def test_one_instance_a_report(tmp_path, session):
    r = Replay(tmp_path, config(content_instance_per="report"), session[2], "--assume-stored")
    got = [instance(m)[1] for m in r.requests()]
    assert [[o["v"] for o in con] for con in got] == [["97.5", "61"], ["8432", "6250", "95", "62", "412"], ["1234.5"], ["88"]]
    assert r.health["stored"] == 4 and r.health["responses"] == 3


def test_repeated_report_is_stored_once(tmp_path):
    """A report that comes again before it is stored is the same request; afterwards it is answered, and nothing more."""
    d = Device(2)
    said = [d.says(V["A01"]), d.says(V["S02"]), d.says(V["S02"])]
    r = Replay(tmp_path, config(), every(said))
    assert len(r.out["cloud"]) == 4 and r.health["duplicates"] == 1
    assert [o.payload for o in r.out["cloud"][:2]] == [o.payload for o in r.out["cloud"][2:]]
    assert [o.sport for o in r.out["cloud"][:2]] == [o.sport for o in r.out["cloud"][2:]]
    r = Replay(tmp_path, config(), every(said), "--assume-stored")
    assert len(r.out["cloud"]) == 2 and r.answers(d)[1:] == 2 * [phd.report_answer(16, phd.FIXED)]


def test_discarded_frames(tmp_path):
    known, stranger, waiting = Device(2), Device(3), Device(4)
    r = Replay(tmp_path, config(), every([
        known.says(V["A01"]), stranger.says(V["S02"]), waiting.says(V["A04"]), waiting.says(V["S10"]),
        known.says(V["M27"]), known.says(V["M26"]), known.says(unconfirmed(V["M27"])), known.says(V["M28"]),
        known.says(V["S02"])]), "--assume-stored")
    assert r.answers(stranger) == [bytes.fromhex("e60000020000")]
    assert r.answers(waiting) == [aare(3), phd.roer(32, 24)]
    assert r.answers(known) == [aare(0), phd.roer(10, 1), phd.rorj(9, 2), phd.roer(11, 1), phd.report_answer(16, phd.FIXED)]
    discarded = {k: n for k, n in r.health["discarded"].items() if n}
    assert discarded == {"phd_discarded_unknown_session": 1, "phd_discarded_state": 1, "phd_unknown_handle": 2, "phd_discarded_map": 1,
                         "phd_discarded_handle": 1}
    assert r.said["drops"]["phd_discarded"] == 1
    assert r.health["associations"]["open"] == 2 and r.health["associations"]["aborted_by_gateway"] == 1


def test_time_of_the_capture(tmp_path):
    """A device that never declares its configuration is aborted at its time, though no frame came then."""
    d, other = Device(2), Device(3)
    r = Replay(tmp_path, config(timeouts={"config": "2500ms"}), [
        (T0, d.says(V["A04"])), (T0 + 60 * SECOND, other.says(V["A01"]))])
    assert r.answers(d) == [aare(3), V["R06"]]
    assert [t for t, apdu in r.answers() if apdu == V["R06"]] == [T0 + 2_500_000_000]
    assert r.health["associations"]["timeouts"] == 1 and r.health["associations"]["open"] == 1


def test_known_configuration(tmp_path):
    """A received configuration is known when the device associates again, as with the store of a gateway."""
    d = Device(2)
    r = Replay(tmp_path, config(), every([d.says(V[k]) for k in ("A04", "C03", "R01", "A04", "S10", "R01")]),
               "--assume-stored")
    told = [a for a in r.answers(d) if a[:2] == b"\xe3\x00"]
    assert told == [aare(3), aare(0)] and r.health["cse_requests"] == 5 == r.health["stored"]


def mds_reply(invoke, types):
    """The answer to a GET of the MDS: attribute 2650, a list of specialisations."""
    listed = struct.pack("!HH", len(types), 4 * len(types)) + b"".join(struct.pack("!HH", t, 1) for t in types)
    attributes = struct.pack("!HH", 2650, len(listed)) + listed
    body = struct.pack("!HHH", 0, 1, len(attributes)) + attributes
    data = struct.pack("!HHH", invoke, 0x0203, len(body)) + body
    return struct.pack("!HHH", 0xe700, len(data) + 2, len(data)) + data


def test_specialisation_that_another_manager_asked_for(tmp_path):
    """The capture answers the GET of the gateway of then, by that one's number."""
    d = Device(2)
    r = Replay(tmp_path, config(path="cse-in/{system_id}/{type}/{object}"), every(
        [d.says(V["A04"]), d.says(V["C03"]), d.says(V["S10"]), d.says(mds_reply(0x7777, [4137])),
         d.says(renumbered(V["S10"], 40, 2))]), "--assume-stored")
    assert phd.rorj(32, 103) in r.answers(d), "its containers are named by what it is"
    assert r.answers(d)[-1] == phd.report_answer(40, phd.FIXED) and len(r.requests()) == 5
    (type_,) = {m.path().split("/")[2] for m in r.requests()}
    assert type_ not in ("", "unknown", "{type}")


def test_no_route_to_the_cse(tmp_path, session):
    """Such reports are counted, and confirmed ones are asked to be repeated."""
    _, oximeter, timed = session
    r = Replay(tmp_path, config(reached=False), timed, "--assume-stored")
    assert r.out["cloud"] == [] and r.health["not_replayed"]["slow_path_reports"] == 4
    assert r.answers(oximeter)[1] == phd.rorj(16, 103)
    text = Replay(tmp_path, config(reached=False), timed, text=True).process.stdout
    assert f"not replayed: 4 reports of the slow path: the CSE {CSE} is not reachable" in text


def test_tcp_and_fragments_are_counted(tmp_path):
    d = Device(2)
    syn = tcp(d.address, OUR, 40000, 6024, flags=2)
    data = tcp(d.address, OUR, 40000, 6024, V["A01"])
    other = tcp(d.address, OUR, 40000, 22, flags=2)
    frames = [ethernet(GW_MAC[0], d.mac, 0x800, ip4(d.address, OUR, 6, s)) for s in (syn, data, other)]
    frames.append(datagram(d.address, OUR, d.port, 6024, V["A01"], GW_MAC[0], d.mac, fragment=0x2000))
    r = Replay(tmp_path, config(), every(frames))
    assert r.health["not_replayed"] == {"tcp_connections": 1, "tcp_segments": 2, "unsupported_datagrams": 1, "slow_path_reports": 0}
    assert r.said["drops"]["no_host_interface"] == 4 and r.health["associations"]["requests"] == 0
    assert r.out["devices"] == []


def test_allow_file_rejects_other_devices(tmp_path):
    d, other = Device(2), Device(3)
    (tmp_path / "allow").write_text(f"{ACTIVITY} # the monitor\n")
    r = Replay(tmp_path, config(allow_file=str(tmp_path / "allow")), every([d.says(V["A04"]), other.says(V["A01"])]))
    assert r.answers(d) == [aare(3)]
    (rejected,) = r.answers(other)
    assert rejected[:2] == b"\xe3\x00" and int.from_bytes(rejected[4:6], "big") == 7


def test_behind_a_bridge(tmp_path, session):
    """Devices and CSE in one segment: requests are flooded until the CSE was heard, and are answered once."""
    host = "02:00:00:00:01:00"
    settings = {**config(), "ports": [{"name": n, "device": f"net_null{i}"} for i, n in enumerate(("devices", "cloud", "third"))],
                "bridges": [{"name": "plant", "ports": ["devices", "cloud", "third"],
                             "host_interface": {"addresses": [f"{OUR}/24", "10.2.0.1/24"]}}],
                "routing": {"static_neighbors": [{"address": CSE, "mac": CSE_MAC, "interface": "plant"}]}}
    timed = [(t, mac(host) + f[6:]) for t, f in session[2]]
    r = Replay(tmp_path, settings, timed, "--assume-stored")
    assert r.health["stored"] == 9 == r.health["cse_requests"] and r.health["responses"] == 3
    assert r.answers(session[1])[:2] == [aare(0), phd.report_answer(16, phd.FIXED)]
    assert r.health["acknowledgments_assumed"] == 9 and r.said["counters"]["cse_ack_duplicate"] == 0
    assert len(r.requests("third")) == 2, "the report that came before the CSE was heard"
    assert {o.dst for o in r.out["devices"] if o.sport == 6024} == {mac(d.mac) for d in session[:2]}


def test_needs_a_section_phd(tmp_path, session):
    settings = config()
    del settings["health_devices"]
    file = tmp_path / "c.yaml"
    file.write_text(json.dumps({"version": 1, **settings}))
    pcap = write(tmp_path / "in.pcap", session[2])
    p = subprocess.run([BIPLANE, "replay", "-c", file, "--assume-stored", "--in", f"devices={pcap}"], check=False,
                       capture_output=True, text=True, timeout=60)
    assert p.returncode == 64 and "has no section health_devices" in p.stderr
    out = subprocess.run([BIPLANE, "replay", "-c", file, "--json", "--in", f"devices={pcap}"], check=True,
                         capture_output=True, text=True, timeout=60).stdout
    assert "health_devices" not in json.loads(out) and json.loads(out)["drops"]["no_host_interface"] == len(session[2])


# ---------------------------------------------------------------- against a gateway that runs


SIM = os.environ.get("BP_PHD_SIM", str(Path(BIPLANE).resolve().parent / "biplane-phd-sim"))
SINK = os.path.join(os.path.dirname(BIPLANE), "biplane-cse-sink")


def stored(node, path=()):
    """Device and value of each instance that the sink has."""
    if node["ty"] == coap.CIN:
        return [(path[1], path[2], str(json.loads(node["attributes"]["con"], parse_float=str, parse_int=str)["v"]))]
    return sorted(itertools.chain(*(stored(child, (*path, node["rn"])) for child in node["children"])))


@only_biplane
@pytest.mark.parametrize("device", ("oximeter", "activity"))
def test_stored_content_of_a_gateway(routed_lab, hugepages, tmp_path, device):
    """Simulated devices and a gateway are captured at the devices' side: replayed, the same measurements come out."""
    pcap, log = tmp_path / "live.pcap", tmp_path / "tcpdump.log"
    settings = {"store": {"path": str(tmp_path / "phd.db")}, "cse": {"coap": f"coap://{RIGHT}", "path": "cse-in/{system_id}/{object}"}}
    with running_router(routed_lab, tmp_path, health_devices=settings) as router:
        sink = routed_lab.popen("right", SINK, "--listen", "[::]:5683", stdout=subprocess.PIPE)
        try:
            assert sink.stdout.readline().split()[0] == b"ready"
            with open(log, "wb") as err:
                dump = routed_lab.popen("left", "tcpdump", "-i", "eth0", "-U", "--immediate-mode", "-Z", "root", "-w", pcap,
                                        "udp port 6024", stderr=err)
            wait_until("tcpdump", lambda: b"listening on" in log.read_bytes())
            sim = routed_lab.run("left", SIM, "--to", f"{own('left')}:6024", "--device", device, "--count", 5, "--reports", 20,
                                 "--confirmed", "--report", "mixed", "--retries", 0, "--timeout", "1s", "--rate", 0,
                                 "--report-file", "-", check=False)
            lines = [json.loads(line) for line in sim.stdout.splitlines()]
            assert sim.returncode == 0, lines[-1]
            # each device's release is the last that it says
            wait_until("the capture to be complete", lambda: subprocess.run(
                ["tcpdump", "-r", pcap, "-nn", "-xx", "udp dst port 6024"], capture_output=True, check=False).stdout.count(
                    b"e400 0002 0000") >= 5, 20, 0.2)
            dump.terminate()
            dump.wait(10)
            sink.send_signal(signal.SIGTERM)
            at_cse = json.loads(sink.communicate(timeout=30)[0])
        finally:
            if sink.poll() is None:
                sink.kill()
                sink.wait()
        router.balanced()
    replayed = {**routed_config(), "health_devices": settings,
                "routing": {"static_neighbors": [{"address": RIGHT, "mac": host_mac("right"), "interface": "right"}]}}
    for p in replayed["ports"]:
        p["mac"] = router_mac(p["name"])
    r = Replay(tmp_path, replayed, pcap, "--assume-stored")
    got = sorted((*m.path().split("/")[1:], instance(m)[1]["v"]) for m in r.requests("right"))
    assert got == stored(at_cse["tree"])
    assert sorted((d, v) for d, _, v in got) == sorted(
        (line["device"], str(v["value"])) for line in lines[:-1] if line["event"] == "report" and not line.get("repeat")
        for v in line["values"])
    assert r.health["associations"]["accepted"] == 5 and r.health["associations"]["open"] == 0
    assert r.health["responses"] >= 100 and r.health["stored"] == len(got)
