# SPDX-License-Identifier: BSD-3-Clause
"""What the traffic tests share: send, then demand equality at the cloud and at the edge."""

import itertools

from lab import CLOUD, wait_until
from peers import Collector, Expected, Publisher, usual_value

_serial = itertools.count(1)


class Watch:
    """Subscribers at both brokers, and the proof that what they got is exactly what was due."""

    def __init__(self, lab, gateway, alarm_filters=("alarm/#",)):
        self.lab, self.gateway = lab, gateway
        self.expected = Expected()
        self.cloud = Collector(lab, "cloud")
        self.edge = Collector(lab, "edge", alarm_filters)
        self.raised = gateway.counter("alarms_raised")

    def check(self, value=usual_value, seconds=60, over=80.0, host=CLOUD):
        # One worker hands alarms over in order, so what is due has arrived when the last has; and a
        # surplus alarm would be there by then too.
        last = f"plant/last{next(_serial)}/temperature"
        p = Publisher(self.lab, host)
        p.finish([p.publish(last, b"1e6", qos=2)])
        cloud, alarms = self.expected.cloud(), self.expected.alarms(value, over)
        self.cloud.wait_for_topic(last, seconds)
        wait_until(f"{sum(cloud.values())} publications at the cloud broker, there are {len(self.cloud.messages) - 1}",
                   lambda: len(self.cloud.messages) >= sum(cloud.values()) + 1, seconds)
        assert self.cloud.counts(but=(last,)) == cloud, "the cloud broker got something else than was published"
        self.edge.wait_for_topic(f"alarm/{last}", seconds)
        got = self.edge.counts(but=(f"alarm/{last}",))
        assert got - alarms == {}, "alarms that were not due"
        assert alarms - got == {}, "alarms that are missing"
        assert self.gateway.counter("alarms_raised") - self.raised == sum(alarms.values()) + 1
        self.raised = self.gateway.counter("alarms_raised")
        return alarms

    def close(self):
        self.cloud.close()
        self.edge.close()
