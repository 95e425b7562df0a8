"""Dimensions: the codes of one variable, and the linear equations that one or several trees put between them.

The trees may overlap and need not be nested (regions by administration and by coast), as long as they agree
about the leaves. A code with a single child is the same cell under two names; `Dimension` merges the two
under the name that comes first (the upper one; that of the first tree), and keeps the other one as an alias.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError, check_kind, name_some
from cellveil.tables.hierarchy import Hierarchy

MOST_PAIRS = 20_000_000
"""Most pairs of a leaf and a code that covers it."""


@dataclass(frozen=True)
class Equation:
    """A linear equation between codes of one dimension: Σ coefs · codes = 0.

    `parent` is the code that is the sum of the others, or −1 where the equation is not of that kind.
    """

    codes: tuple[int, ...]
    coefs: tuple[int, ...]
    parent: int = -1

    @classmethod
    def total(cls, parent: int, children: Sequence[int]) -> Equation:
        """Parent = sum of children."""
        return cls((parent, *children), (-1, *([1] * len(children))), parent)


@dataclass(frozen=True, repr=False)
class Dimension:
    """The codes of one variable and the equations between them.

    Build it by `Dimension.of` from hierarchies. In the first tree a parent comes before its children; codes
    that only further trees have come last.

    Parameters
    ----------
    name
        Name of the variable.
    codes
        Distinct codes, one for each cell a line of the table may have.
    equations
        What ties them together.
    total
        Number of the code that covers everything, or −1 where there is none.
    aliases
        Further names: codes that were merged, and the code they were merged into.
    hierarchies
        The trees it was built from.
    column
        The column of the records that holds the codes; "" for tables that nobody made from records here, of
        whose codes only the names are known.
    contents
        The finest codes of the data that a code consists of, where the equations do not say so: of codes that
        recoding has folded or joined.

    Examples
    --------
    >>> region = Dimension.of("region", Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1"]}}))
    >>> region.codes
    ('Total', 'N', 'N1', 'N2', 'S')
    >>> region.aliases
    {'S1': 'S'}
    >>> region.finest
    (('N1', 'N2', 'S1'), ('N1', 'N2'), ('N1',), ('N2',), ('S1',))
    """

    name: str
    codes: tuple[str, ...]
    equations: tuple[Equation, ...] = ()
    total: int = -1
    aliases: Mapping[str, str] = field(default_factory=dict)
    hierarchies: tuple[Hierarchy, ...] = ()
    column: str = ""
    contents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Dimension({self.name!r}, {len(self.codes)} codes, {len(self.equations)} equations)"

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, name: str, *hierarchies: Any) -> Dimension:
        """Join the trees over one variable; the first one covers everything.

        Each is a `Hierarchy`, or whatever `Hierarchy.of` makes one from: a list of codes, nested dicts, …

        Raises
        ------
        InputError
            When a later tree has a leaf the first does not know, when the trees run in a circle, or when
            they disagree about what a code consists of.
        """
        if not hierarchies:
            raise InputError(f"dimension {name!r} has no hierarchy", remedy="Give at least a flat one.")
        check_kind(name, str, "the name of a dimension", 'Give a text: Dimension.of("region", …).')
        return _join_trees(name, tuple(map(Hierarchy.of, hierarchies)))

    @classmethod
    def unstructured(cls, name: str, codes: Iterable[str]) -> Dimension:
        """A dimension of names only, for example the cell numbers of an instance file."""
        return cls(name, tuple(codes))

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each code; aliases included."""
        numbers = {code: number for number, code in enumerate(self.codes)}
        numbers.update({alias: numbers[code] for alias, code in self.aliases.items()})
        return numbers

    @cached_property
    def is_parent(self) -> Bool:
        """Which codes are the sum of others."""
        mask = np.zeros(len(self.codes), dtype=bool)
        mask[[equation.parent for equation in self.equations if equation.parent >= 0]] = True
        return mask

    @cached_property
    def level(self) -> Int:
        """Depth of each code below a code without a parent (longest way)."""
        level = np.zeros(len(self.codes), dtype=np.int64)
        for code in self._parents_first:
            for equation in self._equations_by_parent.get(code, ()):
                for child in equation.codes[1:]:
                    level[child] = max(level[child], level[code] + 1)
        return level

    @property
    def data_column(self) -> str:
        """The column of the records that holds the codes, or would: the name, where nothing is said."""
        return self.column or self.name

    @cached_property
    def finest(self) -> tuple[tuple[str, ...], ...]:
        """For each code the finest codes of the data that it consists of."""
        has_parts = {parent for tree in self.hierarchies for parent, below in tree.children.items() if below}
        own: list[list[str]] = [[] for _ in self.codes]
        for name, number in self.index.items():
            if name not in has_parts:
                own[number].append(name)
        leaves = [self.contents.get(code) or own[number] for number, code in enumerate(self.codes)]
        below = self._leaves_below
        return tuple(
            tuple(name for leaf in sorted(below[number]) for name in leaves[leaf])
            for number in range(len(self.codes))
        )

    @cached_property
    def closure(self) -> tuple[Int, Int]:
        """Pairs (leaf, code that covers it), every code covering itself; sorted by leaf."""
        below = self._leaves_below
        pairs = sorted((leaf, code) for code, leaves in enumerate(below) for leaf in leaves)
        both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return both[:, 0].copy(), both[:, 1].copy()

    @cached_property
    def _equations_by_parent(self) -> dict[int, list[Equation]]:
        grouped: dict[int, list[Equation]] = {}
        for equation in self.equations:
            if equation.parent >= 0:
                grouped.setdefault(equation.parent, []).append(equation)
        return grouped

    @cached_property
    def _parents_first(self) -> list[int]:
        """Codes with parents before children; raises on a cycle."""
        order = TopologicalSorter[int](dict.fromkeys(range(len(self.codes)), ()))
        for equation in self.equations:
            for child in equation.codes[1:] if equation.parent >= 0 else ():
                order.add(child, equation.parent)
        try:
            return list(order.static_order())
        except CycleError as error:
            stuck = [self.codes[code] for code in sorted(set(error.args[1]))]
            raise InputError(
                f"dimension {self.name!r}: a cycle through {name_some(stuck)}", remedy="Break the cycle."
            ) from None

    def _check_depth(self) -> None:
        """Raise where there are too many pairs of a leaf and a code above it, as in a tree of many levels."""
        count = [1] * len(self.codes)
        for code in reversed(self._parents_first):
            for equation in self._equations_by_parent.get(code, ()):
                count[code] = min(sum(count[child] for child in equation.codes[1:]), len(self.codes))
        if sum(count) > MOST_PAIRS:
            raise InputError(
                f"dimension {self.name!r}: the hierarchy is too deep for so many codes",
                remedy="Leave out levels: a code and the few next to it on each level are enough.",
            )

    @cached_property
    def _leaves_below(self) -> list[frozenset[int]]:
        """For each code the leaves it consists of; raises where the trees disagree."""
        self._check_depth()
        below: list[frozenset[int]] = [frozenset((code,)) for code in range(len(self.codes))]
        for code in reversed(self._parents_first):
            for number, equation in enumerate(self._equations_by_parent.get(code, ())):
                parts = [below[child] for child in equation.codes[1:]]
                union = frozenset().union(*parts)
                if len(union) != sum(map(len, parts)):
                    raise InputError(
                        f"dimension {self.name!r}: the parts of {self.codes[code]!r} overlap",
                        remedy="Let each leaf count once below a code of one hierarchy.",
                    )
                if number and union != below[code]:
                    odd = sorted(self.codes[leaf] for leaf in union ^ below[code])
                    raise InputError(
                        f"dimension {self.name!r}: the hierarchies disagree about what {self.codes[code]!r} "
                        f"consists of; only in one of them: {name_some(odd)}",
                        remedy="Complete the hierarchy, or give the partial total a code of its own.",
                    )
                below[code] = union
        return below


def _join_trees(name: str, hierarchies: tuple[Hierarchy, ...]) -> Dimension:
    codes = dict.fromkeys(code for tree in hierarchies for code in tree.codes)
    sums = {
        (parent, frozenset(below)): below
        for tree in hierarchies
        for parent, below in tree.children.items()
        if below
    }
    aliases = _merge_single_children(codes, sums)
    final = tuple(code for code in codes if code not in aliases)
    number = {code: position for position, code in enumerate(final)}

    def resolve(code: str) -> int:
        return number[aliases.get(code, code)]

    equations: dict[tuple[int, frozenset[int]], Equation] = {}
    for (parent, _), below in sums.items():
        children = [resolve(child) for child in below]
        if children == [resolve(parent)]:
            continue
        equations.setdefault(
            (resolve(parent), frozenset(children)), Equation.total(resolve(parent), children)
        )
    dimension = Dimension(
        name, final, tuple(equations.values()), resolve(hierarchies[0].root), aliases, hierarchies
    )
    leaves = dimension._leaves_below  # also checks that the trees agree
    lost = [final[leaf] for leaf in sorted(frozenset().union(*leaves) - leaves[dimension.total])]
    if lost:
        raise InputError(
            f"dimension {name!r}: unknown code {name_some(lost)} in a further hierarchy; "
            f"the first one ({hierarchies[0].root!r}) does not contain it",
            remedy="Add the code to the first hierarchy, which must cover everything.",
        )
    return dimension


def _merge_single_children(
    codes: Mapping[str, None], sums: Mapping[tuple[str, frozenset[str]], tuple[str, ...]]
) -> dict[str, str]:
    """Alias → the first code of its class, for all codes tied by single-child levels."""
    position = {code: number for number, code in enumerate(codes)}
    earlier: dict[str, str] = {}

    def first_of(code: str) -> str:
        passed = []
        while code in earlier:
            passed.append(code)
            code = earlier[code]
        earlier.update(dict.fromkeys(passed, code))  # so that no chain is walked twice
        return code

    for (parent, _), below in sums.items():
        if len(below) == 1:
            kept, dropped = sorted((first_of(parent), first_of(below[0])), key=position.__getitem__)
            if kept != dropped:
                earlier[dropped] = kept
    return {code: first_of(code) for code in codes if code in earlier}
