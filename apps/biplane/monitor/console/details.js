// SPDX-License-Identifier: BSD-3-Clause
// A dialog with all members of a row, as the gateway sent them.

import {el, visible} from "./dom.js";

const MOST_ENTRIES = 200;
const LONGEST = 4096;

// JSON has integers that a number here does not represent exactly, such as times in ns.
function text(value) {
  if (value === null)
    return "null";
  if (typeof value === "object")
    return "empty";
  return typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER ? `about ${value}` : String(value);
}

function members(value, prefix, found) {
  for (const [name, v] of Object.entries(value)) {
    if (found.length >= MOST_ENTRIES)
      return found;

    const path = prefix ? `${prefix}.${name}` : name;

    if (v !== null && typeof v === "object" && Object.keys(v).length)
      members(v, path, found);
    else
      found.push([path, text(v)]);
  }
  return found;
}

export function showDetails(title, row) {
  const dialog = document.getElementById("details");
  const found = members(row, "", []);

  document.getElementById("details-title").textContent = title;
  document.getElementById("details-body").replaceChildren(el("dl", {},
    ...found.flatMap(([name, value]) => [el("dt", {}, visible(name)), el("dd", {}, el("bdi", {}, visible(value, LONGEST)))])));
  if (!dialog.open)
    dialog.showModal();
}
