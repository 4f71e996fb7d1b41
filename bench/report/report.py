#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/performance/results.md and its pictures from a result of scripts/bench.

    bench/report/report.py RUN.json docs/performance/results.md [PAGE.md...]

Figures go to the folder figures beside it, as SVG, and as PNG where rsvg-convert is installed. In each further page
the tables between marks are written from the same run (report_pages.py).
What the run does not have is left out. Exit status 1: of something that it has no picture could be drawn.
"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import report_pages
import report_papers
import report_peers
import report_sections
from report_markdown import has

BENCH = Path(__file__).resolve().parent


def draw(picture, run_file, folder):
    """Whether it could be."""
    files = [folder / f"{name}.svg" for name in picture.names]
    done = subprocess.run([BENCH / picture.script, *picture.before, run_file, *files, *picture.after], stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        print(f"report: no picture by {picture.script}: {done.stderr.strip()}", file=sys.stderr)
        return False
    if shutil.which("rsvg-convert"):
        for f in files:
            subprocess.run(["rsvg-convert", "--zoom", "2", f, "-o", f.with_suffix(".png")], check=True)
    return True


def head(run, run_file):
    versions = "; ".join(f"{k} {v}" for k, v in run.get("versions", {}).items())
    return ["# Results", "",
            f"Made by `bench/report/report.py` from `{run_file.name}`, one run of `scripts/bench --all`; do not edit. What each case is, "
            "says `scripts/bench --help`; the command beside a number repeats it. First, biplane beside the five papers, then "
            "beside what else one would run; then each case with its table and its picture. The papers' numbers are from their "
            "text and tables (`bench/report/papers.py` says from where); all others are of this run.", "",
            "| | |", "| --- | --- |",
            f"| when | {run.get('date', 'unknown')} |",
            f"| commit | {run['commit']} |",
            f"| machine | {run['machine']}, {run.get('cores', '?')} cores, {run.get('memory_gib', '?')} GiB |",
            f"| versions | {versions or 'unknown'} |",
            f"| rounds | {run['rounds']} of {run['seconds']} s |",
            *([f"| failed in this run | {', '.join('`' + f['case'] + '`' for f in run['failed'])}: why, is below |"]
              if run.get("failed") else []), "",
            "Machines that are shared and virtual are noisy: ratios to a peer in the same run are worth more than rates.",
            ""]


def section_lines(section, table, run, run_file, folder):
    """(lines of Markdown, whether its pictures are there as far as the run has them)"""
    lines, complete = [f"## {section.title}", "", section.text, ""] + table + [""], True
    if all(has(run, part) for part in section.picture.needs):
        complete = draw(section.picture, run_file, folder)
        if complete:
            for name in section.picture.names:
                lines += [f"![{section.title}]({folder.name}/{name}.svg)", ""]
    return lines + [f"`scripts/bench {section.cases}` repeats it.", ""], complete


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    run_file, out, *pages = map(Path, sys.argv[1:])
    with open(run_file, encoding="utf-8") as f:
        run = json.load(f)
    folder = out.with_name("figures")
    folder.mkdir(parents=True, exist_ok=True)
    lines = head(run, run_file) + report_papers.lines(run) + report_peers.lines(run)
    complete = True
    for section in report_sections.SECTIONS:
        table = section.table(run)
        why = report_sections.failed_of(section, run)
        if table:
            more, drawn = section_lines(section, table, run, run_file, folder)
            lines += more
            complete = complete and drawn
        elif why:
            lines += [f"## {section.title}", ""]
        for sentence in why:
            lines += [sentence, ""]
    out.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    for page in pages:
        report_pages.renew_file(page, run, out)
    sys.exit(0 if complete else 1)


if __name__ == "__main__":
    main()
