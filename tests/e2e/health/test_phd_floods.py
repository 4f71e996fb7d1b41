# SPDX-License-Identifier: BSD-3-Clause
"""Attackers: floods of association requests from one address and from thousands, with right and with broken bytes, and
datagrams that say to be another's. Honest devices measure meanwhile, and whatever limit was met is counted."""

import contextlib
import itertools
import random
import socket
import time

import pytest

from conftest import running_router
from lab import wait_until
from phd_apdu import ABRT, RLRE, RLRQ, Anybody, Device, aarq, fixed, memory_kib
from router_lab import LEFT, RIGHT, only_biplane, takes
from test_phd_commands import reloaded
from test_phd_restart import Devices, Sink, check_stored, notice_nothing

pytestmark = only_biplane

STRANGERS = "10.64.0.0/12"
FLOOD = 6000
BURST = 2000  # as many as the port's ring has room for, so that each is counted
SESSIONS, PER_ADDRESS = 2048, 64
HONEST = 20
AARE = "e300002c0000507900268000000080008000000000000000800000000008fedcba987654321000000000000000000000"  # a manager's
_ids = itertools.count(1)


def ident():
    return f"0022092258b0{next(_ids):04x}"


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("phd")
    phd = {"listen": {"udp_port": 6024, "tcp_port": 6024}, "max_sessions": SESSIONS, "limits": {"sessions_per_address": PER_ADDRESS, "unknown_report_rate": 100},
           "store": {"path": str(directory / "phd.db")}, "timeouts": {"config": "1s"},
           "cse": {"coap": f"coap://{RIGHT}:5683", "path": "cse-in/{system_id}/{object}"}}
    with running_router(routed_lab, directory, health_devices=phd) as r, \
            routed_lab.extra("gw", "route", "add", STRANGERS, "via", LEFT, "dev", "left"):
        takes(routed_lab, "left", STRANGERS)
        r.settled()
        yield r


@pytest.fixture
def sink(routed_lab, router, tmp_path):
    with contextlib.closing(Sink(routed_lab, tmp_path)) as s:
        yield s


@pytest.fixture
def anybody(routed_lab, router):
    with Anybody(routed_lab) as a:
        yield a


def words(router):
    return router.status()["health_devices"]


PUNTS = ("signaling", "unknown_session", "slow_path", "response")
SOCKET = ("received", "dropped", "oversized", "wrong_interface", "invalid_source")
# Broadcasts: datagrams for the manager that reached the kernel in another class, and not by node phd.
elsewhere = {"class": 0, "way": 0}


def settled(router):
    """Waits until all datagrams for the manager are in the counters; returns the counters. There are no TCP devices
    here."""
    def all_said():
        c = router.counters()
        if sum(c[f"punt_phd_{p}"] for p in PUNTS) + elsewhere["way"] != c["punted_health_devices"] + c["punt_queue_full_health_devices"]:
            return False  # some wait for the kernel
        now = words(router)
        return sum(now["udp"][w] for w in SOCKET) == c["punted_health_devices"] + elsewhere["class"] and now
    return wait_until("the words to say all that came", all_said, 30, 0.1)


# ---------------------------------------------------------------- in another's name


@pytest.fixture
def victim(routed_lab, router, sink):
    """A device that operates and measures."""
    with Device(routed_lab, ident()) as d:
        assert d.associate() == 0
        d.measure(1, 71)
        yield d


def undisturbed(router, victim, number):
    """Its association is the one that it was, it heard nothing, and it measures on."""
    assert victim.hear(0.05) is None
    victim.measure(number, 70 + number)
    (s,) = router.show("sessions", victim.system_id)["sessions"]
    assert s["state"] == "operating" and s["device"] == f"{victim.address}:{victim.port}"


