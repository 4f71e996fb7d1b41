# SPDX-License-Identifier: BSD-3-Clause
"""What the tables of docs/performance/results.md have in common: Markdown, and figures that may be missing."""


def has(run, path):
    for key in path.split("/"):
        run = run.get(key) if isinstance(run, dict) else None
        if not run:
            return False
    return True


def table(header, rows):
    rows = [[str(c) for c in r] for r in rows]
    return ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)] + ["| " + " | ".join(r) + " |" for r in rows]


def failed(run, cases):
    """Of these cases a sentence for each that failed in the run, as scripts/bench says why."""
    said = {f["case"]: " ".join(f["why"].split()).replace("`", "'") for f in run.get("failed") or []}
    return [f"**`{c}` failed in this run**: `{said[c]}`" for c in cases if c in said]


def figure(v, digits=2):
    return "not measured" if v is None else f"{v:.{digits}f}"
