// SPDX-License-Identifier: BSD-3-Clause
// The tables of the pages.

import {clockTime, count, duration, interval, linkSpeed, NONE, packetRate, bits} from "./format.js";
import {objectOf, summary} from "./feed.js";
import {Table} from "./table.js";

const ms = (n) => (typeof n === "number" ? duration(n / 1000) : NONE);
const words = (text) => (text ? String(text).replaceAll("_", " ") : NONE);

const SEVERITY_LEVELS = {critical: "bad", major: "bad", minor: "warn", warning: "warn", info: "good"};

const number = (key, label, text = (row, v) => count(v), more = {}) => ({key, label, number: true, text, ...more});

function age(row) {
  return row.at === null ? null : (Date.now() - row.at) / 1000;
}

/** brief: the latest ones, without search */
export function alarmTable(brief) {
  return new Table({
    title: brief ? "Latest alarms" : "Alarms",
    sub: brief ? "" : "Newest first. Select a row to show all members of the alarm.",
    columns: [
      {key: "at", label: "Time", text: (row) => clockTime(row.at)},
      {key: "state", label: "State", level: (row) => (row.state === "raised" ? "bad" : "good")},
      {key: "severity", label: "Severity", level: (row) => SEVERITY_LEVELS[row.severity] ?? null},
      number("value", "Value", (row, v) => (typeof v === "number" ? String(v) : NONE)),
      {key: "rule", label: "Rule"},
      {key: "topic", label: "Topic"},
      {key: "client", label: "Client", text: (row) => [row.client_id, row.client].filter(Boolean).join(", ")},
      {key: "age", label: "Age", number: true, value: age, text: (row, v) => (v === null ? NONE : duration(v))},
    ],
    id: (row) => row.id,
    details: ({at, ...alarm}) => alarm,
    empty: "No alarm yet.",
    search: brief ? null : "Search alarms",
    most: brief ? 20 : 200,
  });
}

/** Of alarms, newest first: the latest of each pair of rule and topic, if it is `raised` */
export function notCleared(alarms) {
  const seen = new Set();

  return alarms.filter((a) => {
    const pair = JSON.stringify([a.rule, a.topic]);

    return !seen.has(pair) && seen.add(pair) && a.state === "raised";
  });
}

export function dropTable() {
  return new Table({
    title: "Drops by reason",
    columns: [
      {key: "reason", label: "Reason", text: (row) => words(row.reason)},
      number("rate", "Rate", (row, v) => packetRate(v), {level: (row) => (row.rate > 0 ? "warn" : null)}),
      number("count", "Total"),
      {key: "ports", label: "Ports", value: (row) => row.ports.map((p) => `${p.port} ${count(p.count)}`).join(", ") || NONE},
    ],
    id: (row) => row.reason,
    empty: "No frame was dropped.",
    sort: {column: 2, down: true},
  });
}

/** Rows of `show drops`, with the rates since the previous response: {reason, count, rate, description} */
export class DropRates {
  constructor() {
    this.before = new Map();
    this.at = null;
  }

  rows(drops, at) {
    const seconds = this.at === null ? null : (at - this.at) / 1000;
    const rows = drops.reasons.filter((r) => r.count > 0).map((r) => {
      const n = r.count - (this.before.get(r.reason) || 0);

      return {...r, rate: seconds === null || seconds <= 0 || n < 0 ? null : n / seconds};
    });

    this.before = new Map(drops.reasons.map((r) => [r.reason, r.count]));
    this.at = at;
    return rows;
  }
}

