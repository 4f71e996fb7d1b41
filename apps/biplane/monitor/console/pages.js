// SPDX-License-Identifier: BSD-3-Clause
// The pages: {id, title, build(app)}. A built page is {node, sources, draw(changed)}; its `sources` are requested while it
// is shown. draw() gets the name of the source that changed, or none when the page comes into view.

import {rateCharts} from "./charts.js";
import {el, newId, setAttribute, setText, visible} from "./dom.js";
import {count} from "./format.js";
import {HealthCard, persists} from "./health.js";
import * as lists from "./lists.js";
import {overview} from "./overview.js";
import {yamlLines} from "./yaml.js";

function page(...nodes) {
  return el("div", {class: "page"}, ...nodes);
}

/** A table that shows the rows of one source, or its error if the error repeats */
function fill(app, table, source, rows, total) {
  const error = app.errors[source];

  if (error && (persists(error) || !app.latest[source]))
    table.fail(`Not available: ${visible(error.message)}`);
  else if (app.latest[source])
    table.update(rows(app.latest[source]), total ? total(app.latest[source]) : null);
}

function alarms(app) {
  const charts = rateCharts(app, ["alarms", "delay"]), table = lists.alarmTable(false);
  const state = el("p", {class: "sub", role: "status"}), id = newId("show");
  const show = el("select", {id, onchange: () => draw("feed")}, el("option", {}, "all"), el("option", {}, "not cleared"));

  function draw(changed) {
    if (changed !== "feed" && changed !== "clock")
      charts.draw();
    table.update(show.selectedIndex ? lists.notCleared(app.feed.alarms) : app.feed.alarms);
    setText(state, app.feed.status === "open" ? "Live" : "Not live: the event stream is not connected. The page tries again.");
  }

  table.tools.prepend(el("label", {for: id}, "Show "), show);
  table.node.append(state);

  return {
    node: page(...charts.nodes, table.node),
    sources: ["status", "rates"],
    draw,
  };
}

function traffic(app) {
  const charts = rateCharts(app, ["traffic", "drops", "inspection", "workers"]);
  const ports = lists.portTable(app), drops = lists.dropTable();

  return {
    node: page(...charts.nodes, ports.node, drops.node),
    sources: ["status", "rates", "ports", "drops"],
    draw(changed) {
      if (changed !== "clock" && changed !== "feed")
        charts.draw();
      fill(app, ports, "ports", (data) => data.ports);
      fill(app, drops, "drops", (data) => data.rows);
    },
  };
}

function connections(app) {
  const table = lists.connectionTable(), missing = lists.notInspectedTable();

  return {
    node: page(table.node, missing.node),
    sources: ["status", "connections", "notInspected"],
    draw() {
      fill(app, table, "connections", (data) => data.connections, (data) => data.total);
      fill(app, missing, "notInspected", (data) => data.reasons);
    },
  };
}

function sessions(app) {
  const table = lists.sessionTable();

  return {
    node: page(table.node),
    sources: ["status", "sessions"],
    draw() {
      fill(app, table, "sessions", (data) => data.sessions, (data) => data.total);
    },
  };
}

function rules(app) {
  const table = lists.ruleTable(), policy = lists.policyTable();

  return {
    node: page(table.node, policy.node),
    sources: ["status", "rules", "policy"],
    draw() {
      fill(app, table, "rules", (data) => data.rules);
      fill(app, policy, "policy", lists.policyRows);
    },
  };
}

function healthPage(app) {
  const card = new HealthCard(), planes = lists.planeTable(), faults = lists.faultTable(), latency = lists.latencyTable();

  return {
    node: page(card.node, planes.node, latency.node, faults.node),
    sources: ["status", "ready", "health", "latency"],
    draw() {
      card.draw(app.latest);
      fill(app, planes, "status", (data) => (data.fleet_agent ? [...data.planes, {plane: "fleet agent", ...data.fleet_agent}] : data.planes));
      fill(app, latency, "latency", (data) => data.stages);
      fill(app, faults, "health", (data) => data.faults.filter((f) => f.active || f.occurrences > 0));
    },
  };
}

function events(app) {
  const table = lists.eventTable();

  return {
    node: page(table.node),
    sources: ["status"],
    draw(changed) {
      if (changed !== "clock")
        table.update(app.feed.events);
    },
  };
}

const INDENT = 2;

