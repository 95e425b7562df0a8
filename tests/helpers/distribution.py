"""The wheel and the source archive, built from the checkout by the build backend itself."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from helpers.pages import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def built_wheel(folder: Path) -> Path:
    from hatchling.builders.wheel import WheelBuilder

    (path,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(path)


def built_archive(folder: Path) -> Path:
    from hatchling.builders.sdist import SdistBuilder

    (path,) = SdistBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(path)
