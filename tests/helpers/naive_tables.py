"""Tables built with dicts, and random dimensions and interiors to compare them on."""

from itertools import product

from hypothesis import strategies as st

from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.table import Table


def flat(name: str, codes: str) -> Dimension:
    return Dimension.of(name, Hierarchy.flat(codes))


def columns_of(dimensions, keys) -> dict[str, list[str]]:
    return {d.name: [key[axis] for key in keys] for axis, d in enumerate(dimensions)}


def contents(table: Table) -> dict[tuple[str, ...], int]:
    values = table.values.tolist()
    by_key = {table.key(cell): values[cell] for cell in range(table.num_cells)}
    assert len(by_key) == table.num_cells
    return by_key


def relation_set(table: Table) -> list[tuple[frozenset, ...]]:
    rows = []
    for row in range(len(table.relations)):
        cells, coefs = table.relations.row(row)
        rows.append(
            frozenset((table.key(int(c)), k) for c, k in zip(cells.tolist(), coefs.tolist(), strict=True))
        )
        assert len(rows[-1]) == len(cells)
    return rows


def brute_totals(dimensions, interior: dict) -> dict:
    covering = []
    for dimension in dimensions:
        above: dict[str, list[str]] = {}
        for leaf, code in zip(*(column.tolist() for column in dimension.closure), strict=True):
            above.setdefault(dimension.codes[leaf], []).append(dimension.codes[code])
        covering.append(above)
    totals: dict = {}
    for key, value in interior.items():
        for upper in product(*(above[code] for above, code in zip(covering, key, strict=True))):
            totals[upper] = totals.get(upper, 0) + value
    return totals


def brute_relations(dimensions, cells: dict) -> list[frozenset]:
    """One row for each equation of an axis and each combination of the other codes, of the cells there."""
    rows = []
    for axis, dimension in enumerate(dimensions):
        rests = {key[:axis] + key[axis + 1 :] for key in cells}
        for equation, rest in product(dimension.equations, rests):
            row = frozenset(
                (key, coef)
                for code, coef in zip(equation.codes, equation.coefs, strict=True)
                if (key := (*rest[:axis], dimension.codes[code], *rest[axis:])) in cells
            )
            if row:
                rows.append(row)
    return rows


@st.composite
def interiors(draw, low: int = 0, high: int = 9, fewest: int = 0):
    """Random dimensions (overlapping trees included) and random interior cells, many left out."""
    number = draw(st.integers(1, 5))
    largest = {1: 6, 2: 5, 3: 3, 4: 2, 5: 2}[number]
    axes = [draw(dimensions(f"d{axis}", largest, 2 if number < 4 else 1)) for axis in range(number)]
    leaves = [[c for c, up in zip(d.codes, d.is_parent, strict=True) if not up] for d in axes]
    places = list(product(*leaves))
    fewest = min(fewest, len(places))
    keys = draw(st.lists(st.sampled_from(places), unique=True, min_size=fewest, max_size=12))
    values = draw(st.lists(st.integers(low, high), min_size=len(keys), max_size=len(keys)))
    return axes, dict(zip(keys, values, strict=True))


@st.composite
def parents_of(draw, leaves: list[str], prefix: str):
    """A random tree over the leaves: join random groups of the open codes until one is left."""
    pairs, open_codes, number = [], list(leaves), 0
    while len(open_codes) > 1 or not pairs:
        size = draw(st.integers(1, len(open_codes)))
        chosen = draw(st.permutations(open_codes))[:size]
        if size == 1 and number > 6:
            chosen = open_codes
        code = f"{prefix}{number}"
        pairs += [(code, child) for child in chosen]
        open_codes = [c for c in open_codes if c not in chosen] + [code]
        number += 1
    return Hierarchy.from_pairs(pairs)


@st.composite
def dimensions(draw, name: str = "x", max_leaves: int = 5, max_trees: int = 2):
    leaves = [f"l{number}" for number in range(draw(st.integers(1, max_leaves)))]
    trees = [draw(parents_of(leaves, prefix)) for prefix in "PQR"[: draw(st.integers(1, max_trees))]]
    return Dimension.of(name, *trees)
