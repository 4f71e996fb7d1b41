// SPDX-License-Identifier: BSD-3-Clause
// Numbers, units and times as text. Values that are not known are shown as an en dash.

export const NONE = "–";

const whole = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});
const PREFIXES = ["", "k", "M", "G", "T", "P"];

function known(n) {
  return typeof n === "number" && Number.isFinite(n);
}

/** 12,345 */
export function count(n) {
  return known(n) ? whole.format(n) : NONE;
}

function digits(n) {
  if (n === 0 || n >= 100)
    return n.toFixed(0);
  return n.toFixed(n >= 10 ? 1 : 2).replace(/\.?0+$/, "");
}

/** 12.3 k, with three significant digits */
export function scaled(n, unit = "") {
  if (!known(n))
    return NONE;

  let value = Math.abs(n), i = 0;

  while (value >= 999.5 && i < PREFIXES.length - 1) {
    value /= 1000;
    i += 1;
  }
  const prefix = PREFIXES[i] + unit;

  return `${n < 0 ? "−" : ""}${digits(value)}${prefix ? `\u00a0${prefix}` : ""}`;
}

/** Events a second */
export function rate(n) {
  return scaled(n, "/s");
}

/** Packets a second: 12.3 kpps */
export function packetRate(n) {
  return scaled(n, "pps");
}

export function bits(n) {
  return scaled(n, "bit/s");
}

/** Nanoseconds */
export function interval(ns) {
  if (!known(ns))
    return NONE;
  if (ns < 1e3)
    return `${digits(ns)}\u00a0ns`;
  if (ns < 1e6)
    return `${digits(ns / 1e3)}\u00a0µs`;
  if (ns < 1e9)
    return `${digits(ns / 1e6)}\u00a0ms`;
  return duration(ns / 1e9);
}

/** Seconds: 12 s, 3 min 20 s, 5 h 3 min, 2 d 4 h */
export function duration(seconds) {
  if (!known(seconds))
    return NONE;

  const s = Math.max(0, seconds);

  if (s < 10)
    return `${digits(s)}\u00a0s`;
  if (s < 60)
    return `${Math.floor(s)}\u00a0s`;
  if (s < 3600)
    return `${Math.floor(s / 60)}\u00a0min ${Math.floor(s % 60)}\u00a0s`;
  if (s < 86400)
    return `${Math.floor(s / 3600)}\u00a0h ${Math.floor((s % 3600) / 60)}\u00a0min`;
  return `${Math.floor(s / 86400)}\u00a0d ${Math.floor((s % 86400) / 3600)}\u00a0h`;
}

export function bytes(n) {
  if (!known(n))
    return NONE;

  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let value = n, i = 0;

  while (value >= 1024 && i < units.length - 1) {
    value /= 1024;
    i += 1;
  }
  return `${digits(value)}\u00a0${units[i]}`;
}

/** Speed of a link: DPDK's largest number is a speed that is not known. */
export function linkSpeed(mbps) {
  if (!known(mbps) || mbps >= 0xffffffff || mbps === 0)
    return "speed unknown";
  return mbps >= 1000 ? `${digits(mbps / 1000)}\u00a0Gbit/s` : `${mbps}\u00a0Mbit/s`;
}

/** ms since 1970 of an ISO 8601 time; fractions beyond ms are cut, as Date takes three digits only. */
export function timeMs(text) {
  const ms = typeof text === "string" ? Date.parse(text.replace(/(\.\d{3})\d+/, "$1")) : NaN;

  return Number.isNaN(ms) ? null : ms;
}

const clock = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false});
const day = new Intl.DateTimeFormat("en-CA", {year: "numeric", month: "2-digit", day: "2-digit"});

/** 14:03:05 in the browser's time zone; with the day when it is not today */
export function clockTime(ms, now = Date.now()) {
  if (!known(ms))
    return NONE;

  const date = day.format(ms);

  return date === day.format(now) ? clock.format(ms) : `${date} ${clock.format(ms)}`;
}

export function zoneName() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
}
