# SPDX-License-Identifier: BSD-3-Clause
"""Common parts of the traffic tests: send, then check for equality in the cloud and at the edge."""

import collections
import contextlib
import itertools

from lab import CLOUD, wait_until
from peers import Collector, Expected, Publisher, usual_value

_serial = itertools.count(1)


def brief(messages):
    """Topics and how many of each, for the words of a failure."""
    topics = collections.Counter()
    for (topic, _), n in messages.items():
        topics[topic] += n
    return dict(topics)


class Watch:
    """Subscribers at both brokers, and the proof that what they got is exactly what was due."""

    def __init__(self, lab, gateway, alarm_filters=("alarm/#",)):
        self.lab, self.gateway = lab, gateway
        self.expected = Expected()
        self.cloud = Collector(lab, "cloud")
        self.edge = Collector(lab, "edge", alarm_filters)
        self.raised = gateway.counter("alarms_raised")

    def check(self, value=usual_value, seconds=60, over=80.0, host=CLOUD):
        # The last message is from another connection, and may overtake QoS 0 messages in the sender's kernel: so the
        # test also waits for the expected number of alarms. Further alarms are in the counter.
        last = f"plant/last{next(_serial)}/temperature"
        p = Publisher(self.lab, host)
        p.finish([p.publish(last, b"1e6", qos=2)])
        cloud, alarms = self.expected.cloud(), self.expected.alarms(value, over)
        self.cloud.wait_for_topic(last, seconds)
        wait_until(f"{sum(cloud.values())} publications at the cloud broker, there are {len(self.cloud.messages) - 1}",
                   lambda: len(self.cloud.messages) >= sum(cloud.values()) + 1, seconds)
        assert self.cloud.counts(but=(last,)) == cloud, "the cloud broker got something else than was published"
        self.edge.wait_for_topic(f"alarm/{last}", seconds)
        with contextlib.suppress(AssertionError):  # which ones are missing is said below
            wait_until("the alarms", lambda: len(self.edge.messages) >= sum(alarms.values()) + 1, seconds)
        got = self.edge.counts(but=(f"alarm/{last}",))
        assert got - alarms == {}, f"alarms that were not due: {brief(got - alarms)}; {self.gateway.counted()}"
        assert alarms - got == {}, f"alarms that are missing: {brief(alarms - got)}; {self.gateway.counted()}"
        assert self.gateway.counter("alarms_raised") - self.raised == sum(alarms.values()) + 1
        self.raised = self.gateway.counter("alarms_raised")
        return alarms

    def close(self):
        self.cloud.close()
        self.edge.close()
