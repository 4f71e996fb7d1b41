# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of the fleet test: one fault under load, its figures, and what they violate."""

import json
import os
import statistics
import time
from pathlib import Path

from fleet_lab import EDGE, REPEATS_MAX, Watch
from health_load import HealthLoad
from lab import wait_until
from under_load import Load, judged

BFD_INTERVAL = float(os.environ.get("BP_BFD_MS", "100")) / 1000
GAP_MAX = 3 * BFD_INTERVAL + 1
READ_AGAIN = 0.99  # share of the moved connections


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


class Round:
    """One fault under load, and what it did."""

    def __init__(self, lab, consumer, fault, number, options, directory):
        self.lab, self.consumer, self.fault, self.o, self.number, self.directory = lab, consumer, fault, options, number, directory
        self.prefix, self.victim = f"r{number}x", lab.names[number % len(lab.names)]
        self.log_file = directory / f"round-{number}.json"
        self.times = {}

    def run(self):
        health = None
        self._use_ports()
        load = Load(self.lab, "dev", self.lab.broker, self.log_file, self.prefix, self.o.connections, self.o.rate)
        try:
            if self.o.health_devices:
                health = HealthLoad(self.lab, self.directory, self.number, self.o.health_devices, self.o.health_rate, EDGE)
                health.wait()
            self._warm_up()
            watch = Watch(self.lab)
            watch.begin()
            self.times["fault"] = time.time()
            self.fault.inject(self.lab, self.victim)
            self.times["injected"] = time.time()
            time.sleep(self.o.hold)
            self.times["heal"] = time.time()
            self.fault.heal(self.lab, self.victim)
            self.times["healed"] = time.time()
            time.sleep(self.o.after)
            watch.end()
            log = load.stop()
            stored = health.stop() if health else None
        finally:
            load.kill()
            if health:
                health.kill()
        result = self._figures(log, judged(log, self.consumer, self.prefix, self.o.settled), watch)
        self._add(result, "health", stored, stored and stored.failures())
        if self.o.keep:
            self._keep(log, watch, result)
        if self.lab.kafka:
            verdict = judged(log, self.lab.kafka, self.prefix, self.o.settled)
            self._add(result, "kafka", verdict, [f"Kafka: {f}" for f in verdict.failures(REPEATS_MAX)])
        return result

    def _keep(self, log, watch, result):
        """All that the round was judged by."""
        place = Path(self.o.keep)
        place.mkdir(parents=True, exist_ok=True)
        alarms = [[t, json.loads(payload)] for t, (topic, payload) in zip(self.consumer.times, list(self.consumer.messages))
                  if topic.startswith(f"alarm/plant/{self.prefix}")]
        (place / f"{self.fault.name}-{self.number}.json").write_text(json.dumps(
            {"result": result, "times": self.times, "devices": log["devices"], "moves": watch.moves, "alarms": alarms}))

    @staticmethod
    def _add(result, name, verdict, failures):
        """Another verdict of the round; None: not in the test."""
        result[name] = verdict and verdict.summary()
        if verdict:
            result["failures"] += failures
            result["examples"] |= {f"{name} {k}": list(map(str, v[:5])) for k, v in vars(verdict).items() if isinstance(v, list) and v}

    def _use_ports(self):
        """Other TCP ports than the rounds before: a gateway does not inspect the first segments of a connection whose ports it
        knows of one that has moved away."""
        first = 10000 + 1000 * (self.number % 50)
        self.lab.run("dev", "sysctl", "-qw", f"net.ipv4.ip_local_port_range={first} {first + 999}")

    def _warm_up(self):
        """All connections are inspected, and alarms have arrived."""
        def read():
            return self.lab.inspected(self.prefix)
        if read() is not None:
            try:
                wait_until("all connections to be inspected", lambda: read() >= self.o.connections, self.o.warm_up, 0.2)
            except AssertionError:
                say(f"only {read()} of {self.o.connections} connections are inspected before the fault")
        wait_until("alarms", lambda: len(self.consumer.alarms(self.prefix)) > 10, 30, 0.2)

    def _figures(self, log, verdict, watch):
        devices = log["devices"]
        interval = self.o.connections / self.o.rate
        # by the fault, not by its end: then the first gateway gets its connections back
        clients = {c for d in devices for c in d["clients"]}
        moves = [m for m in watch.moves if m["at"] < self.times["heal"] and m["client"] in clients]
        moved = {m["client"] for m in moves}
        unread = [m["read"] - m["at"] for m in moves if m["read"] is not None]
        soon = sum(u <= interval + watch.every for u in unread)
        gaps = sorted(d["gap"] for d in devices)
        return {
            "fault": self.fault.name, "victim": self.victim, "seconds": log["seconds"], "verdict": verdict.summary(),
            "publications": sum(len(d["samples"]) for d in devices), "resets": sum(len(d["resets"]) for d in devices),
            "gap_median": statistics.median(gaps), "gap_p99": gaps[int(0.99 * (len(gaps) - 1))], "gap_max": gaps[-1],
            "moved": len(moved), "read_again": len(unread), "read_soon": soon, "adopted": sum(m["adopted"] for m in moves),
            "unread_median": statistics.median(unread) if unread else None, "unread_max": max(unread, default=None),
            "lag_max": watch.lag, "counted": watch.counted(), "injection": self.times["injected"] - self.times["fault"],
            "failures": self._failures(verdict, devices, gaps[-1], len(moves), soon),
            "missing_when": self._missing_when(verdict, devices),
            "examples": {k: list(map(str, v[:5])) for k, v in vars(verdict).items() if isinstance(v, list) and v},
        }

    def _missing_when(self, verdict, devices):
        """Missing alarms by the phase in which they were due, and by the version of MQTT."""
        by_topic = {d["topic"]: d for d in devices}
        out = {}
        for topic, _, n in verdict.missing:
            at = by_topic[topic]["samples"][n][2]
            phase = "before" if at < self.times["fault"] else "during" if at < self.times["heal"] else "after"
            key = f"{phase}, MQTT {'3.1.1' if by_topic[topic]['version'] == 4 else '5'}"
            out[key] = out.get(key, 0) + 1
        return out

    def _failures(self, verdict, devices, gap, moves, soon):
        out = verdict.failures(REPEATS_MAX)
        resets = sum(len(d["resets"]) for d in devices)
        if resets:
            out.append(f"{resets} TCP connections reset")
        if gap > GAP_MAX * self.o.patience:
            out.append(f"gap of {gap:.2f} s in forwarding, allowed are {GAP_MAX * self.o.patience:.2f} s")
        if self.fault.moves and not moves:
            out.append("no connection moved to another gateway")
        if soon < READ_AGAIN * moves:
            out.append(f"{soon} of {moves} moved connections were read again within one publish interval")
        return out


