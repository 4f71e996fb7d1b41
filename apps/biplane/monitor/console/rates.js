// SPDX-License-Identifier: BSD-3-Clause
// The rates of the last minutes, from the history of the gateway (`biplane show rates`).

/** The periods of the charts: span and length of an interval, s, with at most 300 points. */
export const SPANS = [
  {name: "2 minutes", seconds: 120, step: 1},
  {name: "10 minutes", seconds: 600, step: 2},
  {name: "1 hour", seconds: 3600, step: 12},
];

const OVERLAP = 3; // intervals that are requested again

/** Name of a series: of the gateway, of a port or of a worker */
export function seriesName(name, port) {
  return port === undefined ? name : `${name} ${port}`;
}

/** Points of an answer: [{t, values: Map}], t in ms; series with another length are damaged and left out. */
export function pointsOf(answer) {
  const times = Array.isArray(answer.times) ? answer.times : [];
  const points = times.map((t) => ({t: Math.round(t * 1000), values: new Map()}));

  for (const s of Array.isArray(answer.series) ? answer.series : []) {
    if (!Array.isArray(s.values) || s.values.length !== points.length)
      continue;

    const name = seriesName(s.name, s.port !== undefined ? s.port : s.worker);

    s.values.forEach((v, i) => points[i].values.set(name, typeof v === "number" ? v : null));
  }
  return points;
}

export class Rates {
  constructor() {
    this.points = [];
    this.span = SPANS[1];
    this.offset = 0;      // of the gateway's clock to the browser's, ms
    this.complete = false; // the span was requested in full
  }

  setSpan(span) {
    this.span = span;
    this.points = [];
    this.complete = false;
  }

  path() {
    const {seconds, step} = this.span;
    const newest = this.points.length ? this.points[this.points.length - 1].t : 0;
    const age = Math.ceil((Date.now() - this.offset - newest) / 1000) + (OVERLAP + 1) * step;

    return `/api/v1/rates?since=${this.complete && age < seconds ? Math.max(age, 1) : seconds}s&step=${step}s`;
  }

  /** An answer to path(); of an earlier span: not used. */
  merge(answer) {
    if (answer.step_s !== this.span.step)
      return;

    const points = pointsOf(answer);
    const first = points.length ? points[0].t : Infinity;
    const all = this.points.filter((p) => p.t < first - 500).concat(points);
    const newest = all.length ? all[all.length - 1].t : 0;

    this.points = all.filter((p) => p.t > newest - this.span.seconds * 1000);
    // both clocks are in sync in general; if they are not, the age of the newest point says by how much
    this.offset = newest && Math.abs(Date.now() - newest) > 120000 ? Date.now() - newest : 0;
    this.complete = true;
  }

  /** The latest known value within the last intervals, or null */
  now(name, port) {
    const key = seriesName(name, port);

    for (const p of this.points.slice(-3).reverse()) {
      const v = p.values.get(key);

      if (typeof v === "number")
        return v;
    }
    return null;
  }

  /** Values of a series, null where unknown */
  values(name, port) {
    const key = seriesName(name, port);

    return this.points.map((p) => (p.values.has(key) ? p.values.get(key) : null));
  }

  /** Numbers of the workers, ascending */
  workers() {
    const last = this.points[this.points.length - 1];

    return last ? [...last.values.keys()].filter((k) => k.startsWith("busy ")).map((k) => Number(k.slice(5))).sort((a, b) => a - b) : [];
  }

  /** Sum of rates times the length of their intervals: events in the span, null if none is known */
  total(name) {
    const known = this.values(name).filter((v) => v !== null);

    return known.length ? Math.round(known.reduce((sum, v) => sum + v, 0) * this.span.step) : null;
  }

  /** The time axis, for a chart */
  axis() {
    const toMs = this.points.length ? this.points[this.points.length - 1].t : Date.now();

    return {times: this.points.map((p) => p.t), fromMs: toMs - this.span.seconds * 1000, toMs, stepMs: this.span.step * 1000};
  }
}
