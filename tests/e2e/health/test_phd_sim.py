# SPDX-License-Identifier: BSD-3-Clause
"""The simulator of health devices is right before it evaluates the gateway: against bytes of examples of the standard, and
against an encoder in Python that gives those bytes."""

import json
import os
import signal
import struct
import subprocess

import pytest

import phd_manager as phd
from lab import BIPLANE, wait_until

SIM = os.path.join(os.path.dirname(BIPLANE), "biplane-phd-sim")

AARQ = {
    "oximeter": ("1122334455667788", "standard", "e2000032800000000001002a507900268000000080008000000000000000008000000008112233445566778801900001010000000000"),
    "activity": ("0022092258080001", "own", "e2000032800000000001002a507900268000000080008000000000000000008000000008002209225808000140000001010000000000"),
    "dispenser": ("0022092258080003", "own", "e2000032800000000001002a507900268000000080008000000000000000008000000008002209225808000340020001010000000000"),
}
CONFIGS = {
    "oximeter": "e7000070006e0001010100680000ffffffff0d1c005e4001000200580006000100040024092f000400024bb80a46000240400996000202200a55000c000200080a4c0002099000080006000a00040024092f00040002481a0a4600024040099600020aa00a55000c000200080a4c000209900008",
    "activity": "e70000f800f60002010100f00000ffffffff0d1c00e64000000500e00006000100040028092f0004008100670a460002f040099600021a000a5500100003000c0a5600040a590004099000080006000200040024092f0004008100670a460002f0400996000205000a55000c000200080a560004099000080006000300040024092f00040081007d0a460002f0400996000208a00a55000c000200080a560004099000080006000400040024092f00040081007f0a460002f0400996000202200a55000c000200080a4c0002099000080006000500040024092f0004008100770a460002f040099600021a800a55000c000200080a56000409900008",
    "dispenser": "e700006a00680004010100620000ffffffff0d1c0058400200020052000600010003001e092f0004008234000a460002d0400a55000c000200080a4c0002099000080006000200040024092f0004008234010a460002d0400996000206520a55000c000200080a56000409900008",
}
STAMP = "2026-01-01T12:00:00.00"


def run(manager, *args, device="oximeter", log=None, **kw):
    argv = [SIM, "--device", device, "--to", f"127.0.0.1:{manager.port}", "--report-file", str(log or "/dev/null"),
            *map(str, args)]
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False, **kw)


def start(manager, *args, device="oximeter", log="/dev/null"):
    argv = [SIM, "--device", device, "--to", f"127.0.0.1:{manager.port}", "--report-file", str(log), *map(str, args)]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(p, code=0):
    out, _ = p.communicate(timeout=60)
    assert p.returncode == code, out
    return json.loads(out.splitlines()[-1])


def summary(p, code=0):
    assert p.returncode == code, p.stdout
    return json.loads(p.stdout.splitlines()[-1])


def lines(log, event=None):
    """The lines that are whole so far."""
    whole = log.read_text().rpartition("\n")[0]
    return [r for r in map(json.loads, whole.splitlines()) if event in (None, r["event"])]


# ---------------------------------------------------------------- an encoder of reports, proven by examples


def u16(*v):
    return struct.pack(f">{len(v)}H", *v)


def octet_string(b):
    return u16(len(b)) + b


def listed(entries):
    return u16(len(entries)) + octet_string(b"".join(entries))


def bcd(stamp):
    return bytes.fromhex("".join(c for c in stamp if c.isdigit()))


def entry(v, var):
    """One observation of a log line: its value, its active period, its time."""
    raw = bytes.fromhex(v["raw"])
    parts = [(2636 if len(raw) == 2 else 2646, raw)]
    if var and v.get("status"):
        parts.append((2375, u16(0x4000)))
    if "active" in v:
        parts.append((2649, struct.pack(">I", v["active"])))
    if "stamp" in v:
        parts.append((2448, bcd(v["stamp"])))
    if var:
        return u16(v["handle"]) + listed([u16(a) + octet_string(b) for a, b in parts])
    return u16(v["handle"]) + octet_string(b"".join(b for _, b in parts))


