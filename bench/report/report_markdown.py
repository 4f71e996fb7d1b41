# SPDX-License-Identifier: BSD-3-Clause
"""Common functions for the tables of docs/performance/results.md: Markdown, and figures that may be missing."""
import re


def has(run, path):
    for key in path.split("/"):
        run = run.get(key) if isinstance(run, dict) else None
        if not run:
            return False
    return True


def table(header, rows):
    rows = [[str(c) for c in r] for r in rows]
    return ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)] + ["| " + " | ".join(r) + " |" for r in rows]


def bold(v):
    return f"**{v}**"


def failed(run, cases):
    """A sentence for each of these cases that failed in the run, with the reason given by scripts/bench."""
    said = {f["case"]: " ".join(f["why"].split()).replace("`", "'") for f in run.get("failed") or []}
    return [f"**`{c}` failed in this run**: `{said[c]}`" for c in cases if c in said]


# Titles of cases and series in results before 2026-11-26, mapped to the current ones.
TEXTS = {"1,000 connections, text value, one rule, 5 % cloned": "1,000 connections, text value, one rule, 5 % mirrored",
         "two requests each": "reports of two objects, two requests each",
         "the CSE's acknowledgements and the answers too": "reports, acknowledgements of the CSE, and responses",
         "messages in, format paper, N = 8, 64-byte frames": "encapsulation, format lin2018, N = 8, 64-byte frames",
         "messages in, format full, N = 8, 100 senders": "encapsulation, format full, N = 8, 100 senders",
         "messages out, format full, N = 8, 100 senders": "decapsulation, format full, N = 8, 100 senders",
         "10,000 streams in random order instead of one": "encapsulation, 10,000 streams in random order",
         "10,000 rules instead of one": "as `text`, 10,000 rules",
         "1,000,000 connections, random order": "as `text`, 1,000,000 connections in random order",
         "alarm rules; from 1000 on one a connection": "alarm rules; from 1,000 on, one rule per connection",
         "health devices' sessions, in random order": "health device sessions, in random order",
         "workers, a bridge each": "workers, one bridge each", "octets of a frame, routed": "frame size in bytes, routed"}


def text_of(said):
    """The title of a case or a series."""
    trackers = re.match(r"of (\d+) trackers in random order$", said)
    if trackers:
        n = int(trackers[1])
        return f"{n:,} tracker{'s' if n > 1 else ''} in random order"
    return TEXTS.get(said, said.replace("the same by method ", "82-byte readings, method "))


def figure(v, digits=2):
    return "not measured" if v is None else f"{v:.{digits}f}"


def ratio(row):
    """The ratio of a rate, with those of its rounds if the result has them."""
    text = figure(row["ratio"], 3)
    return text if row.get("ratio_low") is None else f"{text} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
