# SPDX-License-Identifier: BSD-3-Clause
"""Throughput of one system: NDR and PDR by MLRsearch (RFC 9971), and the latency at parts of the PDR.

    search.py --case CASE --system SYSTEM --output FILE [OPTIONS] -- PACKET_LOAD [ARGUMENTS]

The package MLRsearch selects the loads. bench/peers/packet_load measures each trial; its command line, without
rate, duration and frame size, follows "--". Each search appends one JSON object to FILE, with all trials.
"""

import argparse
import dataclasses
import json
import subprocess
import sys
import time

try:
    from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal
except ImportError:
    sys.exit("search.py: the Python package MLRsearch is missing; scripts/setup installs it in build-venv")

LATENCY = ("median_us", "p99_us", "p999_us", "max_us")
# Of each trial in the result, in this order.
TRIAL_FIELDS = ("load", "duration_s", "intended", "sent", "arrived", "sender_max_late_us", *LATENCY)
PERCENTS = (10, 50, 90)  # of the PDR
SAMPLES = 50_000  # latencies of a trial, at most
TRIAL_TIMEOUT_S = 60  # beyond the duration of the trial
EXPECTED_TRIALS = 15  # of a search, for the remaining time of the first one
TRIAL_OVERHEAD_S = 0.6


class MeasurementError(Exception):
    """A trial that gave no result."""


class SearchError(Exception):
    """A search that found no result in time, with trials that are of use."""