def encode(r):
    """The APDU of a "report" line."""
    var = r["kind"].endswith("var")
    if r["kind"].startswith("mp-"):
        persons = {}
        for v in r["values"]:
            persons.setdefault(v["person"], []).append(entry(v, var))
        body = listed([u16(p) + listed(e) for p, e in persons.items()])
    else:
        body = listed([entry(v, var) for v in r["values"]])
    info = octet_string(u16(0xf000, r["report"]) + body)
    type_ = {"fixed": phd.FIXED, "var": phd.VAR, "mp-fixed": phd.MP_FIXED, "mp-var": phd.MP_VAR}[r["kind"]]
    data = u16(0) + b"\xff" * 4 + u16(type_) + info
    return u16(phd.PRST) + octet_string(octet_string(u16(r["invoke"], 0x101 if r["confirmed"] else 0x100) + octet_string(data)))


def v(handle, raw, stamp=STAMP, **more):
    return {"handle": handle, "raw": raw, **({"stamp": stamp} if stamp else {}), **more}


@pytest.mark.parametrize("name,invoke,number,kind,confirmed,values,expected", [
    ("S02", 16, 1, "fixed", True, [v(1, "f3cf", None), v(10, "003d", None)],
     "e7000026002400100101001e0000ffffffff0d1d0014f00000010002000c00010002f3cf000a0002003d"),
    ("S03", 17, 2, "fixed", False, [v(1, "0062"), v(10, "0048")],
     "e7000036003400110100002e0000ffffffff0d1d0024f00000020002001c0001000a00622026010112000000000a000a00482026010112000000"),
    ("S06", 20, 5, "var", True, [v(1, "0058", status="questionable")],
     "e700003800360014010100300000ffffffff0d1e0026f00000050001001e0001000300180a4c00020058094700024000099000082026010112000000"),
    ("S07", 21, 6, "mp-fixed", True, [v(1, "0062", person=1), v(1, "005f", person=2)],
     "e7000042004000150101003a0000ffffffff0d1f0030f00000060002002800010001000e0001000a0062202601011200000000020001000e0001000a005f2026010112000000"),
    ("S08", 22, 7, "mp-var", True, [v(1, "0062", person=1)],
     "e700003800360016010100300000ffffffff0d200026f00000070001001e0001000100180001000200120a4c00020062099000082026010112000000"),
    ("S10", 32, 1, "fixed", True, [v(1, "000020f0", active=3600), v(2, "0000186a"), v(3, "0000005f"), v(4, "003e"), v(5, "0000019c")],
     "e700006c006a0020010100640000ffffffff0d1d005af00000010005005200010010000020f000000e1020260101120000000002000c0000186a20260101120000000003000c0000005f20260101120000000004000a003e20260101120000000005000c0000019c2026010112000000"),
    ("S11", 33, 2, "var", True, [v(2, "ff003039")],
     "e7000034003200210101002c0000ffffffff0d1e0022f00000020001001a0002000200140a560004ff003039099000082026010112000000"),
])
def test_the_encoder_itself(name, invoke, number, kind, confirmed, values, expected):
    made = encode({"invoke": invoke, "report": number, "kind": kind, "confirmed": confirmed, "values": values})
    assert made.hex() == expected, name


# ---------------------------------------------------------------- the simulator


@pytest.mark.parametrize("device", AARQ)
def test_association_request(device):
    system_id, config, expected = AARQ[device]
    with phd.Manager(known=(400, 0x4000, 0x4002)) as m:
        summary(run(m, "--system-id", system_id, "--config", config, "--reports", 1, "--rate", 100, device=device))
        assert m.received[0][1].raw.hex() == expected
        assert m.received[-1][1].raw.hex() == "e40000020000"


