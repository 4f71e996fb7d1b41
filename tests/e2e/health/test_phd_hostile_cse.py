# SPDX-License-Identifier: BSD-3-Clause
"""A defective CSE, or an attacker in its place: its invalid CoAP messages are counted and have no other effect. No
device gets the confirmation of a measurement that the CSE did not store, and sessions continue."""

import contextlib
import itertools
import json
import random
import socket
import threading

import pytest

from coap import ACK, CON, NON, RST, RSC, TY, CIN, GET, Message, uint
from conftest import running_router
from lab import wait_until
from router_lab import RIGHT, only_biplane, own
from test_phd import PHD
from test_phd_both_planes import Oximeter, phd_words
from test_phd_slow_path import accepted, asked, fixed_report

pytestmark = only_biplane

BLOCK2, MAX_AGE, BLOCK1, SIZE1 = 23, 14, 27, 60
CREATED, CONTINUE, TOO_LARGE, UNAVAILABLE = 0x41, 0x5f, 0x8d, 0xa3
CSE_PORT = 5683
WORKER_PORTS = range(20000, 30000)


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("phd")
    with running_router(routed_lab, directory, health_devices={**PHD, "store": {"path": str(directory / "phd.db")}}) as r:
        yield r


def created(request, type=ACK, mid=None, options=((RSC, uint(2001)),), code=CREATED, token=None):
    return Message(type, code, request.mid if mid is None else mid, request.token if token is None else token, list(options)).encode()


class Cse(threading.Thread):
    """Creates the requested resources. With `lie` set, lie(request) returns the datagrams that it sends instead, once
    for each creation of an instance; None: correct answers. `stored` has the instances that it created."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        with lab.inside("right"):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.bind((RIGHT, CSE_PORT))
        self.stranger.bind((RIGHT, CSE_PORT + 1))
        self.socket.settimeout(0.1)
        self.lie = self.lie_of_resources = self.failed = None
        self.stored = {}    # name: value
        self.lied_to = []   # (request, its source)
        self.others = []    # received messages that are no requests
        self.sent = 0       # wrong answers sent
        self.ending = False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.ending = True
        self.join(30)
        self.socket.close()
        self.stranger.close()
        if self.failed:
            raise self.failed

    def run(self):
        try:
            while not self.ending:
                with contextlib.suppress(TimeoutError):
                    self.take(*self.socket.recvfrom(65536))
        except Exception as e:  # reported where it can fail the test
            self.failed = e

    def take(self, data, peer):
        m = Message.decode(data)
        if m.code >> 5 or m.code == 0:
            self.others.append((m, peer))
            return
        is_instance = m.option(TY) == uint(CIN)
        lie = self.lie if is_instance else self.lie_of_resources
        if lie:
            for d in lie(m):
                self.socket.sendto(d, peer)
                self.sent += 1
            self.lied_to.append((m, peer))
            return
        if is_instance:
            cin = m.json()["m2m:cin"]
            self.stored.setdefault((m.path(), cin["rn"]), str(json.loads(cin["con"], parse_float=str, parse_int=str)["v"]))
        self.socket.sendto(created(m), peer)


@pytest.fixture
def cse(routed_lab, router):
    with Cse(routed_lab) as c:
        yield c


def fates(router):
    """Datagrams of the CSE to workers' ports, by what became of them."""
    return {c["name"]: c["count"] for c in router.show("counters")["counters"]
            if (c["group"] in ("terminated", "drop") and c["name"].startswith("cse_")) or c["name"] == "phd_responses"}


class Device(Oximeter):
    """The CSE answers the creation of its report wrongly until it is set to answer correctly. Each answer to the device
    is checked."""

    def lied(self, cse, lie, fate):
        """Reports; the CSE answers so; waits until each of its datagrams met a fate of these names."""
        before, sent = fates(self.router), cse.sent
        cse.lied_to.clear()
        cse.lie = lie
        self.socket.send(self.report(1))
        wait_until("the CSE to be asked", lambda: cse.lied_to)
        cse.lie = None
        met = {}

        def counted():
            now = fates(self.router)
            met.update({k: now[k] - before[k] for k in now if now[k] != before[k]})
            return sum(met.values()) >= cse.sent - sent
        try:
            wait_until("the CSE's words to be counted", counted)
        except AssertionError as e:
            raise AssertionError(f"{e}: {cse.sent - sent} sent, {met}") from None
        assert set(met) <= set(fate) and sum(met.values()) == cse.sent - sent, met

    def told(self):
        self.socket.settimeout(30)  # it is not repeated
        try:
            return self.socket.recv(2048)
        finally:
            self.socket.settimeout(1)

    def goes_on(self):
        """The CSE now answers correctly: the repeated report is stored, and then confirmed to the device once."""
        value = int(self.sent[-1])
        self.socket.send(fixed_report(self.invoke, self.invoke, [value]))
        assert self.told() == accepted(self.invoke)