export function portTable(app) {
  const now = (key, factor = 1) => (row) => {
    const v = app.rates.now(key, row.name);

    return v === null ? null : v * factor;
  };

  return new Table({
    title: "Ports",
    columns: [
      {key: "name", label: "Port"},
      {key: "link_up", label: "Link", text: (row) => (row.link_up ? linkSpeed(row.speed_mbps) : "down"),
        level: (row) => (row.link_up ? "good" : "bad")},
      {key: "bridge", label: "Role", text: (row) => (row.bridge ? `bridge ${row.bridge}` : "routed")},
      number("rx", "RX packets", (row, v) => packetRate(v), {value: now("rx_packets")}),
      number("rx_bits", "RX bits", (row, v) => bits(v), {value: now("rx_bytes", 8)}),
      number("tx", "TX packets", (row, v) => packetRate(v), {value: now("tx_packets")}),
      number("tx_bits", "TX bits", (row, v) => bits(v), {value: now("tx_bytes", 8)}),
      number("tx_dropped", "Transmit drops", undefined, {level: (row) => (row.tx_dropped > 0 ? "warn" : null)}),
      number("hw_missed", "NIC drops", undefined, {level: (row) => (row.hw_missed > 0 ? "warn" : null)}),
    ],
    id: (row) => row.name,
    empty: "No port.",
  });
}

export function connectionTable() {
  const inspected = (row) => (row.not_inspected_reason ? words(row.not_inspected_reason.replace(/^not_inspected_/, "")) :
    words(row.to_broker));

  return new Table({
    title: "MQTT connections",
    columns: [
      {key: "client", label: "Client"},
      {key: "client_id", label: "Client identifier"},
      {key: "broker", label: "Broker"},
      {key: "transport", label: "Transport"},
      {key: "server_name", label: "TLS server name", value: (row) => (row.tls ? row.tls.server_name : null)},
      {key: "version", label: "MQTT"},
      {key: "state", label: "State"},
      {key: "inspection", label: "Inspection", value: inspected,
        level: (row) => (row.not_inspected_reason || row.to_broker === "not_inspected" ? "warn" : null)},
      number("publishes", "Publications"),
      number("idle_ms", "Idle", (row, v) => ms(v)),
    ],
    id: (row) => `${row.client} ${row.broker} ${row.vlan}`,
    sort: {column: 0, down: false},
    empty: "No MQTT connection.",
    search: "Search address or client identifier",
  });
}

export function notInspectedTable() {
  return new Table({
    title: "Connections not inspected, by reason",
    columns: [
      {key: "reason", label: "Reason", text: (row) => words(String(row.reason).replace(/^not_inspected_/, ""))},
      number("connections", "Connections", undefined, {level: () => "warn"}),
      number("max_duration_ms", "Max duration", (row, v) => ms(v)),
      {key: "clients", label: "Clients", value: (row) => row.clients.map((c) => c.address).join(", ") + (row.more_clients ? ", …" : "")},
    ],
    id: (row) => row.reason,
    empty: "All connections are inspected.",
  });
}

export function sessionTable() {
  return new Table({
    title: "Sessions of health devices",
    columns: [
      {key: "system_id", label: "System identifier"},
      {key: "device", label: "Device"},
      {key: "transport", label: "Transport"},
      {key: "type", label: "Specialization"},
      {key: "state", label: "State"},
      number("reports", "Reports"),
      number("stored", "Stored"),
      number("refused", "Refused", undefined, {level: (row) => (row.refused > 0 ? "warn" : null)}),
      number("age_s", "Age", (row, v) => duration(v)),
    ],
    id: (row) => `${row.system_id} ${row.device}`,
    empty: "No health device is associated.",
    search: "Search system identifier or address",
  });
}

export function ruleTable() {
  return new Table({
    title: "MQTT rules",
    columns: [
      {key: "name", label: "Rule"},
      {key: "filter", label: "Topic filter"},
      {key: "value", label: "Value"},
      {key: "raise", label: "Raise"},
      {key: "clear", label: "Clear"},
      {key: "hold", label: "Hold", text: (row, v) => v || "off"},
      {key: "repeat", label: "Repeat", text: (row, v) => words(v)},
      {key: "action", label: "Action"},
      number("matched", "Matched"),
      number("value_missing", "Value missing", undefined, {level: (row) => (row.value_missing > 0 ? "warn" : null)}),
      number("raised", "Raised"),
      number("cleared", "Cleared"),
    ],
    id: (row) => row.name,
    empty: "There is no rule.",
    search: "Search rules",
  });
}

