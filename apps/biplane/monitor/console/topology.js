// SPDX-License-Identifier: BSD-3-Clause
// The topology: networks at the ports, the gateway with its bridges, routing and services, and the edge broker, with the
// rates of the links. It is a drawing, or, for screen readers and narrow screens, a list.

import {el, newId, setText, svg, visible} from "./dom.js";
import {bits, count, linkSpeed, packetRate, scaled} from "./format.js";

const DEVICE_SIDE = /dev|sens|plant|field|floor|machine|line|lan|health|phd|left|inside|near|robot|cell/i;
const CLOUD_SIDE = /cloud|wan|uplink|internet|isp|edge|broker|server|cse|right|outside|far|core|dc/i;
const MOST_PORTS = 12;
const LONGEST = 64;
const ROW = 84, PEER = {width: 148, height: 60}, LINK = 124, CHIP = {width: 84, height: 30}, TOP = 56;
const SERVICE = {width: 130, height: 38, row: 44};
const NARROWEST = 250; // of the gateway's box; below, the list is shown

/** The ports of each side of the drawing, by name, else the first of each bridge on the device side. */
export function sides(ports) {
  const left = [], right = [], bridges = new Set();

  for (const p of ports) {
    const name = String(p.name), device = DEVICE_SIDE.test(name), cloud = CLOUD_SIDE.test(name);
    const first = p.bridge && !bridges.has(p.bridge);

    bridges.add(p.bridge);
    (device && !cloud ? left : cloud ? right : first ? left : right).push(p);
  }
  if (!left.length && right.length > 1)
    left.push(right.shift());
  return {left, right};
}

/** Bridges and routing, as the ports have them: [{name, kind, ports}] */
export function groups(ports) {
  const found = new Map();

  for (const p of ports) {
    const name = p.bridge || "Routing";

    if (!found.has(name))
      found.set(name, {name, kind: p.bridge ? "Bridge" : "Routing", ports: []});
    found.get(name).ports.push(p.name);
  }
  return [...found.values()];
}

/** Text of the drawing; with `width`, it is cut to fit when it is in the page. */
function label(x, y, text, kind = "", width = null) {
  return svg("text", {x, y, class: kind, "text-anchor": "middle", "data-width": width}, visible(text, LONGEST));
}

function fit(text) {
  const whole = text.textContent, most = Number(text.dataset.width);
  let n = whole.length;

  while (n > 1 && text.getComputedTextLength() > most) {
    n = Math.min(n - 1, Math.floor((n * most) / text.getComputedTextLength()) + 1);
    text.textContent = `${whole.slice(0, n)}…`;
  }
  if (n < whole.length)
    text.append(svg("title", {}, whole));
}

export class Topology {
  constructor() {
    const id = newId("topology");

    this.model = null;
    this.width = 0;
    this.shape = "";
    this.drawing = svg("svg", {"aria-hidden": "true", class: "topology"});
    this.list = el("div", {class: "topology-list"});
    this.area = el("div", {class: "topology-area"}, this.drawing, this.list);
    this.node = el("section", {class: "card topology-card", "aria-labelledby": id},
      el("div", {class: "card-head"}, el("h2", {id}, "Topology")), this.area);
    new ResizeObserver(() => {
      const width = Math.floor(this.area.clientWidth);

      if (width && width !== this.width) {
        this.width = width;
        this.shape = "";
        this.draw();
      }
    }).observe(this.area);
  }

  /**
   * model: {instance, ports: [{name, bridge, link_up, speed_mbps, rx: {packets, bits}, tx: {packets, bits}}],
   * services: [{name, text}], publisher: {broker, connected, alarms, spooled, inFlight}}
   */
  update(model) {
    this.model = model;
    this.draw();
  }

  draw() {
    if (!this.model || !this.width)
      return;

    // shapes are drawn when they change; otherwise only the texts of the rates
    const shape = JSON.stringify([this.width, this.model.instance, this.model.services,
      this.model.publisher && [this.model.publisher.broker, this.model.publisher.connected, this.model.publisher.text],
      this.model.ports.map((p) => [p.name, p.bridge, p.link_up, p.speed_mbps, p.addresses])]);

    if (shape !== this.shape) {
      this.shape = shape;
      this.texts = new Map();
      this.drawShapes();
      this.drawList();
    }
    for (const p of this.model.ports)
      this.drawRates(p);
    if (this.model.publisher)
      this.write("publisher", `${scaled(this.model.publisher.alarms)}\u00a0alarms/s`);
  }

  write(name, text) {
    for (const node of this.texts.get(name) || [])
      setText(node, text);
  }

  live(name, node) {
    if (!this.texts.has(name))
      this.texts.set(name, []);
    this.texts.get(name).push(node);
    return node;
  }

