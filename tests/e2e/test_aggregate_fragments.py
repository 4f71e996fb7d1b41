# SPDX-License-Identifier: BSD-3-Clause
"""Datagrams that are longer than the MTU, beside those that are aggregated."""

from collections import Counter

import pytest

from agg_frames import aggregates, carried
from conftest import running_pair
from udp_peers import Receiver, Senders
from wan_lab import aggregate, disaggregate


@pytest.mark.parametrize("family", (4, 6))
def test_fragments_pass(wan_lab, wan, hugepages, tmp_path, family):
    """Of datagrams longer than the MTU, beside what is aggregated. AF_XDP has them as they are; af_packet's fanout
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
        # NOT YET their order: a fragment overtakes what waits
        assert Counter(s.sent) == Counter(r.drain())
        assert len(carried(wan.sent)) == 200 and len(aggregates(wan.sent)) < 100
