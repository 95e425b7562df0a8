"""Hierarchies: trees of codes, in which the value of a code is the sum of the values of its children.

`cellveil.tables.dimension` joins the trees over one variable and makes equations of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from cellveil.errors import InputError, check_kind, counted, name_some, nearest_column
from cellveil.files import read_text_lines
from cellveil.tables.code_text import Code, as_code

TOTAL = "Total"
"""The code of the total when nothing else is said."""

EXAMPLE = '{"Total": {"N": ["N1", "N2"], "S": []}}'
"""A nested hierarchy, for messages."""


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
    def of(cls, given: Any, total: str = TOTAL) -> Hierarchy:
        """Build from whatever describes a tree.

        Parameters
        ----------
        given
            A Hierarchy; nested dicts and lists; a mapping of codes to their parents; pairs of parent and
            child; a list of codes without further structure; a parent/child frame; the path of an .hrc file.
        total
            The code of the total, where what is given has none.

        Examples
        --------
        >>> Hierarchy.of({"N": ["N1", "N2"], "S": []}).codes
        ('Total', 'N', 'N1', 'N2', 'S')
        >>> Hierarchy.of({"N1": "N", "N2": "N", "S1": "S"}).codes
        ('Total', 'N', 'N1', 'N2', 'S', 'S1')
        >>> Hierarchy.of([1, 2]).codes
        ('Total', '1', '2')
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, Mapping):
            return _of_mapping(given, total)
        if isinstance(given, Path) or (isinstance(given, str) and given.lower().endswith(".hrc")):
            return cls.from_hrc(given, total=total)
        if hasattr(given, "columns") or hasattr(given, "column_names"):
            return cls.from_frame(given)
        if isinstance(given, Iterable) and not isinstance(given, str):
            listed = list(given)
            if listed and all(isinstance(pair, tuple | list) for pair in listed):
                return cls.from_pairs(listed)
            return cls.flat(listed, total)
        raise InputError(
            f"cannot make a hierarchy from something of type {type(given).__name__}",
            remedy=f"Give, say, {EXAMPLE}, a list of codes, or the path of a file.",
        )

    @classmethod
    def flat(cls, codes: Iterable[Code], total: str = TOTAL) -> Hierarchy:
        """A total over codes without further structure; numbers are codes as well."""
        if not isinstance(codes, Iterable):
            raise InputError(
                f"the codes of a flat hierarchy are of type {type(codes).__name__}",
                remedy='Give a list of codes: Hierarchy.flat(["a", "b"]).',
            )
        below = [as_code(code) for code in codes]
        if below == [total]:
            raise InputError(
                f"the only code, {total!r}, is that of the total too",
                remedy="Give codes of which a total is made, or name the total otherwise.",
            )
        return cls.from_pairs((total, code) for code in below)

    @classmethod
    def from_dict(cls, nested: Mapping[str, Any]) -> Hierarchy:
        """Build from nested dicts and lists: ``{"Total": {"A": ["A1", "A2"], "B": []}}``."""
        check_kind(nested, Mapping, "a nested hierarchy", f"Give a dict: {EXAMPLE}.")
        if len(nested) != 1:
            raise InputError(
                f"a nested hierarchy needs exactly one outermost code, not {len(nested)}",
                remedy="Wrap it in one dict with the code of the total.",
            )
        pairs: list[tuple[str, str]] = []
        stack: list[tuple[str, Any]] = [(as_code(code), below) for code, below in nested.items()]
        while stack:
            parent, below = stack.pop()
            items = _items_below(parent, below)
            pairs.extend((parent, child) for child, _ in items)
            stack.extend(items)
        return cls.from_pairs(pairs, root=as_code(next(iter(nested))))

    @classmethod
    def from_pairs(
        cls,
        pairs: Iterable[tuple[Code, Code]],
        *,
        root: str | None = None,
        file: object = None,
    ) -> Hierarchy:
        """Build from (parent, child) pairs, in any order.

        With `file`, errors name the line of a pair, the first standing below a header.
        """
        children: dict[str, list[str]] = {}
        parent_of: dict[str, str] = {}
        for line, pair in enumerate(pairs, 2):
            place: dict[str, Any] = {"file": file, "line": line} if file is not None else {}
            if isinstance(pair, str) or not isinstance(pair, Iterable) or len(both := list(pair)) != 2:
                raise InputError(
                    "a pair of codes is none",
                    **place,
                    remedy='Give pairs of parent and child: [("N", "N1")].',
                )
            parent, child = map(as_code, both)
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
    def from_digits(cls, codes: Iterable[Code], widths: Sequence[int] | int, total: str = TOTAL) -> Hierarchy:
        """Build from codes whose prefixes are the levels: widths (1, 1) make ``A1`` a child of ``A``.

        Raises
        ------
        InputError
            When a code is too short or too long, or is both a leaf and the prefix of another one.
        """
        if isinstance(widths, int):
            widths = [widths]
        ends = np.cumsum(widths).tolist()
        given = dict.fromkeys(map(as_code, codes))
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
                f"{counted(len(both), 'code is', 'codes are')} both a leaf and the total of longer codes",
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


def _of_mapping(given: Mapping[Any, Any], total: str) -> Hierarchy:
    """From codes and their parents, or from nested codes, below a total where there is none above them."""
    if given and all(isinstance(parent, str | Real) for parent in given.values()):
        above = [(as_code(parent), as_code(child)) for child, parent in given.items()]
        known = {child for _, child in above}
        roots = dict.fromkeys(parent for parent, _ in above if parent not in known)
        return Hierarchy.from_pairs([*((total, root) for root in roots if len(roots) > 1), *above])
    return Hierarchy.from_dict(given if len(given) == 1 else {total: given})


def _items_below(parent: str, below: Any) -> list[tuple[str, Any]]:
    """The children of a code in a nested hierarchy, each with what stands below it."""
    if isinstance(below, Mapping):
        return [(as_code(child), deeper) for child, deeper in below.items()]
    if below is None:
        return []
    is_list = isinstance(below, Iterable) and not isinstance(below, str)
    if not is_list or not all(isinstance(code, str | Real) for code in below):
        raise InputError(
            f"below code {parent!r} stands something else than a dict or a list of codes",
            remedy='Write {"code": {...}} where a code has children, and ["code", ...] where none has.',
        )
    return [(as_code(code), None) for code in below]


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
    return [as_code(code) for code in codes]


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