  drawRates(p) {
    for (const way of ["rx", "tx"]) {
      const r = p[way];

      this.write(`${p.name} ${way}`, r ? packetRate(r.packets) : "");
      this.write(`${p.name} ${way} bits`, r ? bits(r.bits) : "");
    }
    const busy = p.link_up && p.rx && p.rx.packets + p.tx.packets > 0;

    for (const node of this.texts.get(`${p.name} link`) || [])
      node.setAttribute("data-level", !p.link_up ? "bad" : busy ? "busy" : "idle");
  }

  drawShapes() {
    const {left, right} = sides(this.model.ports.slice(0, MOST_PORTS));
    const hasEdge = Boolean(this.model.publisher);
    const rows = Math.max(left.length, right.length + (hasEdge ? 1 : 0), 2);
    const width = this.width - 2 * (PEER.width + LINK), inner = width - CHIP.width - 24;
    const columns = inner >= 2 * SERVICE.width + 8 && this.model.services.length > 1 ? 2 : 1;
    const serviceRows = Math.ceil(this.model.services.length / columns);
    const height = TOP + Math.max(rows * ROW, 40 + groups(this.model.ports).length * 58 + (serviceRows ? 34 + serviceRows * SERVICE.row : 0));
    const nodes = [];
    const box = {x: PEER.width + LINK, y: 30, width, height: height - 38};

    this.height = height;
    this.box = box;
    this.drawing.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    this.drawing.setAttribute("height", height);
    this.node.classList.toggle("narrow", box.width < NARROWEST);
    if (box.width < NARROWEST)
      return;
    nodes.push(label(PEER.width / 2, 16, "Device side", "side"), label(this.width - PEER.width / 2, 16, "Cloud side", "side"));
    nodes.push(svg("rect", {class: "gateway", ...box, rx: 10}));
    nodes.push(label(box.x + box.width / 2, 16, "Gateway", "side"));

    const chips = new Map();

    left.forEach((p, i) => nodes.push(...this.port(p, i, "left", chips, height, left.length)));
    right.forEach((p, i) => nodes.push(...this.port(p, i, "right", chips, height, right.length + (hasEdge ? 1 : 0))));
    nodes.push(...this.functions(chips), ...this.services(inner, columns, serviceRows));
    if (hasEdge)
      nodes.push(...this.edge(right.length, height, right.length + 1));
    this.drawing.replaceChildren(...nodes);
    this.drawing.querySelectorAll("text[data-width]").forEach(fit);
  }

  rowY(i, height, rows) {
    const space = (height - TOP - rows * ROW) / 2;

    return TOP + Math.max(0, space) + i * ROW + PEER.height / 2;
  }

  port(p, i, side, chips, height, rows) {
    const y = this.rowY(i, height, rows), isLeft = side === "left";
    const peerX = isLeft ? 0 : this.width - PEER.width;
    const wall = isLeft ? this.box.x : this.box.x + this.box.width;
    const chipX = wall - CHIP.width / 2;
    const from = isLeft ? PEER.width : wall + CHIP.width / 2, to = isLeft ? wall - CHIP.width / 2 : this.width - PEER.width;
    const middle = (from + to) / 2;
    // an arrow to the gateway: received
    const [inArrow, outArrow] = isLeft ? ["→", "←"] : ["←", "→"];
    const link = this.live(`${p.name} link`, svg("path", {class: "link", d: `M${from} ${y}H${to}`}));
    const rx = this.live(`${p.name} rx`, svg("tspan", {})), tx = this.live(`${p.name} tx`, svg("tspan", {}));

    chips.set(p.name, {x: isLeft ? wall + CHIP.width / 2 : wall - CHIP.width / 2, y, isLeft});
    return [
      svg("rect", {class: "peer", x: peerX + 0.5, y: y - PEER.height / 2, width: PEER.width - 1, height: PEER.height, rx: 8}),
      label(peerX + PEER.width / 2, y - 6, `Network ${p.name}`, "name", PEER.width - 12),
      label(peerX + PEER.width / 2, y + 13, p.link_up ? linkSpeed(p.speed_mbps) : "link down", p.link_up ? "small" : "small bad"),
      link,
      svg("text", {x: middle, y: y - 8, class: "rate", "text-anchor": "middle"}, `${inArrow} `, rx),
      svg("text", {x: middle, y: y + 18, class: "rate", "text-anchor": "middle"}, `${outArrow} `, tx),
      svg("rect", {class: "chip", "data-level": p.link_up ? "good" : "bad", x: chipX, y: y - CHIP.height / 2, width: CHIP.width,
        height: CHIP.height, rx: 6}),
      label(wall, y + 4.5, p.name, "chip-text", CHIP.width - 8),
    ];
  }

