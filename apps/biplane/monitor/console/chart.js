// SPDX-License-Identifier: BSD-3-Clause
// A line chart over time. Its values are also reachable by keyboard (arrow keys move the cursor) and as a table.

import {el, newId, setAttribute, setText, svg, visible} from "./dom.js";
import {clockTime, NONE} from "./format.js";

const PAD = {left: 64, right: 12, top: 10, bottom: 24};
const TABLE_ROWS = 30;
const Y_TICKS = 4;

/** The next of 1, 2, 2.5, 5, 10, ... at or above n */
export function niceCeil(n) {
  if (!(n > 0))
    return 1;

  const power = 10 ** Math.floor(Math.log10(n));
  const step = [1, 2, 2.5, 5, 10].find((m) => m * power >= n * (1 - 1e-9));

  return step * power;
}

/** ms between the ticks of the time axis, so that at most `most` fit */
export function timeStep(spanMs, most) {
  const steps = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];

  return (steps.find((s) => spanMs / (s * 1000) <= most) || 7200) * 1000;
}

/** Segments of known values: [[index, ...], ...]; a gap in time ends one, too. */
export function segments(times, values, gapMs) {
  const found = [];
  let current = null;

  for (let i = 0; i < times.length; i += 1) {
    if (values[i] === null || values[i] === undefined) {
      current = null;
      continue;
    }
    if (!current || times[i] - times[i - 1] > gapMs)
      found.push(current = []);
    current.push(i);
  }
  return found;
}

export class Chart {
  /** format: number to text; description: what the chart shows, for the table and screen readers */
  constructor({title, format, description, height = 190}) {
    this.title = title;
    this.format = format;
    this.height = height;
    this.data = {times: [], series: []};
    this.cursor = null;
    this.width = 0;

    const id = newId("chart");

    this.legend = el("ul", {class: "legend"});
    this.time = el("span", {class: "chart-time"});
    this.plot = svg("svg", {"aria-hidden": "true", height, width: "100%"});
    this.area = el("div", {
      class: "plot", tabindex: "0", role: "slider", "aria-labelledby": id, "aria-valuemin": "0", "aria-valuemax": "0",
      "aria-valuenow": "0", "aria-valuetext": "no values yet",
      onkeydown: (e) => this.key(e), onpointermove: (e) => this.point(e), onpointerleave: () => this.move(null),
      onblur: () => this.move(null),
    }, this.plot);
    this.area.style.height = `${height}px`;
    this.table = el("table", {class: "plain"});
    this.details = el("details", {class: "values", ontoggle: () => this.drawTable()},
      el("summary", {}, "Values as a table"), el("div", {class: "scroll", tabindex: "0", role: "region",
        "aria-label": `${title}: values`}, this.table));
    this.node = el("section", {class: "card chart", "aria-labelledby": id},
      el("div", {class: "card-head"}, el("h2", {id}, title), this.time),
      el("p", {class: "sub"}, description), this.legend, this.area, this.details);
    new ResizeObserver(() => this.resize()).observe(this.area);
  }

  /** times: ms, ascending; series: [{name, values, hue, dashed}], with as many values; fromMs, toMs: limits of the axis */
  update(data) {
    this.data = data;
    if (this.cursor !== null)
      this.cursor = Math.min(this.cursor, data.times.length - 1);
    if (!data.times.length)
      this.cursor = null;
    this.draw();
  }

  resize() {
    const width = Math.floor(this.area.clientWidth);

    if (width && width !== this.width) {
      this.width = width;
      this.draw();
    }
  }

  x(ms) {
    const {fromMs, toMs} = this.data;

    return PAD.left + ((ms - fromMs) / Math.max(1, toMs - fromMs)) * (this.width - PAD.left - PAD.right);
  }

  y(value) {
    return this.height - PAD.bottom - (value / this.top) * (this.height - PAD.top - PAD.bottom);
  }

  draw() {
    const {times, series} = this.data;

    this.drawLegend();
    this.drawTable();
    setAttribute(this.area, "aria-valuemax", Math.max(0, times.length - 1));
    if (!this.width)
      return;
    this.top = niceCeil(series.reduce((top, s) => s.values.reduce((m, v) => (v > m ? v : m), top), 0));
    this.plot.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    if (!times.length) {
      this.plot.replaceChildren(svg("text", {class: "chart-empty", x: this.width / 2, y: this.height / 2, "text-anchor": "middle"},
        "No values yet"));
      return;
    }

    const gapMs = Math.max(3500, 3.5 * this.data.stepMs);

    this.cursorLine = svg("g", {class: "cursor"});
    this.plot.replaceChildren(...this.grid(), ...series.map((s) => this.line(s, times, gapMs)), this.cursorLine);
    this.drawCursor();
  }

  grid() {
    const {fromMs, toMs} = this.data;
    const nodes = [];
    const right = this.width - PAD.right, bottom = this.height - PAD.bottom;

    for (let i = 0; i <= Y_TICKS; i += 1) {
      const value = (this.top * i) / Y_TICKS, y = Math.round(this.y(value)) + 0.5;

      nodes.push(svg("path", {class: i ? "grid" : "axis", d: `M${PAD.left} ${y}H${right}`}));
      if (i % 2 === 0)
        nodes.push(svg("text", {class: "tick", x: PAD.left - 8, y: y + 4, "text-anchor": "end"}, this.format(value)));
    }

    const step = timeStep(toMs - fromMs, Math.max(2, (this.width - PAD.left) / 90));

    for (let t = Math.ceil(fromMs / step) * step; t <= toMs; t += step) {
      const x = Math.round(this.x(t)) + 0.5;

      nodes.push(svg("path", {class: "axis", d: `M${x} ${bottom}v4`}));
      if (x > PAD.left + 12 && x < right - 12)
        nodes.push(svg("text", {class: "tick", x, y: this.height - 6, "text-anchor": "middle"},
          clockTime(t, t).slice(0, step < 60000 ? 8 : 5)));
    }
    return nodes;
  }