function configuration(app) {
  const id = newId("config"), field = newId("search");
  const code = el("pre", {class: "yaml", tabindex: "0", role: "region", "aria-labelledby": id});
  const note = el("p", {class: "note", role: "status"}, "Loading…");
  const input = el("input", {type: "search", id: field, placeholder: "Search settings", autocomplete: "off", spellcheck: "false",
    maxlength: 100, oninput: () => draw(true)});
  let drawn = null;

  function row(line, query) {
    const text = `${line.name === null ? "" : line.name} ${line.value}`.toLowerCase(), hit = query && text.includes(query);
    const parts = [" ".repeat(Math.max(0, line.indent * INDENT)), line.dash ? "- " : "",
      ...(line.name === null ? [] : [el("span", {class: "name"}, visible(line.name)), line.value === "" ? ":" : ": "]),
      visible(line.value, 2000)];

    return el(hit ? "mark" : "span", {class: hit ? "line-text hit" : "line-text"}, ...parts, "\n");
  }

  function draw(always) {
    const config = app.latest.config, query = input.value.toLowerCase();

    if (app.errors.config && !config)
      setText(note, `Not available: ${visible(app.errors.config.message)}`);
    if (!config || (config === drawn && !always))
      return;

    const {lines, complete} = yamlLines(config), nodes = lines.map((line) => row(line, query));

    drawn = config;
    code.replaceChildren(...nodes);

    const hits = nodes.filter((n) => n.classList.contains("hit"));

    if (always && hits.length)
      code.scrollTop = hits[0].offsetTop - code.offsetTop - 40;
    setText(note, [query ? `${count(hits.length)} lines match.` : `${count(lines.length)} lines, including the defaults.`,
      complete ? "" : "Further lines are not shown."].join(" "));
  }

  return {
    node: page(el("section", {class: "card", "aria-labelledby": id},
      el("div", {class: "card-head"}, el("h2", {id}, "Configuration"), el("div", {class: "tools"},
        el("label", {for: field, class: "hidden"}, "Search settings"), input)),
      el("p", {class: "sub"}, "The running configuration. To change it, edit the file, then run biplane reload or restart the instance."),
      code, note)),
    sources: ["status", "config"],
    draw: () => draw(false),
  };
}

export const PAGES = [
  {id: "overview", title: "Overview", build: overview},
  {id: "alarms", title: "Alarms", build: alarms},
  {id: "traffic", title: "Traffic", build: traffic},
  {id: "connections", title: "Connections", build: connections},
  {id: "sessions", title: "Sessions", build: sessions},
  {id: "rules", title: "Rules", build: rules},
  {id: "health", title: "Health", build: healthPage},
  {id: "events", title: "Events", build: events},
  {id: "configuration", title: "Configuration", build: configuration},
];

/** The tabs, with arrow keys as WAI-ARIA's tab pattern has them; onSelect(page) */
export class Tabs {
  constructor(node, panel, onSelect) {
    this.onSelect = onSelect;
    this.current = null;
    this.buttons = PAGES.map((p) => el("button", {type: "button", role: "tab", id: `tab-${p.id}`, "aria-controls": `page-${p.id}`,
      "aria-selected": "false", tabindex: "-1", onclick: () => this.select(p)}, p.title));
    node.append(...this.buttons);
    node.addEventListener("keydown", (e) => this.key(e));
    addEventListener("hashchange", () => this.select(this.fromHash()));
  }

  fromHash() {
    return PAGES.find((p) => `#${p.id}` === location.hash) || PAGES[0];
  }

  select(p) {
    if (p === this.current)
      return;
    this.current = p;
    PAGES.forEach((other, i) => {
      setAttribute(this.buttons[i], "aria-selected", other === p ? "true" : "false");
      this.buttons[i].tabIndex = other === p ? 0 : -1;
    });
    this.buttons[PAGES.indexOf(p)].scrollIntoView({block: "nearest", inline: "nearest"});
    if (this.fromHash() !== p)
      history.pushState(null, "", `#${p.id}`);
    this.onSelect(p);
  }

  key(e) {
    const at = PAGES.indexOf(this.current), n = PAGES.length;
    const to = {ArrowLeft: (at + n - 1) % n, ArrowRight: (at + 1) % n, Home: 0, End: n - 1}[e.key];

    if (to === undefined)
      return;
    e.preventDefault();
    this.select(PAGES[to]);
    this.buttons[to].focus();
  }
}
