# SPDX-License-Identifier: BSD-3-Clause
"""Output goes to the pager on a terminal, and only there: pager_test.py BIPLANE"""

import os
import pty
import subprocess
import sys

biplane = sys.argv[1]
failures = []


def on_terminal(*words, **env):
    """Output on a terminal, and the exit status."""
    ours, theirs = pty.openpty()
    p = subprocess.Popen([biplane, *words], stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, **env}, close_fds=True)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the last one has closed it
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return shown.decode(), p.wait()


def check(what, condition, *seen):
    if not condition:
        failures.append(f"{what}: {seen}")


plain = subprocess.run([biplane, "help"], capture_output=True, text=True, check=True, env={**os.environ, "PAGER": "sed s/^/P:/"}).stdout
check("a pipe is not paged", "P:" not in plain, plain[:200])
for command, off in (("sed s/^/P:/", False), ("", True), ("cat", True)):
    shown, status = on_terminal("help", PAGER=command)
    lines = [line.rstrip("\r") for line in shown.split("\n")]
    check(f"PAGER={command!r}", status == 0 and lines == [("" if off or not line else "P:") + line for line in plain.split("\n")]
          or not off and status == 0 and all(line.startswith("P:") for line in lines if line), shown[:300], status)
shown, status = on_terminal("help", PAGER="head -n 1")
check("a pager that ends early", shown.count("\n") == 1 and shown.startswith("Usage"), shown[:300], status)
shown, status = on_terminal("help", PAGER="/nonexistent/pager")
check("a pager that is not there does not hang", "pager" in shown, shown[:300], status)
shown, status = on_terminal("show", "nonsense", PAGER="sed s/^/P:/")
check("errors are not paged", status == 64 and "P:" not in shown, shown[:300], status)
print("\n".join(failures) or "ok")
sys.exit(bool(failures))
