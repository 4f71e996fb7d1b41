# SPDX-License-Identifier: BSD-3-Clause
"""The report of the soak test: report.json, report.md, and a chart of each gauge."""

import json
import statistics
import time

from gauges import growing
from svg_chart import STEPS, Page

WIDTH, HEIGHT, COLUMNS = 430, 300, 3
SCALE = {"kib": (1024, "MiB"), "bytes": (1 << 20, "MiB")}


class Report:
    def __init__(self, directory, seed):
        directory.mkdir(parents=True, exist_ok=True)
        self.dir, self.seed, self.began = directory, seed, time.monotonic()
        self.readings, self.faults = [], []

    def now(self):
        return time.monotonic() - self.began

    def add_reading(self, gauges):
        if not self.readings:
            self.pages = gauges["hugepages used"][1]
        unit, value = gauges["hugepages used"]
        self.readings.append((self.now(), {**gauges, "hugepages used": (unit, value - self.pages)}))

    def add_fault(self, name, seconds):
        self.faults.append((self.now(), name, seconds))

    def write(self, totals, error=None):
        if not self.readings:
            return
        rows = [r for _, r in self.readings]
        grown = growing(rows)
        (self.dir / "report.json").write_text(json.dumps({
            "seed": self.seed, "seconds": round(self.now()), "error": error, "totals": totals, "growing": grown,
            "faults": [{"second": round(t), "fault": n, "took_s": round(s, 1)} for t, n, s in self.faults],
            "readings": [{"second": round(t), **{n: v for n, (_, v) in r.items()}} for t, r in self.readings]}, indent=1) + "\n")
        (self.dir / "report.md").write_text("\n".join(self._markdown(rows, totals, grown, error)) + "\n")
        if len(rows) > 1:
            self._draw()

    def _markdown(self, rows, totals, grown, error):
        yield f"# Soak test\n\n{self.now() / 3600:.2f} h, seed {self.seed}: {error or 'no failure'}.\n"
        yield "| total | |\n| --- | --- |"
        yield from (f"| {n.replace('_', ' ')} | {v} |" for n, v in totals.items())
        yield "\n| fault | times | until forwarding and ready, s, median | most |\n| --- | --- | --- | --- |"
        for name in sorted({n for _, n, _ in self.faults}):
            took = [s for _, n, s in self.faults if n == name]
            yield f"| {name} | {len(took)} | {statistics.median(took):.1f} | {max(took):.1f} |"
        yield "\n| gauge | first | last | most | |\n| --- | --- | --- | --- | --- |"
        for name, (unit, first) in rows[0].items():
            values = [r[name][1] for r in rows if name in r]
            word = "grows" if any(n == name for n, _, _ in grown) else "flat" if len(rows) >= 10 else "too few readings"
            yield f"| {name} ({unit}) | {first} | {values[-1]} | {max(values)} | {word} |"

    def _draw(self):
        names = list(self.readings[0][1])
        lines = -(-len(names) // COLUMNS)
        page = Page(COLUMNS * WIDTH, lines * HEIGHT, "what has to stay flat")
        hours = self.now() > 7200
        for i, name in enumerate(names):
            unit = self.readings[0][1][name][0]
            by, unit = SCALE.get(unit, (1, unit))
            points = [(t / (3600 if hours else 60), max(r[name][1], 0) / by) for t, r in self.readings if name in r]
            panel = page.panel(i % COLUMNS * WIDTH, i // COLUMNS * HEIGHT, WIDTH, HEIGHT, title=name,
                               x_label="hours" if hours else "minutes", y_label=unit)
            panel.line(name, points, STEPS[3])
        page.write(self.dir / "gauges.svg")
