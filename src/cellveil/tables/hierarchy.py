"""Trees of codes, and a dimension that carries one or several of them.

A `Hierarchy` is one tree. A `Dimension` joins the trees over one variable: they may overlap and need not
be nested (regions by administration and by coast), as long as they tell the same story about the leaves.
What the mathematics uses of all this are the `Equation` s: parent = sum of children.

A code with a single child is the same cell under two names; `Dimension` merges the two under the name that
comes first (the upper one; that of the first tree), and remembers the other one as an alias.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError, name_some, nearest_column
from cellveil.files import read_text_lines

MOST_PAIRS = 20_000_000
"""A dimension may have so many pairs of a leaf and a code that covers it."""

TOTAL = "Total"
"""The code of the total when nothing else is said."""


@dataclass(frozen=True)
class Hierarchy:
    """One tree of codes.

    Build it by `from_dict`, `from_pairs`, `from_columns`, `from_digits`, `from_hrc` or `flat`.

    Parameters
    ----------
    root
        The code of the total.
    children
        For each inner code its children, in order.

    Examples
    --------
    >>> tree = Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": []}})
    >>> tree.codes
    ('Total', 'N', 'N1', 'N2', 'S')
    >>> tree.leaves
    ('N1', 'N2', 'S')
    """

    root: str
    children: Mapping[str, tuple[str, ...]]

    def __post_init__(self) -> None:
        _check_tree(self.root, self.children)

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """All codes, each before its children."""
        return tuple(self._walk())

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The codes without children."""
        return tuple(code for code in self.codes if not self.children.get(code))

    @property
    def depth(self) -> int:
        """Number of levels below the root."""
        levels = {self.root: 0}
        for code in self.codes:
            for child in self.children.get(code, ()):
                levels[child] = levels[code] + 1
        return max(levels.values())

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield (parent, child) for each edge, top down."""
        for code in self.codes:
            for child in self.children.get(code, ()):
                yield code, child

    def _walk(self) -> Iterator[str]:
        stack = [self.root]
        while stack:
            code = stack.pop()
            yield code
            stack.extend(reversed(self.children.get(code, ())))

    # -- constructors ------------------------------------------------------------------------------------

    @classmethod
    def flat(cls, codes: Iterable[str], total: str = TOTAL) -> Hierarchy:
        """A total over codes without further structure."""
        return cls.from_pairs((total, code) for code in codes)

    @classmethod
    def from_dict(cls, nested: Mapping[str, Any]) -> Hierarchy:
        """Build from nested dicts and lists: ``{"Total": {"A": ["A1", "A2"], "B": []}}``."""
        if len(nested) != 1:
            raise InputError(
                f"a nested hierarchy needs exactly one outermost code, not {len(nested)}",
                remedy="Wrap it in one dict with the code of the total.",
            )
        pairs: list[tuple[str, str]] = []
        stack: list[tuple[str, Any]] = [(str(code), below) for code, below in nested.items()]
        while stack:
            parent, below = stack.pop()
            items = _items_below(parent, below)
            pairs.extend((parent, child) for child, _ in items)
            stack.extend(items)
        return cls.from_pairs(pairs, root=str(next(iter(nested))))

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[tuple[str, str]],
        *,
        root: str | None = None,
        file: object = None,
        first_line: int = 2,
    ) -> Hierarchy:
        """Build from (parent, child) pairs, in any order.

        `file` and `first_line` let errors name the place of a pair.
        """
        children: dict[str, list[str]] = {}
        parent_of: dict[str, str] = {}
        for line, (parent, child) in enumerate(pairs, first_line):
            place: dict[str, Any] = {"file": file, "line": line} if file is not None else {}
            if not parent.strip() or not child.strip():
                raise InputError(
                    "an empty code", **place, remedy="Give both the parent and the child a code."
                )
            if parent == child:
                raise InputError(f"code {child!r} is its own parent", **place, remedy="Remove this pair.")
            if child in parent_of:
                same = parent_of[child] == parent
                raise InputError(
                    f"code {child!r} has two parents in one tree ({parent_of[child]!r} and {parent!r})"
                    if not same
                    else f"the pair {parent!r}, {child!r} occurs twice",
                    **place,
                    remedy="Remove one."
                    if same
                    else "Put the second one into a further hierarchy of the dimension.",
                )
            parent_of[child] = parent
            children.setdefault(parent, []).append(child)
        roots = [code for code in children if code not in parent_of] or (
            [root] if root and not children else []
        )
        if not roots:
            what = (
                "the hierarchy is a cycle: every code has a parent" if children else "the hierarchy is empty"
            )
            raise InputError(what, file=file, remedy="Give at least one pair from the total to a code.")
        if len(roots) > 1:
            raise InputError(
                f"the hierarchy has {len(roots)} codes without a parent: {name_some(roots)}",
                file=file,
                remedy="Add pairs from the code of the total to each of them, or use one hierarchy per tree.",
            )
        try:
            return cls(roots[0], {code: tuple(below) for code, below in children.items()})
        except InputError as error:
            raise error.located(file=file) from None

    @classmethod
    def from_frame(cls, frame: Any, parent: str = "parent", child: str = "child") -> Hierarchy:
        """Build from a parent/child frame (pandas, polars or Arrow)."""
        import narwhals as nw

        data = nw.from_native(frame, eager_only=True)
        return cls.from_pairs(zip(_codes_in(data, parent), _codes_in(data, child), strict=True))

    @classmethod
    def from_columns(cls, frame: Any, columns: Sequence[str], total: str = TOTAL) -> Hierarchy:
        """Build from a frame with one column per level, coarsest first.

        A code may repeat on the next level (``A`` below ``A``): that is one code.
        """
        import narwhals as nw

        data = nw.from_native(frame, eager_only=True)
        levels = [_codes_in(data, column) for column in columns]
        seen: dict[tuple[str, str], None] = {}
        for path in zip(*levels, strict=True):
            full = (total, *path)
            seen.update(dict.fromkeys((a, b) for a, b in pairwise(full) if a != b))
        return cls._of_data(seen)

    @classmethod
    def _of_data(cls, pairs: Iterable[tuple[str, str]]) -> Hierarchy:
        """Build from codes that stand in the data; in a wrong column they are values, so errors name none."""
        try:
            return cls.from_pairs(pairs)
        except InputError:
            raise InputError(
                "the levels do not form a tree: a code has two parents, is its own parent, or is empty",
                remedy="Check that the right columns are named; each code belongs to one code of the level "
                "above, and no code of one level stands on another one.",
            ) from None

    @classmethod
    def from_digits(cls, codes: Iterable[str], widths: Sequence[int], total: str = TOTAL) -> Hierarchy:
        """Build from codes whose prefixes are the levels: widths (1, 1) make ``A1`` a child of ``A``.

        Raises
        ------
        InputError
            When a code is too short or too long, or is both a leaf and the prefix of another one.
        """
        ends = np.cumsum(widths).tolist()
        given = dict.fromkeys(str(code) for code in codes)
        pairs: dict[tuple[str, str], None] = {}
        for code in given:
            if len(code) not in ends:
                raise InputError(
                    f"a code has {len(code)} characters; the levels end at {ends}",
                    remedy="Correct the code or the widths; check that the right column is named.",
                )
            path = [total, *(code[:end] for end in ends if end <= len(code))]
            pairs.update(dict.fromkeys(pairwise(path)))
        inner = {parent for parent, _ in pairs}
        both = [code for code in given if code in inner]
        if both:
            raise InputError(
                f"{len(both)} codes are both a leaf and the total of longer codes",
                remedy="Give such units a full code of their own, for example with a trailing 0.",
            )
        return cls._of_data(pairs)

    @classmethod
    def from_hrc(cls, path: Path | str, *, lead: str = "@", total: str = TOTAL) -> Hierarchy:
        """Read an indented file: each line is the code, preceded by `lead` once per level below the first.

        Blanks after a code are cut, blanks before it belong to it.
        """
        if not lead:
            raise InputError("the lead string of an indented hierarchy is empty", remedy="Use '@' or '.'.")
        stack = [total]
        seen: dict[str, int] = {}
        pairs: list[tuple[str, str]] = []
        for number, raw in enumerate(read_text_lines(Path(path)), 1):
            line = raw.rstrip()
            if not line.strip():
                continue
            depth = 0
            while line.startswith(lead, depth * len(lead)):
                depth += 1
            line = line[depth * len(lead) :]
            if not line:
                raise InputError("a line without a code", file=path, line=number, remedy="Write the code.")
            if depth > len(stack) - 1:
                above = f"the code above only {len(stack) - 2}" if pairs else "there is no code above it"
                raise InputError(
                    f"the code is indented {depth} times, but {above}",
                    file=path,
                    line=number,
                    remedy="Indent by at most one level more than the line above.",
                )
            if line in seen or line == total:
                where = f"already in line {seen[line]}" if line in seen else "the code of the total"
                raise InputError(
                    f"the code is {where}", file=path, line=number, remedy="Give each code one place."
                )
            seen[line] = number
            del stack[depth + 1 :]
            pairs.append((stack[depth], line))
            stack.append(line)
        try:
            return cls.from_pairs(pairs)
        except InputError as error:
            raise error.located(file=path) from None


def _items_below(parent: str, below: Any) -> list[tuple[str, Any]]:
    """The children of a code in a nested hierarchy, each with what stands below it."""
    if isinstance(below, Mapping):
        return [(str(child), deeper) for child, deeper in below.items()]
    if below is None:
        return []
    is_list = isinstance(below, Iterable) and not isinstance(below, str)
    if not is_list or not all(isinstance(code, str | int) for code in below):
        raise InputError(
            f"below code {parent!r} stands something else than a dict or a list of codes",
            remedy='Write {"code": {...}} where a code has children, and ["code", ...] where none has.',
        )
    return [(str(code), None) for code in below]


def _codes_in(data: Any, column: str) -> list[str]:
    """The codes of one column of a frame."""
    if column not in data.columns:
        raise InputError(
            f"the hierarchy frame has no column {column!r}", remedy=nearest_column(column, data.columns)
        )
    codes = data[column].to_list()
    for row, code in enumerate(codes):
        if code is None or code != code:
            raise InputError(f"an empty code in column {column!r}", line=row + 2, remedy="Give it a code.")
    return [str(code) for code in codes]


def _check_tree(root: str, children: Mapping[str, tuple[str, ...]]) -> None:
    """Every inner code hangs below the root, once."""
    if not root or not all(code for below in children.values() for code in below):
        raise InputError("an empty code", remedy="Give every code a name.")
    seen = {root}
    stack = [root]
    while stack:
        for child in children.get(stack.pop(), ()):
            if child in seen:
                raise InputError(
                    f"code {child!r} stands in the tree twice", remedy="Give each code one parent."
                )
            seen.add(child)
            stack.append(child)
    lost = [code for code in children if code not in seen]
    if lost:
        raise InputError(
            f"{name_some(lost)}: not below the total {root!r} (a cycle, or a tree of its own)",
            remedy="Connect these codes to the total, or put them into a further hierarchy.",
        )


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

    Examples
    --------
    >>> region = Dimension.of("region", Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1"]}}))
    >>> region.codes
    ('Total', 'N', 'N1', 'N2', 'S')
    >>> region.aliases
    {'S1': 'S'}
    """

    name: str
    codes: tuple[str, ...]
    equations: tuple[Equation, ...] = ()
    total: int = -1
    aliases: Mapping[str, str] = field(default_factory=dict)
    hierarchies: tuple[Hierarchy, ...] = ()

    def __repr__(self) -> str:
        return f"Dimension({self.name!r}, {len(self.codes)} codes, {len(self.equations)} equations)"

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, name: str, *hierarchies: Hierarchy) -> Dimension:
        """Join the trees over one variable; the first one covers everything.

        Raises
        ------
        InputError
            When a later tree has a leaf the first does not know, when the trees run in a circle, or when
            they disagree about what a code consists of.
        """
        if not hierarchies:
            raise InputError(f"dimension {name!r} has no hierarchy", remedy="Give at least a flat one.")
        return _join_trees(name, hierarchies)

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

    @cached_property
    def closure(self) -> tuple[Int, Int]:
        """Pairs (leaf, code that covers it), every code covering itself; sorted by leaf."""
        below = self._leaves_below
        pairs = sorted((leaf, code) for code, leaves in enumerate(below) for leaf in leaves)
        both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        return both[:, 0].copy(), both[:, 1].copy()

    def names_of(self, code: int) -> tuple[str, ...]:
        """The code and its aliases."""
        return (self.codes[code], *self._aliases_of.get(self.codes[code], ()))

    @cached_property
    def _aliases_of(self) -> dict[str, tuple[str, ...]]:
        grouped: dict[str, tuple[str, ...]] = {}
        for alias, code in self.aliases.items():
            grouped[code] = (*grouped.get(code, ()), alias)
        return grouped

    @cached_property
    def _equations_by_parent(self) -> dict[int, list[Equation]]:
        grouped: dict[int, list[Equation]] = {}
        for equation in self.equations:
            if equation.parent >= 0:
                grouped.setdefault(equation.parent, []).append(equation)
        return grouped

    @cached_property
    def _parents_first(self) -> list[int]:
        return _topological(len(self.codes), self._equations_by_parent, self.codes, self.name)

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


def _topological(
    size: int, by_parent: Mapping[int, Sequence[Equation]], codes: Sequence[str], name: str
) -> list[int]:
    """Codes with parents before children; raises on a cycle."""
    waiting = np.zeros(size, dtype=np.int64)
    for equations in by_parent.values():
        for equation in equations:
            for child in equation.codes[1:]:
                waiting[child] += 1
    order = [code for code in range(size) if waiting[code] == 0]
    for code in order:
        for equation in by_parent.get(code, ()):
            for child in equation.codes[1:]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    order.append(child)
    if len(order) < size:
        stuck = [codes[code] for code in range(size) if waiting[code] > 0]
        raise InputError(f"dimension {name!r}: a cycle through {name_some(stuck)}", remedy="Break the cycle.")
    return order
