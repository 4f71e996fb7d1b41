# SPDX-License-Identifier: BSD-3-Clause
"""Misbehaving devices: wrong attributes, wrong configurations, wrong lengths of reports, and slow senders. Neither the
gateway nor another device is affected, and a report is stored with the values that its bytes have by the standard, or
not at all."""

import collections
import contextlib
import itertools
import json
import struct
from decimal import Decimal
from io import BytesIO

import pytest

import phd_apdu as o
from conftest import running_router
from lab import wait_until
from phd_apdu import ABRT, RLRE, RLRQ, Device, attribute, config_report, config_result, counted, numeric, octet_string
from router_lab import RIGHT, only_biplane, pause
from test_phd_slow_path import Sink, stored

pytestmark = only_biplane
_ids = itertools.count(1)
OWN = 0x4000
TRANSPORTS = pytest.mark.parametrize("tcp", (False, True), ids=("udp", "tcp"))


def ident():
    return f"0022092258c0{next(_ids):04x}"


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("phd")
    phd = {"listen": {"udp_port": 6024, "tcp_port": 6024}, "max_sessions": 1024, "store": {"path": str(directory / "phd.db")},
           "timeouts": {"config": "1s", "service": "500ms"},
           "cse": {"coap": f"coap://{RIGHT}:5683", "path": "cse-in/{system_id}/{object}"}}
    with running_router(routed_lab, directory, health_devices=phd) as r:
        pids = [r.plane(p)["pid"] for p in ("control plane", "data plane")]
        yield r
        assert [r.plane(p)["pid"] for p in ("control plane", "data plane")] == pids, "a plane ended, and was started again"
        r.balanced()


@pytest.fixture
def sink(routed_lab, router):
    with Sink(routed_lab) as s:
        yield s


def session(router, device):
    """The one of this device, or None."""
    found = router.show("sessions", device.system_id)["sessions"]
    return found[0] if found else None


def operating(router, device):
    s = session(router, device)
    return s is not None and s["state"] == "operating"


# ---------------------------------------------------------------- what it says of itself


def mds(invoke, *attributes, handle=0, count=None):
    return o.prst(invoke, o.RORS_GET, struct.pack(">H", handle) + counted(attributes, count))


def types(*codes, count=None):
    return attribute(o.SYS_TYPES, counted([struct.pack(">HH", c, 1) for c in codes], count))


def answers_to_get():
    """{name: (bytes by invoke-id, the type that is to be known then)}"""
    glucose = types(4113)
    return {
        "true": (lambda i: [mds(i, glucose)], "glucose_meter"),
        # whose it is, is what its AARQ said
        "other system-id": (lambda i: [mds(i, attribute(o.SYSTEM_ID, octet_string(b"\xff" * 8)), glucose)], "glucose_meter"),
        "twice": (lambda i: [mds(i, glucose), mds(i, types(4103))], "glucose_meter"),
        "other invoke-id": (lambda i: [mds(i + 1 & 0xffff, glucose)], None),
        "none": (lambda i: [], None),
        "no attributes": (lambda i: [mds(i)], None),
        "list counts more": (lambda i: [mds(i, glucose, count=2)], None),
        "types count more": (lambda i: [mds(i, types(4113, count=9))], None),
        "no types in the list": (lambda i: [mds(i, types())], None),
        "type of two bytes": (lambda i: [mds(i, attribute(o.SYS_TYPES, b"\x10\x11"))], None),
        "the length of the value lies": (lambda i: [mds(i, glucose).replace(b"\x0a\x5a\x00\x08", b"\x0a\x5a\x00\x40")], None),
        "error": (lambda i: [o.roer(i, 1)], None),
        "reject": (lambda i: [o.rorj(i, 101)], None),
        "as if it were reported": (lambda i: [o.prst(i, o.RORS_EVENT, struct.pack(">HIH", 0, 0, 0xd1d) + octet_string(b""))], None),
        "200 attributes": (lambda i: [mds(i, *(attribute(n, b"\0\0") for n in range(4000, 4200)), glucose)], "glucose_meter"),
    }


