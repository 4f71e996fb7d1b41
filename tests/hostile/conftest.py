# SPDX-License-Identifier: BSD-3-Clause
"""The fixtures and helpers of tests/e2e, for tests that attack a gateway in the same laboratories."""

import importlib.util
import sys
from pathlib import Path

E2E = Path(__file__).resolve().parents[1] / "e2e"
sys.path.insert(0, str(E2E))
sys.path.extend(str(folder) for folder in sorted(E2E.iterdir()) if folder.is_dir())  # whose tests have helpers, too

# Both files are called conftest: the other one gets a name of its own, and all that it offers is offered here.
_spec = importlib.util.spec_from_file_location("e2e_conftest", E2E / "conftest.py")
_e2e = importlib.util.module_from_spec(_spec)
sys.modules["e2e_conftest"] = _e2e
_spec.loader.exec_module(_e2e)
globals().update({name: value for name, value in vars(_e2e).items() if not name.startswith("__")})
