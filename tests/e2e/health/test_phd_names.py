# SPDX-License-Identifier: BSD-3-Clause
"""Names of instances: a device that associates again and again within a second has no name twice, since the CSE would
take the second measurement of a name for a repetition of the first, and it would be lost without a word."""

import socket

import pytest

from conftest import running_router
from router_lab import own, only_biplane
from test_phd import PHD
from test_phd_slow_path import AARQ, Sink, accepted, asked, fixed_report, stored

pytestmark = only_biplane
RLRQ = bytes.fromhex("e40000020000")
ROUNDS = 20


@pytest.fixture(scope="module")
def router(routed_lab, hugepages, tmp_path_factory):
    directory = tmp_path_factory.mktemp("phd")
    with running_router(routed_lab, directory, health_devices={**PHD, "store": {"path": str(directory / "phd.db")}}) as r:
        yield r


@pytest.mark.parametrize("kind", (socket.SOCK_DGRAM, socket.SOCK_STREAM), ids=("udp", "tcp"))
def test_associations_within_a_second(routed_lab, router, kind):
    """From another port each time, so that it is another slot of the table, too."""
    sent = []
    with Sink(routed_lab) as sink:
        for n in range(1, ROUNDS + 1):
            with routed_lab.inside("left"):
                s = socket.socket(socket.AF_INET, kind)
            with s:
                s.connect((own("left"), 6024))
                s.settimeout(0.5)
                assert asked(s, AARQ)[:6] == bytes.fromhex("e300002c0000")
                assert asked(s, fixed_report(1, 1, [n])) == accepted(1)
                sent.append(str(n))
                s.send(RLRQ)
                assert s.recv(64)[:2] == b"\xe5\x00"
        said = sink.report()
    assert sorted(stored(said)["0022092258ad0001"]) == sorted(sent)
