"""Former releases, read to be attacked together with a new one."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from cellveil.errors import InputError, name_some
from cellveil.formats.published_file import read_publication
from cellveil.formats.release_folder import ReleaseRows, find_release, read_release_rows
from cellveil.judge.former_release import FormerRelease
from cellveil.publishing.public_folder import PUBLIC, damaged_files
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.named_keys import cell_keys
from cellveil.tables.table import VARIABLE, Table


def read_former_releases(folders: Iterable[Path | str], table: Table) -> list[FormerRelease]:
    """Read the releases in these folders.

    Parameters
    ----------
    folders
        Folders of releases, or output folders of jobs.
    table
        The new table, whose hierarchies say more about the codes they have in common.

    Raises
    ------
    InputError
        Where there is no release, or its files are not those that it was made of.
    """
    return [_read(Path(folder), table) for folder in folders]


def _read(folder: Path, table: Table) -> FormerRelease:
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
    rows = read_release_rows(place)
    name = (place.parent if place.name == PUBLIC else place).resolve().name
    if rows.is_adjusted:
        return FormerRelease(name, None)
    trees: dict[str, Any] = {name: _dimension(name, rows, table) for name in rows.totals}
    if len(rows.variables) > 1:
        trees[VARIABLE] = rows.variable_dimension()
    published = read_publication(
        rows.columns,
        trees,
        hidden=[rows.about.get("symbol", "")],
        nonnegative=not any(text.startswith("-") for text in rows.texts),
        must_hide=False,
    )
    variable = rows.variables[0] if len(rows.variables) == 1 else ""
    return FormerRelease(name, published, tuple(cell_keys(published.table, variable)))


def _dimension(name: str, rows: ReleaseRows, table: Table) -> Dimension:
    """The dimension of a release, with what the new table's hierarchies say of its codes."""
    here = next((dimension for dimension in table.dimensions if dimension.name == name), None)
    codes, total, own = rows.codes(name), rows.totals[name], rows.trees(name)
    covers = here is not None and here.total >= 0 and here.codes[here.total] == total
    covers = covers and here is not None and all(code in here.index for code in codes)
    if here is not None and covers and (not own or _trees(own) <= _trees(here.hierarchies)):
        return here
    if own and here is not None:
        with suppress(InputError):  # they need not agree: classifications change
            return Dimension.of(name, *own, *(t for t in here.hierarchies if not _trees([t]) <= _trees(own)))
    return Dimension.of(name, *(own or [Hierarchy.flat([code for code in codes if code != total], total)]))


def _trees(hierarchies: Iterable[Hierarchy]) -> set[tuple[str, frozenset[tuple[str, str]]]]:
    return {(tree.root, frozenset(tree.pairs())) for tree in hierarchies}