def test_spoofed_resets_close_no_connection(routed_lab, router, victim, anybody):
    """APDUs without a system-id are their sender's: from another address, or another port, they are of no one."""
    superseded = settled(router)["sessions"]["superseded"]
    for n, data in enumerate((ABRT, RLRQ, RLRE, bytes.fromhex(AARE), bytes.fromhex("ffff"), fixed(2, 2, [1])), 2):
        for address, port in ((LEFT, victim.port ^ 1), ("10.64.0.9", victim.port)):
            anybody.send(address, port, data)
        undisturbed(router, victim, n)
    assert settled(router)["sessions"]["superseded"] == superseded


def test_rejected_requests_use_no_memory(routed_lab, router, victim, anybody):
    """A rejected request with the system-id of a device, for any reason, does not end its association."""
    good = aarq(victim.system_id)
    refused = {"version": good[:4] + b"\x40" + good[5:], "protocol": good[:12] + b"\x50\x7a" + good[14:],
               "parameter": good[:44] + b"\x80\x00" + good[46:], "permanent": good[:30] + b"\x80\x00\x00\x00" + good[34:]}
    before = settled(router)["associations"]
    for n, data in enumerate(refused.values(), 2):
        anybody.send("10.64.0.9", 7000 + n, data)
        undisturbed(router, victim, n)
    after = settled(router)["associations"]
    assert {r: after[f"rejected_{r}"] - before[f"rejected_{r}"] for r in refused} == dict.fromkeys(refused, 1)
    # nor has who is over a limit
    with contextlib.ExitStack() as stay:
        for _ in range(PER_ADDRESS):
            assert stay.enter_context(Device(routed_lab, ident(), address="10.64.0.8")).associate() == 0
        with Device(routed_lab, victim.system_id, address="10.64.0.8") as stranger:
            assert stranger.associate() == 2
            undisturbed(router, victim, 20)
    with reloaded(router, allow=[ident()]), Device(routed_lab, victim.system_id, address="10.64.0.7") as stranger:
        assert stranger.associate() == 7
        undisturbed(router, victim, 21)


@pytest.mark.parametrize("address", ("10.64.0.10", LEFT), ids=("address", "port"))
@pytest.mark.parametrize("config", (400, 0x4000), ids=("operating", "waiting"))
def test_its_system_id_is_enough(routed_lab, router, victim, config, address):
    """The newest association wins, as documented; the device is notified, and gets its session back by associating
    again."""
    with Device(routed_lab, victim.system_id, address=address) as stranger:
        assert stranger.associate(config) == (0 if config == 400 else 3)
        assert victim.hear() == ABRT
        (s,) = router.show("sessions", victim.system_id)["sessions"]
        assert s["device"] == f"{stranger.address}:{stranger.port}"
        assert victim.associate() == 0
        assert stranger.hear() == ABRT
        victim.measure(2, 72)


@pytest.mark.parametrize("data,answer", (
    (ABRT, None), (RLRQ, RLRE), (RLRE, ABRT), (bytes.fromhex(AARE), ABRT), (aarq("00aa00000000ffff"), ABRT)),
    ids=("ABRT", "RLRQ", "RLRE", "AARE", "AARQ"))
def test_spoofed_address_and_port(router, victim, anybody, data, answer):
    """A datagram from the device's address cannot be distinguished from the device's own over UDP: the association ends
    by the rules of the standard, and the device notices it with its next report at the latest."""
    anybody.send(victim.address, victim.port, data)
    wait_until("the session to end", lambda: router.show("sessions", victim.system_id)["total"] == 0)
    assert victim.hear(20 if answer else 0.05) == answer
    assert victim.ask(fixed(2, 2, [72])) == ABRT
    assert victim.associate() == 0
    victim.measure(3, 73)


# ---------------------------------------------------------------- who cannot be answered


