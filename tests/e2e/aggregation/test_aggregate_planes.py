# SPDX-License-Identifier: BSD-3-Clause
"""A plane of either gateway killed in the middle of traffic."""

from collections import Counter

import pytest

from conftest import running_pair
from lab import wait_until
from udp_peers import Going, Receiver, Senders, assert_restored, by_sender, send_and_wait
from wan_lab import aggregate, disaggregate


@pytest.fixture(scope="module")
def pair(wan_lab, wan, hugepages, tmp_path_factory):
    with running_pair(wan_lab, tmp_path_factory.mktemp("pair")) as p:
        yield p
        p.balanced()


def assert_one_outage(sent, before, got, mark):
    """There are no duplicates and no reordering. The messages before the outage, and those sent from `mark` on, are
    complete. Between them, the missing ones are not necessarily contiguous: while a driver opens its socket, the kernel
    passes a few frames, then none, then all."""
    surplus = Counter(got) - Counter(sent)
    assert not surplus, f"{sum(surplus.values())} came twice or were never sent: {list(surplus)[:3]}"
    expected = by_sender(sent)
    for sender, payloads in by_sender(got).items():
        all_of_it = iter(expected[sender])
        assert all(p in all_of_it for p in payloads), f"messages of {sender} are in another order"
    came, early = set(got), set(before)
    for tos in {d.tos for d in sent}:
        stream = [d for d in sent[:mark] if d.tos == tos]
        last = max(i for i, d in enumerate(stream) if d in early)
        missing = [i for i, d in enumerate(stream[:last]) if d not in came]
        assert not missing, f"TOS {tos:02x}: missing before what came last before the outage: {missing[:20]} of {last}"
    assert came >= set(sent[mark:])
    return len(sent) - len(got)


@pytest.mark.parametrize("which", ("near", "far"))
def test_data_plane_killed(wan_lab, pair, which):
    """kill -9 of the data plane; `run` starts another. Messages sent before and after arrive; only messages between are
    missing."""
    pair.services([aggregate(max_delay="5ms")], [disaggregate(pacing_gap="5us")])
    g = getattr(pair, which)
    with Senders(wan_lab, tos=(0, 0xB8)) as s, Receiver(wan_lab) as r:
        send_and_wait(s, r, 2, 200, lambda: 30)
        with Going(s):
            r.wait(len(s.sent) + 200)
            safe = list(r.drain())
            g.kill_plane("data plane")
            g.wait_ready()
        mark = len(s.sent)
        # Sent when the new one was ready: all of this arrives.
        s.numbered(400, lambda: 30)
        after = set(s.sent[mark:])
        wait_until("all that was sent afterwards", lambda: len(after & set(r.drain())) == len(after), 20)
        lost = assert_one_outage(s.sent, safe, r.drain(), mark)
        assert 0 < lost <= mark - len(safe), f"{lost} lost of {mark - len(safe)} that had not come before"
        # It works by the rules as before.
        before, here = pair.counters(), len(r.got)
        s.numbered(80, lambda: 30)
        r.wait(here + 80)
        pair.balanced()
        pair.counted(before, near={"encap_message": 80}, far={"decap_message": 80})
        assert g.plane("data plane")["restarts"] >= 1


@pytest.mark.parametrize("which", ("near", "far"))
def test_control_plane_killed(wan_lab, pair, which):
    """No message is lost; the next control plane passes the same rules to the workers and can change them."""
    pair.services([aggregate(max_delay="5ms")], [disaggregate()])
    g = getattr(pair, which)
    with Senders(wan_lab, tos=(0, 0xB8)) as s, Receiver(wan_lab) as r:
        with Going(s):
            r.wait(200)
            g.kill_plane("control plane")
            r.wait(len(s.sent) + 200)
        r.wait(len(s.sent))
        pair.balanced()
        assert_restored(s.sent, r.drain())
        pair.services([aggregate(max_messages=2)], [disaggregate()])
        before = pair.counters()
        send_and_wait(s, r, 1, 50, lambda: 30)
        pair.balanced()
        pair.counted(before, near={"encap_message": 50}, far={"decap_message": 50})
        assert pair.counters()["near"]["encap_aggregate"] - before["near"]["encap_aggregate"] >= 25
