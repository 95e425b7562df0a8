"""Global recoding of a dimension (.grc): codes joined into coarser ones, or branches of a hierarchy folded.

::

    low : -04, 07             up to 04, and 07: all become low
    mid : 05-06, "a b"        a range; codes with blanks or signs in quotes
    <MISSING> 98 99           new codes for “missing”
    <CODELIST> "new.cdl"

    <TREERECODE>              for hierarchies: what is below these codes is folded into them
    142

Codes that are not mentioned stay. Ranges go by the order of the texts, padded to the width of the variable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cellveil.argus.code_trees import CodeTree, IndentedCode
from cellveil.argus.lexer import quoted, tokens_of
from cellveil.argus.metadata import ArgusVariable
from cellveil.argus.source_text import SourceText, read_source
from cellveil.errors import InputError, name_some
from cellveil.files import write_text

TREE = "<TREERECODE>"
_PART = re.compile(r'\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^\s:,\-"]+)|(?P<sign>[:,\-]))')
_PLAIN = re.compile(r"[^\s:,\-\"<]+")


@dataclass(frozen=True)
class CodeRange:
    """Codes from one to another, both included; None where a side is open, twice the same for one code."""

    low: str | None
    high: str | None


@dataclass(frozen=True)
class JoinedCodes:
    """One new code, and the old codes it stands for."""

    code: str
    parts: tuple[CodeRange, ...]
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Recoding:
    """How the codes of one variable are made coarser.

    Parameters
    ----------
    joined
        For variables without a hierarchy: new codes and what they stand for.
    folded
        For hierarchies: codes whose branches are folded into them.
    missing
        New codes for “missing”; empty if the old ones stay.
    code_list
        File with the labels of the new codes.
    """

    joined: tuple[JoinedCodes, ...] = ()
    folded: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    code_list: str | None = None
    file: str | None = field(default=None, compare=False)

    @property
    def is_tree(self) -> bool:
        """Whether it is one for hierarchies."""
        return bool(self.folded)

    @classmethod
    def to_level(cls, tree: CodeTree, level: int) -> Recoding:
        """Fold everything below a level; 1 is the first below the total."""
        hierarchy, depth = tree.hierarchy, {tree.hierarchy.root: 0}
        for above, code in hierarchy.pairs():
            depth[code] = depth[above] + 1
        if not 1 <= level <= max(depth.values()):
            raise InputError(f"the hierarchy has no level {level}", remedy=f"Use 1 to {max(depth.values())}.")
        return cls(folded=tuple(code for code in hierarchy.codes if depth[code] == level))

    def apply(self, tree: CodeTree, variable: ArgusVariable) -> tuple[CodeTree, dict[str, str]]:
        """The coarser tree, and the new code of each old one; above the joined ones nothing changes.

        Raises
        ------
        InputError
            When a code is not there, falls into two new ones, or one for “missing” would become another.
        """
        if variable.is_hierarchical != self.is_tree:
            kind = (
                f"{TREE} and codes of the tree" if variable.is_hierarchical else "lines “new : old, old-old”"
            )
            raise InputError(
                f"the recoding does not fit variable {variable.name!r}", file=self.file,
                remedy=f"It is {'' if variable.is_hierarchical else 'not '}hierarchical: use {kind}.",
            )  # fmt: skip
        return self._fold(tree) if self.is_tree else self._join(tree, variable)

    def _fold(self, tree: CodeTree) -> tuple[CodeTree, dict[str, str]]:
        names: set[str] = set()
        for text in self.folded:
            places = tree.places(text)
            if len(places) != 1:
                found = f"means several: {name_some(places)}" if places else "is not in the hierarchy"
                raise InputError(
                    f"the code {text!r} {found}", file=self.file, remedy="Correct it, or write its path."
                )
            names.update(places)
        goal: dict[str, str] = {}
        nodes, depth = [], {tree.hierarchy.root: -1}
        for name in tree.hierarchy.codes:
            goal.setdefault(name, name)
            for child in tree.hierarchy.children.get(name, ()):
                depth[child] = depth[name] + 1
                if goal[name] != name or name in names:
                    goal[child] = goal[name]
            if goal[name] == name and name != tree.hierarchy.root and name not in tree.missing:
                nodes.append(IndentedCode(depth[name], tree.code_of(name)))
        coarse = CodeTree.of_nodes(nodes, tree.hierarchy.root, tree.missing)
        renamed = dict(
            zip((n for n in tree.hierarchy.codes if goal[n] == n), coarse.hierarchy.codes, strict=True)
        )
        return coarse, {name: renamed[goal[name]] for name in tree.hierarchy.codes}

    def _join(self, tree: CodeTree, variable: ArgusVariable) -> tuple[CodeTree, dict[str, str]]:
        missing = {variable.padded(code) for code in tree.missing}
        new_missing = tuple(map(variable.padded, self.missing or tree.missing))
        goal: dict[str, str] = {}
        for leaf in tree.hierarchy.leaves:
            code = variable.padded(leaf)
            found = [
                one for one in self.joined if holds_code(one, code, variable, is_missing=code in missing)
            ]
            if len(found) > 1:
                raise InputError(
                    f"a code of {variable.name!r} falls into {found[0].code!r} and {found[1].code!r}",
                    file=self.file, line=found[1].line, remedy="Let each code become one code.",
                )  # fmt: skip
            goal[leaf] = variable.padded(found[0].code) if found else code
            if code in missing and not found and self.missing and code not in new_missing:
                goal[leaf] = new_missing[0]
            elif code in missing and goal[leaf] not in new_missing:
                raise InputError(
                    "a code for “missing” would become a valid code", file=self.file,
                    line=found[0].line if found else None, remedy="Leave it out, or name it in <MISSING>.",
                )  # fmt: skip
        codes = sorted(set(goal.values()) - set(new_missing))
        return CodeTree.flat(codes, tree.hierarchy.root, new_missing), goal


def holds_code(joined: JoinedCodes, code: str, variable: ArgusVariable, *, is_missing: bool = False) -> bool:
    """Whether an old code is among the parts; a code for “missing” only if it is named."""
    for part in joined.parts:
        low, high = (None if end is None else variable.padded(end) for end in (part.low, part.high))
        if low == high == code:
            return True
        if not is_missing and (low is None or low <= code) and (high is None or code <= high):
            return True
    return False


def read_recoding(path: Path | str, *, encoding: str | None = None) -> Recoding:
    """Read a recoding of either kind."""
    source = read_source(path, encoding)
    lines = list(source.numbered())
    if lines[0][1].strip().upper().startswith(TREE):
        return _tree_recoding(source, lines)
    joined: list[JoinedCodes] = []
    options: dict[str, tuple[str, ...]] = {}
    for number, line in lines:
        try:
            if line.strip().startswith("<"):
                keyword, *tokens = tokens_of(line)
                texts = [token.text for token in tokens if token.quoted or token.text != ","]
                options[keyword.text] = _arguments(keyword.text, texts)
            else:
                joined.append(joined_codes(line, number))
        except InputError as error:
            raise error.located(file=source.file, line=number) from None
    labels = options.get("<CODELIST>", (None,))[0]
    return Recoding(tuple(joined), (), options.get("<MISSING>", ()), labels, source.file)


def write_recoding(recoding: Recoding, path: Path | str) -> None:
    """Write a recoding; reading it gives the same."""
    lines: list[str] = [TREE, *recoding.folded] if recoding.is_tree else []
    if recoding.missing:
        lines.append(" ".join(["<MISSING>", *map(quoted, recoding.missing)]))
    if recoding.code_list is not None:
        lines.append(f"<CODELIST> {quoted(recoding.code_list)}")
    for one in recoding.joined:
        lines.append(f"{_code_text(one.code)} : {', '.join(map(_range_text, one.parts))}")
    if any(code != code.rstrip() or not code.strip() for code in recoding.folded):
        raise InputError("a folded code is empty or ends in a blank", remedy="Correct it.")
    write_text(Path(path), "".join(f"{line}\n" for line in lines))


def _tree_recoding(source: SourceText, lines: list[tuple[int, str]]) -> Recoding:
    codes: dict[str, int] = {}
    for number, line in lines[1:]:
        if line.strip() in (code.strip() for code in codes):
            raise source.fault(number, "the code is folded twice", "Remove one of the lines.")
        codes[line.rstrip()] = number
    if not codes:
        raise source.fault(1, f"no code follows {TREE}", "Write the codes to be folded, one in a line.")
    return Recoding(folded=tuple(codes), file=source.file)


def _arguments(keyword: str, arguments: list[str]) -> tuple[str, ...]:
    most = {"<MISSING>": 2, "<CODELIST>": 1}
    if keyword not in most:
        raise InputError(f"unknown keyword {keyword}", remedy=f"Known: {', '.join(most)}, {TREE} in line 1.")
    if not 1 <= len(arguments) <= most[keyword]:
        raise InputError(f"{keyword} needs 1 to {most[keyword]} arguments", remedy="Correct the line.")
    return tuple(arguments)


def joined_codes(line: str, number: int | None = None) -> JoinedCodes:
    """Read one line “new : old, old-old”."""
    parts: list[tuple[str, str]] = []
    place = 0
    while place < len(line.rstrip()):
        match = _PART.match(line, place)
        if match is None:
            raise InputError("a double quote is not closed", remedy="Close it.")
        kind = match.lastgroup or ""
        parts.append(("sign" if kind == "sign" else "code", match[kind]))
        place = match.end()
    if len(parts) < 2 or parts[0][0] != "code" or parts[1] != ("sign", ":"):
        raise InputError(
            "the line is not “new : old, old-old”", remedy="Write the new code and a colon first."
        )
    ranges, rest = [], parts[2:]
    while rest:
        one, rest = _cut_range(rest)
        ranges.append(one)
        if rest:
            if rest[0] != ("sign", ",") or len(rest) == 1:
                raise InputError("something else than a comma stands between two ranges", remedy=_SIGNS)
            rest = rest[1:]
    if not ranges:
        raise InputError("no old codes follow the colon", remedy="Write the codes that become the new one.")
    return JoinedCodes(parts[0][1], tuple(ranges), number)


_SIGNS = "Separate ranges by commas; put codes with blanks, hyphens or colons into double quotes."


def _cut_range(parts: list[tuple[str, str]]) -> tuple[CodeRange, list[tuple[str, str]]]:
    """The first range: code, -code, code- or code-code."""
    kinds = [kind if text != "-" or kind == "code" else "-" for kind, text in parts[:3]]
    if kinds[:3] == ["code", "-", "code"]:
        return CodeRange(parts[0][1], parts[2][1]), parts[3:]
    if kinds[:2] == ["-", "code"]:
        return CodeRange(None, parts[1][1]), parts[2:]
    if kinds[:2] == ["code", "-"]:
        return CodeRange(parts[0][1], None), parts[2:]
    if kinds[:1] == ["code"]:
        return CodeRange(parts[0][1], parts[0][1]), parts[1:]
    raise InputError("a code is missing", remedy=_SIGNS)


def _code_text(code: str) -> str:
    return code if _PLAIN.fullmatch(code) and not code.startswith("//") else quoted(code)


def _range_text(one: CodeRange) -> str:
    low, high = ("" if end is None else _code_text(end) for end in (one.low, one.high))
    return low if one.low == one.high and one.low is not None else f"{low}-{high}"


def recoded(
    trees: Mapping[str, CodeTree], variable: ArgusVariable, recodings: Mapping[str, Recoding]
) -> tuple[CodeTree, dict[str, str]]:
    """The tree of a variable after its recoding, if there is one, and the new code of each old leaf."""
    tree = trees[variable.name]
    for name, recoding in recodings.items():
        if name.casefold() == variable.name.casefold():
            return recoding.apply(tree, variable)
    return tree, {}
