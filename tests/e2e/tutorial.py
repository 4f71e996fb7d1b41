# SPDX-License-Identifier: BSD-3-Clause
"""Runs a page of docs/tutorials/ as it is written, block by block in one shell.

Commands are `sh` blocks, and the lines of `console` blocks that begin with `$ `. A YAML block that begins with `version:` is
written to the file that the text before it names. Output must have the lines of `console` and `text` blocks; numbers may
differ, and `...` matches anything. `<!-- compared: COLUMN... -->` before a block: these columns of its first table must have
the same numbers. Other blocks show what is not typed: pictures, parts of files.
"""

import os
import re
import subprocess
import time
from pathlib import Path

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
PAGES = sorted(p.stem for p in TUTORIALS.glob("*.md"))
WAIT = 30 * float(os.environ.get("BP_PATIENCE", "1"))  # seconds until the output must be there
# Commands that install and build: the first ones of a page.
PREPARES = re.compile(r"^(apt |scripts/setup|meson )")
# What a page must have removed at its end: processes, network namespaces, segments.
LEFT = r"""
for process in /proc/[0-9]*; do
	case ${process#/proc/} in 1|$$|$BASHPID) ;; *) tr '\0' ' ' <$process/cmdline 2>/dev/null | sed 's/^./process &/; s/$/\n/' ;; esac
done
ls -d /run/netns/* /run/biplane*/*.seg* 2>/dev/null
"""
# Commands that change nothing, and may be repeated until their output is right.
READS = re.compile(r"^(biplane (show|status|tail|top|explain|capture|trace)|curl |grep |get |head |tail |scripts/lab vtysh|scripts/lab run \w+ (vtysh|ip route show|ping -c|traceroute|biplane show))")


def blocks(page):
    """(kind, text, the paragraph before it)"""
    text, before = page.read_text(encoding="utf-8"), 0
    for m in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield m[1], m[2], text[before:m.start()]
        before = m.end()


def normal(line):
    """Without numbers, and with one blank between words."""
    line = re.sub(r"[0-9a-f:.]*[0-9][\w:.]*|#+", "#", line)
    return " ".join(line.split())


def missing(expected, output):
    """Lines that the output does not have."""
    lines = [normal(line) for line in output.splitlines()]
    return [line for line in expected if line.strip() and line.strip() != "..." and not any(
        re.fullmatch(".*".join(re.escape(normal(part)) + r"\s*" for part in line.split("...")), got) for got in lines)]


def cells(lines, columns):
    """Values of these columns in the first row below their heads, counted from the right: cells on the left may have blanks."""
    for head, row in zip(lines, lines[1:]):
        names, values = head.split(), row.split()
        if set(columns) <= set(names):
            return [values[names.index(c) - len(names)] if len(values) >= len(names) else None for c in columns]
    return None


def commands(text):
    """[(command, expected lines)] of a console block; a command continues behind a backslash at the end of its line."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and not found[-1][1] and found[-1][0].endswith("\\"):
            found[-1] = (found[-1][0] + "\n" + line, [])
        else:
            found[-1][1].append(line)
    return found


class Shell:
    """One bash that runs a page. argv: its command; folder: where its log is; block: where it reads its commands, for both sides."""

    def __init__(self, argv, folder, block=None, seen=None):
        self.n, self.log = 0, folder / "log"
        self.block = block or folder / "block"
        self.seen = seen or self.block
        self.process = subprocess.Popen(argv, cwd=folder, stdin=subprocess.PIPE, stdout=self.log.open("wb"),
                                        stderr=subprocess.STDOUT, text=True)

    def output(self):
        return self.log.read_text(encoding="utf-8", errors="replace")

    def run(self, text):
        """Its output, and that of background programs in the meantime."""
        self.n += 1
        begin, end = len(self.output()), f"<end of {self.n}>"
        self.block.write_text(text + "\n", encoding="utf-8")
        self.process.stdin.write(f". {self.seen} </dev/null; echo; echo '{end}'\n")
        self.process.stdin.flush()
        stop = time.monotonic() + 4 * WAIT
        while end not in self.output()[begin:]:
            assert self.process.poll() is None and time.monotonic() < stop, f"does not end: {text}\n{self.output()[begin:]}"
            time.sleep(0.02)
        return self.output()[begin:].partition(end)[0]

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def console(shell, text, before):
    columns = (re.findall(r"<!-- compared: (.*?) -->", before) or [""])[0].split()
    for command, expected in commands(text):
        stop = time.monotonic() + WAIT
        while True:
            output = shell.run(command)
            left = missing(expected, output)
            if not left and columns and cells(expected, columns) != cells(output.splitlines(), columns):
                left = columns
            if not left:
                break
            assert READS.match(command) and time.monotonic() < stop, f"$ {command}\nlacks {left}\n{shell.output()[-4000:]}"
            time.sleep(0.2)


def output_of(shell, text, block):
    """Waits for output of background programs. Runs a block in the foreground again: its messages may have come too early."""
    expected = text.splitlines()
    stop, again = time.monotonic() + 2 * WAIT, time.monotonic() + WAIT / 6
    while left := missing(expected, shell.output()):
        assert time.monotonic() < stop, f"lacks {left}\n{shell.output()[-4000:]}"
        if time.monotonic() > again and not re.search(r"&$", block, re.MULTILINE):
            shell.run(block)
            again += WAIT / 6
        time.sleep(0.1)


def run_page(shell, name, adapt=lambda commands: commands):
    """All blocks of the page, without the commands that install and build. adapt: changes the commands of a block."""
    last = ""
    for kind, text, before in blocks(TUTORIALS / f"{name}.md"):
        if kind == "yaml" and text.startswith("version:"):
            file = re.findall(r"`([\w-]+\.yaml)`", before)[-1]
            shell.run(f"cat >{file} <<'END-OF-YAML'\n{text}END-OF-YAML")
        elif kind == "sh":
            last = adapt("\n".join(line for line in text.splitlines() if not PREPARES.match(line)))
            shell.run(last)
        elif kind == "console":
            console(shell, text, before)
        elif kind == "text":
            output_of(shell, text, last)
    check_removed(shell)


def check_removed(shell):
    """The commands at the end of the page removed what the others made."""
    stop = time.monotonic() + WAIT
    while left := [line for line in shell.run(LEFT).splitlines() if line.startswith(("process ", "/run/"))]:
        assert time.monotonic() < stop, "not removed at the end of the page:\n" + "\n".join(left)
        time.sleep(0.2)
