# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/json.md against what commands print: each printed member is documented with its type, and each
documented member is printed, unless its row says optional."""

import json
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "json.md"
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]*) \|$", re.MULTILINE)
AS = re.compile(r"as `([^`]+)`")  # a description: the members of another command
TYPES = {"integer": int, "number": (int, float), "string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}


def documented(command):
    """{path: the words of its type} of the section of a command, and of the sections that its rows refer to."""
    section = re.search(rf"^## `biplane {re.escape(command)}`\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert section, f"json.md has no section for biplane {command}"
    found = ROW.findall(section[1])
    rows = {path: re.findall(r"\w+", type_) for path, type_, _ in found}
    for path, _, text in found:
        if m := AS.match(text):
            rows |= {f"{path}.{p}": [*words, "optional"] for p, words in documented(m[1]).items()}
    assert rows, f"json.md has no members for biplane {command}"
    unknown = {word for words in rows.values() for word in words} - set(TYPES) - {"optional", "or"}
    assert not unknown, f"biplane {command}: types {unknown}"
    return rows


def has_type(value, words):
    if isinstance(value, bool):
        return "boolean" in words
    return any(isinstance(value, TYPES[word]) for word in words if word in TYPES)


def members(value, path, wildcards):
    """(path, whether it is an object itself, value) of all members of a JSON value. `a[]` are the elements of a, `a.*` its
    members of any name."""
    if isinstance(value, list):
        for element in value:
            yield from members(element, f"{path}[]", wildcards)
    elif isinstance(value, dict):
        prefix = f"{path}." if path else ""
        yield path, True, None
        for name, member in value.items():
            where = f"{prefix}*" if f"{prefix}*" in wildcards else prefix + name
            yield where, False, member
            yield from members(member, where, wildcards)


def differences(command, value):
    """Messages: the differences between the page and the output of a command."""
    expected = documented(command)
    seen = list(members(value, "", {p for p in expected if p.endswith("*")}))
    printed = {p for p, instance, _ in seen if not instance}
    instances = {p for p, instance, _ in seen if instance}
    parent = {p: p.rpartition(".")[0] for p in expected}
    wrong = {p: type(v).__name__ for p, instance, v in seen if not instance and p in expected and not has_type(v, expected[p])}
    return [f"{command}: {p} is printed, not documented" for p in sorted(printed - set(expected))] + \
        [f"{command}: {p} is documented, not printed" for p, words in sorted(expected.items())
         if p not in printed and "optional" not in words and not p.endswith("*") and parent[p] in instances] + \
        [f"{command}: {p} is a {name}, documented as {' '.join(expected[p])}" for p, name in sorted(wrong.items())]


def output(g, *args, status=(0,)):
    """Output of a command of a gateway with --json."""
    p = g.command(*args, "--json")
    assert p.returncode in status, p.stderr
    value = json.loads(p.stdout)
    assert value["schema_version"] == 1
    return value
