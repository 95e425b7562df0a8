"""A release as outsiders find it: the public CSV files of all its tables, joined into one published table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellveil.errors import InputError, nearest_name
from cellveil.formats.columns import Columns, read_columns
from cellveil.formats.published_file import read_publication
from cellveil.judge.published_table import PublishedTable
from cellveil.publishing.csv_parquet import VALUE
from cellveil.publishing.public_folder import ABOUT, PUBLIC, SOFTWARE
from cellveil.publishing.sdmx_files import SDMX
from cellveil.tables.dimension import Dimension, Equation
from cellveil.tables.hierarchy import TOTAL, Hierarchy
from cellveil.tables.table import VARIABLE


def is_release(folder: Path) -> bool:
    """Whether a folder says that it holds a release."""
    return (folder / ABOUT).is_file()


def find_release(folder: Path) -> Path | None:
    """The folder of the release: the one that is named, or ``public`` in it; None where there is none."""
    return next((place for place in (folder, folder / PUBLIC) if is_release(place)), None)


@dataclass(frozen=True, repr=False, eq=False)
class ReleaseRows:
    """The rows of all tables of a release, each cell once.

    Parameters
    ----------
    about
        What the release says about itself.
    columns
        A column for each dimension, one for the variable where there are several, and the values as texts.
    totals
        The code of the total of each dimension.
    variables
        The response variables.
    """

    about: Mapping[str, Any]
    columns: Columns
    totals: Mapping[str, str]
    variables: Sequence[str]

    @property
    def is_adjusted(self) -> bool:
        """Whether values were changed to protect respondents, and none is hidden."""
        return bool(self.about.get("adjusted"))

    @property
    def names(self) -> list[str]:
        """The dimensions, with that of the variable where there are several."""
        return [*self.totals, *([VARIABLE] if len(self.variables) > 1 else [])]

    @property
    def texts(self) -> list[str]:
        """The values as they are written."""
        return list(self.columns.column(VALUE).to_pylist())

    def is_hidden(self, text: str) -> bool:
        """Whether a value is the symbol of hidden ones."""
        return not self.is_adjusted and text == self.about.get("symbol", "")

    def codes(self, name: str) -> list[str]:
        """The codes that rows have in one dimension, each once."""
        return list(dict.fromkeys(self.columns.codes(name).tolist()))

    def trees(self, name: str) -> list[Hierarchy]:
        """The hierarchies of a dimension that the release names; none where it is flat."""
        given = self.about.get("hierarchies", {}).get(name, [])
        return [Hierarchy.from_pairs([(str(above), str(below)) for above, below in pairs]) for pairs in given]

    def variable_dimension(self) -> Dimension:
        """The response variables with their equations."""
        number = {name: place for place, name in enumerate(self.variables)}
        equations = [
            Equation(tuple(number[name] for name in terms), tuple(terms.values()))
            for terms in self.about.get("equations", [])
            if all(name in number for name in terms)
        ]
        return Dimension(VARIABLE, tuple(self.variables), tuple(equations))


def read_release_rows(folder: Path | str) -> ReleaseRows:
    """Read the tables of a release; a dimension that a table does not have counts as its total."""
    folder = Path(folder)
    about = read_about(folder)
    tables = about.get("tables") or [about | {"files": list(about["files"])}]
    totals = {d["name"]: d.get("total", TOTAL) for table in tables for d in table["dimensions"]}
    variables = list(dict.fromkeys(table["variable"] for table in tables))
    return ReleaseRows(about, _joined(folder, tables, totals, variables), totals, variables)


def read_release(folder: Path | str, hierarchies: Mapping[str, Any], **options: Any) -> PublishedTable:
    """Read a release as a published table.

    Parameters
    ----------
    hierarchies
        As in `read_publication`; others are those that the release names, and flat where it names none.
    options
        Further ones of `read_publication`.
    """
    rows = read_release_rows(folder)
    unknown = [name for name in hierarchies if name not in (*rows.totals, VARIABLE)]
    if unknown:
        raise InputError(
            f"no table of the release has the dimension {unknown[0]!r}",
            file=folder,
            remedy=nearest_name(unknown[0], list(rows.totals)),
        )
    trees: dict[str, Any] = {
        name: hierarchies.get(name) or rows.trees(name) or _flat(rows.codes(name), total)
        for name, total in rows.totals.items()
    }
    if len(rows.variables) > 1:
        trees[VARIABLE] = hierarchies.get(VARIABLE) or rows.variable_dimension()
    hidden = [] if rows.is_adjusted else [rows.about.get("symbol", "")]
    return read_publication(rows.columns, trees, **({"hidden": hidden} | options))


def read_about(folder: Path) -> dict[str, Any]:
    """What a release says of itself."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["software"]["name"] == SOFTWARE:
            return dict(about)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise InputError("not the description of a release", file=folder / ABOUT, remedy="Name another folder.")


def _joined(
    folder: Path, tables: list[dict[str, Any]], totals: Mapping[str, str], variables: list[str]
) -> Columns:
    """The rows of all tables, each cell once."""
    import pyarrow as pa

    found: dict[tuple[str, ...], str] = {}
    for table in tables:
        columns = table_rows(folder, table)
        own = {d["name"]: columns.codes(d["name"]).tolist() for d in table["dimensions"]}
        keys = [own.get(name) or [total] * len(columns) for name, total in totals.items()]
        keys += [[table["variable"]] * len(columns)] if len(variables) > 1 else []
        values = columns.column("value").to_pylist()
        for row, (*key, value) in enumerate(zip(*keys, values, strict=True)):
            if found.setdefault(tuple(key), value) != value:
                raise columns.fault(row, "another table of the release has another value", "Release it anew.")
    names = [*totals, *([VARIABLE] if len(variables) > 1 else [])]
    data = {name: pa.array(codes, pa.string()) for name, *codes in zip(names, *found, strict=True)}
    data["value"] = pa.array(list(found.values()), pa.string())
    return Columns(pa.table(data), str(folder), lambda row: row + 1)


def table_rows(folder: Path, table: Mapping[str, Any]) -> Columns:
    """The rows of one table of a release, as its about.json describes it."""
    return read_columns(_csv_of(folder, table))


def _csv_of(folder: Path, table: Mapping[str, Any]) -> Path:
    for name in table["files"]:
        if name.endswith(".csv") and not name.endswith(f"{SDMX}.csv") and Path(name).name == name:
            return folder / str(name)
    raise InputError(
        "the release has no CSV file to read", file=folder, remedy='Release with formats = ["csv", …].'
    )


def _flat(codes: Sequence[str], total: str) -> Hierarchy:
    return Hierarchy.flat([code for code in codes if code != total], total)
