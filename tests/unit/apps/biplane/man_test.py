# SPDX-License-Identifier: BSD-3-Clause
"""The manual pages and --help say the same: man_test.py BIPLANE exit_status.h biplane.1 biplane-GROUP.1..."""

import re
import subprocess
import sys

OPTION = re.compile(r"^ +(?:(-\w), )?(--[a-z][a-z-]*)(?: ([A-Z][A-Z=-]*)(?=\s|$))?")

biplane, exit_status, *pages = sys.argv[1:]
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def options_in(text):
    """(short, long, argument) of every line that begins with an option."""
    return {match.groups() for match in map(OPTION.match, text.splitlines()) if match}


def commands_in_help():
    """The commands with all their words."""
    text = output(biplane, "--help").split("Commands:\n")[1].split("\n\n")[0]
    return [re.split(r"  +", line.strip())[0] for line in text.splitlines()]


def rendered(page):
    """A page as plain text; a warning of groff is a failure."""
    groff = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True)
    check(groff.returncode == 0 and not groff.stderr, "groff -ww: " + groff.stderr)
    return output("groff", "-man", "-Tascii", "-P-c", "-P-b", "-P-u", "-rLL=200n", page)


def sections(text):
    """Top-level sections of a page, and the subsections of COMMANDS."""
    top = dict(re.findall(r"^([A-Z][A-Z ]*)\n(.*?)(?=^\S|\Z)", text, re.S | re.M))
    sub = dict(re.findall(r"^   (\w[\w ]*)\n(.*?)(?=^   \w|\Z)", top.get("COMMANDS", ""), re.S | re.M))
    return top, sub


all_pages = {page: sections(rendered(page)) for page in pages}
main = all_pages[pages[0]][0]
sub, synopsis = {}, {}
for page, (top, commands) in all_pages.items():
    for name, text in commands.items():
        check(name not in sub, "%s: in two pages" % name)
        sub[name], synopsis[name] = text, top["SYNOPSIS"]
    if page != pages[0]:
        title = page.rpartition("/")[2].replace(".1", "(1)")
        check(title in main["COMMANDS"] and title in main["SEE ALSO"], "%s: not named in biplane(1)" % title)
names = commands_in_help()
check(len(names) >= 15, "too few commands found in --help: %s" % names)
check(sorted(names) == sorted(sub), "commands: --help has %s, the pages %s" % (names, list(sub)))

for name in names:
    text = output(biplane, *name.split(), "--help")
    in_help, in_page = options_in(text.split("\nOptions:\n")[1]), options_in(sub.get(name, ""))
    check(in_help, "%s: too few options found in --help" % name)
    check("biplane %s" % name in text.split("\nExample:\n")[1], "%s: --help has no example" % name)
    for option in in_help - in_page:
        failures.append("%s: %s is in --help, not in the page" % (name, option))
    for option in in_page - in_help:
        failures.append("%s: %s is in the page, not in --help" % (name, option))
    check("biplane " + name in synopsis.get(name, ""), "%s: not in SYNOPSIS" % name)

words = output(biplane, "show", "--help").splitlines()[0].split()[3].split("|")
check(len(words) >= 9, "show: too few views found in --help")
for word in words:
    check(re.search(r"^ +%s\b" % word, sub["show"], re.M), "show %s: not in the page" % word)

statuses = re.findall(r"/\* (\d+): ", open(exit_status, encoding="utf-8").read())
check(len(statuses) >= 7, "too few exit statuses found in " + exit_status)
for status in statuses:
    check(re.search(r"^ +%s\b" % status, main["EXIT STATUS"], re.M), "exit status %s" % status)

print("\n".join(failures) or "ok: %d commands" % len(names))
sys.exit(bool(failures))