@pytest.mark.parametrize("device", CONFIGS)
def test_own_configuration(device):
    with phd.Manager(known=()) as m:
        said = summary(run(m, "--config", "own", "--reports", 1, "--rate", 100, device=device))
        assert said["configurations"] == said["associations"] == said["released"] == 1
        sent = bytearray(m.apdus(lambda a: a.choice == phd.PRST)[0].raw)
        expected = bytearray.fromhex(CONFIGS[device])
        sent[6:8] = expected[6:8]  # the invoke-id is the device's choice
        assert sent == expected


def test_standard_configuration_in_two_steps():
    asked = []

    def answer(a, _):
        if a.choice == phd.PRST and a.type == phd.CONFIG:
            asked.append(len(a.raw))
            return phd.config_answer(a.invoke, a.id, 2 if len(asked) == 1 else 0)
        return None
    with phd.Manager(known=(), answer=answer) as m:
        said = summary(run(m, "--config", "standard", "--brief-config", "--reports", 1, "--rate", 100, device="dispenser"))
        assert said["configurations"] == 1
        first, second = m.apdus(lambda a: a.choice == phd.PRST and a.type == phd.CONFIG)
        assert first.raw.hex()[-12:] == "1c2000000000" and first.id == second.id == 7200
        assert second.raw[24:] == bytes.fromhex(CONFIGS["dispenser"])[24:]


def test_configuration_refused():
    def answer(a, _):
        return phd.config_answer(a.invoke, a.id, 1) if a.choice == phd.PRST else None
    with phd.Manager(known=(), answer=answer) as m:
        said = summary(run(m, device="activity"), 1)
        assert said["rejected"] == 1 and said["reports"] == 0
        m.wait(lambda a: a.raw.hex() == "e40000020001")  # released: no more configurations


@pytest.mark.parametrize("device", CONFIGS)
@pytest.mark.parametrize("config", ["own", "standard"])
def test_reports_are_encoded(device, config, tmp_path):
    log = tmp_path / "log"
    with phd.Manager(known=(400, 4100, 7200, 0x4000, 0x4001, 0x4002)) as m:
        summary(run(m, "--config", config, "--report", "mixed", "--reports", 12, "--rate", 1000, "--specials", 5,
                    "--doubtful", 2, "--confirmed", device=device, log=log))
        made = [encode(r) for r in lines(log, "report")]
        assert len(made) == 12
        assert [a.raw.hex() for a in m.apdus(lambda a: a.is_report)] == [b.hex() for b in made]


def decimal(raw):
    """The exact value of the bytes, as a display shows it; or the name of a special value."""
    bits = {4: 12, 8: 24}[len(raw)]
    n = int(raw, 16)
    exponent, mantissa = n >> bits, n & ((1 << bits) - 1)
    exponent -= (exponent >> (len(raw) * 4 - bits - 1)) << (len(raw) * 4 - bits)
    special = {(1 << bits - 1) - 1: "NaN", 1 << bits - 1: "NRes", (1 << bits - 1) - 2: "+INF", (1 << bits - 1) + 2: "-INF",
               (1 << bits - 1) + 1: "reserved"}
    if exponent == 0 and mantissa in special:
        return special[mantissa]
    assert mantissa < 1 << bits - 1 and -3 < exponent <= 0
    digits = str(mantissa).rjust(1 - exponent, "0")
    return digits if exponent == 0 else f"{digits[:exponent]}.{digits[exponent:]}"


@pytest.mark.parametrize("device", CONFIGS)
def test_values_match_the_encoding(device, tmp_path):
    log = tmp_path / "log"
    with phd.Manager(known=(0x4000, 0x4001, 0x4002)) as m:
        summary(run(m, "--config", "own", "--reports", 200, "--rate", 0, "--confirmed", "--specials", 7, device=device, log=log))
    values = [x for r in lines(log, "report") for x in r["values"]]
    for x in values:
        assert decimal(x["raw"]) == (x["why"] if x["value"] is None else x["value"])
    assert {x.get("why") for x in values} == {None, "NaN", "NRes", "+INF", "-INF", "reserved"}
    assert decimal("f3cf") == "97.5" and decimal("ff000019") == "2.5" and decimal("003d") == "61"


