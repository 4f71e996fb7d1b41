# SPDX-License-Identifier: BSD-3-Clause
"""A user interrupts a script. All objects that it created must be removed, in its own laboratory and in no other.

An assignment before a shell function stays active in the traps that run while the function does: with
`BP_LAB=other attend ...` the trap removed the other laboratory and left the script's own."""

import re
import signal
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [p for p in sorted((ROOT / "scripts").rglob("*")) if p.is_file() and p.suffix in ("", ".sh")]

FUNCTION = re.compile(r"^[ \t]*([a-z_]+)\(\) \{", re.M)
ASSIGNED = re.compile(r"""^[ \t]*(?:[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s;()])*[ \t]+)+([a-z_]+)(?![\w/.=-])""", re.M)


def test_no_call_after_an_assignment():
    texts = {p: p.read_text() for p in SCRIPTS}
    functions = {name for text in texts.values() for name in FUNCTION.findall(text)}
    assert "attend" in functions
    found = [f"{p.name}: {m.group(0).strip()}" for p, text in texts.items() for m in ASSIGNED.finditer(text)
             if m.group(1) in functions]
    assert not found, "the assignment holds in traps, too; pass it by 'env NAME=VALUE': " + "; ".join(found)


def test_a_trap_sees_the_script_s_own_laboratory(tmp_path):
    seen = tmp_path / "seen"
    script = f"""
        tool=test self=test
        . {ROOT}/scripts/lib.sh
        export BP_LAB=own
        finish() {{ trap '' TERM; attend_end 143; echo "$BP_LAB" >{seen}; }}
        trap finish EXIT
        exit_by_signal
        attend env BP_LAB=other sh -c 'echo $BP_LAB; exec sleep 60'
    """
    shell = subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True)
    assert shell.stdout.readline() == "other\n"  # by now it is attended
    shell.send_signal(signal.SIGTERM)
    shell.wait(timeout=30)
    shell.stdout.close()
    assert seen.read_text() == "own\n"
