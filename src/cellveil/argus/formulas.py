"""Sums of codes as formulas (``EU = A + B``): further hierarchies of a dimension.

Each formula is a code and the codes it is the sum of. Formulas may overlap, and use each other's codes. One
with a minus is read as the sum it means: ``rest = all - A`` is ``all = rest + A``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from cellveil.errors import InputError, name_some
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import TOTAL, Hierarchy

_TERM = re.compile(r'\s*([+-])?\s*(?:"([^"]+)"|`([^`]+)`|([^\s+\-="`]+))')


def parse_formula(text: str) -> tuple[str, tuple[str, ...]]:
    """The code and its parts; codes with blanks or signs stand in quotes.

    Examples
    --------
    >>> parse_formula("EU = A + 'B'".replace("'", '"')), parse_formula("rest = all - A")
    (('EU', ('A', 'B')), ('all', ('rest', 'A')))
    """
    left, equals, right = _split(text)
    whole = _terms(left)
    terms = _terms(right) if equals else []
    if len(whole) != 1 or whole[0][0] != "+" or not terms:
        raise InputError("the formula is not “code = code + code”", remedy="Write for example EU = A + B.")
    plus = [code for sign, code in terms if sign == "+"]
    minus = [code for sign, code in terms if sign == "-"]
    if minus and len(plus) != 1:
        raise InputError(
            "the formula has several codes with a plus and one with a minus",
            remedy="Write it as a sum: the code that is the whole = its parts.",
        )
    total, parts = (plus[0], [whole[0][1], *minus]) if minus else (whole[0][1], plus)
    if len(set(parts)) < len(parts) or total in parts:
        raise InputError(
            f"a code occurs twice in the formula of {total!r}", remedy="Let each code count once."
        )
    return total, tuple(parts)


def formula_text(total: str, parts: Sequence[str]) -> str:
    """A formula as text; `parse_formula` gives the same codes."""
    if not parts:
        raise InputError(f"the code {total!r} has no parts", remedy="Name the codes that it is the sum of.")
    return f"{_quoted(total)} = {' + '.join(map(_quoted, parts))}"


def dimension_of_formulas(
    name: str, formulas: Iterable[str], *, codes: Sequence[str] = (), total: str = TOTAL
) -> Dimension:
    """The dimension of some formulas: a total over all finest codes, and a hierarchy for each formula.

    Parameters
    ----------
    codes
        Finest codes in their order; those that only formulas name come after them.
    total
        The code of the total; a formula may define it.

    Examples
    --------
    >>> dimension_of_formulas("geo", ["EU = A + B", "West = B + C"]).codes
    ('Total', 'A', 'B', 'C', 'EU', 'West')
    """
    sums: dict[str, tuple[str, ...]] = {}
    for number, text in enumerate(formulas, 1):
        try:
            whole, parts = parse_formula(text)
        except InputError as error:
            raise error.located(line=number) from None
        if sums.setdefault(whole, parts) != parts:
            raise InputError(
                f"there are two formulas for {whole!r}", line=number, remedy="Give one of them another code."
            )
    finest = dict.fromkeys(code for code in codes if code not in sums)
    finest |= dict.fromkeys(part for parts in sums.values() for part in parts if part not in sums)
    lost = [code for code in finest if code == total]
    if lost or not finest:
        raise InputError(
            f"the code of the total {name_some(lost) or total!r} is a part", remedy="Name another total."
        )
    trees = [Hierarchy.flat(finest, total)]
    trees += [Hierarchy(whole, {whole: parts}) for whole, parts in sums.items()]
    return Dimension.of(name, *trees)


def _split(text: str) -> tuple[str, str, str]:
    """Left and right of the equals sign; R writes ~ and == too. Signs in quotes do not count."""
    masked = re.sub(r'"[^"]*"|`[^`]*`', lambda match: "x" * len(match[0]), text)
    found = re.search(r"==|=|~", masked)
    if found is None:
        return text, "", ""
    return text[: found.start()], found[0], text[found.end() :]


def _terms(text: str) -> list[tuple[str, str]]:
    terms: list[tuple[str, str]] = []
    place = 0
    while place < len(text.rstrip()):
        match = _TERM.match(text, place)
        if match is None or (terms and match[1] is None):
            raise InputError(
                "the formula cannot be read", remedy="Put + or - between codes, and quotes around odd ones."
            )
        terms.append((match[1] or "+", next(part for part in match.groups()[1:] if part)))
        place = match.end()
    return terms


def _quoted(code: str) -> str:
    if re.fullmatch(r"[^\s+\-=~\"`]+", code):
        return code
    if '"' not in code:
        return f'"{code}"'
    if "`" not in code:
        return f"`{code}`"
    raise InputError("a code holds both kinds of quotes", remedy="Rename it.")
