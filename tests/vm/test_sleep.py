# SPDX-License-Identifier: BSD-3-Clause
"""poll_mode: adaptive with NICs. Receive interrupts wake the worker; it polls a NIC that does not send them."""

import os

import pytest

from frames import LOCAL_ETHERTYPE, ethernet
from guest import KINDS
from lab import wait_until
from wire import bridges, carries


def slept(g):
    return g.counter("worker_sleeps"), g.counter("worker_sleep_ns")


def sleep_some(g, sleeps):
    count, ns = slept(g)
    wait_until("the worker to sleep", lambda: slept(g)[0] >= count + sleeps, 60)
    count_after, ns_after = slept(g)
    return (ns_after - ns) / (count_after - count) / 1e6


@pytest.mark.parametrize("kind", KINDS)
def test_worker_sleeps_if_the_nic_sends_interrupts(lab, tmp_path, kind):
    """The emulated e1000e sends none to DPDK's driver."""
    with bridges(lab, tmp_path, (kind,)) as g:
        bridge = g.bridges[kind]
        assert sleep_some(g, 30) > 2
        for sender, receiver, addresses in bridge.ways:
            for _ in range(6):
                sleep_some(g, 3)
                carries(lab, [ethernet(*addresses, LOCAL_ETHERTYPE, os.urandom(50))], sender, receiver, addresses)
        missed = "NIC does not send receive interrupts" in g.log.read_text()
        assert missed == (kind == "e1000e")
        assert (sleep_some(g, 30) < 2) == missed
