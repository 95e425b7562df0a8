"""Tokens and fields of the lines that describe tables and their cells.

Metadata are read in tokens: a quoted text, one of ``, | ( )``, or what stands up to a blank or one of these.
Cells and statuses are read in fields, cut at a separator.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from cellveil.errors import InputError

QUOTE = '"'
_SINGLE = frozenset(",|()")
_WORD = re.compile(r"<\s*\w+\s*>|[^\s,|()\"]+|\S")  # blanks within a keyword do not count


@dataclass(frozen=True)
class Token:
    """A word of a line.

    Parameters
    ----------
    text
        Without quotes; keywords in capitals.
    quoted
        Whether it stood in quotes: then it is no keyword, whatever it looks like.
    """

    text: str
    quoted: bool = False

    @property
    def is_keyword(self) -> bool:
        """Whether it is a keyword such as <NUMERIC>."""
        return not self.quoted and self.text.startswith("<")


def tokens_of(line: str) -> list[Token]:
    """The tokens of a line; a token beginning // ends it.

    Examples
    --------
    >>> [token.text for token in tokens_of('<safe> "a b", c|d // rest')]
    ['<SAFE>', 'a b', ',', 'c', '|', 'd']
    """
    rest, found = line.replace("\t", " ").strip(), []
    while rest:
        token, rest = _cut_token(rest)
        if not token.quoted and token.text.startswith("//"):
            break
        found.append(token)
        rest = rest.lstrip()
    return found


def _cut_token(text: str) -> tuple[Token, str]:
    if text[0] == QUOTE:
        end = text.find(QUOTE, 1)
        if end < 0:
            raise InputError("a double quote is not closed", remedy="Close it.")
        return Token(text[1:end], quoted=True), text[end + 1 :]
    if text[0] in _SINGLE:
        return Token(text[0]), text[1:]
    word = _WORD.match(text)
    assert word is not None  # the text is not empty, and does not begin with one of the single characters
    rest = text[word.end() :]
    is_keyword = word[0].startswith("<")
    return Token(word[0].replace(" ", "").upper() if is_keyword else word[0]), rest


def fields_of(line: str, separator: str) -> list[str]:
    """The fields of a line, blanks around them cut, one pair of quotes dropped.

    Blanks and separators between quotes belong to the field.

    Examples
    --------
    >>> fields_of('"T";" 1"; 5,00 ;"a;b"', ";")
    ['T', ' 1', '5,00', 'a;b']
    """
    line = line.replace("\t", " ") if separator != "\t" else line
    if QUOTE not in line:
        return [field.strip() for field in line.split(separator)]
    fields, rest = [], line.strip(" ")
    while True:
        field, closed, rest = _cut_field(rest, separator)
        fields.append(field)
        if not closed:
            return fields


def _cut_field(text: str, separator: str) -> tuple[str, bool, str]:
    """The first field, whether a separator follows it, and the rest."""
    text = text.lstrip(" ")
    if text.startswith(QUOTE):
        end = text.find(QUOTE, 1)
        while end >= 0 and text.startswith(QUOTE, end + 1):  # a doubled quote stands for one
            end = text.find(QUOTE, end + 2)
        if end < 0:
            raise InputError("a double quote is not closed", remedy="Close it.")
        field, after = text[1:end].replace(QUOTE * 2, QUOTE), text[end + 1 :].lstrip(" ")
        if after and not after.startswith(separator):
            raise InputError("something stands after a closing quote", remedy="Put a separator between.")
        return field, bool(after), after[len(separator) :]
    field, found, rest = text.partition(separator)
    return field.strip(), bool(found), rest


def quoted(text: str) -> str:
    """The text in quotes, as token or field.

    Raises
    ------
    InputError
        When it holds a quote, a tab or a line end: no such file could be read back.
    """
    if any(character in text for character in '"\r\n\t'):
        raise InputError(
            "a code or name holds a double quote, a tab or a line end, which the file cannot carry",
            remedy="Rename it.",
        )
    return f'"{text}"'
