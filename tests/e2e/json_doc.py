# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/json.md against what commands print: each printed member is documented, and each documented member is
printed, unless its row says optional."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "json.md"
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \|", re.MULTILINE)


def documented(command):
    """{path: whether it is optional} of the section of a command."""
    section = re.search(rf"^## `biplane {re.escape(command)}`\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert section, f"json.md has no section for biplane {command}"
    rows = dict(ROW.findall(section[1]))
    assert rows, f"json.md has no members for biplane {command}"
    return {path: "optional" in type_ for path, type_ in rows.items()}


def members(value, path, wildcards):
    """The paths of all members of a JSON value, and those of which there is an instance. `a[]` are the elements of a,
    `a.*` its members of any name."""
    if isinstance(value, list):
        for element in value:
            yield from members(element, f"{path}[]", wildcards)
    elif isinstance(value, dict):
        prefix = f"{path}." if path else ""
        yield path, True
        for name, member in value.items():
            where = f"{prefix}*" if f"{prefix}*" in wildcards else prefix + name
            yield where, False
            yield from members(member, where, wildcards)


def differences(command, value):
    """Sentences: what the page and the output of a command do not have in common."""
    expected = documented(command)
    seen = list(members(value, "", {p for p in expected if p.endswith("*")}))
    printed = {p for p, instance in seen if not instance}
    instances = {p for p, instance in seen if instance}
    parent = {p: p.rpartition(".")[0] for p in expected}
    return [f"{command}: {p} is printed, not documented" for p in sorted(printed - set(expected))] + \
        [f"{command}: {p} is documented, not printed" for p, optional in sorted(expected.items())
         if p not in printed and not optional and not p.endswith("*") and parent[p] in instances]
