"""Make the generated part of README.md: the table of figures. Its picture is made by `screenshots.py`.

python benchmarks/readme.py figures [--time-limit S]     runs the tables and writes their lines into README.md

The public instances are found as the tests find them; without them their lines stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(
    r"(<!-- figures: made by benchmarks/readme.py -->\n)(.*?)(<!-- end of figures -->)", re.DOTALL
)
HEAD = "| table | cells | primary | cost | cost / lower bound | seconds |\n|---|---|---|---|---|---|\n"
INSTANCES = ("table7", "hie1327d", "ninenew")
RANDOM = {
    "random 30 × 15 × 15": {"shape": (30, 15, 15), "contributors": 3, "zeros": 0.3, "seed": 1},
    "random 100 × 27 × 18": {"shape": (100, 27, 18), "contributors": 3, "zeros": 0.3, "seed": 1},
}


def instances() -> Path | None:
    given = os.environ.get("CELLVEIL_INSTANCES")
    found = Path(given) if given else ROOT.parent / "shared" / "instances"
    return found / "csp" if (found / "csp").is_dir() else None


def line(name: str, run: dict[str, object], seconds: float) -> str:
    cost, bound = float(str(run["cost"])), float(str(run["lower_bound"] or 0))
    ratio = (
        "no bound" if not bound else "1.00, proven" if run["outcome"] == "optimal" else f"{cost / bound:.2f}"
    )
    return f"| {name} | {run['cells']:,} | {run['primaries']:,} | {cost:,.0f} | {ratio} | {seconds:.0f} |"


def figures(time_limit: float) -> Iterator[tuple[str, str]]:
    """The name and the line of each table, run one after the other."""
    from cellveil.datasets import random_table
    from cellveil.formats.instance import read_instance
    from cellveil.report import build_report
    from cellveil.suppression import suppress

    limit = f"({time_limit:g} s limit)"
    problems = {}
    if (folder := instances()) is not None:
        problems |= {f"public instance {n} {limit}": read_instance(folder / f"{n}.jj") for n in INSTANCES}
    for name, options in RANDOM.items():
        problems[f"{name} {limit}"] = random_table(options.pop("shape"), **options)
    for name, problem in problems.items():
        started = time.perf_counter()
        found = suppress(problem, attackers=[], time_limit=time_limit, seed=1)
        seconds = time.perf_counter() - started
        yield name, line(name, build_report(problem, found, found.audit).to_dict(), seconds)
    with tempfile.TemporaryDirectory() as place:
        started = time.perf_counter()
        demo(Path(place) / "demo")
        name = "demo: 50,000 firms, three linked tables"
        run = json.loads((Path(place) / "demo" / "internal" / "report.json").read_text("utf-8"))
        yield name, line(name, run, time.perf_counter() - started)


def demo(out: Path) -> None:
    subprocess.run([sys.executable, "-m", "cellveil", "demo", "--quiet", "--out", str(out)], check=True)


def write_figures(time_limit: float) -> None:
    text = README.read_text("utf-8")
    match = BLOCK.search(text)
    assert match is not None, "README.md has lost its marks"
    has_all = instances() is not None
    kept = {} if has_all else {row.split("|")[1].strip(): row for row in match[2].splitlines()[2:]}
    for name, row in figures(time_limit):
        kept[name] = row
        print(row, flush=True)
    README.write_text(
        BLOCK.sub(lambda m: m[1] + HEAD + "\n".join(kept.values()) + "\n" + m[3], text), "utf-8"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("what", choices=["figures"])
    parser.add_argument("--time-limit", type=float, default=30.0)
    write_figures(parser.parse_args().time_limit)
