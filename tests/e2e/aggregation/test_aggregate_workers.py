# SPDX-License-Identifier: BSD-3-Clause
"""Two workers in each gateway: messages are aggregated, restored and transformed, each exactly once and in order."""

import pytest

from conftest import running_pair
from readings import EXACT, ROTATED, UDP, Robot, some, source, transform
from udp_peers import Receiver, Senders, assert_restored
from wan_lab import NETWORK, PORT, aggregate, disaggregate

ROBOT = 20000


@pytest.fixture(scope="module")
def pair(wan_lab, wan, hugepages, tmp_path_factory):
    network = NETWORK["bridged"][4]
    with running_pair(wan_lab, tmp_path_factory.mktemp("workers"), queues=2, workers=2,
                      near=[aggregate(), aggregate(udp=UDP)], far=[disaggregate(), disaggregate(udp=UDP)],
                      far_services={"transform": {"entries": [transform([source(network, {"udp_port": ROBOT, "matrix": ROTATED})], port="wan")]}}) as p:
        yield p
        p.balanced()


def test_messages_and_readings_of_many_senders(wan_lab, pair, wan):
    """FAR transforms the readings that it restores."""
    with Senders(wan_lab) as s, Receiver(wan_lab) as r, Robot(wan_lab, "server", ROBOT) as robot:
        readings = some(400)
        for i in range(4):
            s.numbered(200, lambda: s.random.randrange(100))
            r.wait(200 * (i + 1))
            for n, one in enumerate(readings[100 * i:100 * (i + 1)]):
                s.all[n].socket.sendto(one.payload(), (s.to, UDP))
            robot.wait(100 * (i + 1))
        pair.balanced()
        assert_restored(s.sent, r.drain())
        got = robot.got()
        assert sorted(c.reading for c in got) == sorted(readings)
        assert max(c.off(ROTATED) for c in got) < EXACT
    near, far = (g.show("aggregates") for g in pair.both)
    assert len(near["workers"]) == len(far["workers"]) == 2
    # All aggregates of a stream are of one source: which worker of FAR receives it depends on the kernel's hash.
    assert all(w["messages"] for w in near["workers"]), near
    assert sum(w["restored"] for w in far["workers"]) == len(s.sent) + len(readings)
    assert [rule["missing"] for rule in far["decapsulate"]] == [0, 0]
    assert pair.far.counters()["transform_reading"] == len(readings)
