# SPDX-License-Identifier: BSD-3-Clause
"""A load of the soak test: it sends at a steady rate in a thread, knows what has to arrive, and what did."""

import threading
import time

from lab import Background


class Periodic:
    """Calls step() each `period` seconds in a thread, until stop()."""

    def __init__(self, period):
        self.period, self._stop, self._going = period, threading.Event(), threading.Event()
        self._going.set()

    def begin(self):
        self._thread = Background(self._run)
        self._thread.start()

    def _run(self):
        due = time.monotonic()
        while not self._stop.wait(max(0, due - time.monotonic())):
            self._going.wait()
            self.step()
            due = max(due + self.period, time.monotonic() - 1)

    def pause(self):
        """Sends nothing until resume(); a step that has begun may still end."""
        self._going.clear()

    def resume(self):
        self._going.set()

    def check_alive(self):
        if not self._thread.is_alive():
            self._thread.finish()
            raise AssertionError(f"{type(self).__name__} ended by itself")

    def before_fault(self):
        pass

    def after_fault(self):
        pass

    def settle(self):
        """Returns when all that was sent so far has arrived, as far as it must."""

    def check(self):
        pass

    def stop(self):
        self.resume()
        self._stop.set()
        self._thread.finish(60)
