# SPDX-License-Identifier: BSD-3-Clause
"""Panels with logarithmic axes, for pages of svg_chart.py: lines, and bars drawn on top of each other.

  page.panels.append(LogLines(0, 0, 440, 360, "title", "x", "y"))
  page.panels[-1].line("vector", [(x, y), ...], colour)
  page.panels[-1].points("paper", [(x, y), ...], colour)
  page.panels.append(LogBars(0, 0, 440, 360, "title", "x"))
  page.panels[-1].bar("vector", light=30.1, dark=2.9)
  page.panels[-1].mark("required time", 1e6)

Axes range from the power of ten below all values to the one above.
"""
import math
from xml.sax.saxutils import escape


def decades(values):
    """The exponents of the powers of ten around the values."""
    return math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)


def power(exponent, unit=""):
    """1, 10, 100, 1 k, ... with a unit."""
    letter = {0: "", 1: " k", 2: " M", 3: " G"}[exponent // 3] if exponent >= 0 else ""
    return f"{10 ** (exponent % 3) if exponent >= 0 else 10 ** exponent:g}{letter}{unit}"


def diamond(x, y, colour):
    """Hollow, so that points below it are visible."""
    return f'<path d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5 -5z" fill="#fff" fill-opacity="0.6" stroke="{colour}" stroke-width="1.6"/>'


class LogAxis:
    def __init__(self, values, start, length):
        self.low, self.high = decades(values)
        self.high = max(self.high, self.low + 1)
        self.start, self.length = start, length

    def at(self, value):
        return self.start + self.length * (math.log10(value) - self.low) / (self.high - self.low)

    def ticks(self):
        """(position, exponent) of the powers of ten, and (position, None) of the minor ticks."""
        for exponent in range(self.low, self.high + 1):
            yield self.at(10 ** exponent), exponent
            if exponent < self.high:
                for step in range(2, 10):
                    yield self.at(step * 10 ** exponent), None


class LogLines:
    LEFT, RIGHT, TOP, BOTTOM = 66, 16, 34, 48

    def __init__(self, x, y, width, height, title, x_label, y_label, aside=110):
        self.x, self.y, self.width, self.height, self.aside = x, y, width, height, aside
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self.lines, self.single = [], []

    def line(self, name, points, colour, dashed=False):
        self.lines.append((name, sorted(points), colour, dashed))

    def points(self, name, points, colour):
        """Figures from another source: diamonds, without a line between them."""
        self.single.append((name, points, colour))

    def svg(self):
        x0, y0 = self.x + self.LEFT, self.y + self.TOP
        w, h = self.width - self.LEFT - self.RIGHT - self.aside, self.height - self.TOP - self.BOTTOM
        everything = [v for line in self.lines + self.single for point in line[1] for v in point]
        across = LogAxis(everything, x0, w)
        up = LogAxis(everything, y0 + h, -h)
        out = [f'<text x="{x0 + w / 2:.1f}" y="{self.y + 20}" text-anchor="middle" font-weight="bold">'
               f'{escape(self.title)}</text>']
        for place, exponent in across.ticks():
            out.append(f'<path d="M{place:.1f} {y0}V{y0 + h}" stroke="{"#eee" if exponent is None else "#ccc"}"/>')
            if exponent is not None:
                out.append(f'<text x="{place:.1f}" y="{y0 + h + 16}" text-anchor="middle">{power(exponent)}</text>')
        for place, exponent in up.ticks():
            out.append(f'<path d="M{x0} {place:.1f}H{x0 + w}" stroke="{"#eee" if exponent is None else "#ccc"}"/>')
            if exponent is not None:
                out.append(f'<text x="{x0 - 6}" y="{place + 4:.1f}" text-anchor="end">{power(exponent)}</text>')
        out.append(f'<path d="M{x0} {y0 + h}L{x0 + w} {y0}" stroke="#999" stroke-dasharray="2 3"/>')
        out.append(f'<path d="M{x0} {y0}V{y0 + h}H{x0 + w}" fill="none" stroke="#333"/>')
        out.append(f'<text x="{x0 + w / 2:.1f}" y="{y0 + h + 36}" text-anchor="middle">{escape(self.x_label)}</text>')
        out.append(f'<text transform="translate({self.x + 16} {y0 + h / 2:.1f}) rotate(-90)" '
                   f'text-anchor="middle">{escape(self.y_label)}</text>')
        for _, points, colour, dashed in self.lines:
            places = [f"{across.at(px):.1f} {up.at(py):.1f}" for px, py in points]
            dash = ' stroke-dasharray="5 4"' if dashed else ""
            out.append(f'<path d="M{"L".join(places)}" fill="none" stroke="{colour}" stroke-width="1.8"{dash}/>')
            out += [f'<circle cx="{p.split()[0]}" cy="{p.split()[1]}" r="2.2" fill="{colour}"/>' for p in places]
        for i, (name, _, colour, dashed) in enumerate(sorted(self.lines, key=lambda n: -n[1][-1][1])):
            dash = ' stroke-dasharray="5 4"' if dashed else ""
            x, y = x0 + w + 14, y0 + 16 + 16 * i
            out.append(f'<path d="M{x} {y - 4}h22" stroke="{colour}" stroke-width="1.8"{dash}/>'
                       f'<text x="{x + 28}" y="{y}">{escape(name)}</text>')
        for i, (name, points, colour) in enumerate(self.single, len(self.lines)):
            x, y = x0 + w + 14, y0 + 16 + 16 * i
            out += [diamond(across.at(px), up.at(py), colour) for px, py in points]
            out.append(diamond(x + 11, y - 4, colour) + f'<text x="{x + 28}" y="{y}">{escape(name)}</text>')
        return out


class LogBars:
    """Horizontal bars; the dark part of each is drawn over its light one, and begins at the same position."""
    LEFT, RIGHT, TOP, BOTTOM = 144, 60, 34, 64
    DARK, LIGHT = "#365c8d", "#a9c4de"

    def __init__(self, x, y, width, height, title, x_label, dark, light):
        """dark, light: names of the parts, for the legend."""
        self.x, self.y, self.width, self.height = x, y, width, height
        self.title, self.x_label, self.dark, self.light = title, x_label, dark, light
        self.bars, self.marks = [], []

    def bar(self, name, light, dark):
        self.bars.append((name, light, dark))

    def mark(self, name, value):
        """A vertical line, with its name next to it."""
        self.marks.append((name, value))

    def svg(self):
        x0, y0 = self.x + self.LEFT, self.y + self.TOP
        w, h = self.width - self.LEFT - self.RIGHT, self.height - self.TOP - self.BOTTOM
        across = LogAxis([v for bar in self.bars for v in bar[1:]] + [m[1] for m in self.marks], x0, w)
        each = h / len(self.bars)
        out = [f'<text x="{self.x + self.width / 2:.1f}" y="{self.y + 20}" text-anchor="middle" font-weight="bold">'
               f'{escape(self.title)}</text>']
        for place, exponent in across.ticks():
            out.append(f'<path d="M{place:.1f} {y0}V{y0 + h}" stroke="{"#eee" if exponent is None else "#ccc"}"/>')
            if exponent is not None:
                out.append(f'<text x="{place:.1f}" y="{y0 + h + 16}" text-anchor="middle">{power(exponent)}</text>')
        for i, (name, light, dark) in enumerate(self.bars):
            y = y0 + each * (i + 0.15)
            for value, colour in ((light, self.LIGHT), (dark, self.DARK)):
                out.append(f'<rect x="{x0}" y="{y:.1f}" width="{across.at(value) - x0:.1f}" '
                           f'height="{each * 0.7:.1f}" fill="{colour}"/>')
            middle = y + each * 0.35 + 4
            out.append(f'<text x="{x0 - 8}" y="{middle:.1f}" text-anchor="end">{escape(name)}</text>')
            out.append(f'<text x="{across.at(max(light, dark)) + 5:.1f}" y="{middle:.1f}">{light:.0f}</text>')
        for name, value in self.marks:
            place = across.at(value)
            out.append(f'<path d="M{place:.1f} {y0}V{y0 + h}" stroke="#b0413e" stroke-width="1.6" stroke-dasharray="5 4"/>'
                       f'<text x="{place - 6:.1f}" y="{y0 + 14}" text-anchor="end" fill="#b0413e">{escape(name)}</text>')
        out.append(f'<path d="M{x0} {y0}V{y0 + h}H{x0 + w}" fill="none" stroke="#333"/>')
        out.append(f'<text x="{x0 + w / 2:.1f}" y="{y0 + h + 34}" text-anchor="middle">{escape(self.x_label)}</text>')
        for i, (colour, text) in enumerate(((self.DARK, self.dark), (self.LIGHT, self.light))):
            x, y = x0 + i * w / 2, y0 + h + 54
            out.append(f'<rect x="{x:.1f}" y="{y - 10}" width="14" height="11" fill="{colour}"/>'
                       f'<text x="{x + 20:.1f}" y="{y}">{escape(text)}</text>')
        return out