class Generator(AbstractMeasurer):
    """Measures a trial with packet_load."""

    def __init__(self, command, size, on_trial=lambda trial: None):
        self.command = command
        self.size = size
        self.on_trial = on_trial
        self.trials = []

    def run(self, load, duration):
        """The JSON object of one trial."""
        every = 1
        while load * duration / every > SAMPLES:
            every *= 2
        command = [*self.command, "-o", "-r", f"{load:.3f}", "-t", f"{duration:.6f}", "-z", str(self.size), "-n", str(every)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=duration + TRIAL_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise MeasurementError(f"the generator did not end within {duration + TRIAL_TIMEOUT_S:.0f} s") from None
        except OSError as e:
            raise MeasurementError(f"{command[0]}: {e.strerror}") from None
        if done.returncode != 0:
            raise MeasurementError(f"the generator failed (exit status {done.returncode}): {done.stderr.strip() or 'no message'}")
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise MeasurementError(f"the generator printed no JSON object: {done.stdout[:200]!r}") from None

    def trial(self, load, duration):
        """One trial as a dictionary of TRIAL_FIELDS."""
        out = self.run(load, duration)
        latency = out.get("latency") or {}
        try:
            trial = {"load": round(load, 3), "duration_s": duration, "intended": out["intended"], "sent": out["sent"],
                     "arrived": out["arrived"], "sender_max_late_us": out["sender_max_late_us"]}
        except KeyError as e:
            raise MeasurementError(f"the generator printed no member {e}") from None
        trial |= {name: latency.get(name) for name in LATENCY}
        self.trials.append(trial)
        self.on_trial(trial)
        return trial

    def measure(self, intended_duration, intended_load):
        t = self.trial(intended_load, intended_duration)
        # frames that the generator could not send count as lost
        return MeasurementResult(intended_duration=intended_duration, intended_load=intended_load, intended_count=t["intended"],
                                 offered_count=t["sent"], forwarding_count=t["arrived"])


def loss_ratio(trial):
    return max(0, trial["intended"] - trial["arrived"]) / trial["intended"] if trial["intended"] else 0.0


def goals(o):
    """The goal of NDR and that of PDR."""
    ndr = SearchGoal(loss_ratio=0.0, exceed_ratio=o.exceed_ratio, relative_width=o.width, initial_trial_duration=o.initial_trial,
                     final_trial_duration=o.trial, duration_sum=o.duration_sum, preceding_targets=2, expansion_coefficient=4,
                     fail_fast=False)
    return ndr, dataclasses.replace(ndr, loss_ratio=0.005)


NO_RESULT = {"throughput": None, "lower_bound": None, "upper_bound": None}


def goal_result(result):
    """Frames/s; None: not found between the minimum and the maximum load."""
    def load(x):
        return None if x is None else round(float(x), 1)
    return {"throughput": load(result.conditional_throughput), "lower_bound": load(result.relevant_lower_bound),
            "upper_bound": load(result.relevant_upper_bound)}


def latency_at(measurer, pdr, percent, duration, publishes):
    """Latency at a part of the PDR. With `publishes`, also the share of the messages that were inspected."""
    before = publishes() if publishes else None
    trial = measurer.trial(pdr * percent / 100, duration)
    found = {"percent": percent, "load": trial["load"], "loss_ratio": loss_ratio(trial), **{n: trial[n] for n in LATENCY}}
    if publishes:
        found["inspected"] = round((publishes() - before) / trial["sent"], 4) if trial["sent"] else None
    return found


def search(measurer, o, publishes=None):
    """NDR, PDR and latencies. MeasurementError: a trial failed; SearchError: the search did not end in time."""
    ndr, pdr = goals(o)
    config = Config(goals=[ndr, pdr], min_load=o.min_load, max_load=o.max_load, search_duration_max=o.timeout,
                    warmup_duration=None)
    began = time.monotonic()
    try:
        found = MultipleLossRatioSearch(config=config).search(measurer=measurer, debug=lambda _: None)
    except RuntimeError as e:
        raise SearchError(f"the search failed after {time.monotonic() - began:.0f} s: {e}") from None
    result = {"ndr": goal_result(found[ndr]), "pdr": goal_result(found[pdr]), "search_s": round(time.monotonic() - began, 1)}
    at = result["pdr"]["throughput"]
    result["latency"] = [latency_at(measurer, at, p, o.trial, publishes) for p in PERCENTS] if at else []
    return result


def publishes_of(o):
    """A function that reads how many PUBLISH biplane has inspected."""
    def read():
        command = [o.biplane, "show", "counters", "--json", "-c", o.config]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MeasurementError(f"biplane show counters failed: {done.stderr.strip()}")
        return sum(c["count"] for c in json.loads(done.stdout)["counters"] if c["name"] == "publishes")
    return read if o.config else None


class Progress:
    """Lines on standard error; on a terminal also the current trial."""

    def __init__(self, o):
        self.o, self.out, self.done = o, sys.stderr, o.position
        self.began = o.began or time.time()
        self.live = self.out.isatty()

    def remaining(self):
        if self.done > 0:
            each = (time.time() - self.began) / self.done
        else:
            each = EXPECTED_TRIALS * (self.o.trial + TRIAL_OVERHEAD_S)
        s = each * (self.o.total - self.done)
        return f"about {s:.0f} s left" if s < 90 else f"about {s / 60:.0f} min left"

    def begin(self, what):
        print(f"ndr: {what} ({self.done + 1} of {self.o.total}); {self.remaining()}", file=self.out, flush=True)

    def trial(self, t):
        if self.live:
            print(f"\r\033[K  {t['load']:,.0f} frames/s: loss {100 * loss_ratio(t):.3f} %", end="", file=self.out, flush=True)

    def end(self, what, result):
        self.done += 1
        if self.live:
            print("\r\033[K", end="", file=self.out)
        rates = [f"{name.upper()} {result[name]['throughput'] or 0:,.0f}/s" for name in ("ndr", "pdr")]
        print(f"ndr: {what}: {', '.join(rates)}", file=self.out, flush=True)


def arguments(argv):
    p = argparse.ArgumentParser(prog="search.py", description=__doc__.splitlines()[0])
    p.add_argument("--case", required=True)
    p.add_argument("--system", required=True)
    p.add_argument("--sizes", default="64,128,512,1518", help="frame sizes in bytes, with the frame check sequence")
    p.add_argument("--round", type=int, default=1)
    p.add_argument("--output", required=True, help="file to which the results are appended, one JSON object per line")
    p.add_argument("--trial", type=float, default=1.0, help="final trial duration, s")
    p.add_argument("--initial-trial", type=float, help="initial trial duration, s; default: a fifth of --trial")
    p.add_argument("--duration-sum", type=float, help="duration sum of a goal, s; default: five times --trial")
    p.add_argument("--width", type=float, default=0.01, help="goal width, relative")
    p.add_argument("--exceed-ratio", type=float, default=0.5)
    p.add_argument("--min-load", type=float, default=1000, help="frames/s")
    p.add_argument("--max-load", type=float, default=5e6, help="frames/s")
    p.add_argument("--timeout", type=float, default=1200, help="of a search, s")
    p.add_argument("--biplane", default="biplane", help="program that reads the counters")
    p.add_argument("--config", help="configuration of a gateway whose inspected PUBLISH are counted")
    p.add_argument("--position", type=int, default=0, help="searches that are done")
    p.add_argument("--total", type=int, help="searches in all")
    p.add_argument("--began", type=float, help="time of the first search, seconds since the epoch")
    p.add_argument("generator", nargs="+", help="command of the generator")
    o = p.parse_args(argv)
    try:
        o.sizes = [int(s) for s in o.sizes.split(",")]
    except ValueError:
        p.error(f"--sizes {o.sizes}: expected numbers with commas between them")
    if not 0 < o.trial or not 0 < o.width < 1 or not 0 < o.min_load < o.max_load:
        p.error("--trial, --width or the loads are out of range")
    o.initial_trial = o.initial_trial or o.trial / 5
    o.duration_sum = o.duration_sum or 5 * o.trial
    o.total = o.total or o.position + len(o.sizes)
    return o


def main(argv):
    o = arguments(argv)
    progress = Progress(o)
    for size in o.sizes:
        what = f"{o.case}, {o.system}, {size} bytes"
        progress.begin(what)
        measurer = Generator(o.generator, size, progress.trial)
        try:
            result = search(measurer, o, publishes_of(o))
        except SearchError as e:  # the other sizes and systems are measured
            result = {"ndr": NO_RESULT, "pdr": NO_RESULT, "latency": [], "failed": str(e)}
            print(f"search.py: {what}: {e}", file=sys.stderr)
        except MeasurementError as e:
            print(f"search.py: {what}: {e}", file=sys.stderr)
            return 1
        progress.end(what, result)
        result = {"case": o.case, "system": o.system, "size": size, "round": o.round, **result,
                  "trials": [[t[name] for name in TRIAL_FIELDS] for t in measurer.trials]}
        with open(o.output, "a", encoding="utf-8") as f:
            f.write(json.dumps(result) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