  line(s, times, gapMs) {
    const point = (i) => `${this.x(times[i]).toFixed(1)} ${this.y(s.values[i]).toFixed(1)}`;
    const found = segments(times, s.values, gapMs);
    const lines = found.filter((indices) => indices.length > 1).map((indices) => `M${indices.map(point).join("L")}`).join("");
    const dots = found.filter((indices) => indices.length === 1).map(([i]) => `M${point(i)}h0.01`).join("");

    return svg("g", {class: `hue-${s.hue}`}, svg("path", {class: `line${s.dashed ? " dashed" : ""}`, d: lines || "M0 0"}),
      svg("path", {class: "line points", d: dots || "M0 0"}));
  }

  /** index of the cursor, or of the latest values without one */
  shown() {
    return this.cursor === null ? this.data.times.length - 1 : this.cursor;
  }

  /** value of a series at the cursor; without one, its latest known value */
  valueOf(s) {
    return this.cursor === null ? s.values.findLast((v) => v !== null && v !== undefined) : s.values[this.cursor];
  }

  drawLegend() {
    const {times, series} = this.data, at = this.shown();

    if (this.legend.childElementCount !== series.length || this.names !== series.map((s) => s.name).join("\n")) {
      this.names = series.map((s) => s.name).join("\n");
      this.legend.replaceChildren(...series.map((s) => el("li", {},
        svg("svg", {class: "key", viewBox: "0 0 22 8", "aria-hidden": "true"},
          svg("path", {class: `line hue-${s.hue}${s.dashed ? " dashed" : ""}`, d: "M1 4H21"})),
        el("bdi", {}, visible(s.name, 40)), el("b", {}))));
    }
    series.forEach((s, i) => setText(this.legend.children[i].lastChild, at < 0 ? NONE : this.format(this.valueOf(s))));
    setText(this.time, at < 0 ? "" : this.cursor === null ? "latest" : clockTime(times[at]));
    if (at >= 0) {
      setAttribute(this.area, "aria-valuenow", at);
      setAttribute(this.area, "aria-valuetext", `${clockTime(times[at])}: ${
        series.map((s) => `${visible(s.name, 40)} ${this.format(s.values[at])}`).join(", ")}`);
    }
  }

  drawCursor() {
    if (!this.cursorLine)
      return;
    if (this.cursor === null || !this.data.times.length) {
      this.cursorLine.replaceChildren();
      return;
    }

    const x = this.x(this.data.times[this.cursor]).toFixed(1);
    const dots = this.data.series.filter((s) => typeof s.values[this.cursor] === "number").map((s) =>
      svg("circle", {class: `dot hue-${s.hue}`, cx: x, cy: this.y(s.values[this.cursor]).toFixed(1), r: 3.5}));

    this.cursorLine.replaceChildren(svg("path", {class: "cursor-line", d: `M${x} ${PAD.top}V${this.height - PAD.bottom}`}), ...dots);
  }

  drawTable() {
    if (!this.details.open)
      return;

    const {times, series} = this.data;
    const every = Math.max(1, Math.ceil(times.length / TABLE_ROWS));
    const rows = [];

    for (let i = times.length - 1; i >= 0; i -= every)
      rows.push(el("tr", {}, el("th", {scope: "row"}, clockTime(times[i])),
        ...series.map((s) => el("td", {class: "number"}, this.format(s.values[i])))));
    this.table.replaceChildren(
      el("thead", {}, el("tr", {}, el("th", {scope: "col"}, "Time"),
        ...series.map((s) => el("th", {scope: "col", class: "number"}, visible(s.name, 40))))),
      el("tbody", {}, ...rows));
  }

  move(index) {
    this.cursor = index;
    this.drawLegend();
    this.drawCursor();
  }

  key(e) {
    const last = this.data.times.length - 1;
    const at = this.shown();
    const page = Math.max(1, Math.round(last / 10));
    const to = {
      ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - page, PageDown: at + page, Home: 0, End: last,
    }[e.key];

    if (e.key === "Escape") {
      this.move(null);
    } else if (to !== undefined && last >= 0) {
      e.preventDefault();
      this.move(Math.min(last, Math.max(0, to)));
    }
  }

  point(e) {
    const {times, fromMs, toMs} = this.data;

    if (!times.length)
      return;

    const share = (e.offsetX - PAD.left) / (this.width - PAD.left - PAD.right);
    const ms = fromMs + share * (toMs - fromMs);
    let low = 0, high = times.length - 1;

    while (low < high) {
      const middle = (low + high) >> 1;

      if (times[middle] < ms)
        low = middle + 1;
      else
        high = middle;
    }
    if (low > 0 && ms - times[low - 1] < times[low] - ms)
      low -= 1;
    this.move(low);
  }
}

/** A small line without axes, next to the number with the latest value. */
export class Sparkline {
  constructor() {
    this.path = svg("path", {class: "line hue-0"});
    this.node = svg("svg", {class: "spark", viewBox: "0 0 100 24", preserveAspectRatio: "none", "aria-hidden": "true"}, this.path);
  }

  update(values) {
    const top = values.reduce((m, v) => (v > m ? v : m), 0) || 1, last = Math.max(1, values.length - 1);
    const known = segments(values.map((_, i) => i), values, Infinity);

    this.path.setAttribute("d", known.map((indices) => `M${indices.map((i) =>
      `${((i / last) * 100).toFixed(1)} ${(22.5 - (values[i] / top) * 21).toFixed(1)}`).join("L")}h0.1`).join("") || "M0 22.5");
  }
}
