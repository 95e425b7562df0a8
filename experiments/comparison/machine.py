"""What a comparison ran on: the machine, the versions of programs that tables and patterns depend on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("cellveil", "numpy", "scipy", "highspy", "pyscipopt", "python-flint")


def machine() -> dict[str, Any]:
    """Facts for the page; no name of a host or a folder is among them."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory in GB": _gigabytes(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "date": datetime.now(UTC).date().isoformat(),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text("utf-8", "replace").splitlines():
            if line.lower().startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "not told"


def _gigabytes() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (ValueError, OSError, AttributeError):
        return None


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
