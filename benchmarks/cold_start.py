"""The first run: seconds to compile the loops, module by module, and a first run against later ones.

python benchmarks/cold_start.py [--sizes 20,20] [--limit 5]
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import time
from pathlib import Path

from cellveil.jit import compiled
from cellveil.jit.translation import Unit

RUN = """
from cellveil.datasets import random_table
from cellveil.suppression import suppress
found = suppress(random_table(({sizes}), seed=1), time_limit={limit}, seed=1)
print(f"cost {{found.cost:g}} ({{found.reason}})")
"""


def modules() -> list[str]:
    """Modules with loops that Python calls."""
    folder = Path(compiled.__file__).parent
    return sorted(path.stem for path in folder.glob("*.py") if "@outer\n" in path.read_text("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="20,20")
    parser.add_argument("--limit", type=float, default=5.0)
    given = parser.parse_args()
    began = time.process_time()
    import llvmlite.binding  # noqa: F401

    print(f"{'loading LLVM':20}{time.process_time() - began:28.2f} s CPU")
    whole = 0.0
    for name in modules():
        importlib.import_module(f"cellveil.jit.{name}")
        kernels = compiled._by_module[f"cellveil.jit.{name}"]
        unit, began = Unit(compiled._loop_of), time.process_time()
        unit.source([kernel.loop for kernel in kernels])
        translating = time.process_time() - began
        compiled._compile(kernels)
        seconds = time.process_time() - began - translating
        whole += seconds
        print(f"{name:20}{len(unit.loops):3} functions, translated {translating:.2f}{seconds:8.2f} s CPU")
    print(f"{'all':20}{whole:28.2f} s CPU")
    for run in ("first", "second", "third"):
        began = time.perf_counter()
        code = RUN.format(sizes=given.sizes, limit=given.limit)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        print(f"{run + ' run':20}{time.perf_counter() - began:28.2f} s wall, {done.stdout.strip()}")


if __name__ == "__main__":
    main()
