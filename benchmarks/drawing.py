"""The rooms of the package as a drawing, from the real imports: `python benchmarks/drawing.py`.

Writes docs/img/rooms.svg. A room stands below all rooms it imports from; an arrow points to what is imported.
Arrows that follow from others (a room that imports what its neighbour imports) are left out.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "cellveil"
TARGET = ROOT / "docs" / "img" / "rooms.svg"

GROUND = (
    "errors",
    "params",
    "arrays",
    "clock",
    "progress",
    "live_progress",
    "files",
    "plots",
    "shown",
    "tasks",
    "loops",
)
"""What everything stands on: one box."""

TOGETHER = dict.fromkeys(GROUND, "ground") | {
    "level_origin": "problem",
    "public_view": "pattern",
    "__main__": "cli",
}
WHAT = {
    "ground": "errors, params, clock, files, tasks, loops",
    "tables": "what a table is",
    "microdata": "records to table",
    "problem": "what to protect",
    "rules": "which cells are unsafe",
    "pattern": "hidden cells, public view",
    "certificate": "the proof, its check",
    "solvers": "door to optimisers",
    "deviations": "y with M y = 0",
    "attackers": "who, knowing what",
    "attack": "what follows from a view",
    "judge": "the verdict",
    "suppression": "which cells to hide",
    "adjustment": "which values to move",
    "explaining": "why a cell is hidden",
    "publishing": "the gate, public files",
    "report": "for the office",
    "formats": "files in and out",
    "argus": "files of tau-ARGUS",
    "datasets": "made-up data",
    "previous": "earlier releases",
    "job": "a whole publication",
    "front": "one call from Python",
    "views": "frames, notebooks",
    "service": "jobs over HTTP, the page",
    "cli": "the command line",
}
WIDTH, HEIGHT, GAP, STEP = 400, 34, 8, 58


def room_of(module: str) -> str:
    """The room of a dotted name below the package."""
    first = module.split(".")[0]
    return TOGETHER.get(first, first)


def imports() -> dict[str, set[str]]:
    """For each room those that it imports from."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts == ("__init__",):
            continue
        own = found.setdefault(room_of(parts[0]), set())
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cellveil."):
                own.add(room_of((node.module or "").removeprefix("cellveil.")))
        own.discard(room_of(parts[0]))
    return found


def reached(graph: dict[str, set[str]], room: str) -> set[str]:
    """Everything that a room imports, directly or not."""
    below = graph[room]
    return below.union(*(reached(graph, other) for other in below))


def arrows(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The imports that do not follow from others."""
    return [
        (room, target)
        for room, targets in graph.items()
        for target in sorted(targets)
        if not any(target in reached(graph, other) for other in targets - {target})
    ]


def levels(graph: dict[str, set[str]]) -> list[list[str]]:
    """Rooms by the longest chain of imports below them, in the order of `WHAT`."""
    depth: dict[str, int] = {}
    for room in WHAT:
        depth[room] = 1 + max((depth[other] for other in graph[room]), default=-1)
    return [[r for r in WHAT if depth[r] == k] for k in range(max(depth.values()) + 1)]


def drawing() -> str:
    """The SVG."""
    graph = imports()
    rows = levels(graph)
    boxes: dict[str, tuple[float, float, float]] = {}
    for row, rooms in enumerate(rows):
        wide = min((WIDTH - GAP * (len(rooms) + 1)) / len(rooms), 190.0)
        left = (WIDTH - wide * len(rooms) - GAP * (len(rooms) - 1)) / 2
        for place, room in enumerate(rooms):
            boxes[room] = (left + place * (wide + GAP), GAP + row * STEP, wide)
    high = GAP + (len(rows) - 1) * STEP + HEIGHT + GAP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" font-family="sans-serif">',
        "<title>The rooms of cellveil; arrows point to what is imported</title>",
        '<defs><marker id="a" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" '
        'orient="auto"><path d="M0 0 6 3 0 6z" fill="#678"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{high}" fill="#fff"/>',
    ]
    for room, target in arrows(graph):
        (x, y, wide), (tx, ty, twide) = boxes[room], boxes[target]
        start, end = x + wide / 2, tx + twide / 2
        end = min(max(start, tx + 12), tx + twide - 12) if ty + STEP == y else end
        foot = ty + HEIGHT + 1
        path = (
            f"M{start:.0f} {y:.0f} C{start:.0f} {y - 22:.0f} {end:.0f} {foot + 22:.0f} {end:.0f} {foot:.0f}"
        )
        lines.append(f'<path d="{path}" fill="none" stroke="#678" opacity=".7" marker-end="url(#a)"/>')
    for room, (x, y, wide) in boxes.items():
        middle = x + wide / 2
        lines += [
            f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="{HEIGHT}" rx="4" '
            'fill="#eef3f8" stroke="#456"/>',
            f'<text x="{middle:.1f}" y="{y + 15}" font-size="12.5" font-weight="bold" '
            f'text-anchor="middle" fill="#123">{room}</text>',
            f'<text x="{middle:.1f}" y="{y + 28}" font-size="9.5" text-anchor="middle" '
            f'fill="#345">{WHAT[room]}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    TARGET.write_text(drawing(), encoding="utf-8")
