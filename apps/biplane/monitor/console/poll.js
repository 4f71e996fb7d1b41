// SPDX-License-Identifier: BSD-3-Clause
// The schedule of the requests. An open console must cost the gateway little: a source is requested only while the shown page
// needs it, each at its own period and never twice at a time. A hidden page requests nothing. While the gateway does not
// answer, one request every RETRY_MS tests whether it is reachable again.

import {get} from "./api.js";

const TICK_MS = 250;
const RATE = 3;
const BURST = 8;
const RETRY_MS = 5000;

export class Poller {
  /** onState(state, since): `loading`, `ok`, `unreachable` or `token`; since: ms of the first failure */
  constructor(onState) {
    this.onState = onState;
    this.sources = new Map();
    this.state = "loading";
    this.since = null;
    this.timer = null;
    this.retryAt = 0;
    this.lastAnswer = null;
    this.credit = BURST;
    this.creditAt = performance.now();
  }

  /** path: a text or a function that returns one; listeners get (data, ms, error). */
  add(name, path, everyMs, accept = []) {
    this.sources.set(name, {name, path, everyMs, accept, due: 0, busy: false, wanted: false, listeners: []});
  }

  on(name, listener) {
    this.sources.get(name).listeners.push(listener);
  }

  /** These sources are shown from now on; others are not requested. */
  want(names) {
    for (const s of this.sources.values()) {
      const wanted = names.includes(s.name);

      if (wanted && !s.wanted)
        s.due = Math.min(s.due, performance.now());
      s.wanted = wanted;
    }
  }

  /** Requests a source at the next tick. */
  hurry(name) {
    this.sources.get(name).due = 0;
  }

  start() {
    if (this.timer === null) {
      this.timer = setInterval(() => this.tick(), TICK_MS);
      this.tick();
    }
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
  }

  /** A token was entered: requests all wanted sources again. */
  restart() {
    this.state = "loading";
    this.retryAt = 0;
    for (const s of this.sources.values())
      s.due = 0;
    this.tick();
  }

  tick() {
    const now = performance.now(), all = [...this.sources.values()];

    this.credit = Math.min(BURST, this.credit + ((now - this.creditAt) / 1000) * RATE);
    this.creditAt = now;
    if (this.state === "token" || now < this.retryAt)
      return;
    // until the gateway answers, one request at a time
    if (this.state !== "ok" && all.some((s) => s.busy))
      return;

    const due = all.filter((s) => s.wanted && !s.busy && s.due <= now).sort((a, b) => a.due - b.due);
    const most = this.state === "ok" ? Math.floor(this.credit) : 1;

    for (const s of due.slice(0, most)) {
      this.credit -= 1;
      this.request(s);
    }
  }

  async request(s) {
    s.busy = true;
    s.due = performance.now() + s.everyMs;
    try {
      const data = await get(typeof s.path === "function" ? s.path() : s.path, s.accept);

      this.answered();
      s.listeners.forEach((listener) => listener(data, Date.now(), null));
    } catch (e) {
      this.failed(s, e);
    } finally {
      s.busy = false;
    }
  }

  answered() {
    this.lastAnswer = Date.now();
    this.since = null;
    this.retryAt = 0;
    const first = this.state !== "ok";

    this.set("ok");
    if (first)
      this.tick();
  }

  failed(s, e) {
    if (e.kind === "token") {
      this.set("token");
    } else if (e.kind === "unreachable") {
      this.since = this.since || this.lastAnswer || Date.now();
      this.retryAt = performance.now() + RETRY_MS;
      this.set("unreachable");
    } else if (e.kind === "answer") {
      // the monitor is reachable; only this source has an error
      this.answered();
      s.listeners.forEach((listener) => listener(null, Date.now(), e));
    } else {
      throw e; // a bug of the page: visible in the browser's console
    }
  }

  set(state) {
    const changed = state !== this.state;

    this.state = state;
    if (changed || state === "ok")
      this.onState(state, this.since);
  }
}
