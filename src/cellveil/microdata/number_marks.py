"""Decimal and thousands marks of the numbers in tables and microdata: as they are said, else as they show.

A number that fits only one way of writing settles the marks of its whole file: ``12,5`` has a decimal comma,
``1.234,5`` thousands points as well, ``1,234,567`` thousands commas. Where every number fits both
(``1,234``), or two numbers contradict each other, the marks must be said. Points are an exception: alone they
are decimal points, with a warning where all of them could be thousands marks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cellveil.errors import InputError

DECIMALS = (".", ",")
BLANKS = " \u00a0\u202f\u2009'\u2019"
"""Marks between groups of three digits that cannot be taken for a decimal mark."""

EVIDENCE: Mapping[str, str] = {
    "comma": "^[+-]?[0-9].*,|^[+-]?,[0-9]",
    "point": "[.]",
    "decimal comma": f"^[+-]?[0-9.{BLANKS}]*,([0-9]{{1,2}}|[0-9]{{4,}})$"
    "|^[+-]?0*,[0-9]+$|^[+-]?[0-9]{4,},[0-9]*$|[.][0-9]{3},[0-9]*$",
    "decimal point": "[.]([0-9]{0,2}|[0-9]{4,})$|^[+-]?0*[.][0-9]+$|^[+-]?[0-9]{4,}[.][0-9]*$|,[0-9]{3}[.]",
    "thousands comma": "^[+-]?[0-9]{1,3}(,[0-9]{3}){2,}([.][0-9]*)?$|^[+-]?[0-9]{1,3},[0-9]{3}[.][0-9]*$",
    "thousands point": "^[+-]?[0-9]{1,3}([.][0-9]{3}){2,}(,[0-9]*)?$|^[+-]?[0-9]{1,3}[.][0-9]{3},[0-9]*$",
    "blank": f"^[+-]?[0-9]{{1,3}}[{BLANKS}][0-9]{{3}}([^0-9]|$)",
}
"""What a number may show of the marks, as regular expressions for trimmed text.