@TRANSPORTS
def test_inconsistent_attributes(routed_lab, router, sink, tcp):
    """All of them at once; each continues to measure, and its type is what was said well, or not known."""
    with contextlib.ExitStack() as stay:
        devices = {}
        for name, (say, type_) in answers_to_get().items():
            d = stay.enter_context(Device(routed_lab, ident(), tcp=tcp))
            assert d.associate(OWN) == 3
            d.send(config_report(OWN, [numeric(1)]))
            heard = [d.hear(), d.hear()]
            assert config_result(heard[0]) == 0
            d.send(*say(o.get_invoke(heard[1])))
            devices[name] = d, type_
        for name, (d, type_) in devices.items():
            d.measure(7, 71)
            wait_until(f"{name}: {type_}", lambda d=d, t=type_: session(router, d)["type"] == t)
        said = sink.report()
        assert {n: stored(said)[d.system_id] for n, (d, _) in devices.items()} == {n: ["71"] for n in devices}


# ---------------------------------------------------------------- configurations


def nested(n):
    """Attributes that no one knows."""
    return [attribute(30000 + i, b"") for i in range(n)]


REJECTED_APDU = "rorj"
CONFIGURATIONS = {
    # name: (objects, what their number is said to be or None, what is answered)
    "good": ([numeric(1)], None, 0),
    "count says more": ([numeric(1)], 2, REJECTED_APDU),
    "count says less": ([numeric(1), numeric(2)], 1, REJECTED_APDU),
    "count says 65535": ([numeric(1)], 65535, REJECTED_APDU),
    "no object": ([], None, 1),
    "handle twice": ([numeric(1), numeric(1, code=18458)], None, 1),
    "handle of the MDS": ([numeric(0)], None, 1),
    "48 objects": ([numeric(h, code=100 + h) for h in range(1, 49)], None, 0),
    "49 objects": ([numeric(h, code=100 + h) for h in range(1, 50)], None, 1),
    "a map of 1,000": ([numeric(1, value_map=[(o.NU_VALUE, 2)] * 1000)], None, 1),
    "a map that says 1,000": ([numeric(1).replace(b"\x0a\x55\x00\x08\x00\x01", b"\x0a\x55\x00\x08\x03\xe8")], None, REJECTED_APDU),
    "a map of nothing": ([numeric(1, value_map=())], None, 0),
    "a map twice": ([numeric(1, more=[attribute(o.VALUE_MAP, counted([struct.pack(">HH", o.NU_VALUE, 2)]))])], None, 1),
    "a value of three bytes": ([numeric(1, value_map=[(o.NU_VALUE, 3)])], None, 1),
    "a value of none": ([numeric(1, value_map=[(o.NU_VALUE, 0)])], None, 1),
    "a map beyond 65,535": ([numeric(1, value_map=[(o.NU_VALUE, 2), (30000, 65535), (30001, 65535)])], None, 1),
    # it can report by variable reports all the same
    "a map beyond any APDU": ([numeric(1, value_map=[(o.NU_VALUE, 2), (30000, 65533)])], None, 0),
    "5,000 attributes": ([numeric(1, more=nested(5000))], None, 0),
    "as long as an APDU can be": ([numeric(1, more=[attribute(30000, bytes(65535 - 68))])], None, 0),
    "8,000 objects of nothing": ([struct.pack(">HHHH", 6, h, 0, 0) for h in range(1, 8001)], None, 1),
    "an attribute that runs on": ([numeric(1).replace(b"\x09\x2f\x00\x04", b"\x09\x2f\x40\x04")], None, REJECTED_APDU),
}


