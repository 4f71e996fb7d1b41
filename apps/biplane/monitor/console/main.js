// SPDX-License-Identifier: BSD-3-Clause
// The console: the sources that the shown page needs, and the state of the gateway in the header.

import {hasToken, setToken} from "./api.js";
import {el, setAttribute, setText, visible} from "./dom.js";
import {Feed} from "./feed.js";
import {clockTime, duration, zoneName} from "./format.js";
import {persists, stateOf} from "./health.js";
import {DropRates} from "./lists.js";
import {PAGES, Tabs} from "./pages.js";
import {Poller} from "./poll.js";
import {Rates, SPANS} from "./rates.js";

const CLOCK_MS = 1000;
const ROWS = 500; // of connections and sessions
const PAST = 100; // earlier events of each ring

const TOKEN = /^[A-Za-z0-9._~+/=-]+$/;

const $ = (id) => document.getElementById(id);

class App {
  constructor() {
    this.latest = {};
    this.errors = {};
    this.rates = new Rates();
    this.choices = {span: SPANS.indexOf(this.rates.span), unit: 0};
    this.dropRates = new DropRates();
    this.poller = new Poller((state, since) => this.state(state, since));
    this.feed = new Feed(`/api/v1/events?backlog=${PAST}`);
    this.built = new Map();
    this.page = null;
    this.addSources();
    this.feed.on(() => this.draw("feed"));
    this.tabs = new Tabs($("tabs"), $("main"), (p) => this.show(p));
    $("token-form").addEventListener("submit", (e) => {
      e.preventDefault();
      this.enter();
    });
    $("token").addEventListener("cancel", (e) => e.preventDefault());
    document.querySelector(".skip").addEventListener("click", (e) => {
      e.preventDefault(); // the hash is the page
      $("main").focus();
    });
    document.addEventListener("visibilitychange", () => this.visibility());
    setInterval(() => this.clock(), CLOCK_MS);
    setText($("zone"), `Time zone: ${zoneName()}`);
    this.tabs.select(this.tabs.fromHash());
    this.visibility();
  }

  addSources() {
    const show = (name, view, everyMs) => this.source(name, `/api/v1/show/${view}`, everyMs);

    this.source("status", "/api/v1/status", 2000);
    this.source("ready", "/readyz", 4000, [503]);
    this.source("rates", () => this.rates.path(), 2000);
    this.source("config", "/api/v1/config", 30000);
    show("ports", "ports", 5000);
    show("drops", "drops", 3000);
    show("rules", "rules", 5000);
    show("policy", "policy", 5000);
    show("connections", `connections?limit=${ROWS}`, 4000);
    show("notInspected", "not-inspected", 5000);
    show("sessions", `sessions?limit=${ROWS}`, 4000);
    show("health", "health", 4000);
    show("latency", "latency", 4000);
    show("alarms", "alarms?limit=200", 60000);
  }

  source(name, path, everyMs, accept) {
    this.poller.add(name, path, everyMs, accept);
    this.poller.on(name, (data, ms, error) => this.take(name, data, ms, error));
  }

  take(name, data, ms, error) {
    if (error) // a single one can be a 503, because the responses before it took long
      error.times = (this.errors[name] ? this.errors[name].times : 0) + 1;
    this.errors[name] = error;
    if (data) {
      this.latest[name] = data;
      if (name === "rates")
        this.rates.merge(data);
      else if (name === "drops")
        data.rows = this.dropRates.rows(data, ms);
      else if (name === "alarms")
        this.feed.past(data.alarms);
    }
    this.head();
    this.draw(name);
  }

  /** Sum of a series over the ports, null where none is known */
  sum(name) {
    const ports = this.latest.ports ? this.latest.ports.ports : [];
    const all = ports.map((p) => this.rates.values(name, p.name));

    return this.rates.points.map((_, i) => all.reduce((sum, values) => (values[i] === null ? sum : (sum || 0) + values[i]), null));
  }

  choose(what, i) {
    this.choices[what] = i;
    if (what === "span") {
      this.rates.setSpan(SPANS[i]);
      this.poller.hurry("rates");
    }
    this.draw("rates");
  }

  show(p) {
    if (!this.built.has(p.id)) {
      const built = p.build(this);

      built.panel = el("div", {role: "tabpanel", id: `page-${p.id}`, "aria-labelledby": `tab-${p.id}`}, built.node);
      $("main").append(built.panel);
      this.built.set(p.id, built);
    }
    for (const [id, built] of this.built)
      built.panel.hidden = id !== p.id;
    this.page = this.built.get(p.id);
    this.poller.want([...this.page.sources, "ready", "alarms"]);
    document.title = `${p.title} – biplane${this.latest.status ? ` ${visible(this.latest.status.instance, 40)}` : ""}`;
    this.page.draw(null);
  }

  draw(changed) {
    if (this.page && (!changed || changed === "feed" || changed === "clock" || this.page.sources.includes(changed)))
      this.page.draw(changed);
  }

  visibility() {
    if (document.hidden) {
      this.poller.stop();
      this.feed.stop();
      return;
    }
    this.poller.hurry("alarms"); // those that were raised meanwhile
    this.poller.start();
    if (this.poller.state === "ok")
      this.feed.start();
  }

  state(state, since) {
    const token = $("token");

    if (state === "ok") {
      if (!document.hidden) // this can be the response to a request before the page was hidden
        this.feed.start();
    } else {
      this.feed.stop();
      this.poller.hurry("alarms");
    }
    if (state === "token" && !token.open) {
      setText($("token-error"), hasToken() ? "The gateway does not accept this token." : "");
      token.showModal();
      $("token-field").focus();
    }
    this.since = since;
    this.head();
  }

  enter() {
    const field = $("token-field"), text = field.value.trim();

    if (!TOKEN.test(text)) { // other characters are invalid in a header
      setText($("token-error"), "A token can contain only letters, digits and -._~+/=.");
      return;
    }
    $("token").close();
    setToken(text);
    field.value = "";
    this.poller.restart();
  }

  head() {
    const {state, lastAnswer} = this.poller, banner = $("banner");
    const shown = {
      loading: {level: "unknown", text: "Loading"}, token: {level: "unknown", text: "Token required"},
      unreachable: {level: "bad", text: "Not reachable"},
    }[state] || stateOf(this.latest, this.errors);
    const error = state === "ok" && persists(this.errors.status) ? this.errors.status.message : "";

    setText($("state"), shown.text);
    setAttribute($("state"), "data-level", shown.level);
    if (this.latest.status)
      setText($("instance"), visible(this.latest.status.instance, 40));
    setText($("updated"), lastAnswer ? `Read-only. Updated ${clockTime(lastAnswer)}.` : "Read-only.");
    banner.hidden = state !== "unreachable" && !error;
    document.body.classList.toggle("stale", !banner.hidden && Boolean(this.latest.status));
    if (state === "unreachable")
      setText($("banner-text"), [`The gateway has not answered since ${clockTime(this.since)}.`,
        lastAnswer ? "The page shows the last received values." : "", "The page tries again every 5 seconds."].filter(Boolean).join(" "));
    else if (error)
      setText($("banner-text"), `${visible(error)[0].toUpperCase()}${visible(error).slice(1)}.`);
    setText($("banner-age"), state === "unreachable" ? duration(Math.floor((Date.now() - this.since) / 1000)) : "");
  }

  /** Ages and durations grow between two responses. */
  clock() {
    if (document.hidden)
      return;
    this.head();
    this.draw("clock");
  }
}

export const app = new App();
export {PAGES};
