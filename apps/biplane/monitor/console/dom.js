// SPDX-License-Identifier: BSD-3-Clause
// Elements of the page. Text of the gateway is untrusted: topics and client identifiers come from devices. It enters the
// page as text nodes only, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const LONGEST = 256;

// Control characters, bidirectional controls and invisible characters: with them, a topic could look like another one.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;

/** Text as one readable line of at most `longest` characters; hidden characters become \u{...}. */
export function visible(value, longest = LONGEST) {
  const text = value === null || value === undefined ? "" : String(value);
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;

  return cut.replace(HIDDEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false)
      continue;
    if (name.startsWith("on"))
      node.addEventListener(name.slice(2), value);
    else
      node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

/** An HTML element; children are nodes, or strings that become text nodes. */
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Text of a node; an unchanged text is not written, so that a selection stays. */
export function setText(node, text) {
  if (node.textContent !== text)
    node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false)
    node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value))
    node.setAttribute(name, String(value));
}

let ids = 0;

/** A new id, for labels. */
export function newId(prefix) {
  ids += 1;
  return `${prefix}-${ids}`;
}