def test_unanswerable_senders(routed_lab, router, victim, anybody):
    """From port 0, from a link-local address, to a broadcast or multicast address: no answer could ever arrive, so
    no one is associated, and no one's session taken over."""
    before = settled(router)
    with routed_lab.inside("left"):
        index = socket.if_nametoindex("eth0")
        six, four = (socket.socket(f, socket.SOCK_DGRAM) for f in (socket.AF_INET6, socket.AF_INET))
    link_local = next(a["local"] for a in routed_lab.ip_json("gw", "-6", "addr", "show", "dev", "left")[0]["addr_info"]
                      if a["scope"] == "link")
    with six, four:
        four.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        data = aarq(victim.system_id)
        anybody.send(LEFT, 0, data)
        anybody.send(LEFT, 7777, data, to="10.1.0.255")
        four.sendto(data, ("10.1.0.255", 6024))
        six.sendto(data, ("ff02::1", 6024, 0, index))
        six.sendto(data, (link_local, 6024, 0, index))
        after = wait_until("them to be counted", lambda: (
            (w := words(router))["udp"]["invalid_source"] >= before["udp"]["invalid_source"] + 5 and w))
    c = router.counters()
    elsewhere["class"] = sum(after["udp"][w] for w in SOCKET) - c["punted_health_devices"]
    elsewhere["way"] = c["punted_health_devices"] - sum(c[f"punt_phd_{p}"] for p in PUNTS)
    assert 0 <= elsewhere["class"] <= 5 and 0 <= elsewhere["way"] <= 5
    assert after["udp"]["invalid_source"] == before["udp"]["invalid_source"] + 5
    for group in ("sessions", "associations"):
        assert after[group] == before[group]
    assert after["udp"]["unsent"] == before["udp"]["unsent"]
    undisturbed(router, victim, 2)


# ---------------------------------------------------------------- floods: last, since they leave the table full


def broken(apdu, rnd):
    """Cut, or with some bytes others."""
    if rnd.random() < 0.3:
        return apdu[:rnd.randrange(len(apdu))]
    b = bytearray(apdu)
    for _ in range(rnd.randrange(1, 6)):
        b[rnd.randrange(len(b))] = rnd.randrange(256)
    return bytes(b)


# Each n-th datagram of a flood: address, port, bytes.
def of_one_address(rnd, n):
    return "10.64.0.1", 1024 + n, aarq(f"00aa{n:012x}")


def of_many(rnd, n):
    return f"10.{65 + n % 8}.{n >> 3 & 255}.{1 + (n >> 11)}", 6024, aarq(f"00ab{n:012x}")


def of_many_unknown(rnd, n):
    return f"10.{73 + n % 4}.{n >> 2 & 255}.{1 + (n >> 10)}", 6024, aarq(f"00ac{n:012x}", 0x4000)


def of_many_broken(rnd, n):
    return f"10.{77 + n % 2}.{n >> 1 & 255}.{1 + (n >> 9)}", 6024, broken(aarq(f"00ad{n:012x}", rnd.choice((400, 0x4000))), rnd)


RESULTS = ("accepted", "accepted_unknown", "rejected_permanent", "rejected_transient", "rejected_protocol",
           "rejected_parameter", "rejected_unauthorized", "rejected_version")


def flood(router, anybody, kind, seed=1):
    """Sent as fast as it is taken. By how much the words of associations, and what was dropped before the kernel, rose."""
    rnd = random.Random(seed)
    frames = [anybody.frame(*kind(rnd, n)) for n in range(FLOOD)]
    before, counted = settled(router)["associations"], router.counters()
    for begin in range(0, FLOOD, BURST):
        for f in frames[begin:begin + BURST]:
            anybody.socket.send(f)
        wait_until("the flood to be taken", lambda: (  # honest devices have no signalling meanwhile
            router.counters()["punt_phd_signaling"] >= counted["punt_phd_signaling"] + begin + BURST), 30)
    after = settled(router)["associations"]
    grown = {k: after[k] - before[k] for k in after}
    # each was answered in one way; no one of a flood is associated already
    assert grown["requested"] == sum(grown[k] for k in RESULTS)
    assert grown["rejected_transient"] == sum(grown[f"rejected_{k}"] for k in ("address", "rate", "full", "configurations"))
    return grown, router.counters()["punt_queue_full_health_devices"] - counted["punt_queue_full_health_devices"]


