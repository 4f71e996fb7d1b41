# SPDX-License-Identifier: BSD-3-Clause
"""A simulator as a command, for the tests of what it prints. The test's first argument is the program."""

import subprocess
import sys

SIM = sys.argv.pop(1)


def run(*args, status=0):
    """Its output; with another exit status, its error message."""
    p = subprocess.run([SIM, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                       timeout=100)
    if p.returncode != status:
        raise AssertionError(f"{args}: {p.returncode}: {p.stderr}")
    return p.stderr if status else p.stdout