@TRANSPORTS
def test_inconsistent_configurations(routed_lab, router, sink, tcp):
    """Each is answered by what it is; after a refusal a true one is taken, and the device measures. In this laboratory a
    datagram is a frame."""
    measured = {}
    for name, (objects, count, expected) in CONFIGURATIONS.items():
        report = config_report(OWN, objects, count=count)
        if len(report) > 1400 and not tcp:
            continue
        with Device(routed_lab, ident(), tcp=tcp) as d:
            assert d.associate(OWN) == 3
            got = d.ask(report)
            if expected == REJECTED_APDU:
                assert got == o.rorj(1, 2), name
            else:
                assert config_result(got) == expected, (name, got.hex())
            if expected != 0:
                assert config_result(d.ask(config_report(OWN, [numeric(1)], invoke=2))) == 0, name
            assert o.get_invoke(d.hear()) is not None, name
            assert d.insist(o.variable(3, 3, [72])) == o.accepted(3, o.VAR), name
            if "a map" not in name or expected != 0:
                d.measure(4, 73)
            else:  # the bytes are not those that its map has
                assert d.insist(o.fixed(4, 4, [73])) == o.rorj(4, 2), name
                measured[d.system_id] = ["72"]
            measured.setdefault(d.system_id, ["72", "73"])
    assert max(len(config_report(OWN, c[0])) for c in CONFIGURATIONS.values()) == 4 + 65535
    found = stored(sink.report())
    assert {d: sorted(found[d]) for d in measured} == measured


def test_a_trickle(routed_lab, router, sink):
    """Single bytes over TCP do not restart a timer: a device that sends no configuration in time is aborted, even if a
    part of one has arrived. The rest of a report of an operating device is waited for."""
    with Device(routed_lab, ident(), tcp=True) as d:
        for byte in o.aarq(d.system_id, OWN):
            d.send(bytes([byte]))
        assert d.hear()[:6] == bytes.fromhex("e300002c0003")
        report, ended = config_report(OWN, [numeric(1)]), None
        for n in range(len(report) - 1):
            d.send(report[n:n + 1])
            ended = d.hear(0.1)
            if ended:
                break
        assert ended == bytes.fromhex("e60000020003") and n > 5
        wait_until("the session to end", lambda: session(router, d) is None)
        d.send(report[n + 1:])
        assert d.hear() == ABRT  # it is of no one now
        d.declare(OWN, [numeric(1)])
        assert o.get_invoke(d.hear()) is not None
        d.measure(2, 71)  # which the CSE has its containers by
        for byte in (late := o.fixed(3, 3, [72]))[:-1]:
            d.send(bytes([byte]))
        pause(1.1)  # longer than every time of the manager's
        d.send(late[-1:])
        assert d.hear() == o.accepted(3)
        assert sorted(stored(sink.report())[d.system_id]) == ["71", "72"]


@TRANSPORTS
def test_one_system_id_by_both_transports(routed_lab, router, sink, tcp):
    """The newest association wins here, too: the device with the former session is notified, and its TCP connection
    stays open so that it can associate again."""
    name = ident()
    with Device(routed_lab, name, tcp=tcp) as one, Device(routed_lab, name, tcp=not tcp) as other:
        for n in range(2):
            assert one.associate() == 0
            assert n == 0 or other.hear() == ABRT
            one.measure(1, 70 + n)
            assert other.associate() == 0
            assert one.hear() == ABRT
            other.measure(1, 80 + n)
        assert sorted(stored(sink.report())[name]) == ["70", "71", "80", "81"]


# ---------------------------------------------------------------- any APDU in any state

APDUS = {"AARQ": o.aarq("00220922580000ff"), "CONFIG": config_report(OWN, [numeric(1)], invoke=9),
         "REPORT": o.fixed(9, 9, [70]), "RLRQ": RLRQ, "RLRE": RLRE, "ABRT": ABRT,
         "AARE": bytes.fromhex("e300002c0000507900268000000080008000000000000000800000000008fedcba987654321000000000000000000000")}