def test_neighbors_measure_different_values(tmp_path):
    log = tmp_path / "log"
    with phd.Manager() as m:
        summary(run(m, "--count", 5, "--reports", 3, "--rate", 0, "--confirmed", log=log))
    firsts = [r["values"][0]["value"] for r in lines(log, "report") if r["number"] == 0]
    assert len(set(firsts)) == 5
    assert len({r["device"] for r in lines(log, "report")}) == 5


@pytest.mark.parametrize("tcp", [False, True])
def test_the_same_over_both_transports(tcp):
    with phd.Manager(tcp=tcp, known=()) as m:
        said = summary(run(m, "--transport", "tcp" if tcp else "udp", "--config", "own", "--reports", 3, "--rate", 0, "--confirmed"))
        assert said["answered"] == 3 and said["released"] == 1
        kinds = [(a.choice, getattr(a, "type", 0), getattr(a, "invoke", 0)) for a in m.apdus()]
        assert kinds == [(phd.AARQ, 0, 0), (phd.PRST, phd.CONFIG, 1), *[(phd.PRST, phd.FIXED, n) for n in (2, 3, 4)], (phd.RLRQ, 0, 0)]


def test_devices_use_ipv6(tmp_path):
    with phd.Manager(address="::1") as m:
        said = summary(run(m, "--to", f"[::1]:{m.port}", "--sources", "::1", "--source-port", 21000, "--count", 3,
                           "--reports", 2, "--rate", 0, "--confirmed"))
        assert said["answered"] == 6 and {p[:2] for p, _ in m.received} == {("::1", 21000 + n) for n in range(3)}


def test_many_connections():
    with phd.Manager(tcp=True, known=()) as m:
        said = summary(run(m, "--transport", "tcp", "--count", 100, "--reports", 5, "--rate", 0, "--confirmed", device="activity"))
        assert said["answered"] == 500 and said["configurations"] == said["released"] == 100


def test_confirmed_reports_are_repeated_until_answered(tmp_path):
    log, seen = tmp_path / "log", []

    def answer(a, _):
        if a.is_report:
            seen.append(a.raw)
            return None if seen.count(a.raw) == 3 else b""
        return None
    with phd.Manager(answer=answer) as m:
        said = summary(run(m, "--confirmed", "--reports", 4, "--rate", 0, "--timeout", "30ms", log=log))
    assert said["answered"] == 4 and said["repeats"] == 8 and said["given_up"] == 0
    assert [seen.count(o) for o in dict.fromkeys(seen)] == [3] * 4
    assert [r["tries"] for r in lines(log, "answer")] == [3] * 4
    assert len(lines(log, "repeat")) == 8


def test_a_report_without_answer_ends_the_association():
    def answer(a, _):
        return b"" if a.is_report and a.report_no == 1 else None
    with phd.Manager(answer=answer) as m:
        said = summary(run(m, "--confirmed", "--reports", 2, "--rate", 0, "--timeout", "20ms", "--retries", 2, "--again", "20ms"), 1)
        assert said["given_up"] == 1 and said["aborts_sent"] == 1 and said["associations"] == 2 and said["answered"] == 1
        m.wait(lambda a: a.raw.hex() == "e60000020002")  # response timeout


def test_unconfirmed_reports_get_no_answer():
    with phd.Manager() as m:
        said = summary(run(m, "--reports", 5, "--rate", 1000))
        assert said["reports"] == 5 and said["answered"] == said["repeats"] == 0
        assert [a.data for a in m.apdus(lambda a: a.is_report)] == [0x100] * 5


