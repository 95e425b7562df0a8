"""What a publication says about itself: title, source, units, contact, date and note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cellveil.publishing.catalogue import LANGUAGES, Catalogue, catalogue
from cellveil.tables.dimension import Dimension


@dataclass(frozen=True)
class Imprint:
    """Texts for the public, in the language of its files; what is empty is left out.

    Parameters
    ----------
    title, note, date, source, contact
        Texts, as given.
    unit
        In what the figures are measured: one text, or one for each variable.
    language
        Of the words around the figures, and of how numbers are written.
    """

    title: str = ""
    note: str = ""
    date: str = ""
    source: str = ""
    contact: str = ""
    unit: str | Mapping[str, str] = ""
    language: str = LANGUAGES[0]

    @property
    def words(self) -> Catalogue:
        """The texts of its language."""
        return catalogue(self.language)

    def unit_of(self, variable: str) -> str:
        """In what a variable is measured."""
        return self.unit if isinstance(self.unit, str) else self.unit.get(variable, "")

    def facts(self) -> Iterator[tuple[str, str]]:
        """What is said once for all tables, with its name: source, contact and date, where given."""
        for key in ("source", "contact", "date"):
            if text := getattr(self, key):
                yield self.words(f"imprint.{key}"), text


def subject_of(variable: str, dimensions: Sequence[Dimension], language: str) -> str:
    """What a table is about: “turnover by region, size”."""
    names = ", ".join(dimension.name for dimension in dimensions)
    return catalogue(language)("table.about", variable=variable, dimensions=names)