COLUMNS = (("fault", "fault"), ("rounds", "rounds"), ("expected", "alarms"), ("missing", "missing"), ("repeats", "repeated"),
           ("seconds", "second"), ("disorder", "order"), ("overtaken", "overtaken"), ("wrong", "wrong"), ("late", "late"), ("resets", "resets"),
           ("gap_median", "gap, s"), ("gap_max", "max"), ("moved", "moved"), ("read_soon", "read soon"), ("read_again", "read"),
           ("adopted", "adopted"), ("unread_median", "unread, s"), ("unread_max", "max"), ("lag_max", "lag, s"), ("reports", "reports"),
           ("associations_again", "associated"), ("stored_again", "stored again"))


def row(name, rounds, consumer="verdict"):
    """The rounds of a fault in one row of the table, with the alarms that a consumer received."""
    def total(key):
        return sum(r[consumer][key] for r in rounds)

    def figure(key, f):
        values = [r[key] for r in rounds if r[key] is not None]
        return f"{f(values):.2f}" if values else "-"
    out = {k: total(k) for k in ("expected", "missing", "repeats", "seconds", "disorder", "overtaken", "wrong", "late")}
    out |= {k: sum(r[k] for r in rounds) for k in ("resets", "moved", "read_soon", "read_again", "adopted")}
    health = [r["health"] for r in rounds if r.get("health")]
    out |= {"reports": sum(h["reports"] for h in health), "associations_again": sum(h["associations_again"] for h in health),
            "stored_again": sum(h["repeats"] for h in health)}
    return out | {"fault": name, "rounds": len(rounds), "gap_median": figure("gap_median", statistics.median),
                  "gap_max": figure("gap_max", max), "unread_median": figure("unread_median", statistics.median),
                  "unread_max": figure("unread_max", max), "lag_max": figure("lag_max", max)}


def table(results):
    """All faults, aligned."""
    names = list(dict.fromkeys(r["fault"] for r in results))
    rows = [[title for _, title in COLUMNS]]
    for name in names:
        of_fault = [r for r in results if r["fault"] == name]
        cells = [row(name, of_fault)]
        if all(r.get("kafka") for r in of_fault):
            cells.append(row(f"{name}: Kafka", of_fault, "kafka"))
        rows += [[str(c[k]) for k, _ in COLUMNS] for c in cells]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(r, widths))) for r in rows)
