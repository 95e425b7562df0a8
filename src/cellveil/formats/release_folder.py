"""A release as outsiders find it: the public CSV files of all its tables, joined into one published table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellveil.errors import InputError, nearest_name
from cellveil.formats.columns import Columns, read_columns
from cellveil.formats.published_file import read_publication
from cellveil.judge.published_table import PublishedTable
from cellveil.publishing.public_folder import ABOUT, SOFTWARE
from cellveil.publishing.sdmx_files import SDMX
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import TOTAL, Hierarchy
from cellveil.tables.table import VARIABLE


def is_release(folder: Path) -> bool:
    """Whether a folder says that it holds a release."""
    return (folder / ABOUT).is_file()


def read_release(folder: Path | str, hierarchies: Mapping[str, Any], **options: Any) -> PublishedTable:
    """Read the tables of a release; a dimension that a table does not have counts as its total.

    Parameters
    ----------
    hierarchies
        As in `read_publication`; dimensions that are left out are flat.
    options
        Further ones of `read_publication`.
    """
    folder = Path(folder)
    about = _about(folder)
    tables = about.get("tables") or [about | {"files": list(about["files"])}]
    totals = {d["name"]: d.get("total", TOTAL) for table in tables for d in table["dimensions"]}
    unknown = [name for name in hierarchies if name not in (*totals, VARIABLE)]
    if unknown:
        raise InputError(
            f"no table of the release has the dimension {unknown[0]!r}",
            file=folder,
            remedy=nearest_name(unknown[0], list(totals)),
        )
    variables = list(dict.fromkeys(table["variable"] for table in tables))
    joint = _joined(folder, tables, totals, variables)
    trees: dict[str, Any] = {
        name: hierarchies.get(name) or _flat(joint, name, total) for name, total in totals.items()
    }
    if len(variables) > 1:
        trees[VARIABLE] = hierarchies.get(VARIABLE) or Dimension.unstructured(VARIABLE, variables)
    hidden = [] if about.get("adjusted") else [about.get("symbol", "")]
    return read_publication(joint, trees, **({"hidden": hidden} | options))


def _about(folder: Path) -> dict[str, Any]:
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
        columns = read_columns(_csv_of(folder, table))
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


def _csv_of(folder: Path, table: Mapping[str, Any]) -> Path:
    for name in table["files"]:
        if name.endswith(".csv") and not name.endswith(f"{SDMX}.csv") and Path(name).name == name:
            return folder / str(name)
    raise InputError(
        "the release has no CSV file to read", file=folder, remedy='Release with formats = ["csv", …].'
    )


def _flat(joint: Columns, name: str, total: str) -> Hierarchy:
    codes = dict.fromkeys(joint.codes(name).tolist())
    return Hierarchy.flat([code for code in codes if code != total], total)