def test_reports_without_session(router, victim, anybody):
    """Reports without an association are answered up to limits.unknown_report_rate; each is counted, and none is
    stored."""
    before, aborts = router.counters(), settled(router)["signalling"]["aborts_sent"]
    frames = [anybody.frame(f"10.64.{n >> 8}.{n & 255}", 6024, fixed(n, n, [n])) for n in range(FLOOD)]
    for begin in range(0, FLOOD, BURST):
        for f in frames[begin:begin + BURST]:
            anybody.socket.send(f)
        wait_until("them to be taken", lambda: (
            router.counters()["phd_discarded_unknown_session"] >= before["phd_discarded_unknown_session"] + begin + BURST), 30)
    undisturbed(router, victim, 2)
    said = settled(router)["signalling"]["aborts_sent"] - aborts
    grown = {k: v - before[k] for k, v in router.counters().items()}
    assert grown["phd_discarded_unknown_session"] == FLOOD == grown["phd_unknown_session"] + grown["punt_phd_unknown_session"]
    assert 0 < grown["punt_phd_unknown_session"] - grown["punt_queue_full_health_devices"] == said and grown["phd_unknown_session"] > 0
    assert grown["phd_reports"] == 1


def test_floods_do_not_affect_devices(routed_lab, router, sink, anybody, tmp_path):
    """Of honest devices no one notices anything, and each measurement is stored, once."""
    pids = [router.plane(p)["pid"] for p in ("control plane", "data plane")]
    with contextlib.closing(Devices(routed_lab, tmp_path, "oximeter", HONEST)) as devices:
        devices.measured(1)
        before = [memory_kib(p) for p in pids]

        # not on the list
        with reloaded(router, allow=[d.lower() for d in {line["device"] for line in devices.lines()}]):
            grown, shed = flood(router, anybody, of_one_address)
            assert grown["rejected_unauthorized"] == grown["requested"] > 0 and grown["requested"] + shed == FLOOD
            assert router.show("sessions")["total"] == HONEST
        devices.measured(1, since=time.time())

        # one address has its share and no more
        grown, shed = flood(router, anybody, of_one_address)
        assert grown["accepted"] == PER_ADDRESS and grown["rejected_address"] == grown["requested"] - PER_ADDRESS > 0
        assert grown["requested"] + shed == FLOOD
        assert router.show("sessions", "--address", "10.64.0.1")["total"] == PER_ADDRESS
        devices.measured(1, since=time.time())

        # broken bytes open a session only where they are those of a good request
        grown, shed = flood(router, anybody, of_many_broken)
        assert grown["rejected_version"] > 0 and grown["rejected_parameter"] > 0 and grown["rejected_protocol"] > 0
        assert settled(router)["signalling"]["malformed"] > FLOOD // 20
        devices.measured(1, since=time.time())

        # devices that never send the configuration that they announced are removed again
        flood(router, anybody, of_many_unknown)
        wait_until("them to be gone", lambda: router.show("sessions", "--state", "configuring")["total"] == 0, 30, 0.1)
        devices.measured(1, since=time.time())

        # the table is full: newcomers are refused, and no one goes
        moves = Device(routed_lab, ident())
        assert moves.associate() == 0
        wait_until("the table to be full", lambda: flood(router, anybody, of_many)[0]["rejected_full"] > 0, 60)
        assert router.show("sessions")["total"] == SESSIONS == words(router)["sessions"]["open"]
        with Device(routed_lab, ident()) as late:
            assert late.associate() == 2
        # but who has a session comes in from another port; later, where what ended just now is not free yet
        with moves:
            moves.reconnect()
            wait_until("it to be let in", lambda: moves.associate() == 0)
        devices.measured(1, since=time.time())

        for p, was in zip(pids, before):
            assert memory_kib(p) - was < 32 << 10
        assert [router.plane(p)["pid"] for p in ("control plane", "data plane")] == pids
        notice_nothing([devices])
    check_stored([devices], sink)
    router.balanced()
    # a refused device associates when there is capacity
    with Device(routed_lab, ident()) as late:
        assert late.associate() == 0
