// SPDX-License-Identifier: BSD-3-Clause
// A table with search, sorting and a details dialog. One row is in the tab order; arrow keys move between rows. At most
// `most` rows are drawn; a note below the table shows the total number.

import {el, newId, setAttribute, setText, visible} from "./dom.js";
import {count} from "./format.js";
import {showDetails} from "./details.js";

const LONGEST_SEARCH = 100;

function compare(a, b) {
  if (a === b)
    return 0;
  if (a === null || a === undefined)
    return 1;
  if (b === null || b === undefined)
    return -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
}

export class Table {
  /**
   * columns: [{key, label, number, value(row), text(row, value), level(row)}]: value sorts, text is shown, level colours.
   * search: label of the search field, or none; id(row): identity of a row; empty: text without rows; details(row): object
   * of the dialog.
   */
  constructor({title, columns, id, empty, search, most = 200, sort = null, details = (row) => row, sub = ""}) {
    Object.assign(this, {title, columns, id, empty, most, sort, details});
    this.rows = null;
    this.query = "";
    this.total = null;
    this.drawn = new Map(); // id: tr
    this.current = null;    // id of the row in the tab order
    this.build(search, sub);
  }

  build(search, sub) {
    const titleId = newId("table");

    this.note = el("p", {class: search ? "note kept" : "note", role: "status"});
    this.body = el("tbody", {onkeydown: (e) => this.key(e)});
    this.heads = this.columns.map((c, i) => el("th", {scope: "col", class: c.number ? "number" : null, "aria-sort": "none"},
      el("button", {type: "button", class: "sort", onclick: () => this.sortBy(i)}, c.label, el("span", {"aria-hidden": "true"}))));
    this.placeholder = el("p", {class: "empty"}, "Loading…");
    this.region = el("div", {class: "scroll", role: "region", tabindex: "0", "aria-labelledby": titleId},
      el("table", {}, el("thead", {}, el("tr", {}, ...this.heads)), this.body), this.placeholder);

    const tools = el("div", {class: "tools"});

    if (search) {
      const fieldId = newId("search");

      this.field = el("input", {type: "search", id: fieldId, maxlength: LONGEST_SEARCH, autocomplete: "off", spellcheck: "false",
        placeholder: search, oninput: () => { this.query = this.field.value.toLowerCase(); this.draw(); }});
      tools.append(el("label", {for: fieldId, class: "hidden"}, search), this.field);
    }
    this.tools = tools;
    this.node = el("section", {class: "card table", "aria-labelledby": titleId},
      el("div", {class: "card-head"}, el("h2", {id: titleId}, this.title), tools),
      sub ? el("p", {class: "sub"}, sub) : null, this.region, this.note);
    this.drawSort();
  }

  /** total: how many rows the gateway has, if it sent only some of them */
  update(rows, total = null) {
    this.rows = rows;
    this.total = total;
    this.draw();
  }

  fail(text) {
    this.rows = [];
    this.drawn.clear();
    this.body.replaceChildren();
    setText(this.placeholder, text);
    this.placeholder.hidden = false;
    setText(this.note, "");
  }

  sortBy(i) {
    this.sort = this.sort && this.sort.column === i ? {column: i, down: !this.sort.down} : {column: i, down: Boolean(this.columns[i].number)};
    this.drawSort();
    this.draw();
  }

  drawSort() {
    this.heads.forEach((head, i) => {
      const here = this.sort && this.sort.column === i;

      setAttribute(head, "aria-sort", here ? (this.sort.down ? "descending" : "ascending") : "none");
      setText(head.firstChild.lastChild, here ? (this.sort.down ? "▾" : "▴") : "");
    });
  }

  value(row, c) {
    return c.value ? c.value(row) : row[c.key];
  }

  text(row, c) {
    const value = this.value(row, c);

    return visible(c.text ? c.text(row, value) : value === null || value === undefined || value === "" ? "–" : value);
  }

  found() {
    let rows = this.rows;

    if (this.query)
      rows = rows.filter((row) => this.columns.some((c) => {
        const value = this.value(row, c);

        return (value !== null && value !== undefined && String(value).toLowerCase().includes(this.query)) ||
          this.text(row, c).toLowerCase().includes(this.query);
      }));
    if (this.sort) {
      const c = this.columns[this.sort.column], sign = this.sort.down ? -1 : 1;

      rows = [...rows].sort((a, b) => sign * compare(this.value(a, c), this.value(b, c)));
    }
    return rows;
  }

  draw() {
    if (!this.rows)
      return;

    const found = this.found(), shown = found.slice(0, this.most), keep = new Map();
    const focused = this.body.contains(document.activeElement);
    const position = focused ? [...this.body.children].indexOf(document.activeElement.closest("tr")) : -1;

    for (const row of shown) {
      const id = this.id(row);

      if (keep.has(id))
        continue;

      const tr = this.drawn.get(id) || this.newRow();

      tr.row = row;
      this.fillRow(tr, row);
      keep.set(id, tr);
    }
    for (const [id, tr] of this.drawn)
      if (!keep.has(id))
        tr.remove();
    this.drawn = keep;
    this.order([...keep.values()]);
    this.placeholder.hidden = shown.length > 0;
    setText(this.placeholder, this.query ? "No row matches the search." : this.empty);
    this.drawNote(found.length, shown.length);
    this.keepFocus(focused, position);
  }

  newRow() {
    const cells = this.columns.map((c) => el("td", {class: c.number ? "number" : null}));

    const tr = el("tr", {onclick: () => this.open(tr)}, ...cells);

    cells[0].append(el("button", {type: "button", class: "row", tabindex: "-1"}));
    return tr;
  }

  fillRow(tr, row) {
    this.columns.forEach((c, i) => {
      const td = tr.children[i], text = this.text(row, c);

      setText(i === 0 ? td.firstChild : td, text);
      setAttribute(td, "data-level", c.level ? c.level(row) : null);
    });
  }

  /** The rows in this order; a row that is at its place is not touched, so that focus and selection stay. */
  order(trs) {
    let at = this.body.firstChild;

    for (const tr of trs) {
      if (tr === at)
        at = at.nextSibling;
      else
        this.body.insertBefore(tr, at);
    }
  }

  drawNote(found, shown) {
    const all = this.rows.length;
    const parts = [];

    if (this.total !== null && this.total > all)
      parts.push(`The gateway has ${count(this.total)}; the search covers the ${count(all)} that are loaded.`);
    if (this.query)
      parts.push(`${count(found)} of ${count(all)} match.`);
    if (found > shown)
      parts.push(`The first ${count(shown)} are shown.`);
    setText(this.note, parts.join(" "));
  }

  keepFocus(focused, position) {
    const rows = [...this.body.children];
    let tr = rows.find((r) => r.firstChild.firstChild.tabIndex === 0);

    if (!tr && rows.length) {
      tr = rows[Math.min(Math.max(0, position), rows.length - 1)];
      tr.firstChild.firstChild.tabIndex = 0;
    }
    if (focused && tr && !this.body.contains(document.activeElement))
      tr.firstChild.firstChild.focus();
  }

  open(tr) {
    if (String(getSelection()) === "")
      showDetails(this.title, this.details(tr.row));
  }

  key(e) {
    const button = e.target.closest("button.row");

    if (!button)
      return;

    const rows = [...this.body.children], at = rows.indexOf(button.closest("tr"));
    const to = {ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: rows.length - 1, PageUp: at - 10, PageDown: at + 10}[e.key];

    if (to === undefined)
      return;
    e.preventDefault();

    const next = rows[Math.min(rows.length - 1, Math.max(0, to))].firstChild.firstChild;

    button.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }
}