def test_errors_of_the_manager_are_counted(tmp_path):
    log, said_later = tmp_path / "log", []

    def answer(a, _):
        if not a.is_report:
            return None
        if a.report_no == 1:
            return phd.roer(a.invoke, 2)
        if a.report_no == 2:
            return phd.rorj(a.invoke, 303)
        if a.report_no == 3 and not said_later:
            said_later.append(a)
            return phd.rorj(a.invoke, 103)
        return [b"\xe7\x00\x00\x02ab", phd.report_answer(a.invoke + 9, a.type), phd.report_answer(a.invoke, a.type)]
    with phd.Manager(answer=answer) as m:
        said = summary(run(m, "--confirmed", "--reports", 4, "--rate", 0, "--timeout", "30ms", log=log), 1)
    assert (said["refused"], said["later"], said["answered"], said["unreadable"], said["late_answers"]) == (2, 1, 2, 2, 2)
    assert [(r["kind"], r["code"]) for r in lines(log, "answer")] == [("roer", 2), ("rorj", 303), ("rorj", 103), ("rors", 0), ("rors", 0)]


def test_losses_and_duplicates_are_repaired():
    with phd.Manager() as m:
        said = summary(run(m, "--count", 20, "--confirmed", "--reports", 10, "--rate", 0, "--timeout", "30ms",
                           "--association-timeout", "30ms", "--loss", 30, "--duplicate", 10, "--retries", 0, "--seed", 7))
        assert said["answered"] == 200 and said["lost_out"] > 20 and said["lost_in"] > 20 and said["duplicated"] > 0
        assert len({(p, a.report_no) for p, a in m.received if a.is_report}) == 200


def test_attributes_and_unsupported_functions():
    answers = []

    def answer(a, _):
        if a.choice == phd.AARQ:
            return [m.usual(a), bytes.fromhex(phd.GET_MDS), phd.patch(phd.GET_MDS, (6, 0x3457), (12, 7)),
                    phd.patch(phd.GET_MDS, (6, 0x3458), (8, 0x107)), phd.patch(phd.GET_MDS, (6, 0x3459), (8, 0x104))]
        if a.choice == phd.PRST and a.data not in (0x100, 0x101):
            answers.append(a.raw)
        return None
    with phd.Manager(answer=answer) as m:
        summary(run(m, "--system-id", "1122334455667788", "--reports", 5, "--rate", 0, "--confirmed"))
    got, no_object, no_action, no_operation = answers
    assert no_object.hex() == "e700000c000a34570300000400010000"
    assert no_action.hex() == "e700000c000a34580300000400090000"
    assert no_operation.hex() == "e700000a00083459040000020065"
    handle, count, length = struct.unpack_from(">HHH", got, 12)
    assert got[6:10].hex() == "34560203" and handle == 0 and length == len(got) - 18
    attributes, at = {}, 18
    for _ in range(count):
        attribute, size = struct.unpack_from(">HH", got, at)
        attributes[attribute] = got[at + 4:at + 4 + size]
        at += 4 + size
    assert at == len(got)
    assert attributes[2436].hex() == "00081122334455667788" and attributes[2628].hex() == "0190"
    assert attributes[2650].hex() == "0001000410040001" and b"oximeter" in attributes[2344]


def test_aborted_by_the_manager_it_associates_again():
    aborted = []

    def answer(a, _):
        if a.is_report and a.report_no == 2 and not aborted:
            aborted.append(a)
            return bytes.fromhex("e60000020000")
        return None
    with phd.Manager(answer=answer) as m:
        said = summary(run(m, "--confirmed", "--reports", 3, "--rate", 0, "--again", "20ms"))
        assert said["aborted"] == 1 and said["associations"] == 2 and said["answered"] == 3
        assert len(m.apdus(lambda a: a.is_report and a.raw == aborted[0].raw)) == 2


