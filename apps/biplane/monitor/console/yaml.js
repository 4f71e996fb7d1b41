// SPDX-License-Identifier: BSD-3-Clause
// The configuration as the lines of a YAML file, for reading: [{indent, dash, name, value}].

const MOST_LINES = 5000;
const PLAIN = /^[A-Za-z0-9_/.$%+][A-Za-z0-9_/.$%+ -]*$/;
const SPECIAL = /^(true|false|null|yes|no|on|off|~|[-+]?[0-9_]*\.?[0-9_]*(e[-+]?[0-9]+)?|0x[0-9a-f]+|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|.* )$/i;

function scalar(value) {
  if (typeof value !== "string")
    return String(value);
  return PLAIN.test(value) && !SPECIAL.test(value) ? value : JSON.stringify(value);
}

function isEmpty(value) {
  return Object.keys(value).length === 0;
}

function add(lines, indent, dash, name, value) {
  if (lines.length >= MOST_LINES)
    return;
  if (value === null || typeof value !== "object" || isEmpty(value)) {
    lines.push({indent, dash, name, value: value === null || typeof value !== "object" ? scalar(value) : Array.isArray(value) ? "[]" : "{}"});
    return;
  }
  if (Array.isArray(value) && value.every((v) => v === null || typeof v !== "object")) {
    lines.push({indent, dash, name, value: `[${value.map(scalar).join(", ")}]`});
    return;
  }
  if (name !== null) {
    lines.push({indent, dash, name, value: ""});
    children(lines, indent + (dash ? 2 : 1), value);
  } else {
    // an element of a list: its first member follows the dash
    const first = lines.length;

    children(lines, indent + 1, value);
    if (lines.length > first) {
      lines[first].indent -= 1;
      lines[first].dash = true;
    }
  }
}

function children(lines, indent, value) {
  if (Array.isArray(value))
    value.forEach((v) => add(lines, indent, v === null || typeof v !== "object", null, v));
  else
    for (const [name, v] of Object.entries(value))
      add(lines, indent, false, name, v);
}

export function yamlLines(config) {
  const lines = [];

  children(lines, 0, config);
  return {lines, complete: lines.length < MOST_LINES};
}
