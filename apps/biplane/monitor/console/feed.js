// SPDX-License-Identifier: BSD-3-Clause
// Alarms and other events as they happen: one stream while the page is visible. Both lists are bounded. Listeners are called
// at most once in DRAW_MS, at any rate of events.

import {stream} from "./api.js";
import {timeMs} from "./format.js";

const MOST = 500;
const DRAW_MS = 250;
const RETRY_MS = [1000, 2000, 5000, 10000];

const TYPES = ["alarm", "connection", "session", "fault", "config", "plane", "policy", "drops", "lost"];

function address(ip, port) {
  if (!ip)
    return "";
  return String(ip).includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
}

/** An event of type alarm in the form of `show alarms`. */
export function alarmOf(event) {
  return {...event.alarm, time: event.timestamp, client: address(event.src_ip, event.src_port)};
}

/** The object that is named after the type of an event. */
export function objectOf(event) {
  const object = event[event.event_type];

  return object && typeof object === "object" ? object : {};
}

/** The content of an event, in one line. */
export function summary(event) {
  const o = objectOf(event);

  switch (event.event_type) {
    case "alarm":
      return `${o.rule} ${o.state}: ${o.value} on ${o.topic}`;
    case "connection":
      return [`${address(event.src_ip, event.src_port)} to ${address(event.dest_ip, event.dest_port)}`, o.client_id, o.reason]
        .filter(Boolean).join(", ");
    case "session":
      return [o.system_id, o.specialization, address(event.src_ip, event.src_port)].filter(Boolean).join(", ");
    case "fault":
      return [o.name, o.object].filter(Boolean).join(" ");
    case "config":
      return o.error || (o.serial === undefined ? `generation ${o.generation}` : `rollout ${o.serial}, version ${o.version}`);
    case "plane":
      return [o.name, o.hung ? "no heartbeat" : o.after_crash ? "after a crash" : o.pid ? `process ${o.pid}` : ""]
        .filter(Boolean).join(", ");
    case "policy":
      return [o.packet, o.topic, o.client_id || address(event.src_ip, event.src_port), o.rule && `rule ${o.rule}`, o.reason]
        .filter(Boolean).join(", ");
    default:
      return Object.entries(o).filter(([, v]) => typeof v !== "object").map(([k, v]) => `${k} ${v}`).join(", ");
  }
}

export class Feed {
  constructor(path) {
    this.path = path;
    this.alarms = []; // newest first
    this.events = [];
    this.known = new Set(); // ids in alarms
    this.seen = new Set();  // events, as text: a new stream repeats the latest ones
    this.listeners = [];
    this.status = "closed"; // open, closed
    this.abort = null;
    this.retries = 0;
    this.timer = null;
    this.drawTimer = null;
    this.serial = 0;
  }

  on(listener) {
    this.listeners.push(listener);
  }

  start() {
    if (!this.abort && !this.timer)
      this.run();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.abort)
      this.abort.abort();
    this.abort = null;
    this.set("closed");
  }

  async run() {
    const abort = new AbortController();

    this.timer = null;
    this.abort = abort;
    try {
      await stream(this.path, abort.signal, () => {
        this.retries = 0;
        this.set("open");
      }, (event) => this.take(event));
    } catch (e) {
      if (!e.kind)
        throw e;
    } finally {
      if (this.abort === abort) { // not stopped
        this.abort = null;
        this.set("closed");
        this.timer = setTimeout(() => this.run(), RETRY_MS[Math.min(this.retries, RETRY_MS.length - 1)]);
        this.retries += 1;
      }
    }
  }

  set(status) {
    if (status !== this.status) {
      this.status = status;
      this.changed();
    }
  }

  take(event) {
    if (!TYPES.includes(event.event_type))
      return;

    const text = JSON.stringify(event);

    if (this.seen.has(text))
      return;
    this.seen.add(text);
    this.serial += 1;
    this.events.unshift({serial: this.serial, at: timeMs(event.timestamp), event, text});
    while (this.events.length > MOST)
      this.seen.delete(this.events.pop().text);
    if (event.event_type === "alarm")
      this.addAlarm(alarmOf(event));
    this.changed();
  }

  addAlarm(alarm) {
    if (this.known.has(alarm.id))
      return;
    this.known.add(alarm.id);
    alarm.at = timeMs(alarm.time);
    // mostly the newest; earlier ones come from `show alarms` in any order
    const before = this.alarms.findIndex((a) => a.at < alarm.at || (a.at === alarm.at && a.id < alarm.id));

    this.alarms.splice(before < 0 ? this.alarms.length : before, 0, alarm);
    while (this.alarms.length > MOST)
      this.known.delete(this.alarms.pop().id);
  }

  /** The response of /api/v1/show/alarms: alarms before the start of the stream, or while it was closed. */
  past(alarms) {
    for (const a of alarms)
      this.addAlarm({...a});
    this.changed();
  }

  changed() {
    if (this.drawTimer === null)
      this.drawTimer = setTimeout(() => {
        this.drawTimer = null;
        this.listeners.forEach((listener) => listener(this));
      }, DRAW_MS);
  }
}
