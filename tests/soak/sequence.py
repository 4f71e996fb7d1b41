# SPDX-License-Identifier: BSD-3-Clause
"""Numbered messages of one sender: which arrived, in memory that does not grow with their number."""

import threading


class Sequence:
    def __init__(self):
        self.next = 0         # all before have arrived, or were given up
        self.ahead = set()    # arrived, from next on
        self.again = 0        # arrived more than once
        self.lost = 0         # given up where that is allowed
        self.given_up = set() # of these, the last ones: they may be late
        self.missing = []     # given up elsewhere: faults
        self.lock = threading.Lock()

    def add(self, n):
        with self.lock:
            if n in self.given_up:
                self.given_up.remove(n)
                self.lost -= 1
                return True
            if n < self.next or n in self.ahead:
                self.again += 1
                return False
            self.ahead.add(n)
            while self.next in self.ahead:
                self.ahead.remove(self.next)
                self.next += 1
            return True

    def has_all(self, begin, end):
        """Whether all of begin..end-1 arrived, regardless of earlier ones."""
        with self.lock:
            return all(n in self.ahead for n in range(max(begin, self.next), end))

    def give_up(self, end, allowed=()):
        """Counts what is not there before `end`: lost in one of the ranges `allowed`, otherwise missing."""
        with self.lock:
            absent = [n for n in range(self.next, end) if n not in self.ahead]
            self.ahead.difference_update(range(self.next, end))
            lost = {n for n in absent if any(n in a for a in allowed)}
            self.missing += [n for n in absent if n not in lost]
            self.lost += len(lost)
            self.given_up = lost or self.given_up
            self.next = max(self.next, end)
            while self.next in self.ahead:
                self.ahead.remove(self.next)
                self.next += 1