def random_bytes(n, seed=1):
    r = random.Random(seed)
    return [r.randbytes(r.choice((0, 1, 3, 4, 5, 12, 40, 200, 1400))) for _ in range(n)]


def readable_but_lying(request):
    """Messages that are valid up to an option with a wrong length."""
    head = bytes([0x60 | len(request.token), CREATED]) + request.mid.to_bytes(2, "big") + request.token
    return [head + bytes.fromhex(o) for o in (
        "1f",            # a length of 15
        "f0",            # a delta of 15
        "0d",            # the length's byte is missing
        "0e01",          # one of its two
        "d0",            # the delta's byte is missing
        "e001",
        "0e ffff 00",    # longer than the message
        "0cff",
        "e0ffff e0ffff",  # numbers over 65,535
        "ff")]           # a payload that is none


# Wrong answers of the CSE, and their handling. None of them reaches the device.
BESIDE_THE_POINT = {
    "random bytes": (lambda q: random_bytes(200), {"cse_malformed", "cse_unknown_token", "cse_reset", "cse_ack_empty"}),
    "cut within header and token": (lambda q: [created(q)[:n] for n in range(12)], {"cse_malformed"}),
    "cut within an option": (lambda q: [created(q)[:n] for n in range(13, len(created(q)))], {"cse_malformed"}),
    "tokens of 9 to 15 bytes": (lambda q: [bytes([0x60 | n, CREATED]) + q.mid.to_bytes(2, "big") + (q.token * 2)[:n] +
                                            b"\xd1\x26\x00" for n in range(9, 16)], {"cse_malformed"}),
    "other versions": (lambda q: [bytes([v << 6 | 0x28]) + created(q)[1:] for v in (0, 2, 3)], {"cse_malformed"}),
    "options that lie": (readable_but_lying, {"cse_malformed"}),
    "shorter tokens": (lambda q: [created(q, token=q.token[:n]) for n in range(8)], {"cse_unknown_token"}),
    "another token": (lambda q: [created(q, token=bytes(a ^ b for a, b in zip(q.token, x))) for x in (
        bytes(7) + b"\1", b"\1" + bytes(7), b"\xff" * 8, b"\0\0\0\0\x80\0\0\0")] + [created(q, token=bytes(8)),
                                                                                   created(q, token=b"\xff" * 8)], {"cse_unknown_token"}),
    "another message id": (lambda q: [created(q, mid=q.mid ^ n) for n in (1, 0x8000, 0xffff)], {"cse_ack_duplicate"}),
    "a reset": (lambda q: [Message(RST, 0, q.mid).encode()], {"cse_reset"}),
    "a reset with a response in it": (lambda q: [created(q, type=RST)], {"cse_reset", "cse_malformed"}),
    "empty acknowledgements": (lambda q: [Message(ACK, 0, q.mid).encode()] * 5, {"cse_ack_empty"}),
    "a ping": (lambda q: [Message(CON, 0, 7).encode()], {"cse_malformed"}),
    "requests": (lambda q: [Message(t, GET, 8, q.token).encode() for t in (CON, NON, ACK)], {"cse_malformed"}),
    "code classes that are none": (lambda q: [created(q, code=c << 5 | 1) for c in (1, 6, 7)], {"cse_malformed"}),
}


def test_unrelated_attributes(routed_lab, router, cse):
    with Device(routed_lab, router) as device:
        for lie, fate in BESIDE_THE_POINT.values():
            device.lied(cse, lie, fate)
            device.goes_on()
        device.measure(1)
    assert sorted(cse.stored.values()) == sorted(device.sent)
    router.balanced()



def RSC_OF(n):  # noqa: N802
    return RSC, uint(n)


# Answers that say no, in whatever words: the device hears how (problem 103: again later, 303: never).
SAYS_NO = {
    "too large, in blocks": ((TOO_LARGE, [(BLOCK1, b"\x06"), (SIZE1, uint(64)), RSC_OF(4000)]), 303),
    "continue, in blocks": ((CONTINUE, [(BLOCK1, b"\x0e")]), 303),
    "busy for a while": ((UNAVAILABLE, [(MAX_AGE, uint(60))]), 103),
    "busy without an end": ((UNAVAILABLE, [(MAX_AGE, b"\xff\xff\xff\xff"), RSC_OF(5103)]), 103),
    "created, and refused": ((CREATED, [RSC_OF(4000)]), 303),
    "created, and a status that is too long": ((CREATED, [(RSC, b"\0\0\0\0\0\0\0\x07\xd1")]), 303),
    "created, and two statuses": ((CREATED, [RSC_OF(2001), RSC_OF(4001)]), 303),
    "changed": ((0x44, [RSC_OF(2004)]), 303),
    "content": ((0x45, [RSC_OF(2000)]), 303),
    "an error without a status": ((0xa0, []), 303),
    "created, and an empty status": ((CREATED, [(RSC, b"")]), 303),
}


