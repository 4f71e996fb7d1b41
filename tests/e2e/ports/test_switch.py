# SPDX-License-Identifier: BSD-3-Clause
"""Three ports on one bridge are a learning switch."""

import os

import pytest

from conftest import config_for
from frames import BROADCAST, LOCAL_ETHERTYPE, Wire, ethernet
from lab import wait_until

A, B, C, STRANGER = "02:77:00:00:00:0a", "02:77:00:00:00:0b", "02:77:00:00:00:0c", "02:77:00:00:00:0d"
ENDS = ("dev", "cloud", "edge")


class Segment:
    def __init__(self, lab):
        self.wires = {ns: Wire(lab, ns) for ns in ENDS}

    def send(self, ns, dst, src, tags=()):
        """The hosts that received a frame sent at `ns`: a broadcast to all hosts follows it."""
        frame = ethernet(dst, src, LOCAL_ETHERTYPE, os.urandom(50), tags)
        last = ethernet(BROADCAST, src, LOCAL_ETHERTYPE, os.urandom(50), tags)
        self.wires[ns].send(frame, last)
        return {other for other in ENDS if other != ns and frame in self.wires[other].listen(last)}

    def close(self):
        for w in self.wires.values():
            w.close()


@pytest.fixture
def segment(lab):
    s = Segment(lab)
    yield s
    s.close()


@pytest.mark.parametrize("driver", ("af_packet", "af_xdp"))
def test_learns_floods_and_moves(gateway, segment, driver):
    g = gateway(config_for(driver))
    assert segment.send("dev", B, A) == {"cloud", "edge"}, "an unknown address is flooded"
    assert segment.send("cloud", A, B) == {"dev"}, "A has been learnt, so nobody else gets it"
    assert segment.send("dev", B, A) == {"cloud"}, "B has been learnt by now"
    assert segment.send("edge", A, C) == {"dev"}
    assert segment.send("dev", "01:00:5e:01:02:03", A) == {"cloud", "edge"}, "multicast is flooded"
    assert segment.send("dev", "33:33:00:00:00:01", A) == {"cloud", "edge"}
    assert segment.send("edge", B, A) == {"cloud"}, "B is still known"
    assert segment.send("cloud", A, B) == {"edge"}, "A has moved to the edge"
    assert segment.send("dev", A, STRANGER) == {"edge"}
    assert segment.send("dev", B, A) == {"cloud"}
    assert segment.send("cloud", A, B) == {"dev"}, "and A has moved back"
    drops = g.balanced()
    assert drops["originated"] > 0, "flooding to two ports makes a copy"


def test_tagged_frames_are_switched_too(gateway, segment):
    gateway(config_for())
    tags = [(0x8100, 10)]
    assert segment.send("dev", B, A, tags) == {"cloud", "edge"}
    assert segment.send("cloud", A, B, tags) == {"dev"}


def test_a_frame_for_its_own_port_is_dropped_and_counted(gateway, segment):
    g = gateway(config_for())
    segment.send("dev", B, A)
    segment.send("dev", B, C)
    before = g.counter("hairpin")
    assert segment.send("dev", A, C) == set(), "A is behind the port that the frame came from"
    assert g.counter("hairpin") == before + 1


def test_a_multicast_source_is_not_learnt(gateway, segment):
    gateway(config_for())
    segment.send("dev", B, "03:00:00:00:00:0a")
    assert segment.send("cloud", "03:00:00:00:00:0a", B) == {"dev", "edge"}


def config_with(**fdb):
    c = config_for()
    c["bridges"][0].update(fdb)
    return c


def test_addresses_age(gateway, segment):
    gateway(config_with(fdb_aging_time="1s"))
    segment.send("dev", B, A)
    assert segment.send("cloud", A, B) == {"dev"}
    wait_until("the address to age", lambda: segment.send("cloud", A, B) == {"dev", "edge"}, 20, 0.2)


def test_the_table_is_bounded(gateway, segment):
    g = gateway(config_with(fdb_max_entries=16))
    for i in range(400):
        segment.wires["dev"].send(ethernet(BROADCAST, f"02:76:00:00:{i >> 8:02x}:{i & 255:02x}", LOCAL_ETHERTYPE, bytes(46)))
    segment.send("dev", B, A)
    assert segment.send("cloud", A, B) == {"dev"}, "the newest address is known, whatever came before it"
    g.balanced()
