// SPDX-License-Identifier: BSD-3-Clause
// Health: the checks of /readyz with their reasons, and active faults.

import {el, newId, svg, visible} from "./dom.js";
import {clockTime, timeMs} from "./format.js";

const SYMBOLS = {good: "M4 10.5l4 4 8-9", bad: "M5 5l10 10M15 5L5 15", warn: "M10 4v8M10 14.5v1.5"};
const NAMES = {dataplane: "Data plane", controlplane: "Control plane", ports: "Ports", tables: "Forwarding tables", publisher: "Publisher",
  kafka: "Kafka", fleet: "State of the fleet"};
const LABELS = {good: "ok", warn: "warning", bad: "not ok"};

function line({level, name, reason}) {
  return el("li", {}, svg("svg", {viewBox: "0 0 20 20", class: level, role: "img", "aria-label": LABELS[level]}, svg("path", {d: SYMBOLS[level]})),
    el("div", {}, el("p", {}, el("b", {}, visible(name))), reason ? el("p", {class: "muted"}, visible(reason, 500)) : null));
}

/** The answer of /readyz as [{level, name, reason}] */
export function checksOf(ready) {
  return (Array.isArray(ready.checks) ? ready.checks : []).map((c) => ({level: c.ok ? "good" : "bad",
    name: NAMES[c.check] || String(c.check).replaceAll("_", " "), reason: c.reason}));
}

function faultsOf(status) {
  return status.faults.map((f) => ({level: "warn", name: [String(f.fault).replaceAll("_", " "), f.object].filter(Boolean).join(" "),
    reason: [f.description, f.since ? `since ${clockTime(timeMs(f.since))}` : ""].filter(Boolean).join("; ")}));
}

/** Failed checks and faults first: [{level, name, reason}] */
export function healthLines(latest) {
  const checks = latest.ready ? checksOf(latest.ready) : [];

  return [...checks.filter((c) => c.level !== "good"), ...(latest.status ? faultsOf(latest.status) : []),
    ...checks.filter((c) => c.level === "good")];
}

export class HealthCard {
  constructor() {
    const id = newId("health");

    this.list = el("ul", {class: "checks"});
    this.placeholder = el("p", {class: "empty"}, "Loading…");
    this.node = el("section", {class: "card health", "aria-labelledby": id}, el("div", {class: "card-head"}, el("h2", {id}, "Health")),
      this.list, this.placeholder);
    this.drawn = "";
  }

  draw(latest) {
    const lines = healthLines(latest), text = JSON.stringify(lines);

    if (text === this.drawn || (!latest.ready && !latest.status))
      return;
    this.drawn = text;
    this.placeholder.hidden = lines.length > 0;
    this.placeholder.textContent = "No open fault.";
    this.list.replaceChildren(...lines.map(line));
  }
}

/** Whether a source failed several times in sequence */
export function persists(error) {
  return Boolean(error) && error.times > 1;
}

/** State of the gateway for the head of the page: {level, text} */
export function stateOf(latest, errors) {
  if (persists(errors.status))
    return {level: "bad", text: errors.status.status === 503 ? "Not running" : "Not available"};
  if (!latest.status)
    return {level: "unknown", text: "Loading"};

  const bad = latest.ready ? checksOf(latest.ready).filter((c) => c.level === "bad").length : 0;
  const faults = latest.status ? latest.status.faults.length : 0;

  if (bad)
    return {level: "bad", text: "Not ready"};
  if (faults)
    return {level: "warn", text: `${faults} open ${faults === 1 ? "fault" : "faults"}`};
  return {level: "good", text: "Ready"};
}
