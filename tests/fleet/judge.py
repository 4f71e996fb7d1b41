# SPDX-License-Identifier: BSD-3-Clause
"""Compares the alarms that a consumer received with those of the oracle."""

from collections import defaultdict
from dataclasses import dataclass, field

import oracle


@dataclass
class Verdict:
    """What the consumer received, compared with the oracle; lists hold (topic, state, sample) or sentences."""
    expected: int = 0
    received: int = 0
    exact: int = 0  # first deliveries of a transition, by the sample that was due
    repeats: int = 0  # the same uid again: a consumer drops these
    late: list = field(default_factory=list)  # raised or cleared by a later sample than the one that was due
    seconds: list = field(default_factory=list)  # a second alarm of the same transition, with another uid
    missing: list = field(default_factory=list)
    wrong: list = field(default_factory=list)
    disorder: list = field(default_factory=list)  # raise and clear of a topic do not alternate, in the order of their time
    overtaken: int = 0  # arrived after a newer alarm of the topic: a gateway that was cut off publishes when it is connected again
    stuck: list = field(default_factory=list)  # topics of publications that were lost without a reset of their connection
    excused: int = 0  # transitions that depend on publications which were lost with their TCP connection

    def summary(self):
        return {k: len(v) if isinstance(v, list) else v for k, v in vars(self).items()}

    def failures(self, repeats_max):
        """Sentences; none if the assertions hold."""
        out = [f"{len(v)} {name}, the first: {v[0]}" for name, v in
               (("alarms missing", self.missing), ("wrong alarms", self.wrong), ("violations of the order", self.disorder),
                ("second alarms of a transition, with another uid", self.seconds),
                ("connections without a reset that lost publications", self.stuck)) if v]
        if self.repeats > repeats_max:
            out.append(f"{self.repeats} repeats, allowed are {repeats_max}")
        return out


def _place(found, state, n):
    """Index of the episode that the alarm belongs to, or None."""
    for i, e in enumerate(found):
        after = found[i + 1].first if i + 1 < len(found) else oracle.SAMPLES_MAX
        if state == "raised" and e.first <= n < (oracle.SAMPLES_MAX if e.cleared is None else e.cleared):
            return i
        if state == "cleared" and e.cleared is not None and e.cleared <= n < after:
            return i
    return None


class _Topic:
    """The judgement of one topic."""

    def __init__(self, verdict, device):
        self.verdict, self.topic = verdict, device["topic"]
        samples = [(n, k) for n, k, *_ in device["samples"]]
        lost, again = set(device.get("lost", ())), set(device.get("again", ()))
        self.kinds = dict(samples)
        self.found = oracle.episodes(samples)
        self.again = again
        self.required = set(oracle.transitions(self.found))
        if lost:
            self.required &= set(oracle.transitions(oracle.episodes([s for s in samples if s[0] not in lost])))
            verdict.excused += len(oracle.transitions(self.found)) - len(self.required)
            if not device.get("resets"):
                verdict.stuck.append(f"{self.topic}: {len(lost)} publications")
        self.lost = lost
        verdict.expected += len(self.required)
        self.uids, self.seen, self.order = set(), set(), []  # order: (time, transition)

    def take(self, alarm):
        v = self.verdict
        if alarm["uid"] in self.uids:
            v.repeats += 1
            return
        self.uids.add(alarm["uid"])
        state, at = alarm["state"], oracle.sample_of(alarm["value"])
        kind = {"raised": oracle.ABOVE, "cleared": oracle.BELOW}.get(state)
        if at is None or at[1] != kind or self.kinds.get(at[0]) != kind:
            v.wrong.append(f"{self.topic}: {state} with value {alarm['value']}, which was not published")
            return
        self._attribute(state, at[0], alarm.get("time", ""))

    def _attribute(self, state, n, at):
        v = self.verdict
        place = _place(self.found, state, n)
        if place is None:
            if not self.lost:  # publications that were lost may join or end episodes
                v.wrong.append(f"{self.topic}: {state} by sample {n}, which no transition is due to")
            return
        e = self.found[place]
        due = e.raised if state == "raised" else e.cleared
        if n < due and not any(e.first <= a <= n for a in self.again):
            v.wrong.append(f"{self.topic}: {state} by sample {n}, {due - n} before hold was reached")
        mark = (place, state)
        if mark in self.seen:
            v.seconds.append((self.topic, state, n))
            return
        self.seen.add(mark)
        if n == due:
            v.exact += 1
        elif n > due:
            v.late.append((self.topic, state, n))
        order = place * 2 + (state == "cleared")
        v.overtaken += any(order < o for _, o in self.order)
        self.order.append((at, order))

    def _alternate(self):
        """A consumer that needs the order sorts by the time in the alarm; alarms without one are in the order of their arrival."""
        last = None
        for _, order in sorted(self.order, key=lambda o: o[0]):
            if last is not None and (order < last or (order - last) % 2 == 0):
                state = "cleared" if order % 2 else "raised"
                self.verdict.disorder.append(f"{self.topic}: {state} of episode {order // 2} after transition {last}")
            last = max(order, last or 0)

    def end(self):
        if not self.lost:
            self._alternate()
        for i, e in enumerate(self.found):
            for state, n in (("raised", e.raised), ("cleared", e.cleared)):
                if (state, n) in self.required and (i, state) not in self.seen:
                    self.verdict.missing.append((self.topic, state, n))


def judge(devices, alarms):
    """devices: [{topic, samples: [[sample, kind, ...]], lost: [sample], again: [sample], resets: [time]}]; alarms: envelopes in the order
    of their arrival, of these topics only."""
    verdict = Verdict(received=len(alarms))
    topics = {d["topic"]: _Topic(verdict, d) for d in devices}
    by_topic = defaultdict(list)
    for a in alarms:
        by_topic[a["topic"]].append(a)
    for name, got in by_topic.items():
        if name not in topics:
            verdict.wrong.append(f"{name}: no device publishes it")
            continue
        for a in got:
            topics[name].take(a)
    for t in topics.values():
        t.end()
    return verdict