  /** Bridges and routing, and the lines of the ports to them. */
  functions(chips) {
    const {box} = this, middle = box.x + box.width / 2, nodes = [];
    const width = Math.min(190, Math.max(110, box.width - CHIP.width - 72));
    let y = box.y + 26;

    for (const g of groups(this.model.ports)) {
      for (const name of g.ports) {
        const chip = chips.get(name);

        if (chip) {
          const edge = chip.isLeft ? middle - width / 2 : middle + width / 2, bend = (chip.x + edge) / 2;

          nodes.push(svg("path", {class: "inner", d: `M${chip.x} ${chip.y}C${bend} ${chip.y} ${bend} ${y + 22} ${edge} ${y + 22}`}));
        }
      }
      nodes.push(svg("rect", {class: "function", x: middle - width / 2, y, width, height: 44, rx: 7}),
        label(middle, y + 19, g.kind === "Bridge" ? `Bridge ${g.name}` : "Routing", "name", width - 10),
        label(middle, y + 35, `${count(g.ports.length)} ${g.ports.length === 1 ? "port" : "ports"}`, "small"));
      y += 58;
    }
    return nodes;
  }

  services(inner, columns, rows) {
    const {box} = this, middle = box.x + box.width / 2, gap = 8;
    const width = columns === 1 ? Math.min(inner - 24, 200) : (inner - gap) / 2;
    const y = box.y + box.height - rows * SERVICE.row - 26;

    return this.model.services.flatMap((s, i) => {
      const alone = columns === 1 || (i === this.model.services.length - 1 && i % 2 === 0);
      const x = alone ? middle - width / 2 : middle - inner / 2 + (i % 2) * (width + gap);
      const top = y + 16 + Math.floor(i / columns) * SERVICE.row;

      return [...(i ? [] : [label(middle, y + 8, "Services", "side")]),
        svg("rect", {class: "service", x, y: top, width, height: SERVICE.height, rx: 6}),
        label(x + width / 2, top + 16, s.name, "small name", width - 8),
        label(x + width / 2, top + 30, s.text, "small", width - 8)];
    });
  }

  edge(row, height, rows) {
    const {box} = this, p = this.model.publisher, y = this.rowY(row, height, rows);
    const from = box.x + box.width, to = this.width - PEER.width;
    const rateText = this.live("publisher", svg("tspan", {}));

    return [
      svg("rect", {class: "peer", "data-level": p.connected ? null : "bad", x: to + 0.5, y: y - PEER.height / 2, width: PEER.width - 1,
        height: PEER.height, rx: 8}),
      label(to + PEER.width / 2, y - 12, "Edge broker", "name"),
      label(to + PEER.width / 2, y + 5, String(p.broker).replace(/^mqtt:\/\//, ""), "small", PEER.width - 10),
      label(to + PEER.width / 2, y + 21, p.connected ? "connected" : "not connected", p.connected ? "small good" : "small bad"),
      svg("path", {class: "link alarms", "data-level": p.connected ? "good" : "bad", d: `M${from} ${y}H${to}`}),
      svg("text", {x: (from + to) / 2, y: y - 8, class: "rate", "text-anchor": "middle"}, "→ ", rateText),
      label((from + to) / 2, y + 18, p.text, "rate", LINK - 8),
    ];
  }

  drawList() {
    const {left, right} = sides(this.model.ports);
    const port = (p) => el("li", {}, el("b", {}, visible(p.name)),
      el("span", {class: "muted"}, ` ${p.bridge ? `bridge ${visible(p.bridge)}` : "routed"}, ${
        p.link_up ? linkSpeed(p.speed_mbps) : "link down"}`),
      el("span", {class: "pair"}, "receives ", this.live(`${p.name} rx`, el("span")), ", ", this.live(`${p.name} rx bits`, el("span"))),
      el("span", {class: "pair"}, "sends ", this.live(`${p.name} tx`, el("span")), ", ", this.live(`${p.name} tx bits`, el("span"))));
    const publisher = this.model.publisher;

    this.list.replaceChildren(
      el("h3", {}, "Device side"), el("ul", {}, ...left.map(port)),
      el("h3", {}, "Gateway"), el("ul", {},
        ...groups(this.model.ports).map((g) => el("li", {}, el("b", {}, g.kind === "Bridge" ? `Bridge ${visible(g.name)}` : "Routing"),
          el("span", {class: "muted"}, ` ${g.ports.map((n) => visible(n)).join(", ")}`))),
        ...this.model.services.map((s) => el("li", {}, el("b", {}, visible(s.name)), el("span", {class: "muted"}, ` ${visible(s.text)}`)))),
      el("h3", {}, "Cloud side"), el("ul", {}, ...right.map(port), publisher ? el("li", {}, el("b", {}, "Edge broker"),
        el("span", {class: "muted"}, ` ${visible(publisher.broker)}, ${publisher.connected ? "connected" : "not connected"}`),
        el("span", {class: "pair"}, "receives ", this.live("publisher", el("span")), `, ${visible(publisher.text)}`)) : null));
  }
}
