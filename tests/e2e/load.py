# SPDX-License-Identifier: BSD-3-Clause
"""Steady load: a device that publishes unique values over the threshold until it is stopped."""

import threading
import time

from lab import CLOUD, Background
from peers import Publisher


class Load:
    def __init__(self, lab, expected, topic="plant/oven/temperature", rate=200, qos=1, host=CLOUD, first=0):
        self.publisher = Publisher(lab, host, expected)
        self.topic, self.rate, self.qos, self.n, self.first = topic, rate, qos, 0, first
        self._stop = threading.Event()
        self._thread = Background(self._run)
        self._thread.start()

    def _run(self):
        infos, begin = [], time.monotonic()
        while not self._stop.is_set():
            # 81.000001, 81.000002, ...: over the threshold, and no two equal.
            infos.append(self.publisher.publish(self.topic, f"81.{self.first + self.n:06d}", self.qos))
            self.n += 1
            ahead = begin + self.n / self.rate - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
        self.publisher.finish(infos, 120)

    def go_on(self, messages):
        """Returns after `messages` more have been published."""
        goal = self.n + messages
        while self.n < goal:
            assert self._thread.is_alive(), "the load ended by itself"
            time.sleep(0.005)

    def finish(self):
        """Stops; returns once all that was published is acknowledged by the cloud broker."""
        self._stop.set()
        self._thread.finish(180)
