# SPDX-License-Identifier: BSD-3-Clause
"""Aggregated and bypassing datagrams together: datagrams longer than the MTU, and paths through nodes of other
services."""

import pytest

from agg_frames import aggregates, carried
from conftest import overheat, running_pair
from udp_peers import Receiver, Senders, assert_restored
from wan_lab import aggregate, disaggregate


@pytest.mark.parametrize("family", (4, 6))
def test_fragments_keep_their_order(wan_lab, wan, hugepages, tmp_path, family):
    """Of datagrams longer than the MTU, next to what is aggregated. AF_XDP has them as they are; af_packet's fanout
    would put those of IPv4 together."""
    with running_pair(wan_lab, tmp_path, near=[aggregate(family=family)], far=[disaggregate(family=family)], driver="af_xdp") as pair, \
            Senders(wan_lab, family=family, n=20, fragment=(True,)) as s, Receiver(wan_lab, family) as r:
        wan.clear()
        for _ in range(20):
            (sender,) = s.random.sample(s.all, 1)
            for size in (40, s.random.randrange(1500, 4000), 40):
                s.numbered(5 if size == 40 else 1, lambda size=size: size, senders=[sender])
            r.wait(len(s.sent))
        pair.balanced()
        assert_restored(s.sent, r.drain())
        assert len(carried(wan.sent)) == 200 and len(aggregates(wan.sent)) < 100


@pytest.mark.parametrize("also", ("inspected", "both"))
def test_order_with_other_services(wan_lab, wan, hugepages, tmp_path, also):
    """Long messages, which pass, between short ones in one burst: the two go different ways inside, and come out in order."""
    mqtt = {"publisher": {"broker": "mqtt://10.9.9.9"}, "rules": [overheat()]}
    more = {"mqtt": mqtt} if also == "inspected" else {}
    near = [aggregate(max_message_size=100)]
    with running_pair(wan_lab, tmp_path, near=near, **more) as pair, Senders(wan_lab, n=5) as s, Receiver(wan_lab) as r:
        if also == "both":
            pair.near.services(encapsulate=near, decapsulate=[{**disaggregate(to={"address": "10.6.0.77", "udp_port": 5555}), "port": "devices"}])
        for _ in range(10):
            s.numbered(300, lambda: s.random.choice((20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 200)))
            r.wait(len(s.sent))
        pair.balanced()
        assert r.drain() == s.sent
