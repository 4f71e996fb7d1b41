// SPDX-License-Identifier: BSD-3-Clause
// The first page: key figures, topology, health, charts, and the latest alarms and drops.

import {Sparkline} from "./chart.js";
import {rateCharts} from "./charts.js";
import {el, newId, setAttribute, setText} from "./dom.js";
import {bits, count, interval, NONE, packetRate, rate} from "./format.js";
import {HealthCard} from "./health.js";
import {alarmTable, dropTable} from "./lists.js";
import {Topology} from "./topology.js";

const LATEST = 20;

class Tile {
  constructor(title) {
    const id = newId("tile");

    this.value = el("p", {class: "value"}, NONE);
    this.sub = el("p", {class: "sub"}, "\u00a0");
    this.spark = new Sparkline();
    this.node = el("section", {class: "card tile", "aria-labelledby": id}, el("h2", {id}, title), this.value, this.sub, this.spark.node);
  }

  update(value, sub, level, values) {
    setText(this.value, value);
    setAttribute(this.value, "data-level", level);
    setText(this.sub, sub || "\u00a0");
    setAttribute(this.sub, "title", sub);
    this.spark.update(values);
  }
}

function plural(n, one, more = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : more}`;
}

/** The configured services, for the topology: [{name, text}] */
function services(app) {
  const {config, rules} = app.latest, found = [];
  const length = (section, list) => (config[section] && Array.isArray(config[section][list]) ? config[section][list].length : 0);
  const add = (name, ...counts) => {
    if (counts.some(([n]) => n))
      found.push({name, text: counts.filter(([n]) => n).map(([n, one, more]) => plural(n, one, more)).join(", ")});
  };

  if (!config)
    return found;
  add("MQTT inspection", [rules ? rules.rules.length : length("mqtt", "rules"), "rule"], [app.rates.now("connections"), "connection"]);
  if (config.health_devices)
    found.push({name: "Health devices", text: "oneM2M"});
  add("Aggregation", [length("aggregation", "encapsulate"), "encapsulation"], [length("aggregation", "decapsulate"), "decapsulation"]);
  add("Transform", [length("transform", "entries"), "entry", "entries"]);
  add("LCL scheduling", [length("lcl", "flows"), "flow"], [length("lcl", "ports"), "port"]);
  add("Sampling", [Array.isArray(config.sampling) ? config.sampling.length : 0, "entry", "entries"]);
  return found;
}

function topologyModel(app) {
  const {status, ports, config} = app.latest;

  if (!status || !ports)
    return null;

  const of = (port, way) => {
    const packets = app.rates.now(`${way}_packets`, port), octets = app.rates.now(`${way}_bytes`, port);

    return packets === null || octets === null ? null : {packets, bits: octets * 8};
  };
  const publisher = config && config.mqtt && config.mqtt.publisher;

  return {
    instance: status.instance,
    ports: ports.ports.map((p) => ({name: p.name, bridge: p.bridge, link_up: p.link_up, speed_mbps: p.speed_mbps,
      rx: of(p.name, "rx"), tx: of(p.name, "tx")})),
    services: services(app),
    publisher: publisher ? {broker: publisher.broker, connected: status.publisher.connected, alarms: app.rates.now("alarms_acknowledged"),
      text: `${count(status.spool.rows)} in spool`} : null,
  };
}

function last(values) {
  return values.slice(-3).reverse().find((v) => v !== null);
}

function drawTiles(app, tiles) {
  const {rates, latest} = app, span = rates.span.name;
  const rx = app.sum("rx_packets"), octets = last(app.sum("rx_bytes"));
  const delays = rates.values("alarm_delay_p50"), delay = delays.filter((v) => v !== null).pop();
  const drops = rates.now("drops");
  const missing = latest.notInspected ? latest.notInspected.not_inspected : null;

  tiles.received.update(packetRate(last(rx)), octets === undefined ? "" : bits(octets * 8), null, rx);
  tiles.publishes.update(rate(rates.now("publishes")), `${rate(rates.now("matches"))} match a rule`, null, rates.values("publishes"));
  tiles.alarms.update(count(rates.total("alarms_raised")), `raised in ${span}`, null, rates.values("alarms_raised"));
  tiles.delay.update(interval(delay), delay === undefined ? `no alarm in ${span}` : "median, latest interval", null, delays);
  tiles.drops.update(packetRate(drops), `${count(rates.total("drops"))} in ${span}`, drops > 0 ? "warn" : null,
    rates.values("drops"));
  tiles.connections.update(count(rates.now("connections")),
    missing === null ? "" : missing ? `${count(missing)} not inspected` : "all inspected", missing ? "warn" : null,
    rates.values("connections"));
}

export function overview(app) {
  const tiles = {
    received: new Tile("Received"), publishes: new Tile("PUBLISH packets inspected"), alarms: new Tile("Alarms"),
    delay: new Tile("Alarm delay"), drops: new Tile("Drops"), connections: new Tile("MQTT connections"),
  };
  const topology = new Topology(), health = new HealthCard(), charts = rateCharts(app, ["traffic", "delay"]);
  const alarms = alarmTable(true), drops = dropTable();

  topology.node.classList.add("two-thirds", "stretch");
  health.node.classList.add("third", "stretch");
  alarms.node.classList.add("two-thirds", "brief");
  drops.node.classList.add("third", "brief");
  return {
    node: el("div", {class: "page"}, el("div", {class: "tiles"}, ...Object.values(tiles).map((t) => t.node)), topology.node, health.node,
      ...charts.nodes, alarms.node, drops.node),
    sources: ["status", "rates", "ports", "ready", "drops", "config", "rules", "notInspected"],
    draw(changed) {
      const model = topologyModel(app);

      if (model)
        topology.update(model);
      health.draw(app.latest);
      drawTiles(app, tiles);
      if (!changed || changed === "rates" || changed === "ports")
        charts.draw();
      if (!changed || changed === "feed" || changed === "clock")
        alarms.update(app.feed.alarms.slice(0, LATEST));
      if (app.latest.drops && (!changed || changed === "drops"))
        drops.update(app.latest.drops.rows);
    },
  };
}
