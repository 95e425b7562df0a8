"""The public files of a release read as anybody would, without the package."""

import csv
import json
from pathlib import Path


def public_rows(public: Path) -> list[dict[str, str]]:
    """One row per cell: those of the only table, or those of all tables in all their dimensions.

    A dimension that a table does not have has its total; several variables make a column `variable`.
    """
    about = json.loads((public / "about.json").read_text(encoding="utf-8"))
    if "tables" not in about:
        return _rows(public / "table.csv")
    tables = about["tables"]
    totals = {d["name"]: d["total"] for table in tables for d in table["dimensions"]}
    several = len({table["variable"] for table in tables}) > 1
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for table in tables:
        (file,) = [name for name in table["files"] if name.endswith(".csv")]
        for row in _rows(public / file):
            key = {name: row.get(name, total) for name, total in totals.items()}
            key |= {"variable": table["variable"]} if several else {}
            whole = key | {"value": row["value"], "flag": row["flag"]}
            assert cells.setdefault(tuple(key.values()), whole) == whole, "two files differ"
    return list(cells.values())


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
