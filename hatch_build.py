"""The build hook: wheels and editable installations get the compiled loops (`src/cellveil/loops/build.py`).

A wheel for another machine is made where the environment has ``CELLVEIL_WHEEL``, one of `WHEELS`.
"""

from __future__ import annotations

import os
import sysconfig
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WHEELS = {
    "linux-x86_64": ("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64", "linux"),
    "linux-aarch64": ("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64", "linux"),
    "musl-x86_64": ("x86_64-linux-musl", "musllinux_1_2_x86_64", "linux"),
    "musl-aarch64": ("aarch64-linux-musl", "musllinux_1_2_aarch64", "linux"),
    "macos-x86_64": ("x86_64-macos", "macosx_11_0_x86_64", "darwin"),
    "macos-arm64": ("aarch64-macos", "macosx_11_0_arm64", "darwin"),
    "windows-x86_64": ("x86_64-windows-gnu", "win_amd64", "win32"),
}
"""Machines: the target as zig names it, the tag of the wheel, and what Python calls the system."""


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the loops where the library does not fit the sources."""

    def _build(self) -> Any:
        spec = spec_from_file_location("build_loops", Path(self.root, "src/cellveil/loops/build.py"))
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def dependencies(self) -> list[str]:
        """A compiler from the package index where this machine has none."""
        if self.target_name != "wheel":
            return []
        build = self._build()
        has_what_it_needs = build.is_current() or build.system_compiler() is not None
        return [] if has_what_it_needs and not os.environ.get("CELLVEIL_WHEEL") else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and put the library into the wheel."""
        if self.target_name != "wheel":
            return
        build = self._build()
        machine = os.environ.get("CELLVEIL_WHEEL")
        build_data["pure_python"] = False
        if machine and version == "standard":
            target, tag, platform = WHEELS[machine]
            folder = Path(self.root, "build", machine)
            folder.mkdir(parents=True, exist_ok=True)
            made = build.build(folder / build.library_path(platform).name, target=target)
            build_data["force_include"][str(made)] = f"cellveil/loops/{made.name}"
        else:
            tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            made = build.library_path() if build.is_current() else build.build()
            build_data["artifacts"].append(f"/src/cellveil/loops/{made.name}")
        build_data["tag"] = f"py3-none-{tag}"
