# SPDX-License-Identifier: BSD-3-Clause
"""Line charts as SVG, for the pictures in docs/: no library beyond Python's own.

    page = Page(2 * 430, 340, "what it shows")
    panel = page.panel(0, 0, 430, 340, title="...", x_label="...", y_label="...")
    panel.line("N = 1", [(x, y), ...], colour)
    panel.points("paper", [(x, y), ...], colour)
    page.write(path)

Axes begin at 0 and end at a round number above all points; either may be logarithmic.
"""
import math
from xml.sax.saxutils import escape

from svg_log import LogAxis, diamond, power

# Eight steps from dark to light that colour-blind readers can distinguish (viridis).
STEPS = ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#9fda3a", "#d9bd0a"]


def round_step(most, ticks):
    """A step of 1, 2 or 5 times a power of ten that reaches `most` in about `ticks` steps."""
    raw = most / ticks
    ten = 10 ** math.floor(math.log10(raw))
    return next(f * ten for f in (1, 2, 5, 10) if f * ten >= raw * 0.999)


def number(v):
    return f"{v:.10g}"


class LinearAxis:
    """A linear axis from 0, with the interface of LogAxis."""

    def __init__(self, values, start, length):
        most = max(values) or 1
        self.step = round_step(most, 6)
        self.steps = math.ceil(most / self.step - 1e-9)
        self.start, self.length = start, length

    def at(self, value):
        return self.start + self.length * value / (self.step * self.steps)

    def ticks(self):
        """(position, label) of the ticks"""
        for i in range(self.steps + 1):
            yield self.at(i * self.step), number(i * self.step)


class Panel:
    LEFT, RIGHT, TOP, BOTTOM = 70, 16, 34, 48

    def __init__(self, x, y, width, height, title, x_label, y_label, marks=True, aside=0, log=False,
                 log_across=False, right=False):
        """aside: fraction of the width, at the right, for the legend; 0: the legend is above the lines, at the left, or
        at the right if selected. log, log_across: the vertical or horizontal axis is logarithmic, from one power of
        ten to another."""
        self.x, self.y, self.width, self.height = x, y, width, height
        self.title, self.x_label, self.y_label, self.marks = title, x_label, y_label, marks
        self.aside, self.log, self.log_across, self.right = aside, log, log_across, right
        self.lines, self.single = [], []

    def line(self, name, points, colour, dashed=False, width=1.8):
        """name: in the legend; an empty name has no entry."""
        self.lines.append((name, sorted(points), colour, dashed, width))

    def points(self, name, points, colour):
        """Figures from another source: diamonds, without a line between them."""
        self.single.append((name, sorted(points), colour))

    def svg(self):
        x0, y0 = self.x + self.LEFT, self.y + self.TOP
        w, h = self.width - self.LEFT - self.RIGHT - self.aside, self.height - self.TOP - self.BOTTOM
        drawn = [p for line in self.lines + self.single for p in line[1]]
        across = (LogAxis if self.log_across else LinearAxis)([p[0] for p in drawn], x0, w)
        up = (LogAxis if self.log else LinearAxis)([p[1] for p in drawn], y0 + h, -h)

        def at(px, py):
            return f"{across.at(px):.1f}", f"{up.at(py):.1f}"

        out = [f'<text x="{x0 + w / 2:.1f}" y="{self.y + 20}" text-anchor="middle" font-weight="bold">'
               f'{escape(self.title)}</text>']
        for x, text in across.ticks():
            if self.log_across:
                text = "" if text is None else power(text)
            out.append(f'<path d="M{x:.1f} {y0}V{y0 + h}" stroke="#ddd"/>'
                       f'<text x="{x:.1f}" y="{y0 + h + 16}" text-anchor="middle">{text}</text>')
        for y, text in up.ticks():
            if self.log:
                text = "" if text is None else number(10 ** text)
            out.append(f'<path d="M{x0} {y:.1f}H{x0 + w}" stroke="{"#ddd" if text else "#eee"}"/>')
            if text:
                out.append(f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
        out.append(f'<path d="M{x0} {y0}V{y0 + h}H{x0 + w}" fill="none" stroke="#333"/>')
        out.append(f'<text x="{x0 + w / 2:.1f}" y="{y0 + h + 36}" text-anchor="middle">{escape(self.x_label)}</text>')
        out.append(f'<text transform="translate({self.x + 16} {y0 + h / 2:.1f}) rotate(-90)" '
                   f'text-anchor="middle">{escape(self.y_label)}</text>')
        for _, points, colour, dashed, width in self.lines:
            path = "L".join(" ".join(at(*p)) for p in points)
            dash = ' stroke-dasharray="5 4"' if dashed else ""
            out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dash}/>')
            if self.marks:
                out += [f'<circle cx="{x}" cy="{y}" r="2.2" fill="{colour}"/>'
                        for x, y in (at(*p) for p in points)]
        for _, points, colour in self.single:
            out += [diamond(across.at(px), up.at(py), colour) for px, py in points]
        out += self.legend(x0 + (w + 16 if self.aside else w + 4 - self.legend_width() if self.right else 12), y0 + 16)
        return out

    def legend_width(self):
        return 40 + 7 * max((len(n[0]) for n in self.lines + self.single), default=0)

    def legend(self, x, y):
        # the highest line first, as in the plot
        named = sorted((n for n in self.lines if n[0]), key=lambda n: -n[1][-1][1]) + [n for n in self.single if n[0]]
        if not named:
            return []
        out = [f'<rect x="{x - 6}" y="{y - 13}" width="{self.legend_width()}" '
               f'height="{16 * len(named) + 4}" fill="#fff" fill-opacity="0.8"/>']
        for i, (name, _, colour, *stroke) in enumerate(named):
            if stroke:
                dash = ' stroke-dasharray="5 4"' if stroke[0] else ""
                out.append(f'<path d="M{x} {y + 16 * i - 4}h22" stroke="{colour}" stroke-width="{stroke[1]}"{dash}/>')
            else:
                out.append(diamond(x + 11, y + 16 * i - 4, colour))
            out.append(f'<text x="{x + 28}" y="{y + 16 * i}">{escape(name)}</text>')
        return out


class Page:
    def __init__(self, width, height, description):
        self.width, self.height, self.description = width, height, description
        self.panels = []

    def panel(self, *args, **kwargs):
        self.panels.append(Panel(*args, **kwargs))
        return self.panels[-1]

    def write(self, path):
        lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                 'font-family="Helvetica,Arial,sans-serif" font-size="12">',
                 f'<title>{escape(self.description)}</title>',
                 f'<rect width="{self.width}" height="{self.height}" fill="#fff"/>']
        for panel in self.panels:
            lines += panel.svg()
        lines.append("</svg>")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
