"""The drawings of the documentation: `python benchmarks/concept_pictures.py`, or `make pictures`.

Each is made by the library itself: a table is protected, attacked and certified, and what came out is drawn.
A test holds the drawings in docs/img current.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from benchmarks.table_drawing import CHARACTER, GAP, LINE, Drawing, Shown, draw_table, legend, lines_of  # noqa: E402

IMAGES = ROOT / "docs" / "img"
KINDS = {1: "primary", 2: "secondary"}
WHICH = [("primary", "primary"), ("secondary", "secondary")]
Cell = Callable[[str, str], Shown]


# -- tables --------------------------------------------------------------------------------------------------


def two_dimensional(
    drawing: Drawing, dimensions: Sequence[Any], cell: Cell, **where: Any
) -> tuple[float, float]:
    """A table of two dimensions, its cells by their codes."""
    (down, rows), (across, columns) = map(lines_of, dimensions)
    return draw_table(drawing, rows, columns, lambda i, j: cell(down[i], across[j]), **where)


def number_of(table: Any, row: str, column: str) -> int | None:
    """The cell of two codes; None where the table has none."""
    from cellveil.errors import InputError

    try:
        return int(table.cell(row, column))
    except InputError:
        return None


def true_values(problem: Any) -> Cell:
    """All values, primary cells in their colour."""

    def shown(row: str, column: str) -> Shown:
        number = number_of(problem.table, row, column)
        if number is None:
            return Shown("–")
        return Shown(f"{problem.table.values[number]:,}", KINDS[1] if problem.status[number] == 1 else "")

    return shown


def internal(problem: Any, pattern: Any) -> Cell:
    """What is published, hidden cells by their kind."""

    def shown(row: str, column: str) -> Shown:
        number = number_of(problem.table, row, column)
        if number is None:
            return Shown("–")
        if not pattern.hidden[number]:
            return Shown(f"{problem.table.values[number]:,}")
        return Shown("x", "primary" if problem.hidden_at_start[number] else "secondary")

    return shown


def public(problem: Any, pattern: Any) -> Cell:
    """What everybody sees: hidden cells all look alike."""

    def shown(row: str, column: str) -> Shown:
        number = problem.table.cell(row, column)
        if pattern.hidden[number]:
            return Shown("x", "hidden")
        return Shown(f"{problem.table.values[number]:,}")

    return shown


def before_and_after(name: str, problem: Any, pattern: Any) -> Iterator[tuple[str, Drawing]]:
    """Two drawings: the values, and what is published of them."""
    for suffix, caption, cell in (
        ("before", "Before", true_values(problem)),
        ("after", "After", internal(problem, pattern)),
    ):
        drawing = Drawing(f"{caption}: {name}")
        _, end = two_dimensional(drawing, problem.table.dimensions, cell, caption=caption)
        legend(drawing, WHICH if suffix == "after" else WHICH[:1], (GAP, end + 10))
        yield f"{name}-{suffix}.svg", drawing


def hiding(problem: Any, *cells: Sequence[str]) -> Any:
    """The primary cells and further ones."""
    import cellveil as cv

    hidden = problem.hidden_at_start.copy()
    hidden[[problem.table.cell(*codes) for codes in cells]] = True
    return cv.Pattern.hiding(problem, hidden, "by hand")


# -- the tables of the pages ---------------------------------------------------------------------------------


def firms() -> Any:
    """The firms of the start page, as a problem."""
    import pyarrow as pa

    import cellveil as cv

    sales = [90, 3, 20, 25, 30, 40, 35, 30, 50, 45, 20, 20, 15, 25, 30, 35, 20]
    records = {
        "region": ["North"] * 5 + ["South"] * 6 + ["West"] * 6,
        "branch": ["food"] * 2 + ["wood"] * 3 + (["food"] * 3 + ["wood"] * 3) * 2,
        "firm": [f"F{number:02}" for number in range(1, 18)],
        "turnover": sales,
    }
    region = cv.Dimension.of("region", cv.Hierarchy.flat(["North", "South", "West"]))
    branch = cv.Dimension.of("branch", cv.Hierarchy.flat(["food", "wood"]))
    table = cv.tabulate(pa.table(records), [region, branch], "turnover", contributor="firm")
    return cv.make_problem(table, cv.PPercent(10))


def survey() -> Any:
    """The table of the business survey: its story runs the same job."""
    import cellveil as cv

    data = cv.business(1_000, seed=1)
    region, size = data.dimensions[1].hierarchies[0], data.dimensions[2]
    first = cv.Hierarchy.flat(region.children[region.root])
    codes = [code[0] for code in data.frame["region"].to_pylist()]
    records = data.frame.drop(["region"]).append_column("region", [codes])
    table = cv.tabulate(
        records,
        [cv.Dimension.of("region", first), size],
        "turnover",
        contributor="firm",
        holding="holding",
        depth=10,
    )
    return cv.make_problem(table, cv.PPercent(10, level="holding") | cv.Threshold(3))


def given(dimensions: Mapping[str, Any], values: Sequence[int], rule: Any, **settings: Any) -> Any:
    """A problem from the inner cells of a two-way table, row by row."""
    import pyarrow as pa

    import cellveil as cv

    trees = {name: cv.Dimension.of(name, cv.Hierarchy.of(tree)) for name, tree in dimensions.items()}
    rows, columns = (trees[name].hierarchies[0].leaves for name in trees)
    first, second = trees
    cells = {first: [row for row in rows for _ in columns], second: list(columns) * len(rows)}
    table = cv.read_table(pa.table(cells | {"value": list(values)}), trees, totals="none")
    return cv.make_problem(table, rule, **settings)


def branches() -> Any:
    """Three branches in three regions, one cell to protect by 25 %."""
    import cellveil as cv

    names = {"branch": ["Farming", "Industry", "Services"], "region": ["North", "Middle", "South"]}
    rule = cv.Manual([["Industry", "North"]], safety_range=25)
    return given(names, [18, 44, 9, 12, 26, 31, 23, 35, 14], rule)


def districts() -> Any:
    """A subtotal to protect."""
    import cellveil as cv

    names = {"region": {"North": ["N1", "N2"], "South": ["S1", "S2"]}, "branch": ["A", "B", "C"]}
    rule = cv.Manual([["North", "A"]], safety_range=20)
    return given(names, [21, 14, 30, 17, 25, 12, 28, 33, 19, 24, 16, 22], rule)


def persons() -> Any:
    """A table of counts with small cells."""
    import cellveil as cv

    names = {"district": ["D1", "D2", "D3", "D4"], "work": ["employed", "unemployed", "retired"]}
    counts = [12, 4, 8, 12, 0, 7, 11, 0, 3, 2, 1, 0]
    return given(names, counts, cv.Threshold(3, of="value"), weight="one")


# -- concepts ------------------------------------------------------------------------------------------------

RECTANGLE = (("Industry", "South"), ("Farming", "North"), ("Farming", "South"))
"""The secondary cells that protect (Industry, North)."""


def primary_and_secondary() -> Iterator[tuple[str, Drawing]]:
    """The table as it is, with one cell hidden, and with the rectangle."""
    problem = branches()
    alone, rectangle = hiding(problem), hiding(problem, *RECTANGLE)
    scenes = {
        "primary": ("1. One cell is unsafe", true_values(problem), "12 stands for one firm."),
        "alone": ("2. Hidden alone", internal(problem, alone), "x = 69 − 26 − 31 = 12"),
        "rectangle": ("3. With secondary cells", internal(problem, rectangle), "x may be 3 to 30."),
    }
    for name, (caption, cell, told) in scenes.items():
        drawing = Drawing(caption)
        _, end = two_dimensional(drawing, problem.table.dimensions, cell, caption=caption)
        drawing.words(GAP, end + 20, told, "bad" if name == "alone" else "ink")
        yield f"concept-{name}.svg", drawing


def attack() -> Iterator[tuple[str, Drawing]]:
    """The interval that an attacker is left with, under three patterns."""
    import cellveil as cv

    problem = branches()
    patterns = {
        "hidden alone": hiding(problem),
        "with a second cell of its row": hiding(problem, RECTANGLE[0]),
        "with the rectangle": hiding(problem, *RECTANGLE),
    }
    drawing = Drawing("What an attacker knows of the cell, under three patterns")
    scale, zero, top = 9.0, GAP + 10.0, 40.0
    audits = {name: cv.audit(problem, pattern).outsider for name, pattern in patterns.items()}
    first = next(iter(audits.values()))
    low, high = int(first.required_lower[0]), int(first.required_upper[0])
    drawing.words(GAP, 16, f"Needed: open from {low} to {high}", bold=True)
    drawing.box(zero + low * scale, top - 14, (high - low) * scale, 3 * 48 + 8, "head")
    for number, (name, found) in enumerate(audits.items()):
        lower, upper, y = float(found.lower[0]), float(found.upper[0]), top + number * 48 + 26
        safe = bool(found.safe[0])
        drawing.words(
            GAP, y - 12, f"{name}: " + (f"{lower:g} to {upper:g}" if lower < upper else f"{lower:g}")
        )
        drawing.box(
            zero + lower * scale - 2, y - 3, (upper - lower) * scale + 4, 7, "good" if safe else "bad"
        )
    axis = top + 3 * 48 + 4
    drawing.line(zero, axis, zero + 32 * scale, axis, "soft")
    for tick in (0, 12, 20, 30):
        drawing.line(zero + tick * scale, axis, zero + tick * scale, axis + 5, "soft")
        drawing.words(zero + tick * scale, axis + 20, str(tick), "soft", anchor="middle", bold=tick == 12)
    yield "concept-attack.svg", drawing


def witness() -> Iterator[tuple[str, Drawing]]:
    """A deviation that the certificate holds, and the other table that it leads to."""
    import cellveil as cv

    problem = branches()
    table = problem.table
    audit = cv.audit(problem, hiding(problem, *RECTANGLE))
    target = table.cell("Industry", "North")
    moved = next(found for found in witnesses(audit.certificate) if found.get(target, 0) > 0)

    def deviation(row: str, column: str) -> Shown:
        by = moved.get(table.cell(row, column), 0)
        return Shown(f"{by:+d}".replace("-", "−") if by else "0", "moved" if by else "")

    def other(row: str, column: str) -> Shown:
        number = table.cell(row, column)
        by = moved.get(number, 0)
        return Shown(str(table.values[number] + by), "moved" if by else "")

    for name, caption, cell, told in (
        ("concept-deviation.svg", "A deviation y", deviation, "Every row and column adds up to 0."),
        ("concept-other.svg", "Another table, a + y", other, "Same published cells, same totals."),
    ):
        drawing = Drawing(caption)
        _, end = two_dimensional(drawing, table.dimensions, cell, caption=caption)
        drawing.words(GAP, end + 20, told)
        yield name, drawing


def witnesses(certificate: Any) -> Iterator[dict[int, int]]:
    """Each witness that is whole: how far it moves which cell."""
    for number, denominator in enumerate(certificate.denominators.tolist()):
        part = slice(*certificate.starts[number : number + 2].tolist())
        amounts = certificate.numerators[part].tolist()
        if all(amount % denominator == 0 for amount in amounts):
            found = dict(zip(certificate.cells[part].tolist(), amounts, strict=True))
            for sign in (1, -1):
                yield {cell: sign * amount // denominator for cell, amount in found.items()}


def certificate() -> Iterator[tuple[str, Drawing]]:
    """What goes into the verifier, what it checks, what comes out."""
    drawing = Drawing("What the verifier is given, and what it checks")
    given_to_it = [
        "instance: values, relations, levels",
        "pattern: which cells are hidden",
        "certificate: deviations",
    ]
    checks = [
        "1  it is about this instance and this pattern",
        "2  the table adds up; primary cells are hidden",
        "3  deviations move hidden cells only, M y = 0",
        "4  a + y stays within what everybody knows",
        "5  each primary cell reaches its levels",
    ]
    width = max(map(len, checks)) * CHARACTER + 16
    y = float(GAP)
    for text in given_to_it:
        drawing.box(GAP, y, width, LINE, "panel", "line")
        drawing.words(GAP + 8, y + 17, text)
        y += LINE + 4
    drawing.words(GAP + width / 2, y + 14, "↓", "soft", anchor="middle")
    y += 22
    drawing.box(GAP, y, width, LINE * (len(checks) + 1), "head", "accent")
    drawing.words(GAP + 8, y + 17, "verifier: whole numbers, no solver", "accent", bold=True)
    for number, text in enumerate(checks, 1):
        drawing.words(GAP + 8, y + number * LINE + 17, text)
    y += LINE * (len(checks) + 1)
    drawing.words(GAP + width / 2, y + 18, "↓", "soft", anchor="middle")
    drawing.box(GAP, y + 26, width, LINE, "good-soft", "good")
    drawing.words(GAP + 8, y + 43, "valid: every demand has a witness", "good", bold=True)
    yield "concept-certificate.svg", drawing


def linked() -> Iterator[tuple[str, Drawing]]:
    """Two tables with a common margin: protected one by one, and together."""
    import cellveil as cv

    rule = cv.Manual([{"branch": "B"}], safety_range=20)
    problems = [
        given({"branch": ["A", "B", "C"], name: codes}, values, rule)
        for name, codes, values in (
            ("region", ["North", "South"], [12, 48, 15, 25, 40, 30]),
            ("size", ["small", "large"], [35, 25, 22, 18, 9, 61]),
        )
    ]
    both = cv.make_problem(cv.link([problem.table for problem in problems]), rule)
    found = cv.suppress(both).pattern
    one_by_one, together = Drawing("Each protected by itself"), Drawing("Protected together")
    for place, problem in enumerate(problems):
        at = (GAP, GAP + place * (5 * LINE + 40))
        names = [dimension.name for dimension in problem.table.dimensions]
        by, pattern = f"by {names[1]}", cv.suppress(problem).pattern

        def jointly(row: str, column: str, names: list[str] = names) -> Shown:
            number = both.table.cell(**dict(zip(names, (row, column), strict=True)))
            text = "x" if found.hidden[number] else f"{both.table.values[number]:,}"
            kind = KINDS[1 if both.hidden_at_start[number] else 2] if found.hidden[number] else ""
            return Shown(text, kind)

        two_dimensional(one_by_one, problem.table.dimensions, internal(problem, pattern), at=at, caption=by)
        two_dimensional(together, problem.table.dimensions, jointly, at=at, caption=by)
    one_by_one.words(GAP, one_by_one.height + 20, "A = 60 and C = 70: B = 170 − 60 − 70 = 40", "bad")
    together.words(GAP, together.height + 20, "B may be 25 to 52.", "ink")
    yield "concept-linked-apart.svg", one_by_one
    yield "concept-linked-together.svg", together


def insiders() -> Iterator[tuple[str, Drawing]]:
    """What a reader sees, what one of the contributors sees, and what keeps her off."""
    import pyarrow as pa

    import cellveil as cv

    records = {
        "firm": ["Ann", "Bob", "c1", "c2", "d1", "d2", "d3", "e1", "e2", "e3", "f1", "f2"],
        "region": ["North"] * 4 + ["South"] * 8,
        "branch": ["food", "wood", "toys", "toys"] + ["food"] * 3 + ["wood"] * 3 + ["toys"] * 2,
        "sales": [20, 30, 5, 4, 7, 7, 8, 9, 9, 9, 6, 6],
    }
    region = cv.Dimension.of("region", cv.Hierarchy.flat(["North", "South"]))
    branch = cv.Dimension.of("branch", cv.Hierarchy.flat(["food", "wood", "toys"]))
    table = cv.tabulate(pa.table(records), [region, branch], "sales", contributor="firm")
    problem = cv.make_problem(table, cv.Manual([["North", "food"], ["North", "wood"]], safety_range=15))
    found = {
        "outsiders": cv.suppress(problem).pattern,
        "everybody": cv.suppress(problem, attackers=[cv.Attacker("insider")]).pattern,
    }

    def of_ann(row: str, column: str) -> Shown:
        own = (row, column) == ("North", "food")
        return Shown("20", "moved") if own else public(problem, found["outsiders"])(row, column)

    scenes = (
        (
            "outsider",
            "What everybody sees",
            public(problem, found["outsiders"]),
            "Two x in each row: open.",
            "ink",
        ),
        ("insider", "What Ann sees", of_ann, "North: x = 59 − 20 − 9 = 30, which is Bob.", "bad"),
        (
            "kept-off",
            "Kept off as well",
            public(problem, found["everybody"]),
            "A third x, of two firms.",
            "ink",
        ),
    )
    for name, caption, cell, told, ink in scenes:
        drawing = Drawing(caption)
        _, end = two_dimensional(drawing, table.dimensions, cell, caption=caption)
        drawing.words(GAP, end + 20, told, ink)
        yield f"concept-{name}.svg", drawing


def logo() -> str:
    """A table of nine cells, four of them hidden as a rectangle."""
    cells = []
    for place in range(9):
        row, column = divmod(place, 3)
        fill = "#f6d98a" if row > 0 and column < 2 else "#fff"
        fill = "#b23a1e" if (row, column) == (1, 0) else fill
        cells.append(
            f'<rect x="{2 + 7 * column}" y="{2 + 7 * row}" width="6" height="6" rx="1" fill="{fill}"/>'
        )
    return "\n".join(['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">', *cells, "</svg>", ""])


def protected() -> Iterator[tuple[str, Drawing]]:
    """Tables of the pages before and after."""
    import cellveil as cv

    firm, holding = cv.Attacker("insider"), cv.Attacker("insider", level="holding")
    for name, problem, attackers in (
        ("firms", firms(), [firm]),
        ("survey", survey(), [holding]),
        ("districts", districts(), []),
        ("persons", persons(), []),
    ):
        yield from before_and_after(name, problem, cv.suppress(problem, attackers=attackers).pattern)


SCENES = (protected, primary_and_secondary, attack, witness, certificate, linked, insiders)


def pictures() -> dict[str, str]:
    """All drawings by the names of their files."""
    return {name: drawing.text for scene in SCENES for name, drawing in scene()} | {"logo.svg": logo()}


if __name__ == "__main__":
    for name, text in pictures().items():
        (IMAGES / name).write_text(text, encoding="utf-8")