/** The rules of `show policy`, and its default; none without a policy */
export function policyRows(policy) {
  return policy.enabled ? [...policy.rules, {...policy.default, name: "(default)", packet: "any"}] : [];
}

export function policyTable() {
  return new Table({
    title: "MQTT policy",
    sub: "In order: the first rule that a packet of a client matches decides about it.",
    columns: [
      {key: "name", label: "Rule"},
      {key: "action", label: "Action", level: (row) => (row.action !== "allow" && row.decisions > 0 ? "warn" : null)},
      {key: "packet", label: "Packet"},
      {key: "topic", label: "Topic"},
      {key: "client_id", label: "Client identifier"},
      {key: "user_name", label: "User name"},
      {key: "conditions", label: "Conditions"},
      number("decisions", "Decisions"),
      number("undecided", "Undecided", undefined, {level: (row) => (row.undecided > 0 ? "warn" : null)}),
      {key: "last", label: "Last", text: (row, v) => (v ? clockTime(Date.parse(v)) : NONE)},
    ],
    id: (row) => row.name,
    empty: "There is no policy.",
    search: "Search policy",
  });
}

export function faultTable() {
  return new Table({
    title: "Faults",
    columns: [
      {key: "fault", label: "Fault", text: (row) => words(row.fault)},
      {key: "object", label: "Object"},
      {key: "active", label: "State", text: (row, v) => (v ? "active" : row.occurrences ? "ended" : "never"),
        level: (row) => (row.active ? "bad" : null)},
      {key: "since", label: "Last occurrence", text: (row, v) => (v ? clockTime(Date.parse(v)) : NONE)},
      number("duration_ns", "Duration", (row, v) => interval(v)),
      number("occurrences", "Occurrences"),
      {key: "description", label: "Description"},
    ],
    id: (row) => `${row.fault} ${row.object}`,
    empty: "No fault has occurred since the start.",
    sort: {column: 2, down: true},
  });
}

export function planeTable() {
  return new Table({
    title: "Processes",
    columns: [
      {key: "plane", label: "Process"},
      {key: "running", label: "State", text: (row, v) => (v ? "running" : "not running"), level: (row) => (row.running ? "good" : "bad")},
      {key: "pid", label: "PID", number: true},
      number("uptime_s", "Uptime", (row, v) => duration(v)),
      number("heartbeat_age_s", "Heartbeat age", (row, v) => duration(v)),
      number("restarts", "Restarts", undefined, {level: (row) => (row.restarts > 0 ? "warn" : null)}),
    ],
    id: (row) => row.plane,
    empty: "No process is known.",
  });
}

export function latencyTable() {
  return new Table({
    title: "Alarm delay by stage",
    columns: [
      {key: "stage", label: "Stage"},
      number("count", "Alarms"),
      number("avg_ns", "Average", (row, v) => interval(v)),
      number("p50_ns", "Median", (row, v) => interval(v)),
      number("p99_ns", "p99", (row, v) => interval(v)),
      number("p999_ns", "p99.9", (row, v) => interval(v)),
      number("max_ns", "Max", (row, v) => interval(v)),
    ],
    id: (row) => row.stage,
    empty: "No alarm yet.",
  });
}

/** An event of the policy has an action instead of a state */
const stateOf = (o) => o.state ?? o.action;

export function eventTable() {
  return new Table({
    title: "Events",
    sub: "Newest first: alarms, connections, sessions, faults, configuration, processes, policy and drops.",
    columns: [
      {key: "at", label: "Time", text: (row) => clockTime(row.at)},
      {key: "type", label: "Type", value: (row) => row.event.event_type},
      {key: "state", label: "State", value: (row) => stateOf(objectOf(row.event)), text: (row, v) => words(v)},
      {key: "summary", label: "Event", value: (row) => summary(row.event)},
    ],
    id: (row) => row.serial,
    details: (row) => row.event,
    empty: "No event yet.",
    search: "Search events",
  });
}
