# SPDX-License-Identifier: BSD-3-Clause
"""A WAN that loses, doubles and reorders aggregates: the server gets the messages of those that arrived, as often and in
the order in which they did, and FAR's counters say what the WAN has done."""

import pytest

from agg_frames import aggregate_in, aggregates, read
from conftest import running_pair
from lab import wait_until
from udp_peers import Receiver, Senders
from wan import BadWire
from wan_lab import PORT, aggregate, disaggregate

WINDOW = 64  # aggregates behind the newest one of which FAR knows whether they came


@pytest.fixture(scope="module")
def pair(wan_lab, wan, hugepages, tmp_path_factory):
    with running_pair(wan_lab, tmp_path_factory.mktemp("pair")) as p:
        yield p
        p.balanced()


def is_aggregate(frame):
    p = read(frame)
    return p is not None and p.dport == PORT and aggregate_in(p) is not None


def told_by_numbers(found):
    """A model of the receiver's sequence number window (docs/reference/aggregation-format.md): for each stream the
    newest number and the received ones."""
    newest, came = {}, {}
    said = dict.fromkeys(("missing", "late", "duplicate", "stale"), 0)
    for a in found:
        ahead = (a.sequence - newest.get(a.stream, a.sequence - 1) + 2**31) % 2**32 - 2**31
        if ahead > 0:
            said["missing"] += ahead - 1
            newest[a.stream] = a.sequence
        elif -ahead >= WINDOW:
            said["stale"] += 1
        elif a.sequence in came[a.stream]:
            said["duplicate"] += 1
        else:
            said["late"] += 1
        came.setdefault(a.stream, set()).add(a.sequence)
    return said


def told(pair):
    (rule,) = pair.far.show("aggregates")["decapsulate"]
    return {k: rule[k] for k in ("missing", "late", "duplicate", "stale", "aggregates", "messages", "dropped")}


CASES = {"loss": {"loss": 0.2}, "doubled": {"double": 0.3}, "reordered": {"delay": 0.3}, "far behind": {"delay": 0.1, "most": 200},
         "all of it": {"loss": 0.1, "double": 0.2, "delay": 0.3, "most": 20}}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("pace", (False, True), ids=("at once", "paced"))
def test_a_bad_wan(wan_lab, pair, wan, case, pace):
    pair.services([aggregate(max_messages=5)], [disaggregate(pacing_gap="20us" if pace else "off")])
    wan.clear()
    before = told(pair)
    wire = BadWire(len(case), **CASES[case])
    with Senders(wan_lab, tos=(0, 0, 0, 0xB8)) as s, Receiver(wan_lab) as r:
        # The first aggregate of a stream says where its numbers begin: that one arrives.
        for sender in (s.all[0], s.all[3]):
            s.numbered(5, lambda: 8, senders=[sender])
        r.wait(10)
        wan.is_bad(wire, is_aggregate)
        for _ in range(4):
            mark = len(wan.sent)
            s.numbered(400, lambda: s.random.randrange(4, 100))
            wait_until("all to be on the WAN", lambda mark=mark: sum(len(a.messages) for a in aggregates(wan.sent[mark:])) >= 400, 20)
        wan.is_good()
        # Their sequence numbers show what was missing before them.
        for sender in (s.all[0], s.all[3]):
            s.numbered(5, lambda: 8, senders=[sender])
        wait_until("all to be on the WAN", lambda: sum(len(a.messages) for a in aggregates(wan.sent)) >= len(s.sent), 20)
        found = aggregates(wan.delivered)
        expected = [m for a in found for m in a.messages]
        r.wait(len(expected))
        pair.balanced()
        got = r.drain()
        assert got == expected, "not the messages of the aggregates that arrived, in their order"
        lost = {(a.stream, a.sequence) for a in aggregates(wire.lost)}
        came = {(a.stream, a.sequence) for a in found}
        gone = {m for a in aggregates(wan.sent) if (a.stream, a.sequence) in lost - came for m in a.messages}
        assert set(s.sent) - set(got) == gone, "just the messages of lost aggregates are missing"
        assert set(got) <= set(s.sent)
        # the streams continue from case to case, and so does what FAR counts
        counts = {k: n - before[k] for k, n in told(pair).items()}
        said = told_by_numbers(found)
        assert counts == {**said, "aggregates": len(found), "messages": len(expected), "dropped": 0}
        if not wire.double and not said["stale"]:
            assert said["missing"] - said["late"] == len(wire.lost)
    assert said["missing"] > 5 or case == "doubled"
    assert said["duplicate"] > 10 or "double" not in CASES[case]
    assert said["late"] > 10 or "delay" not in CASES[case] or case == "far behind"
    assert said["stale"] > 0 or case != "far behind"
