# SPDX-License-Identifier: BSD-3-Clause
"""Horizontal bars, each with one part or with several side by side, for pages of svg_chart.py.

  bars = StackedBars(0, 0, 440, 360, "title", "cycles a packet")
  bars.bar("bridge", [("port_rx", 20.8), ("port_tx", 11.7)])
  page.panels.append(bars)

The axis begins at 0. A part has the same colour in all bars, and one entry in the legend below, in the order of first
use. The sum is printed after each bar.
"""
import math
from xml.sax.saxutils import escape

from svg_chart import LinearAxis

# Twenty distinguishable neighboring colours: Tableau's, dark and light in turn.
COLOURS = ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf", "#bcbd22", "#7f7f7f",
           "#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5", "#c49c94", "#f7b6d2", "#9edae5", "#dbdb8d", "#c7c7c7"]
SEEN = 0.002  # fraction of the axis: narrower parts are not drawn


def short(value):
    """Formatted with three digits."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


class StackedBars:
    RIGHT, TOP, BOTTOM = 64, 34, 44
    ROW = 18  # of the legend
    LETTER = 6.6

    def __init__(self, x, y, width, height, title, x_label, decimals=0, colours=None, left=100):
        """decimals: of the sums; None: three significant digits. colours: {part: colour}; other parts get the next of
        COLOURS. left: space for the names of the bars."""
        self.x, self.y, self.width, self.height = x, y, width, height
        self.title, self.x_label, self.decimals = title, x_label, decimals
        self.left, self.bars = left, []
        self.colours = dict(colours or {})

    def bar(self, name, parts):
        """parts: [(name, value)], no value is negative."""
        parts = list(parts)
        if any(value < 0 for _, value in parts):
            raise ValueError(f"{name}: a part below 0 can't be drawn: {parts}")
        self.bars.append((name, parts))
        for part, _ in parts:
            self.colours.setdefault(part, COLOURS[len(self.colours) % len(COLOURS)])

    def number(self, value, more=0):
        return short(value) if self.decimals is None else f"{value:.{self.decimals + more}f}"

    def legend(self):
        """[(x, row, part)]: the parts that are drawn and have a name, from left to right in as many rows as needed."""
        drawn = [part for _, parts in self.bars for part, _ in parts if part]
        out, x, row = [], 0, 0
        for part in dict.fromkeys(drawn):
            width = 34 + self.LETTER * len(part)
            if x > 0 and x + width > self.width - 24:
                x, row = 0, row + 1
            out.append((x, row, part))
            x += width
        return out

    def svg(self):
        legend = self.legend()
        x0, y0 = self.x + self.left, self.y + self.TOP
        w = self.width - self.left - self.RIGHT
        h = self.height - self.TOP - self.BOTTOM - self.ROW * (legend[-1][1] + 1 if legend else 0)
        across = LinearAxis([sum(value for _, value in parts) for _, parts in self.bars] + [1e-9], x0, w)
        each = h / len(self.bars)
        out = [f'<text x="{self.x + self.width / 2:.1f}" y="{self.y + 20}" text-anchor="middle" font-weight="bold">'
               f'{escape(self.title)}</text>']
        for place, text in list(across.ticks())[:: 2 if across.steps > 4 and w < 300 else 1]:
            out.append(f'<path d="M{place:.1f} {y0}V{y0 + h:.1f}" stroke="#ddd"/>'
                       f'<text x="{place:.1f}" y="{y0 + h + 16:.1f}" text-anchor="middle">{text}</text>')
        for i, (name, parts) in enumerate(self.bars):
            y, at = y0 + each * (i + 0.14), 0.0
            for part, value in parts:
                left, at = across.at(at), at + value
                if across.at(at) - left >= SEEN * w:
                    out.append(f'<rect x="{left:.1f}" y="{y:.1f}" width="{across.at(at) - left:.1f}" '
                               f'height="{each * 0.72:.1f}" fill="{self.colours[part]}">'
                               f'<title>{escape(part)} {self.number(value, 1)}</title></rect>')
            middle = y + each * 0.36 + 4
            out.append(f'<text x="{x0 - 8}" y="{middle:.1f}" text-anchor="end">{escape(name)}</text>'
                       f'<text x="{across.at(at) + 5:.1f}" y="{middle:.1f}">{self.number(at)}</text>')
        out.append(f'<path d="M{x0} {y0}V{y0 + h:.1f}H{x0 + w}" fill="none" stroke="#333"/>')
        out.append(f'<text x="{x0 + w / 2:.1f}" y="{y0 + h + 34:.1f}" text-anchor="middle">'
                   f'{escape(self.x_label)}</text>')
        for x, row, part in legend:
            left, y = self.x + 12 + x, y0 + h + 56 + self.ROW * row
            out.append(f'<rect x="{left:.1f}" y="{y - 10:.1f}" width="14" height="11" fill="{self.colours[part]}"/>'
                       f'<text x="{left + 19:.1f}" y="{y:.1f}">{escape(part)}</text>')
        return out
