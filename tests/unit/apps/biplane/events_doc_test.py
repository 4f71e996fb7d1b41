# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/events.md has an example of each type, which its JSON Schema accepts: events_doc_test.py TREE"""

import json
import re
import sys
from pathlib import Path

import jsonschema

tree = Path(sys.argv[1])
page = (tree / "docs/reference/events.md").read_text()
schema = json.loads((tree / "docs/reference/events.schema.json").read_text())
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
types = set(schema["properties"]["event_type"]["enum"])
failures, examples = [], {}


def accepts(event):
    return validator.is_valid(event)


for section in page.split("\n## ")[1:]:
    name = section.partition("\n")[0]
    for block in re.findall(r"```json\n(.*?)```", section, re.S):
        for line in block.splitlines():
            event = json.loads(line)
            examples.setdefault(name, []).append(event)
            failures += [f"{name}: {e.json_path}: {e.message}" for e in validator.iter_errors(event)]
            if event["event_type"] != name:
                failures.append(f"{name}: an example of type {event['event_type']}")
    if name in types:
        members = set(re.findall(r"^\| `(\w+)` \|", section, re.M))
        if members != set(schema["properties"][name]["properties"]):
            failures.append(f"{name}: the page has {sorted(members)}, the schema {sorted(schema['properties'][name]['properties'])}")
if set(examples) != types:
    failures.append(f"examples of {sorted(examples)}, types {sorted(types)}")
for name, events in examples.items():
    event = events[0]
    for wrong in ({**event, name: {**event[name], "other": 1}}, {**event, "event_type": "other"},
                  {k: v for k, v in event.items() if k != name}, {**event, "timestamp": "2026-11-27 03:02:09"},
                  {**event, name: {}}):
        if accepts(wrong):
            failures.append(f"accepted: {wrong}")

print("\n".join(failures) or f"ok: {sum(map(len, examples.values()))} examples")
sys.exit(bool(failures))
