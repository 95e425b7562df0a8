"""Where the public instances are; tests that need them are skipped where they are not."""

import os
from pathlib import Path

import pytest

INSTANCES = Path(os.environ.get("CELLVEIL_INSTANCES") or Path(__file__).parents[3] / "shared" / "instances")
needs_instances = pytest.mark.skipif(
    not INSTANCES.is_dir(), reason=f"public instances not found in {INSTANCES} (set CELLVEIL_INSTANCES)"
)
