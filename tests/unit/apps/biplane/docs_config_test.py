# SPDX-License-Identifier: BSD-3-Clause
"""The configurations in the documents are valid: docs_config_test.py BIPLANE TREE

A block that begins with `version:` is a whole file. Of any other, only the names of its settings are checked.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

biplane, tree = sys.argv[1], Path(sys.argv[2])
failures, count = [], 0

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "page.yaml"
    for page in [tree / "README.md", *sorted((tree / "docs").rglob("*.md"))]:
        for block in re.findall(r"^```yaml\n([a-z].*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            whole = block.startswith("version:")
            file.write_text(block if whole else "version: 1\n" + block, encoding="utf-8")
            done = subprocess.run([biplane, "config", "check", "-c", file], capture_output=True, text=True, check=False)
            count += 1
            lines = (done.stdout + done.stderr).replace(str(file), "page.yaml").splitlines()
            if not whole:
                lines = [line for line in lines if "unknown setting" in line]
            if whole and done.returncode != 0 or not whole and lines:
                failures += [f"{page.relative_to(tree)}: {line}" for line in lines]

if count < 10:
    failures.append(f"only {count} configurations found")
print("\n".join(failures) or f"ok: {count} configurations")
sys.exit(bool(failures))