They are read alike by RE2, Java and PostgreSQL: bracket expressions in place of backslashes.
"""

SAY = 'Write decimal = "," and, if there is one, thousands = "." (or the other way round).'


@dataclass(frozen=True)
class NumberMarks:
    """How numbers are written; None where nobody has said it.

    Parameters
    ----------
    decimal
        The decimal mark, a point or a comma.
    thousands
        What stands between groups of three digits; "" for nothing.

    Examples
    --------
    >>> NumberMarks(decimal=",")
    NumberMarks(decimal=',', thousands=None)
    """

    decimal: str | None = None
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (None, *DECIMALS):
            raise InputError("the decimal mark is neither a point nor a comma", remedy='Write decimal = ",".')
        if self.thousands is not None and self.thousands not in ("", *DECIMALS, *BLANKS):
            raise InputError(
                "the thousands mark is none of point, comma, blank and apostrophe",
                remedy='Write thousands = "." or the like.',
            )
        if self.decimal is not None and self.decimal == self.thousands:
            raise InputError(
                "the decimal and the thousands mark are the same", remedy="Give two, or leave one out."
            )

    @property
    def is_said(self) -> bool:
        """Whether there is nothing to find out."""
        return self.decimal is not None

    def settled(self, evidence: Mapping[str, bool], file: object) -> tuple[NumberMarks, tuple[str, ...]]:
        """The marks that go with what the numbers of a file show, and what to tell about them.

        Raises
        ------
        InputError
            When the numbers can be read in two ways, or none.

        Examples
        --------
        >>> shown = dict.fromkeys(EVIDENCE, False) | {"comma": True, "decimal comma": True}
        >>> NumberMarks().settled(shown, "f")
        (NumberMarks(decimal=',', thousands=''), ("f: numbers are read with the decimal mark ','",))
        """
        if self.is_said:
            return NumberMarks(self.decimal, self.thousands or ""), ()
        if self.thousands in DECIMALS:
            other = "," if self.thousands == "." else "."
            return NumberMarks(other, self.thousands), ()
        decimal = _decimal(evidence, file)
        thousands = self.thousands if self.thousands is not None else _thousands(evidence, decimal)
        marks = NumberMarks(decimal, thousands)
        return marks, tuple(_notes(marks, evidence, file))


UNSAID = NumberMarks()
POINTS = NumberMarks(".", "")
"""Decimal points, and nothing between thousands."""


def _decimal(evidence: Mapping[str, bool], file: object) -> str:
    comma = evidence["decimal comma"] or evidence["thousands point"]
    point = evidence["decimal point"] or evidence["thousands comma"]
    if comma and point:
        raise InputError(
            "some numbers have a decimal comma and others a decimal point", file=file, remedy=SAY
        )
    if evidence["comma"] and not comma and not point:
        raise InputError(
            "numbers have a comma that may be a decimal or a thousands mark", file=file, remedy=SAY
        )
    return "," if comma else "."


def _thousands(evidence: Mapping[str, bool], decimal: str) -> str:
    if evidence["blank"]:
        return " "
    used = evidence["point"] if decimal == "," else evidence["comma"]
    return ("." if decimal == "," else ",") if used else ""


def _notes(marks: NumberMarks, evidence: Mapping[str, bool], file: object) -> list[str]:
    if marks != POINTS:
        between = {"": "", " ": " and blanks between thousands"}.get(
            marks.thousands or "", f" and {marks.thousands!r} between thousands"
        )
        return [f"{file}: numbers are read with the decimal mark {marks.decimal!r}{between}"]
    if evidence["point"] and not evidence["decimal point"]:
        return [
            f"{file}: WARNING: every number with a point has exactly three digits after it. They are read "
            'as decimals; if the point stands between thousands, write thousands = "."'
        ]
    return []


def plain_pattern(marks: NumberMarks) -> str:
    """A regular expression of what may be made a plain number by `plain_text`; anything else is at fault."""
    decimal, thousands = f"[{marks.decimal or '.'}]", _between(marks)
    grouped = rf"[0-9]{{1,3}}({thousands}[0-9]{{3}})+|" if thousands else ""
    return rf"^[+-]?({grouped}[0-9]*)({decimal}[0-9]*)?([eE][+-]?[0-9]+)?$"


def _thousands_marks(marks: NumberMarks) -> str:
    """What may stand between groups of digits; one kind of blank stands for all."""
    between = marks.thousands or ""
    return BLANKS if between and between in BLANKS else between


def _between(marks: NumberMarks) -> str:
    """The same as a regular expression."""
    between = _thousands_marks(marks)
    return f"[{between}]" if between else ""


def evidence_of(columns: list[Any]) -> dict[str, bool]:
    """What Arrow columns of text show of their marks."""
    import pyarrow.compute as pc

    trimmed = [pc.utf8_trim_whitespace(column) for column in columns]
    return {
        name: any(pc.any(pc.match_substring_regex(text, pattern)).as_py() for text in trimmed)
        for name, pattern in EVIDENCE.items()
    }


def plain_text(text: Any, marks: NumberMarks) -> Any:
    """Trimmed Arrow text with a decimal point and no thousands marks; what does not fit the marks is marked.

    A text that does not fit gets a question mark at its end, so that it is no number.
    """
    import pyarrow.compute as pc

    if marks == POINTS:
        return text
    fits = pc.or_(
        pc.match_substring_regex(text, plain_pattern(marks)), pc.match_substring_regex(text, r"^[^0-9]*$")
    )
    plain = pc.replace_substring_regex(text, _between(marks), "") if marks.thousands else text
    plain = pc.replace_substring(plain, marks.decimal, ".") if marks.decimal != "." else plain
    return pc.if_else(fits, plain, pc.binary_join_element_wise(text, "?", ""))


def plain_sql(text: str, marks: NumberMarks) -> str:
    """The same as SQL; what does not fit stays as it is, and is no number."""
    if marks == POINTS:
        return text
    fits = f"regexp_matches({text}, {_literal(plain_pattern(marks))})"
    plain = text
    for mark in _thousands_marks(marks):
        plain = f"replace({plain}, {_literal(mark)}, '')"
    plain = f"replace({plain}, ',', '.')" if marks.decimal == "," else plain
    return f"CASE WHEN {fits} THEN {plain} ELSE {text} || '?' END"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
