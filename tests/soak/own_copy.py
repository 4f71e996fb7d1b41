# SPDX-License-Identifier: BSD-3-Clause
"""Runs a copy of the tested programs: a soak test takes hours, in which the working copy may be built again."""

import os
import shutil
import tempfile
from pathlib import Path

DIRECTORY = tempfile.TemporaryDirectory(prefix="biplane-soak-")
BIPLANE = Path(os.environ["BIPLANE"]).resolve()
shutil.copy(f"{BIPLANE}d", DIRECTORY.name)
os.environ["BIPLANE"] = shutil.copy(BIPLANE, DIRECTORY.name)
os.environ.setdefault("BP_ROUTE_LOAD", str(BIPLANE.parents[1] / "tests" / "e2e" / "route_load"))
os.environ.setdefault("BP_PROGRAMS", str(BIPLANE.parent))
