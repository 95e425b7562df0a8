"""The texts of public tables, by language: one file for each in ``texts``, all with the same keys.

Public files take every word that people read from here, and the way in which the language writes numbers.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from cellveil.errors import InputError, nearest_name
from cellveil.tables.scaled import text_of

LANGUAGES = ("en", "de")
"""Languages of public files: the first is the default."""


@dataclass(frozen=True)
class Catalogue:
    """Texts of one language.

    Parameters
    ----------
    language
        Its code, as in ``<html lang>``.
    texts
        Section and key (``page.tables``) → text, with ``{names}`` to be filled in.
    """

    language: str
    texts: Mapping[str, str]

    def __call__(self, key: str, /, **filled: object) -> str:
        """The text of a key.

        Examples
        --------
        >>> catalogue("de")("table.about", variable="Umsatz", dimensions="Region")
        'Umsatz nach Region'
        """
        return self.texts[key].format(**filled)

    def of_number(self, number: int, key: str, /, **filled: object) -> str:
        """The text for one thing or for several: of the key with ``_one`` or ``_many``."""
        return self(f"{key}_{'one' if number == 1 else 'many'}", **filled)

    def number(self, scaled: int, decimals: int = 0) -> str:
        r"""A scaled integer, digits in groups of three.

        Examples
        --------
        >>> catalogue("en").number(-123456789, 2)
        '-1,234,567.89'
        >>> catalogue("de").number(-123456789, 2).replace("\u202f", " ")
        '-1 234 567,89'
        """
        return written(scaled, decimals, self("numbers.thousands"), self("numbers.point"))


@cache
def catalogue(language: str) -> Catalogue:
    """The texts of a language.

    Raises
    ------
    InputError
        When there are none.
    """
    if language not in LANGUAGES:
        raise InputError(f"there are no texts in {language!r}", remedy=nearest_name(language, LANGUAGES))
    text = files("cellveil.publishing").joinpath("texts", f"{language}.toml").read_text(encoding="utf-8")
    sections = tomllib.loads(text)
    return Catalogue(
        language,
        {f"{name}.{key}": str(text) for name, section in sections.items() for key, text in section.items()},
    )


def written(scaled: int, decimals: int, thousands: str, point: str) -> str:
    """Write a scaled integer with these marks.

    Examples
    --------
    >>> written(-123456789, 2, ".", ",")
    '-1.234.567,89'
    """
    whole, has_fraction, fraction = text_of(scaled, decimals).partition(".")
    digits = f"{int(whole.lstrip('-')):,}".replace(",", thousands)
    return f"{'-' if scaled < 0 else ''}{digits}{point if has_fraction else ''}{fraction}"