def test_rejected_device_associates_again():
    results = [2, 2, 7]

    def answer(a, _):
        return phd.aare(results.pop(0)) if a.choice == phd.AARQ else None
    with phd.Manager(answer=answer) as m:
        said = summary(run(m, "--again", "20ms"), 1)
        assert said["rejected"] == 3 and said["associations"] == 0 and not results


def test_device_reconnects_after_manager_release(tmp_path):
    log = tmp_path / "log"
    with phd.Manager(answer=lambda a, _: [m.usual(a), bytes.fromhex("e40000020000")]
                     if a.is_report and a.report_no == 1 else None) as m:
        said = summary(run(m, "--confirmed", "--reports", 3, "--rate", 0, "--again", "20ms", log=log))
        assert said["associations"] == 2 and said["answered"] == 3
        m.wait(lambda a: a.raw.hex() == "e50000020000")


def test_stays_until_stopped(tmp_path):
    log = tmp_path / "log"
    with phd.Manager() as m:
        p = start(m, "--count", 3, "--reports", 2, "--rate", 0, "--confirmed", "--stay", log=log)
        wait_until("all reports", lambda: log.exists() and len(lines(log, "answer")) == 6)
        assert p.poll() is None and not m.apdus(lambda a: a.choice == phd.RLRQ)
        p.send_signal(signal.SIGTERM)
        assert ended(p)["released"] == 3


def test_a_connection_that_ends():
    cut = []

    def answer(a, _):
        if a.is_report and a.report_no == 2 and not cut:
            cut.append(a)
            m.connections[0].close()
            return b""
        return None
    with phd.Manager(tcp=True, answer=answer) as m:
        said = summary(run(m, "--transport", "tcp", "--confirmed", "--reports", 3, "--rate", 0, "--again", "20ms"))
        assert said["associations"] == 2 and said["answered"] == 3


@pytest.mark.parametrize("transport,sign", [("udp", "no-association"), ("tcp", "disconnected")])
def test_no_manager_there(transport, sign, tmp_path):
    log = tmp_path / "log"
    with phd.Manager() as m:
        pass
    with start(m, "--transport", transport, "--again", "20ms", "--association-timeout", "30ms", "--retries", 1, log=log) as p:
        wait_until("attempts", lambda: log.exists() and len(lines(log, sign)) >= 3)
        p.send_signal(signal.SIGTERM)
        said = ended(p)
        assert said["associations"] == 0 and said["done"] == 1


def test_ten_thousand_devices_of_a_prefix():
    with phd.Manager() as m:
        said = summary(run(m, "--count", 10000, "--sources", "127.1.0.0/23", "--source-port", 20000, "--reports", 1,
                           "--confirmed", "--rate", 0, "--associations", 4000, "--retries", 0, "--timeout", "1s",
                           "--association-timeout", "1s"))
        assert said["answered"] == said["released"] == said["associations"] == 10000
        peers = {p for p, _ in m.received}
        assert len(peers) == 10000 and len({p[0] for p in peers}) == 510
        assert {p[1] for p in peers} == set(range(20000, 20020))
        assert len({a.system_id for a in m.apdus(lambda a: a.choice == phd.AARQ)}) == 10000


@pytest.mark.parametrize("args,sentence", [
    (["--count", "0"], "--count is '0'; expected a whole number from 1 to 10000"),
    (["--timeout", "3"], "--timeout is '3'; expected a time such as 500ms, 3s or 2m"),
    (["--rate", "0"], "--rate 0 needs --confirmed"),
    (["--transport", "tcp", "--loss", "5"], "--loss and --duplicate need UDP"),
    (["--sources", "fd00::/64"], "--sources and --to are not of the same family"),
    (["--report", "other"], "--report is 'other', which is none of its values"),
    (["more"], "'more' is no option"),
])
def test_wrong_options_are_reported(args, sentence):
    p = subprocess.run([SIM, "--device", "oximeter", "--to", "127.0.0.1:6024", *args], capture_output=True, text=True, check=False)
    assert p.returncode == 64 and sentence in p.stderr and "see --help" in p.stderr