def test_answers_no(routed_lab, router, cse):
    """Each report is refused, said so to the device, and stored when it is repeated."""
    with Device(routed_lab, router) as device:
        for name, ((code, options), problem) in SAYS_NO.items():
            device.lied(cse, lambda q, c=code, o=options: [created(q, code=c, options=o)], {"phd_responses"})
            told = device.told()
            assert told[:2] == b"\xe7\0" and int.from_bytes(told[12:14], "big") == problem, (name, told.hex())
            device.goes_on()
        device.measure(1)
    assert sorted(cse.stored.values()) == sorted(device.sent)
    router.balanced()


def test_more_than_once(routed_lab, router, cse):
    """The right answer doubled, late, separate, and in blocks: the device hears of it once."""
    mids = itertools.count(4711)

    def separate(request):
        with_id = created(request, CON, next(mids))
        return [Message(ACK, 0, request.mid).encode(), with_id, with_id, with_id]
    ways = {
        "doubled": (lambda q: [created(q)] * 10, {"phd_responses", "cse_ack_duplicate"}),
        "separate": (separate, {"phd_responses", "cse_ack_duplicate", "cse_ack_empty"}),
        "unconfirmable": (lambda q: [created(q, NON, 1), created(q, NON, 2)], {"phd_responses", "cse_ack_duplicate"}),
        "first no, then yes": (lambda q: [created(q, code=UNAVAILABLE), created(q)], {"phd_responses", "cse_ack_duplicate"}),
        "first yes, then no": (lambda q: [created(q), created(q, code=UNAVAILABLE)], {"phd_responses", "cse_ack_duplicate"}),
        "in blocks": (lambda q: [created(q, options=[(BLOCK2, b"\x0e"), RSC_OF(2001)])], {"phd_responses"}),
    }
    with Device(routed_lab, router) as device:
        for name, (way, fate) in ways.items():
            device.lied(cse, way, fate)
            if name == "first no, then yes":  # the first answer counts, and the repeated request has another message id
                assert int.from_bytes(device.told()[12:14], "big") == 103
                device.goes_on()
            else:
                assert device.told() == accepted(device.invoke)
            if name == "separate":  # each of the three is acknowledged
                wait_until("three acknowledgements", lambda: [m.mid for m, _ in cse.others] == [4711] * 3)
                assert all(m.type == ACK and m.code == 0 for m, _ in cse.others)
        device.measure(1)


def test_thousands_at_once(routed_lab, router, cse):
    """To ports that nothing left from as well: ten thousand, and all of them are counted."""
    r = random.Random(2)
    with Device(routed_lab, router) as device:
        cse.lie = lambda q: []
        device.socket.send(device.report(1))
        request, _ = wait_until("the CSE to be asked", lambda: cse.lied_to)[0]
        kinds = [lambda: r.randbytes(r.randrange(200)), lambda: created(request, token=r.randbytes(8)),
                 lambda: Message(RST, 0, r.randrange(65536)).encode(), lambda: created(request, mid=request.mid ^ 1)]
        before = sum(fates(router).values())
        for n in range(500, 10001, 500):
            for i in range(500):
                cse.socket.sendto(kinds[i % 4](), (own("right"), r.choice(WORKER_PORTS)))
            wait_until("all to be counted", lambda n=n: sum(fates(router).values()) - before >= n)
        assert sum(fates(router).values()) - before == 10000
        cse.lie = None
        device.goes_on()
        # the same from another port there is no one's business
        cse.lie = lambda q: []
        cse.lied_to.clear()
        device.socket.send(device.report(1))
        request, peer = wait_until("the CSE to be asked", lambda: cse.lied_to)[0]
        cse.stranger.sendto(created(request), peer)
        cse.lie = None
        device.goes_on()
    assert sorted(cse.stored.values()) == sorted(device.sent)
    router.balanced()


def test_false_reports_to_the_control_plane(routed_lab, router, cse):
    """The same next to requests of the kernel's ports: for resources, and for a report of many parts."""
    def lies(request):
        # not a reset, which is an answer, and no promise of a response that does not come
        return [d for lie, _ in BESIDE_THE_POINT.values() for d in lie(request) if not (len(d) == 4 and d[0] in (0x60, 0x70))]

    words = phd_words(router, "cse")
    # another quarter for each request: the socket of the control plane has not the capacity for all
    quarter = itertools.cycle(range(4))
    cse.lie_of_resources = lambda q: [*lies(q)[next(quarter)::4], created(q)]
    with Device(routed_lab, router) as device:
        cse.lie_of_resources = None
        cse.lie = lambda q: lies(q)[::4]
        values = device.report(33)
        device.socket.send(values)
        wait_until("the CSE to be asked", lambda: len(cse.lied_to) >= 33)
        cse.lie = None
        assert asked(device.socket, values) == accepted(device.invoke)
        wait_until("the words to say so", lambda: all(phd_words(router, "cse")[w] > words[w] for w in ("malformed", "unmatched")))
    assert sorted(cse.stored.values()) == sorted(device.sent)
    assert router.plane("control plane")["restarts"] == 0
    router.balanced()
