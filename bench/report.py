#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/results.md and its pictures from a result of scripts/bench.

    bench/report.py RUN.json docs/results.md

Pictures go to a folder beside it that is called as it is without .md, as SVG, and as PNG where rsvg-convert is
installed. What the run does not have is left out.
"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import report_sections

BENCH = Path(__file__).resolve().parent


def draw(section, run_file, run, folder):
    """The section's pictures; the names of those that could be drawn."""
    drawn = []
    for script, names in section.pictures:
        if not all(report_sections.has(run, key) for key in section.needs):
            continue
        files = [folder / f"{name}.svg" for name in names]
        done = subprocess.run([BENCH / script, run_file, *files], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            print(f"report: no picture by {script}: {done.stderr.strip()}", file=sys.stderr)
            continue
        drawn += names
        if shutil.which("rsvg-convert"):
            for f in files:
                subprocess.run(["rsvg-convert", "--zoom", "2", f, "-o", f.with_suffix(".png")], check=True)
    return drawn


def head(run):
    versions = "; ".join(f"{k} {v}" for k, v in run.get("versions", {}).items())
    return ["# Results", "",
            "Made by `bench/report.py` from one run of `scripts/bench`; do not edit. What each case is, says "
            "`scripts/bench --help`.", "",
            "| | |", "| --- | --- |",
            f"| when | {run.get('date', 'unknown')} |",
            f"| commit | {run['commit']} |",
            f"| machine | {run['machine']}, {run.get('cores', '?')} cores, {run.get('memory_gib', '?')} GiB |",
            f"| versions | {versions or 'unknown'} |",
            f"| rounds | {run['rounds']} of {run['seconds']} s |", "",
            "Machines that are shared and virtual are noisy: ratios to a peer in the same run are worth more than rates.",
            ""]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    run_file, out = Path(sys.argv[1]), Path(sys.argv[2])
    with open(run_file, encoding="utf-8") as f:
        run = json.load(f)
    folder = out.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    lines = head(run)
    for section in report_sections.SECTIONS:
        table = section.table(run)
        if not table:
            continue
        lines += [f"## {section.title}", "", section.text, ""] + table + [""]
        for name in draw(section, run_file, run, folder):
            lines += [f"![{section.title}]({folder.name}/{name}.svg)", ""]
        lines += [f"`scripts/bench {section.cases}` repeats it.", ""]
    out.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