STAYS = "stays"
# By the table of docs/explanation/health-devices-design.md: the first bytes of the answer, and whether the state is as before.
TABLE = {
    "unassociated": {"AARQ": ("e300", False), "CONFIG": ("e600", STAYS), "REPORT": ("e600", STAYS), "RLRQ": ("e600", STAYS),
                     "RLRE": (None, STAYS), "ABRT": (None, STAYS), "AARE": ("e600", STAYS)},
    "configuring": {"AARQ": ("e600", False), "CONFIG": ("e7000016", False), "REPORT": ("e700000c000a0009030000040018", STAYS),
                    "RLRQ": ("e500", False), "RLRE": ("e600", False), "ABRT": (None, False), "AARE": ("e600", False)},
    "operating": {"AARQ": ("e600", False), "CONFIG": ("e700000c000a0009030000040018", STAYS), "REPORT": ("e70000120010000902", STAYS),
                  "RLRQ": ("e500", False), "RLRE": ("e600", False), "ABRT": (None, False), "AARE": ("e600", False)},
    "releasing": {"AARQ": ("e600", False), "CONFIG": (None, STAYS), "REPORT": (None, STAYS), "RLRQ": ("e500", STAYS),
                  "RLRE": (None, False), "ABRT": (None, False), "AARE": ("e600", False)},
}


@TRANSPORTS
def test_any_apdu_in_any_state(routed_lab, router, sink, tcp):
    for state, row in TABLE.items():
        for what, (answer, then) in row.items():
            case = f"{what} while {state}"
            with Device(routed_lab, ident(), tcp=tcp) as d:
                if state == "configuring":
                    assert d.associate(OWN) == 3
                elif state != "unassociated":
                    assert d.associate() == 0
                    d.measure(1, 71)
                if state == "releasing":
                    assert router.command("session", "disconnect", d.system_id, "-c", router.identity).returncode == 0
                    assert d.hear() == RLRQ
                got = d.ask(APDUS[what], 5 if answer else 0.05)
                assert (got is None if answer is None else got.hex().startswith(answer)), f"{case}: {got}"
                if then == STAYS and state != "unassociated":
                    assert session(router, d)["state"] == state, case
                elif then != STAYS and what != "CONFIG" and state != "unassociated":
                    wait_until(f"{case}: the session to end", lambda d=d: session(router, d) is None)


# ---------------------------------------------------------------- bytes of reports


def sfloat(bits):
    """As text, or None where it is no number."""
    v = int.from_bytes(bits, "big")
    if v in (0x07fe, 0x07ff, 0x0800, 0x0801, 0x0802):
        return None
    mantissa, exponent = (v & 0xfff) - ((v & 0x800) << 1), (v >> 12) - ((v >> 15) << 4)
    return Decimal(mantissa).scaleb(exponent)


def by_the_standard(apdu):
    """[(handle, value)] of a whole event report with a fixed scan report of the standard's configuration 400; None: it is
    none, or one of its lengths is not true. Read as the facts have it, one field after the other."""
    held = BytesIO(apdu)

    def u16():
        return int.from_bytes(held.read(2), "big")

    def left():
        return len(apdu) - held.tell()
    if u16() != 0xe700 or u16() != left() or u16() != left():
        return None
    u16()  # invoke-id
    if u16() not in (o.EVENT, o.EVENT_CONFIRMED) or u16() != left() or u16() != 0:
        return None
    held.read(4)  # event-time
    if u16() != o.FIXED or u16() != left():
        return None
    held.read(4)  # data-req-id, scan-report-no
    count = u16()
    if u16() != left():
        return None
    got = []
    for _ in range(count):
        if left() == 0:
            return None
        handle, length = u16(), u16()
        if length > left() or (handle in (1, 10) and length != 2):
            return None
        value = held.read(length)
        if handle in (1, 10):
            got.append((handle, sfloat(value)))
    return got if left() == 0 else None


def damaged(report):
    """Each byte in turn: 0, 0xff, one more, one less."""
    seen = {report}
    for at, byte in enumerate(report):
        for other in (0, 0xff, byte + 1 & 0xff, byte - 1 & 0xff):
            b = report[:at] + bytes([other]) + report[at + 1:]
            if b not in seen:
                seen.add(b)
                yield b


def instances(said, device):
    """[(handle, value or None)] at the CSE."""
    handles, got = {"spo2": 1, "pulse_rate": 10}, []
    for ae in said["tree"]["children"]:
        for container in ae["children"] if ae["rn"] == device else ():
            for i in container.get("children", ()):
                v = json.loads(i["attributes"]["con"], parse_float=Decimal, parse_int=Decimal)["v"]
                got.append((handles[container["rn"]], v))
    return collections.Counter(got)


