"""Codes of a spanning variable as a hierarchy with the codes for “missing”, and which code a text means.

Texts are compared without the blanks around them: files pad codes to a width in different ways. A code that
stands in several branches of a hierarchy is named by its path (``North/1``). Where it is the only child of a
code of the same name, both are one cell, and the text means that cell; otherwise it is ambiguous, and data
have to write the path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from cellveil.errors import InputError, counted, name_some
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import TOTAL, Hierarchy

PATH = "/"
"""Between the codes of a path."""


@dataclass(frozen=True)
class IndentedCode:
    """One line of a hierarchy: a code, how many levels it stands below the first, and its line."""

    depth: int
    code: str
    line: int | None = None


@dataclass(frozen=True)
class CodeTree:
    """The codes of one variable, each with a name of its own.

    Parameters
    ----------
    hierarchy
        The tree; a code that occurs once is its own name.
    written
        How a name is written in files, where that differs.
    missing
        Codes for “missing”: children of the total, after all others.
    notes
        What was found odd, but not wrong.

    Examples
    --------
    >>> lines = [(0, "N"), (1, "1"), (0, "S"), (1, "1"), (1, "2")]
    >>> tree = CodeTree.of_nodes([IndentedCode(*line) for line in lines])
    >>> tree.hierarchy.codes
    ('Total', 'N', 'N/1', 'S', 'S/1', '2')
    >>> tree.places("2"), tree.places("1")
    (('2',), ('N/1', 'S/1'))
    """

    hierarchy: Hierarchy
    written: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def flat(cls, codes: Iterable[str], total: str = TOTAL, missing: Sequence[str] = ()) -> CodeTree:
        """A total over the codes, and the missing ones after them."""
        absent = {code.strip() for code in missing}
        nodes = [IndentedCode(0, code) for code in codes if code.strip() not in absent]
        return cls.of_nodes(nodes, total, missing)

    @classmethod
    def of_digits(
        cls, codes: Iterable[str], levels: Sequence[int], total: str = TOTAL, missing: Sequence[str] = ()
    ) -> CodeTree:
        """A tree whose levels are the first digits of the codes; widths of 0 are left out."""
        absent = {code.strip() for code in missing}
        ends = [end for end, width in zip(accumulate(levels), levels, strict=True) if width]
        nodes: dict[str, IndentedCode] = {}
        leaves = sorted({code.strip() for code in codes} - absent)
        for code in leaves:
            if len(code) not in ends:
                raise InputError(
                    f"a code has {len(code)} characters; the levels end at {name_some(list(map(str, ends)))}",
                    remedy="Correct the code or <HIERLEVELS>.",
                )
            path = [code[:end] for end in ends if end <= len(code)]
            nodes |= {
                prefix: IndentedCode(depth, prefix)
                for depth, prefix in enumerate(path)
                if prefix not in nodes
            }
        inner = {code[:end] for code in leaves for end in ends if end < len(code)}
        if both := inner.intersection(leaves):
            raise InputError(
                f"{counted(len(both), 'code is', 'codes are')} both a leaf and the total of longer codes",
                remedy="Give such records a full code of their own, for example with a trailing 0.",
            )
        return cls.of_nodes(list(nodes.values()), total, missing)

    @classmethod
    def of_nodes(
        cls,
        nodes: Sequence[IndentedCode],
        total: str = TOTAL,
        missing: Sequence[str] = (),
        file: object = None,
    ) -> CodeTree:
        """The tree of indented codes, each named by its path where its code is not alone."""
        builder = _Namer(nodes, total, file)
        absent = tuple(code for code in missing if code)
        for code in absent:
            if code.strip() in builder.lines_of:
                raise InputError(
                    "a code of the hierarchy is the code for “missing”",
                    file=file,
                    line=builder.lines_of[code.strip()][0],
                    remedy="Remove it from the hierarchy: it gets a place below the total.",
                )
        names = builder.names()
        pairs = [(total if above is None else names[above], names[i]) for i, above in builder.above.items()]
        pairs += [(total, code) for code in absent]
        hierarchy = Hierarchy.from_pairs(pairs, root=total) if pairs else Hierarchy(total, {})
        written = {names[i]: node.code for i, node in enumerate(nodes) if names[i] != node.code}
        notes = tuple(builder.notes(names))
        return cls(hierarchy, written, absent, notes)

    def dimension(self, name: str) -> Dimension:
        """The dimension of these codes."""
        return Dimension.of(name, self.hierarchy)

    def code_of(self, name: str) -> str:
        """How a name is written in files."""
        return self.written.get(name, name)

    def shown(self, name: str) -> str:
        """The code of a name where that means one cell only, else the path."""
        code = self.code_of(name)
        return code if len(self.places(code)) == 1 else name

    def exact(self, name: str) -> str:
        """The code of a name where that means no other name, else the path."""
        code = self.code_of(name)
        return code if self.places(code) == (name,) else name

    def places(self, text: str) -> tuple[str, ...]:
        """The names that a text can mean: none, one, or several in different branches."""
        return self._by_text.get(text.strip(), ())

    @cached_property
    def _by_text(self) -> dict[str, tuple[str, ...]]:
        """Names by stripped text; the parts of one cell count once, by the upper name."""
        parent = {child: above for above, child in self.hierarchy.pairs()}
        found: dict[str, list[str]] = {}
        for name in self.hierarchy.codes:
            code = self.code_of(name).strip()
            above: str | None = name
            while above is not None and len(self.hierarchy.children.get(parent.get(above, ""), ())) == 1:
                above = parent[above]
                if above in found.get(code, ()):
                    break
            else:
                above = None
            if above is None:
                found.setdefault(code, []).append(name)
        paths = {name.strip(): (name,) for name in self.hierarchy.codes}
        return paths | {code: tuple(names) for code, names in found.items()}


class _Namer:
    """Finds the parent of each line of an indented hierarchy, and names the lines."""

    def __init__(self, nodes: Sequence[IndentedCode], total: str, file: object) -> None:
        self.nodes, self.total, self.file = nodes, total, file
        self.above: dict[int, int | None] = {}
        self.lines_of: dict[str, list[int | None]] = {}
        stack: list[int] = []
        for i, node in enumerate(nodes):
            if node.depth > len(stack):
                before = f"the code above only {len(stack) - 1}" if stack else "there is no code above it"
                raise self._fault(
                    i,
                    f"the code is indented {node.depth} times, but {before}",
                    "Indent by at most one level more than the line above.",
                )
            if not node.code.strip():
                raise self._fault(i, "a line without a code", "Write the code.")
            if node.code.strip() == total.strip():
                raise self._fault(i, "the code is that of the total", "The total is not written: remove it.")
            del stack[node.depth :]
            self.above[i] = stack[-1] if stack else None
            self.lines_of.setdefault(node.code.strip(), []).append(node.line)
            stack.append(i)
        self._check_siblings()

    def _fault(self, i: int, what: str, remedy: str) -> InputError:
        return InputError(what, file=self.file, line=self.nodes[i].line, remedy=remedy)

    def _check_siblings(self) -> None:
        seen: dict[tuple[int | None, str], int] = {}
        for i, node in enumerate(self.nodes):
            key = self.above[i], node.code.strip()
            if key in seen:
                first = self.nodes[seen[key]].line
                where = f"already in line {first}" if first else "there twice"
                raise self._fault(i, f"the code is {where}, below the same code", "Remove one of the two.")
            seen[key] = i

    def names(self) -> list[str]:
        """A name for each line: its code, or its path where the code is not alone."""
        children: dict[int | None, int] = {}
        for above in self.above.values():
            children[above] = children.get(above, 0) + 1
        firsts: dict[str, set[int]] = {}
        for i, node in enumerate(self.nodes):
            firsts.setdefault(node.code.strip(), set()).add(self._first_of_chain(i, children))
        names = []
        for i, node in enumerate(self.nodes):
            code = node.code.strip()
            alone = len(firsts[code]) == 1 and i in firsts[code]
            names.append(node.code if alone else self._path(i))
        if len({name.strip() for name in names}) < len(names):
            raise InputError(
                f"a code looks like the path of another one (“A{PATH}B”), which occurs twice",
                file=self.file,
                remedy="Rename one of the codes.",
            )
        return names

    def _first_of_chain(self, i: int, children: Mapping[int | None, int]) -> int:
        """The highest line of the same code of which this one is the only child, perhaps over others."""
        first, code, place = i, self.nodes[i].code.strip(), i
        while (above := self.above[place]) is not None and children[above] == 1:
            place = above
            if self.nodes[place].code.strip() == code:
                first = place
        return first

    def _path(self, i: int) -> str:
        codes = [self.nodes[i].code.strip()]
        above = self.above[i]
        while above is not None:
            codes.append(self.nodes[above].code.strip())
            above = self.above[above]
        return PATH.join(reversed(codes if len(codes) > 1 else [*codes, self.total]))

    def notes(self, names: Sequence[str]) -> Iterable[str]:
        renamed = [name for name, node in zip(names, self.nodes, strict=True) if name != node.code]
        if renamed:
            yield (
                f"{counted(len(renamed), 'code')} in several places of the hierarchy, named by the path: "
                f"{name_some(renamed)}"
            )
