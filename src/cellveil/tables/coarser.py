"""Global recoding of a dimension: codes joined into coarser ones, or branches of a hierarchy folded.

The coarser dimension keeps the old codes as aliases of those they became. So records are tabulated by their
new codes, contributors are those of the new cells, and rules find primaries anew: nothing of the finer table
is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from cellveil.errors import InputError, name_some, nearest_name
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy


def fold(dimension: Dimension, codes: Iterable[str]) -> Dimension:
    """Fold what stands below these codes into them.

    Raises
    ------
    InputError
        When the dimension has several hierarchies, or a code is not there or has nothing below it.

    Examples
    --------
    >>> tree = Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1", "S2"]}})
    >>> region = Dimension.of("region", tree)
    >>> fold(region, ["N"]).codes
    ('Total', 'N', 'S', 'S1', 'S2')
    """
    tree = _only_tree(dimension)
    folded = set(codes)
    for code in sorted(folded):
        if code not in tree.codes:
            raise InputError(
                f"the code {code!r}, which is to be folded, is not in the hierarchy of {dimension.name!r}",
                remedy=nearest_name(code, tree.codes),
            )
    if tree.root in folded:
        raise InputError(
            f"the total of {dimension.name!r} is to be folded, so nothing would be left",
            remedy="Leave the dimension out of the table.",
        )
    goal = {tree.root: tree.root}
    children: dict[str, tuple[str, ...]] = {}
    for code in tree.codes:  # a code comes before what stands below it
        below = tree.children.get(code, ())
        is_folded = code in folded or goal[code] != code
        goal.update((child, goal[code] if is_folded else child) for child in below)
        if below and not is_folded:
            children[code] = below
    return _with_aliases(Dimension.of(dimension.name, Hierarchy(tree.root, children)), dimension, goal)


def fold_to_level(dimension: Dimension, level: int) -> Dimension:
    """Fold everything below a level; 1 is the first below the total.

    Examples
    --------
    >>> tree = Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1", "S2"]}})
    >>> region = Dimension.of("region", tree)
    >>> fold_to_level(region, 1).codes
    ('Total', 'N', 'S')
    """
    tree = _only_tree(dimension)
    if not 1 <= level <= tree.depth:
        raise InputError(
            f"the hierarchy of {dimension.name!r} has no level {level}", remedy=f"Use 1 to {tree.depth}."
        )
    depth = {tree.root: 0}
    for above, code in tree.pairs():
        depth[code] = depth[above] + 1
    return fold(dimension, [code for code in tree.codes if depth[code] == level])


def join(dimension: Dimension, new_codes: Mapping[str, str]) -> Dimension:
    """Give codes of a flat dimension the new code of each; those not mentioned stay.

    The new codes stand where the first of their parts stood.

    Examples
    --------
    >>> size = Dimension.of("size", Hierarchy.flat(["1", "2", "3"]))
    >>> joined = join(size, {"1": "small", "2": "small"})
    >>> joined.codes, joined.index["2"]
    (('Total', 'small', '3'), 1)
    """
    tree = _only_tree(dimension)
    if tree.depth > 1:
        raise InputError(
            f"codes of {dimension.name!r} are to be joined, but they have a hierarchy",
            remedy="Fold branches of it: a level, or a list of codes.",
        )
    for code in new_codes:
        if code not in tree.codes[1:]:
            raise InputError(
                f"the code {code!r}, which is to be joined, is not one of {dimension.name!r}",
                remedy=nearest_name(code, tree.codes[1:]),
            )
    goal = {tree.root: tree.root} | {code: new_codes.get(code, code) for code in tree.codes[1:]}
    if tree.root in new_codes.values():
        raise InputError(
            f"a new code of {dimension.name!r} is the code of the total", remedy="Use another new code."
        )
    kept = {code for code in tree.codes[1:] if goal[code] == code}
    taken = sorted(kept.intersection(code for old, code in goal.items() if old not in kept) - set(new_codes))
    if taken:
        raise InputError(
            f"a new code of {dimension.name!r} is an old code that stays: {name_some(taken)}",
            remedy="Name it among the codes that are joined, or use another new code.",
        )
    flat = Hierarchy.flat(dict.fromkeys(goal[code] for code in tree.codes[1:]), tree.root)
    return _with_aliases(Dimension.of(dimension.name, flat), dimension, goal)


def _only_tree(dimension: Dimension) -> Hierarchy:
    if len(dimension.hierarchies) != 1:
        raise InputError(
            f"{dimension.name!r} is to be recoded, and has {len(dimension.hierarchies)} hierarchies",
            remedy="Give one hierarchy, or hierarchies without the codes that are not wanted.",
        )
    return dimension.hierarchies[0]


def _with_aliases(coarse: Dimension, old: Dimension, goal: Mapping[str, str]) -> Dimension:
    """The coarser dimension, with old codes as names of those they became."""
    names = {code: coarse.codes[coarse.index[goal[code]]] for code in goal}
    names |= {alias: names[code] for alias, code in old.aliases.items()}
    further = {name: code for name, code in names.items() if name not in coarse.codes}
    contents: dict[str, tuple[str, ...]] = {}
    for code in old.codes:  # a folded code holds all that stood below it; codes that are joined are leaves
        if not old.is_parent[old.index[code]]:
            contents[names[code]] = (*contents.get(names[code], ()), *old.finest[old.index[code]])
    contents = {code: finest for code, finest in contents.items() if finest != (code,)}
    aliases = {**coarse.aliases, **further}
    return replace(coarse, aliases=aliases, column=old.column, contents=contents)
