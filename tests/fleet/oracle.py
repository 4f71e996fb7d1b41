# SPDX-License-Identifier: BSD-3-Clause
"""The alarms that must exist, computed from the publishers' log alone: nothing here is code of the gateway.

A topic has samples 0, 1, 2, ... A value says its sample: BASE[kind] + sample / 1e6. An alarm has the value of the
publication that raised or cleared it, so it says by itself which sample that was."""

from dataclasses import dataclass

ABOVE, BETWEEN, BELOW = "above", "between", "below"
BASE = {ABOVE: 81.0, BETWEEN: 77.0, BELOW: 20.0}  # for raise: above 80, clear: below 75
HOLD = 3
SAMPLES_MAX = 1_000_000

# The values of a cycle: one raise, one clear, and twice in a row above the threshold, which is less than the hold.
CYCLE = [ABOVE] * 9 + [BETWEEN] + [BELOW] * 4 + [ABOVE] * 2 + [BELOW] * 4


def value_of(sample, kind):
    assert 0 <= sample < SAMPLES_MAX
    return f"{BASE[kind] + sample / SAMPLES_MAX:.6f}"


def sample_of(value):
    """(sample, kind) of a value, or None."""
    for kind, base in BASE.items():
        if base - 0.5e-6 <= value < base + 1 - 0.5e-6:
            return round((value - base) * SAMPLES_MAX), kind
    return None


@dataclass(frozen=True)
class Episode:
    """One raise and its clear. Samples: the first of the run, the one that raises, and the one that clears (or None)."""
    first: int
    raised: int
    cleared: int | None


def episodes(samples, hold=HOLD):
    """samples: [(sample, kind)] in the order of publication."""
    out, run, raised = [], [], None
    for n, kind in samples:
        if raised is None:
            run = [*run, n] if kind == ABOVE else []
            if len(run) == hold:
                raised = (run[0], n)
        elif kind == BELOW:
            out.append(Episode(*raised, n))
            run, raised = [], None
    if raised is not None:
        out.append(Episode(*raised, None))
    return out


def transitions(found):
    """[(state, sample)] that the episodes make."""
    return [t for e in found for t in (("raised", e.raised), ("cleared", e.cleared)) if t[1] is not None]
