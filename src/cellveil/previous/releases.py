"""What earlier releases say: the tables in their public folders, and what each of their codes contains.

The finest codes behind a code come, in this order, from the job (`against.codes`), from the release itself
(``contains`` and ``hierarchies`` in its about.json), or, for releases that say nothing of it, from the codes
of the same name of today. Nothing is guessed: what is not known is refused, with the line to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from cellveil.errors import InputError, name_some
from cellveil.formats.release_folder import find_release, read_about, table_rows
from cellveil.publishing.public_folder import ABOUT, PUBLIC, damaged_files, digest_of
from cellveil.tables.hierarchy import TOTAL
from cellveil.tables.table import VARIABLE

NAMELESS = "value"
"""The variable of a ready-made table of which nobody has said what it counts."""


@dataclass(frozen=True)
class Mapped:
    """What a job says of the dimensions and codes of earlier releases.

    Parameters
    ----------
    dimensions
        The column of the data that a dimension of a release classifies by.
    codes
        By dimension or column: for a code the finest codes that it contains.
    growth
        For releases of another period: their figures are within so many per cent of those of today.
    """

    dimensions: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    growth: float | None = None


@dataclass(frozen=True, repr=False, eq=False)
class ReleasedTable:
    """One table of an earlier release, as its public files have it.

    Parameters
    ----------
    codes
        For each dimension the code of each row.
    values
        The figure of each row; None where it is suppressed.
    totals
        The code of the total of each dimension that has one.
    """

    variable: str
    dimensions: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    values: tuple[Decimal | None, ...]
    decimals: int
    totals: Mapping[str, str]


@dataclass(frozen=True, repr=False, eq=False)
class PreviousRelease:
    """An earlier release.

    Parameters
    ----------
    name
        What verdicts call it: its folder, or the output folder it lies in.
    about
        What it says of itself.
    digest
        SHA-256 of its about.json, which has those of its files.
    """

    name: str
    about: Mapping[str, Any]
    tables: tuple[ReleasedTable, ...]
    digest: str

    def __repr__(self) -> str:
        return f"PreviousRelease({self.name!r}, {len(self.tables)} tables)"

    @property
    def is_adjusted(self) -> bool:
        """Whether its values were changed to protect respondents."""
        return bool(self.about.get("adjusted"))

    @property
    def is_described(self) -> bool:
        """Whether it says what records it counts; releases of old programs do not."""
        return "absent" in self.about

    @property
    def equations(self) -> Sequence[Mapping[str, int]]:
        """What ties its variables together: coefficients that add them up to 0."""
        return list(self.about.get("equations", []))

    def says_contents(self, dimension: str) -> bool:
        """Whether it says what the codes of a dimension contain; then others are finest codes of the data."""
        return dimension in self.about.get("columns", {})

    @property
    def absent_is_empty(self) -> bool:
        """Whether a combination of codes without a row is known to be empty."""
        return str(self.about.get("absent", "empty")) == "empty"

    def rounding_of(self, variable: str) -> Decimal:
        """The unit to which records were rounded before they were added up; 0 where they were not."""
        return Decimal(str(self.about.get("rounding", {}).get(variable, 0)))

    def column_of(self, dimension: str) -> str:
        """The column of the data that a dimension classifies by, as far as the release says."""
        return str(self.about.get("columns", {}).get(dimension, dimension))

    def contents(
        self,
        dimension: str,
        codes: Iterable[str],
        total: str | None,
        today: Mapping[str, Sequence[str]] | None,
    ) -> tuple[dict[str, tuple[str, ...] | None], tuple[str, ...]]:
        """What codes contain: finest codes, None for everything; and the codes of which it is not known.

        Parameters
        ----------
        today
            The codes of today by name, with the finest codes they contain; None where the column is not one
            of today's tables, so that codes without further word are finest ones.
        """
        stated: Mapping[str, Sequence[str]] = self.about.get("contains", {}).get(dimension, {})
        below: dict[str, list[str]] = {}
        for tree in self.about.get("hierarchies", {}).get(dimension, []):
            own: dict[str, list[str]] = {}
            for parent, child in tree:
                own.setdefault(str(parent), []).append(str(child))
            below = own | below
        found: dict[str, tuple[str, ...] | None] = {}
        unknown: list[str] = []

        def finest(code: str, above: tuple[str, ...] = ()) -> tuple[str, ...] | None:
            if code in stated:
                return tuple(map(str, stated[code]))
            if below.get(code) and code not in above:
                parts = [finest(child, (*above, code)) for child in below[code]]
                return None if None in parts else tuple(name for part in parts if part for name in part)
            if self.says_contents(dimension) or today is None:
                return (code,)
            return tuple(today[code]) if code in today else None

        for code in dict.fromkeys(codes):
            if code == total:
                found[code] = None
                continue
            contained = finest(code)
            if contained is None:
                unknown.append(code)
            else:
                found[code] = tuple(dict.fromkeys(contained))
        everything = {name for contained in found.values() for name in contained or ()}
        if total is None and len(everything) > 1:  # the code that covers all others is the total
            found |= {
                code: None for code, own in found.items() if own and len(found) > 2 and set(own) == everything
            }
        return found, tuple(unknown)


def read_releases(folders: Iterable[Path | str]) -> list[PreviousRelease]:
    """Read the releases in these folders, or in output folders of jobs.

    Raises
    ------
    InputError
        Where there is no release, or its files are not those that it was made of.
    """
    return [_read(Path(folder)) for folder in folders]


def check_unchanged(folders: Iterable[Path | str], digests: Iterable[str]) -> None:
    """Raise where a release is not the one that was read."""
    for folder, digest in zip(folders, digests, strict=True):
        place = find_release(Path(folder))
        if place is None or digest_of(place / ABOUT) != digest:
            raise InputError(
                "the release was replaced while the job ran, so that it was not audited; nothing was written",
                file=folder,
                remedy="Run the job again, after whatever writes that release.",
            )


def _read(folder: Path) -> PreviousRelease:
    place = find_release(folder)
    if place is None:
        raise InputError("there is no release in it", file=folder, remedy="Name the folder of a release.")
    damaged = damaged_files(place)
    if damaged:
        raise InputError(
            f"the release was changed after it was made: {name_some(damaged)}",
            file=folder,
            remedy="Take it from where it was published.",
        )
    about = read_about(place)
    name = (place.parent if place.name == PUBLIC else place).resolve().name
    entries = about.get("tables") or [about | {"files": list(about["files"])}]
    read = () if about.get("adjusted") else tuple(_table(place, about, entry) for entry in entries)
    tables = tuple(part for table in read for part in _by_variable(table))
    return PreviousRelease(name, about, tables, str(digest_of(place / ABOUT)))


def _by_variable(table: ReleasedTable) -> list[ReleasedTable]:
    """One table for each variable, where these stand in a column of their own."""
    if VARIABLE not in table.dimensions:
        return [table]
    axis = table.dimensions.index(VARIABLE)
    found = []
    for variable in dict.fromkeys(table.codes[axis]):
        rows = [row for row, code in enumerate(table.codes[axis]) if code == variable]
        others = [place for place in range(len(table.dimensions)) if place != axis]
        found.append(
            ReleasedTable(
                variable,
                tuple(table.dimensions[place] for place in others),
                tuple(tuple(table.codes[place][row] for row in rows) for place in others),
                tuple(table.values[row] for row in rows),
                table.decimals,
                table.totals,
            )
        )
    return found


def _table(folder: Path, about: Mapping[str, Any], entry: Mapping[str, Any]) -> ReleasedTable:
    names = tuple(dimension["name"] for dimension in entry["dimensions"])
    columns = table_rows(folder, entry)
    texts = columns.column("value").to_pylist()
    symbol = about.get("symbol", "")
    values: list[Decimal | None] = []
    for row, text in enumerate(texts):
        if text is None or text == symbol:
            values.append(None)
            continue
        try:
            values.append(Decimal(text))
        except InvalidOperation:
            raise columns.fault(
                row, "the value is no number", "Take the file from where it was published."
            ) from None
    return ReleasedTable(
        str(entry["variable"]),
        names,
        tuple(tuple(columns.codes(name).tolist()) for name in names),
        tuple(values),
        int(entry.get("decimals", 0)),
        {
            dimension["name"]: dimension.get("total", TOTAL)
            for dimension in entry["dimensions"]
            if "total" in dimension or "absent" not in about
        },
    )
