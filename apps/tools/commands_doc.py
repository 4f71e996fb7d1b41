#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes docs/reference/commands.md to stdout, from what --help prints: commands_doc.py BIPLANE. A test compares the page."""

import re
import subprocess
import sys

BIPLANE = sys.argv[1]
INTRO = """# Commands

`meson compile -C build commands-doc` writes this page from the output of `--help`. `man biplane` describes the commands in full;
[Exit status](exit-status.md) lists the values that they return. Words of a command can be abbreviated: `biplane sh ro`.
"""


def help_of(*words):
    text = subprocess.run([BIPLANE, *words, "--help"], check=True, capture_output=True, text=True).stdout
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def main():
    text = help_of()
    print(INTRO)
    print("| Command | Function |\n| --- | --- |")
    commands = [re.split(r"  +", line.strip(), maxsplit=1) for line in text.split("Commands:\n")[1].split("\n\n")[0].splitlines()]
    for name, function in commands:
        print(f"| [`biplane {name}`](#biplane-{name.replace(' ', '-')}) | {function} |")
    for name, _ in commands:
        print(f"\n## biplane {name}\n\n```\n{help_of(*name.split()).rstrip()}\n```")


main()