SENTINEL = 0x7000  # report numbers from here on, and values of 1000 and more, are of good reports
TRIES = 100


def after(d, number):
    """Waits until all that was sent before is done with. The manager answers a question that comes after it: the device is
    still associated, or associates again, over TCP by another connection, if need be. Then a good report is stored, maybe
    more than once.

    The report alone does not do: the data plane may store it while the manager has yet to end the session for what came
    before. Nor does an answer to an earlier try, since an AARQ between the two ends the session."""
    for n in range(number * TRIES, (number + 1) * TRIES):
        question = config_report(OWN, [numeric(1)], invoke=n)
        report = o.fixed(n, SENTINEL + number, [1000 + number])
        for asked in (question, report):
            d.send(asked)
            while (got := d.hear(0.7)) not in (None, b"", ABRT) and got[6:8] != asked[6:8]:
                pass
            if got in (None, b"", ABRT):
                break
        if got == o.accepted(n):
            return
        if d.tcp and got != ABRT:  # the stream is not between two APDUs any more
            d.reconnect()
        if d.tcp or got == ABRT:
            d.send(o.aarq(d.system_id))
            d.hear(0.7)
    raise AssertionError(f"no answer after {number} damaged reports")


@TRANSPORTS
def test_each_byte_of_a_report(routed_lab, router, sink, tcp):
    """Set to 0 and 0xff, incremented and decremented: this includes each length that is wrong by one."""
    good = o.event(0x0010, o.FIXED, struct.pack(">HH", 0xf000, 1) + counted(
        [struct.pack(">HHH", 1, 2, 0xf3cf), struct.pack(">HHH", 10, 2, 0x003d)]))
    expected, sentinels = collections.Counter(), set()
    with Device(routed_lab, ident(), tcp=tcp) as d:
        assert d.associate() == 0
        after(d, 0)
        for n, bad in enumerate(damaged(good), 1):
            d.send(bad)
            expected.update(by_the_standard(bad) or ())
            after(d, n)
            sentinels.add((1, Decimal(1000 + n)))
        found = instances(sink.report(), d.system_id)
    assert len(sentinels) > 100 and sentinels <= set(found)
    found = {k: n for k, n in found.items() if k[1] is None or k[1] < 1000}
    assert found == expected


def test_decreasing_report_numbers(routed_lab, router, sink):
    """Of invoke-ids and reports, over zero: each report is a new one, of one measurement and of 32."""
    sent = []
    with Device(routed_lab, ident()) as d:
        assert d.associate() == 0
        for n in range(40, -40, -1):
            values = [1000 + n] * (32 if n % 8 == 0 else 1)
            d.measure(n & 0xffff, *values)
            sent += [str(v) for v in values]
        assert sorted(stored(sink.report())[d.system_id]) == sorted(sent)


def test_maximum_rate(routed_lab, router, sink):
    """65,536 confirmed reports of one device: each number and invoke-id once. It has 16 on their way, and repeats what is
    not answered."""
    with Device(routed_lab, ident()) as d:
        assert d.associate() == 0
        d.measure(0xffff, 1)
        waiting, unsent = {}, iter(range(65535))
        d.socket.settimeout(0.5)
        while True:
            for n in itertools.islice(unsent, 16 - len(waiting)):
                waiting[n] = o.fixed(n, n, [n % 2001])
                d.socket.send(waiting[n])
            if not waiting:
                break
            try:
                got = d.socket.recv(2048)
                invoke = int.from_bytes(got[6:8], "big")
                assert got == o.accepted(invoke), got.hex()
                waiting.pop(invoke, None)
            except TimeoutError:
                d.send(*waiting.values())
        s = wait_until("the last to be counted", lambda: (s := session(router, d)) and s["reports"] >= 65536 and s)
        found = collections.Counter(stored(sink.report())[d.system_id])
    expected = collections.Counter(str(n % 2001) for n in range(65535))
    expected["1"] += 1
    assert not expected - found
    # a repetition after 16 other reports is a new report, by the data of the last report in the session
    assert sum((found - expected).values()) == s["reports"] - 65536 <= 65536 // 100
