#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Replaces cases of a complete result by those of a later run of some cases.

  bench/report/update.py OLD.json NEW.json CASE...

Prints the result as JSON: OLD with what NEW has measured, and in "updates" the date, commit, rounds and cases of each
later run. Cases that failed in NEW keep their figures of OLD, and "failed" states why.
"""
import json
import sys

ABOUT = ("date", "commit", "machine", "rounds", "seconds")
NOT_MEASURED = (*ABOUT, "cores", "memory_gib", "versions", "failed", "updates")


def measured(old, new):
    """NEW over OLD; what NEW does not have is None, in objects within objects too."""
    if new is None:
        return old
    if isinstance(old, dict) and isinstance(new, dict) and None in new.values():
        return {**old, **{k: measured(old.get(k), v) for k, v in new.items()}}
    return new


def rates(old, new):
    """Rows by case; the order is that of OLD, then that of NEW."""
    later = {row["case"]: row for row in new}
    return [later.pop(row["case"], row) for row in old] + list(later.values())


def update(old, new, cases):
    """The result OLD, with CASES of NEW."""
    failed = {f["case"] for f in new["failed"]}
    done = [c for c in cases if c not in failed]
    result = dict(old)
    for key, value in new.items():
        if key == "rates":
            result[key] = rates(old[key], [r for r in value if r["ratio"] is not None])
        elif key not in NOT_MEASURED:
            result[key] = measured(old.get(key), value)
    updates = [{**u, "cases": [c for c in u["cases"] if c not in done]} for u in old.get("updates", [])]
    updates.append({**{k: new[k] for k in ABOUT}, "cases": done})
    result["updates"] = [u for u in updates if u["cases"]]
    result["failed"] = [f for f in old["failed"] if f["case"] not in done + list(failed)] + new["failed"]
    return result


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    old, new = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:3])
    json.dump(update(old, new, sys.argv[3:]), sys.stdout)


if __name__ == "__main__":
    main()
