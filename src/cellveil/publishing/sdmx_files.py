"""The public table in SDMX: its observations as SDMX-CSV 2.0, its structure as SDMX-ML 3.0.

Every hidden cell has the same observation status and the same confidentiality status: the files do not tell
primary from secondary cells (`cellveil.publishing.sdmx_codes`).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cellveil.errors import InputError, MissingExtraError
from cellveil.files import guarded, write_text
from cellveil.publishing.publication import Lines, Publication
from cellveil.publishing.sdmx_codes import (
    CODE_ID,
    COMPONENT_ID,
    CONF_STATUS,
    CONF_STATUS_NAMES,
    HIDDEN,
    OBS_STATUS,
    OBS_STATUS_NAMES,
    OBS_VALUE,
    PUBLISHED,
)

SDMX = ".sdmx"
"""In the names of these files, before their end."""

AGENCY, VERSION = "CELLVEIL", "1.0.0"
"""Who maintains the structures, and their version."""

TAKEN = ("STRUCTURE", "STRUCTURE_ID", "ACTION", "DATAFLOW", OBS_VALUE, OBS_STATUS, CONF_STATUS)
"""Columns that no dimension may be called like."""

STANDARD_LISTS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    OBS_STATUS: ("CL_OBS_STATUS", "2.2", OBS_STATUS_NAMES),
    CONF_STATUS: ("CL_CONF_STATUS", "1.2", CONF_STATUS_NAMES),
}
"""The standard code list of each attribute: its name, its version, and those of its codes that are used."""

PREPARED = datetime(1980, 1, 1, tzinfo=UTC)
"""Stands in the header, so that the same release gives the same file."""


def require_sdmx() -> None:
    """Raise where the package for structures is not installed."""
    try:
        import lxml  # noqa: F401
        import pysdmx  # noqa: F401
    except ImportError:
        raise MissingExtraError("pysdmx", "sdmx", "Reading and writing SDMX structures") from None


def check_sdmx_names(tables: Sequence[Publication]) -> None:
    """Raise where a name of a table or of a dimension, or a code, cannot stand in files of SDMX."""
    named: dict[str, str] = {}
    for table in tables:
        _check_table(table)
        other = named.setdefault(structure_id(table), table.name)
        if other != table.name:
            raise InputError(
                f"the tables {other!r} and {table.name!r} would be {structure_id(table)} both in SDMX",
                remedy="Give one of them another name.",
            )


def _check_table(publication: Publication) -> None:
    for dimension, lines in zip(publication.dimensions, publication.lines, strict=True):
        if not COMPONENT_ID.fullmatch(dimension.name) or dimension.name.upper() in TAKEN:
            raise InputError(
                f"the dimension {dimension.name!r} cannot be called so in SDMX",
                remedy="Begin with a letter, use letters without accents, digits, _ and -, and none of "
                f"{', '.join(TAKEN)}; or leave the format sdmx out.",
            )
        odd = [code for code in lines.names if not CODE_ID.fullmatch(code) or guarded(code) != code]
        if odd:
            raise InputError(
                f"the code {odd[0]!r} of {dimension.name!r} cannot be a code in SDMX",
                remedy="Use letters without accents, digits, _ and -, with a label for the text; or "
                "leave the format sdmx out.",
            )


def write_observations(publication: Publication, path: Path) -> None:
    """Write SDMX-CSV 2.0: exact values, empty where hidden."""
    shown = zip(publication.value_texts(), publication.hidden.tolist(), strict=True)
    lines = [("", *HIDDEN) if is_hidden else (text, *PUBLISHED) for text, is_hidden in shown]
    write_lines(publication, lines, path)


def write_lines(publication: Publication, shown: Sequence[tuple[str, str, str]], path: Path) -> None:
    """Write SDMX-CSV 2.0.

    Parameters
    ----------
    shown
        Value, observation status and confidentiality status of each cell.
    """
    places, cells = publication.rows
    keys = [
        [lines.names[line] for line in place.tolist()]
        for lines, place in zip(publication.lines, places, strict=True)
    ]
    about = ("dataflow", f"{AGENCY}:{structure_id(publication)}({VERSION})", "I")
    names = [dimension.name for dimension in publication.dimensions]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["STRUCTURE", "STRUCTURE_ID", "ACTION", *names, OBS_VALUE, OBS_STATUS, CONF_STATUS])
        for *key, cell in zip(*keys, cells.tolist(), strict=True):
            writer.writerow([*about, *key, *shown[cell]])


def structure_id(publication: Publication) -> str:
    """The name of the table as an identifier."""
    found = re.sub(r"[^A-Za-z0-9]+", "_", publication.heading).strip("_").upper()
    return found if found[:1].isalpha() else f"TABLE_{found}".rstrip("_")


def write_structure(publication: Publication, path: Path) -> None:
    """Write the data structure, the code lists with their labels, and the hierarchies as SDMX-ML 3.0."""
    require_sdmx()
    from pysdmx.io.format import Format
    from pysdmx.io.writer import write_sdmx
    from pysdmx.model import Organisation
    from pysdmx.model.message import Header

    name = structure_id(publication)
    header = Header(id=name, test=False, prepared=PREPARED, sender=Organisation(id=AGENCY))
    text = write_sdmx(_Structure(publication).artefacts(), Format.STRUCTURE_SDMX_ML_3_0, header=header)
    write_text(path, str(text))


class _Structure:
    """The artefacts of SDMX that describe a table."""

    def __init__(self, publication: Publication) -> None:
        self._publication, self._id = publication, structure_id(publication)

    def artefacts(self) -> list[Any]:
        """All of them, what is referred to first."""
        found: list[Any] = []
        dimensions = list(zip(self._publication.dimensions, self._publication.lines, strict=True))
        for dimension, lines in dimensions:
            found.append(self._code_list(dimension.name, lines))
            for number, tree in enumerate(dimension.hierarchies, 1):
                found += self._hierarchy(dimension.name, number, tree)
        found += [_standard_list(attribute) for attribute in STANDARD_LISTS]
        names = [dimension.name for dimension, _ in dimensions]
        return [*found, self._concepts(names), self._data_structure(names), self._dataflow()]

    def _own(self, identifier: str) -> dict[str, Any]:
        """What every artefact of the table has."""
        return {"id": identifier, "name": self._title, "agency": AGENCY, "version": VERSION}

    @property
    def _title(self) -> str:
        return self._publication.heading or self._id

    def _list_id(self, name: str) -> str:
        return f"CL_{self._id}_{name}"

    def _code_list(self, name: str, lines: Lines) -> Any:
        from pysdmx.model import Code, Codelist

        named = zip(lines.names, lines.labels, strict=True)
        codes = [Code(id=code, name=label or code) for code, label in named]
        return Codelist(items=codes, **self._own(self._list_id(name)) | {"name": name})

    def _hierarchy(self, name: str, number: int, tree: Any) -> list[Any]:
        """The hierarchy of a dimension, and that it belongs to it."""
        from pysdmx.model import HierarchicalCode, Hierarchy, HierarchyAssociation

        made: dict[str, Any] = {}
        base = f"{_urn('codelist.Code', self._list_id(name))}."
        for code in reversed(tree.codes):  # parts before their total
            below = tuple(made[child] for child in tree.children.get(code, ()))
            made[code] = HierarchicalCode(id=code, codes=below, urn=base + code)
        own = f"H_{self._id}_{name}_{number}"
        hierarchy = Hierarchy(codes=(made[tree.root],), **self._own(own) | {"name": name})
        association = HierarchyAssociation(
            hierarchy=_urn("codelist.Hierarchy", own),
            component_ref=f"{_urn('datastructure.Dimension', self._id)}.{name}",
            context_ref=_urn("datastructure.Dataflow", self._id),
            **self._own(f"HA_{self._id}_{name}_{number}") | {"name": name},
        )
        return [hierarchy, association]

    def _concepts(self, names: list[str]) -> Any:
        from pysdmx.model import Concept, ConceptScheme

        concepts = [Concept(id=name, name=name) for name in [*names, OBS_VALUE, *STANDARD_LISTS]]
        return ConceptScheme(items=concepts, **self._own(f"CS_{self._id}"))

    def _data_structure(self, names: list[str]) -> Any:
        from pysdmx.model import DataType, Role
        from pysdmx.model.dataflow import Component, Components, DataStructureDefinition

        components = [
            Component(
                id=name,
                required=True,
                role=Role.DIMENSION,
                concept=self._concept(name),
                local_enum_ref=_urn("codelist.Codelist", self._list_id(name)),
            )
            for name in names
        ]
        value = self._concept(OBS_VALUE)
        kind = DataType.DECIMAL if self._publication.decimals else DataType.LONG
        components.append(
            Component(id=OBS_VALUE, required=False, role=Role.MEASURE, concept=value, local_dtype=kind)
        )
        components += [
            Component(
                id=name,
                required=True,
                role=Role.ATTRIBUTE,
                concept=self._concept(name),
                local_enum_ref=_urn("codelist.Codelist", given, "SDMX", version),
                attachment_level="O",
            )
            for name, (given, version, _) in STANDARD_LISTS.items()
        ]
        return DataStructureDefinition(components=Components(components), **self._own(self._id))

    def _concept(self, name: str) -> Any:
        from pysdmx.model import ItemReference

        return ItemReference(
            sdmx_type="Concept", agency=AGENCY, id=f"CS_{self._id}", version=VERSION, item_id=name
        )

    def _dataflow(self) -> Any:
        from pysdmx.model import Dataflow

        return Dataflow(structure=_urn("datastructure.DataStructure", self._id), **self._own(self._id))


def _standard_list(attribute: str) -> Any:
    from pysdmx.model import Code, Codelist

    identifier, version, names = STANDARD_LISTS[attribute]
    codes = [Code(id=code, name=name) for code, name in names.items()]
    return Codelist(
        id=identifier, name=attribute, agency="SDMX", version=version, items=codes, is_partial=True
    )


def _urn(kind: str, identifier: str, agency: str = AGENCY, version: str = VERSION) -> str:
    return f"urn:sdmx:org.sdmx.infomodel.{kind}={agency}:{identifier}({version})"
