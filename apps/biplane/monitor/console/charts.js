// SPDX-License-Identifier: BSD-3-Clause
// The charts of the rates, and the selection of their period and unit, which all pages share.

import {Chart} from "./chart.js";
import {el, newId} from "./dom.js";
import {bits, interval, packetRate, rate, scaled} from "./format.js";
import {SPANS} from "./rates.js";

const HUES = 8;
const BOTH_WAYS = 4; // ports of which both directions fit into one chart

function choice(label, options, chosen, onChange) {
  const id = newId("choice");
  const select = el("select", {id, onchange: () => onChange(select.selectedIndex)}, ...options.map((o) => el("option", {}, o)));

  select.selectedIndex = chosen;
  return {node: el("span", {class: "choice"}, el("label", {for: id}, `${label} `), select), select};
}

/** The ports with the most traffic in the span, in the order of the configuration */
function busiest(app, ports, most) {
  const of = (name) => app.rates.values("rx_packets", name).concat(app.rates.values("tx_packets", name)).reduce((s, v) => s + (v || 0), 0);
  const kept = new Set([...ports].sort((a, b) => of(b) - of(a)).slice(0, most));

  return ports.filter((p) => kept.has(p));
}

function trafficSeries(app) {
  const ports = (app.latest.ports ? app.latest.ports.ports : []).map((p) => p.name);
  const inBits = app.choices.unit === 1, unit = inBits ? "bytes" : "packets", factor = inBits ? 8 : 1;
  const values = (way, port) => app.rates.values(`${way}_${unit}`, port).map((v) => (v === null ? null : v * factor));
  const shown = busiest(app, ports, ports.length > BOTH_WAYS ? HUES : BOTH_WAYS);

  return shown.flatMap((port) => {
    const hue = ports.indexOf(port) % HUES, both = ports.length <= BOTH_WAYS;

    return [{name: both ? `${port} RX` : port, values: values("rx", port), hue, dashed: false},
      ...(both ? [{name: `${port} TX`, values: values("tx", port), hue, dashed: true}] : [])];
  });
}

const CHARTS = {
  traffic: {
    title: "Traffic", description: "Frames that the ports received and sent",
    format: (app) => (v) => (app.choices.unit === 1 ? bits(v) : packetRate(v)), series: trafficSeries,
  },
  delay: {
    title: "Alarm delay", description: "Time from the reception of the message to the PUBACK of the edge broker",
    format: () => interval,
    series: (app) => [{name: "median", values: app.rates.values("alarm_delay_p50"), hue: 0, dashed: false},
      {name: "p99", values: app.rates.values("alarm_delay_p99"), hue: 1, dashed: false}],
  },
  inspection: {
    title: "MQTT inspection", description: "Inspected PUBLISH packets, and rule matches",
    format: () => rate,
    series: (app) => [{name: "PUBLISH packets", values: app.rates.values("publishes"), hue: 0, dashed: false},
      {name: "matches", values: app.rates.values("matches"), hue: 2, dashed: false}],
  },
  alarms: {
    title: "Alarms", description: "Alarms raised, cleared, and acknowledged by the edge broker",
    format: () => rate,
    series: (app) => [["raised", "alarms_raised", 5], ["cleared", "alarms_cleared", 2], ["acknowledged", "alarms_acknowledged", 0]]
      .map(([name, key, hue]) => ({name, values: app.rates.values(key), hue, dashed: hue === 0})),
  },
  drops: {
    title: "Drops", description: "Frames dropped by biplane for all reasons, and by the NICs",
    format: () => packetRate,
    series: (app) => [{name: "biplane", values: app.rates.values("drops"), hue: 5, dashed: false},
      {name: "NICs", values: app.sum("nic_dropped"), hue: 1, dashed: false}],
  },
  workers: {
    title: "Worker load", description: "Percentage of the time in which a worker processes frames",
    format: () => (v) => (typeof v === "number" ? `${scaled(v * 100)}\u00a0%` : "–"),
    series: (app) => app.rates.workers().slice(0, HUES).map((w, i) => ({name: `worker ${w}`, values: app.rates.values("busy", w), hue: i,
      dashed: false})),
  },
};

/** The named charts: {node, draw()} with the choices above them */
export function rateCharts(app, names, half = true) {
  const span = choice("Period", SPANS.map((s) => s.name), app.choices.span, (i) => app.choose("span", i));
  const unit = choice("Unit", ["packets/s", "bit/s"], app.choices.unit, (i) => app.choose("unit", i));
  const charts = names.map((name) => {
    const c = CHARTS[name];
    const chart = new Chart({title: c.title, description: c.description, format: (v) => c.format(app)(v)});

    if (half)
      chart.node.classList.add("half");
    return {c, chart};
  });

  return {
    nodes: [el("div", {class: "choices"}, span.node, names.includes("traffic") ? unit.node : null), ...charts.map(({chart}) => chart.node)],
    draw() {
      span.select.selectedIndex = app.choices.span;
      unit.select.selectedIndex = app.choices.unit;
      for (const {c, chart} of charts)
        chart.update({...app.rates.axis(), series: c.series(app)});
    },
  };
}
