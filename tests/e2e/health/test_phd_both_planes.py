# SPDX-License-Identifier: BSD-3-Clause
"""Data plane and control plane together: events from a worker to the control plane, a session whose reports alternate
between the fast path and the control plane, and a reload with other workers and source ports. Each measurement is
stored once."""

import contextlib
import itertools
import json
import socket
import time

import pytest

import acme
import coap
from conftest import running_router
from lab import wait_until
from router_lab import LEFT, RIGHT, only_biplane, own
from test_phd import PHD, Tree
from test_phd_restart import Devices
from test_phd_restart import Sink as TreeSink
from test_phd_restart import check_stored, notice_nothing
from test_phd_slow_path import Sink, accepted, asked, fixed_report, stored

pytestmark = only_biplane
ONE = bytes.fromhex("0022092258ae")
_ids = itertools.count(1)


@pytest.fixture
def router(routed_lab, hugepages, tmp_path):
    with running_router(routed_lab, tmp_path, health_devices={**PHD, "store": {"path": str(tmp_path / "phd.db")}}) as r:
        yield r


class Oximeter:
    """A device of a few bytes that is associated, and of which one measurement went the workers' way."""

    def __init__(self, lab, router):
        system_id = ONE + next(_ids).to_bytes(2, "big")
        self.name, self.router, self.sent, self.invoke = system_id.hex(), router, [], 0
        with lab.inside("left"):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(1)
        self.socket.connect((own("left"), 6024))
        aarq = bytes.fromhex("e2000032800000000001002a507900268000000080008000000000000000008000000008" +
                             system_id.hex() + "01900001010000000000")
        assert asked(self.socket, aarq)[:6] == bytes.fromhex("e300002c0000")
        before = router.counters()["cse_stored"]
        while router.counters()["cse_stored"] == before:
            self.measure(1)

    def report(self, values):
        self.invoke += 1
        values = [100 * self.invoke % 1000 + i for i in range(values)]
        self.sent += [str(v) for v in values]
        return fixed_report(self.invoke, self.invoke, values)

    def measure(self, values):
        """Asked until it is stored."""
        assert asked(self.socket, self.report(values)) == accepted(self.invoke)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(OSError):
            self.socket.send(bytes.fromhex("e40000020000"))
        self.socket.close()


def phd_words(router, group):
    return router.status()["health_devices"][group]


def flushed_while_it_is_asked(lab, router, device):
    """Sends a report of the device, whose neighbor entry is deleted while the CSE processes the request. Returns
    whether the entry was still missing at the answer: the refresh of used neighbors may have resolved it meanwhile."""
    before = router.counters()
    device.socket.send(device.report(1))
    wait_until("the request to leave", lambda: router.counters()["cse_requests"] > before["cse_requests"])
    lab.ip("gw", "-4", "neigh", "flush", "dev", "left")
    assert device.socket.recv(2048) == accepted(device.invoke)
    after = router.counters()
    assert after["phd_duplicates"] == before["phd_duplicates"]
    handed, sent = (after[c] - before[c] for c in ("phd_response_handed_over", "phd_responses"))
    assert handed + sent == 1
    return handed


def test_neighbor_removed_during_the_outage(routed_lab, router):
    """The CSE acknowledges a report, and the gateway does not know the device's MAC address any more: the worker has the
    control plane answer by the kernel, which asks for it."""
    with Sink(routed_lab, "--delay", "700", "--instances-only") as sink, Oximeter(routed_lab, router) as device:
        answers = phd_words(router, "events")["answers"]
        device.socket.settimeout(20)
        handed = 0
        for _ in range(20):
            handed += flushed_while_it_is_asked(routed_lab, router, device)
            if handed:
                break
        assert handed == 1
        wait_until("the words to say so", lambda: phd_words(router, "events")["answers"] == answers + 1)
        (n,) = routed_lab.ip_json("gw", "neigh", "show", LEFT, "dev", "left")
        assert "lladdr" in n
        device.measure(1)
        said = sink.report()
    assert sorted(stored(said)[device.name]) == sorted(device.sent)
    router.balanced()


def test_both_directions_alternate(routed_lab, router):
    """Reports of one session go by the worker, and those of over 32 parts by the control plane."""
    with Sink(routed_lab) as sink, Oximeter(routed_lab, router) as device:
        before, slow = router.counters(), phd_words(router, "reports")["accepted"]
        for n in range(20):
            device.measure(1 if n % 2 else 33 + n)
        after = router.counters()
        assert after["phd_reports"] >= before["phd_reports"] + 20
        assert after["cse_stored"] == before["cse_stored"] + 10
        wait_until("the words to say so", lambda: phd_words(router, "reports")["accepted"] >= slow + 10)
        said = sink.report()
    assert sorted(stored(said)[device.name]) == sorted(device.sent)
    router.balanced()


def test_container_deleted_at_the_cse(routed_lab, router, tmp_path):
    """While reports arrive: the CSE answers the worker that the container does not exist, the device is asked to
    repeat, and the control plane creates the container again."""
    acme.require()
    with routed_lab.inside("right"):
        client = coap.Client(RIGHT)
    cse = acme.Acme(tmp_path / "cse", RIGHT, argv=lambda *a: routed_lab.argv("right", *a))
    cse.start(client)
    try:
        with Oximeter(routed_lab, router) as device:
            before, stale = router.counters(), phd_words(router, "events")
            for _ in range(3):
                assert client.ask(coap.DELETE, f"cse-in/{device.name}/spo2", "CAdmin").rsc == 2002
                kept = len(device.sent)
                device.socket.send(device.report(1))
                rorj = device.socket.recv(2048)
                assert rorj[-4:] == bytes.fromhex("00020067"), rorj.hex()
                assert asked(device.socket, fixed_report(device.invoke, device.invoke, [int(device.sent[-1])])) == accepted(device.invoke)
                device.measure(1)
                found = [str(c["v"]) for c in Tree(routed_lab, cse).contents(f"cse-in/{device.name}/spo2")]
                assert sorted(found) == sorted(device.sent[kept:])
            after = router.counters()
            assert after["cse_no_target"] >= before["cse_no_target"] + 3
            wait_until("the words to say so", lambda: sum(phd_words(router, "events")[w] - stale[w]
                                                          for w in ("containers_missing", "containers_missing_found")) >= 3)
        router.balanced()
    finally:
        cse.end()
        client.close()


@pytest.mark.parametrize("change", ({"ports": "20000-20999"}, {"ports": "41000-41999"}, {"workers": 2}),
                         ids=("fewer", "others", "workers"))
def test_another_share_of_source_ports(routed_lab, router, tmp_path, change):
    """The gateway restarts under load, with other workers or source ports: associated devices remain associated."""
    with contextlib.closing(TreeSink(routed_lab, tmp_path)) as sink, \
            contextlib.closing(Devices(routed_lab, tmp_path, "oximeter")) as devices:
        devices.measured(2)
        config = json.loads(json.dumps(router.config))
        if "ports" in change:
            config["health_devices"]["cse"]["source_ports"] = change["ports"]
        else:
            config["workers"] = change["workers"]
        lost_at = time.time()
        assert router.stop() == 0
        router.write(config)
        router.start()
        back_at = time.time()
        devices.measured(3, since=back_at)
        notice_nothing([devices])
        check_stored([devices], sink, lost_at, back_at)
