# SPDX-License-Identifier: BSD-3-Clause
"""Windows of rules, by docs/reference/rules.md alone."""

import math
from fractions import Fraction

PANES = 16
LARGEST = 1.7976931348623157e308
SQUARE_MAX = 1e140


def milliseconds(text):
    for unit, factor in (("ms", 1), ("s", 1000), ("m", 60000)):
        if text.endswith(unit):
            return int(text.removesuffix(unit)) * factor
    raise ValueError(text)


def clip(v):
    """Of a Fraction: the double; beyond their range the largest of its sign."""
    try:
        return float(v)
    except OverflowError:
        return LARGEST if v > 0 else -LARGEST


def exact_sum(values):
    try:
        return math.fsum(values)
    except OverflowError:
        return clip(sum(map(Fraction, values)))


def rate(timed):
    """Of (time, value) in their order; None: no result."""
    if timed[-1][0] <= timed[0][0]:
        return None
    values = [v for _, v in timed]
    increases = [max(v - before if v >= before else v, 0.0) for before, v in zip(values, values[1:])]
    increase = min(math.fsum(min(i, LARGEST) / 2**20 for i in increases) * 2**20, LARGEST)
    return min(increase / ((timed[-1][0] - timed[0][0]) / 1000), LARGEST)


def stddev(window, values):
    bound = SQUARE_MAX if "time" in window else LARGEST
    exact = [Fraction(min(max(v, -bound), bound)) for v in values]
    mean = sum(exact) / len(exact)
    mean_square = sum((v - mean) ** 2 for v in exact) / len(exact)
    scale = 2**600 if mean_square > 10**300 else 1  # squares are in the range of a double
    return math.sqrt(mean_square / scale**2) * scale


def rounded(v):
    """To 7 significant bits, half away from zero."""
    fraction, exponent = math.frexp(abs(v))  # from 1/2 to 1
    try:
        largest = math.ldexp(math.floor(fraction * 128 + 0.5), exponent - 7)
    except OverflowError:
        largest = math.ldexp(127, 1024 - 7)
    return math.copysign(largest, v)


def percentile(window, ordered):
    v = ordered[max(math.ceil(window["percentile"] * len(ordered) / 100), 1) - 1]
    return rounded(v) if "time" in window else v


def mean(values):
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        return clip(sum(map(Fraction, values)) / len(values))


def aggregate(window, timed):
    values = [v for _, v in timed]
    ordered = sorted(values)
    return {"mean": lambda: mean(values), "min": lambda: ordered[0], "max": lambda: ordered[-1],
            "sum": lambda: exact_sum(values), "count": lambda: float(len(values)), "stddev": lambda: stddev(window, values),
            "delta": lambda: clip(Fraction(values[-1]) - Fraction(values[0])), "rate": lambda: rate(timed),
            "percentile": lambda: percentile(window, ordered)}[window["function"]]()


class OfValues:
    def __init__(self, window):
        self.window, self.last = window, []

    def expire(self, _now):
        return []

    def add(self, now, value):
        """(time, result) with this value"""
        self.last.append((now, value))
        if len(self.last) < self.window["values"]:
            return []
        result = aggregate(self.window, self.last)
        if self.window.get("type") == "tumbling":
            self.last.clear()
        else:
            del self.last[0]
        return [] if result is None else [(now, result)]


class OfTime:
    """`sliding`: of 16 panes."""

    def __init__(self, window):
        self.window, self.time = window, Fraction(milliseconds(window["time"]))
        self.tumbling = window.get("type") == "tumbling"
        self.pane = self.time if self.tumbling else self.time / PANES
        self.empty_is_zero = window["function"] in ("count", "sum", "rate")
        self.begin, self.values, self.result = None, [], None
        self.end = 0          # of the newest pane
        self.follows = False  # a period with values has just ended: tumbling

    def evaluate(self):
        result = aggregate(self.window, self.values) if self.values else 0.0 if self.empty_is_zero else None
        other, self.result = result != self.result, self.result if result is None else result
        return result, other

    def period(self):
        """The end of a tumbling one."""
        empty = not self.values
        if empty and not (self.follows and self.empty_is_zero):
            self.follows = False
            return []
        result, _ = self.evaluate()
        self.values, self.follows = [], not empty
        return [] if result is None else [(float(self.end), result)]

    def leave(self):
        """The end of a pane of a sliding one: that of T before leaves."""
        self.values = [(t, v) for t, v in self.values if self.pane_of(t) > self.pane_of(self.end) - PANES]
        if not self.empty_is_zero or self.end - self.begin < self.time:
            return []
        result, other = self.evaluate()
        return [(float(self.end), result)] if result is not None and other else []

    def pane_of(self, at):
        return (at - self.begin) // self.pane

    def expire(self, now):
        """The results of ends of panes up to now."""
        out = []
        while self.begin is not None and self.end <= now:
            out += self.period() if self.tumbling else self.leave()
            self.end += self.pane
        return out

    def add(self, now, value):
        out = self.expire(now)
        if self.begin is None:
            self.begin, self.end = now, now + self.pane
        self.values.append((now, value))
        if not self.tumbling and now - self.begin >= self.time:
            result, _ = self.evaluate()
            out += [] if result is None else [(now, result)]
        return out


def window_of(spec):
    return OfValues(spec) if "values" in spec else OfTime(spec)
