"""Structure messages of SDMX (XML or JSON): data structure, code lists and hierarchies of its dimensions.

A hierarchy of a dimension comes from the hierarchies that belong to it, else from the parents in its code
list. Structures are read by pysdmx; the parents, which it leaves out, are read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from cellveil.errors import InputError, name_some
from cellveil.files import read_text
from cellveil.publishing.sdmx_files import require_sdmx
from cellveil.tables.hierarchy import Hierarchy

Forest = Mapping[str, tuple[str, ...]]
"""The parts of each code; those of "" are the codes that are part of no other."""

TOP = ""


@dataclass(frozen=True)
class SdmxStructure:
    """What a data structure says of the columns of its observations.

    Parameters
    ----------
    file
        Where it stands.
    dimensions, measures, attributes
        Identifiers of the columns.
    codes
        The codes of each coded dimension.
    forests
        For each coded dimension how its codes are arranged; several where hierarchies overlap.
    labels
        For each coded dimension the names of its codes, as far as these are not the codes themselves.
    """

    file: Path
    dimensions: tuple[str, ...]
    measures: tuple[str, ...]
    attributes: tuple[str, ...]
    codes: Mapping[str, tuple[str, ...]]
    forests: Mapping[str, tuple[Forest, ...]]
    labels: Mapping[str, Mapping[str, str]]

    def trees(
        self, dimension: str, found: Collection[str], total: str | None, words: Collection[str]
    ) -> list[Hierarchy]:
        """The hierarchies of a dimension, cut to the codes that occur.

        Parameters
        ----------
        found
            The codes that occur.
        total
            The code of the total, where it is said; else it is the one code above all others, or the one that
            is a word for it.
        words
            Words for the total.
        """
        try:
            return [_tree(forest, set(found), total, words) for forest in self.forests[dimension]]
        except InputError as error:
            raise error.located(file=self.file) from None


def read_structure(file: Path, followed: str) -> SdmxStructure:
    """Read the data structure that data follow.

    Parameters
    ----------
    followed
        The dataflow or data structure that the data name, such as ``OFFICE:TURNOVER(1.0)``.
    """
    require_sdmx()
    text = read_text(file)
    artefacts = _artefacts(file, text)
    found = _data_structure(file, artefacts, followed)
    parents = _parents_in_json(text) if text.lstrip().startswith("{") else _parents_in_xml(text)
    names: dict[str, list[str]] = {"DIMENSION": [], "MEASURE": [], "ATTRIBUTE": []}
    codes: dict[str, tuple[str, ...]] = {}
    forests: dict[str, tuple[Forest, ...]] = {}
    labels: dict[str, dict[str, str]] = {}
    for component in found.components:
        names[component.role.name].append(component.id)
        given = _enumeration(component, artefacts)
        if component.role.name != "DIMENSION" or given is None:
            continue
        own = _of_hierarchies(file, component.id, given, artefacts)
        listed = parents.get(f"{_agency(given)}:{given.id}({given.version})", {})
        codes[component.id] = tuple(_all_codes(given))
        labels[component.id] = dict(_named(given))
        forests[component.id] = tuple(own) or (_forest_of_parents(file, codes[component.id], listed),)
    dimensions, measures, attributes = (tuple(each) for each in names.values())
    return SdmxStructure(file, dimensions, measures, attributes, codes, forests, labels)


# -- the message -------------------------------------------------------------------------------------------


def _artefacts(file: Path, text: str) -> list[Any]:
    from pysdmx.io import read_sdmx

    remedy = "Give a structure message: SDMX-ML 2.1, 3.0 or 3.1, or SDMX-JSON 2.0 or 2.1."
    if not text.lstrip().startswith(("<", "{")):
        raise InputError("not a structure message of SDMX", file=file, remedy=remedy)
    if re.search(r"<!(DOCTYPE|ENTITY)", text):
        raise InputError("a structure message defines no entities", file=file, remedy=remedy)
    if text.startswith("<") and not text.startswith("<?xml"):
        text = f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'
    try:
        message = read_sdmx(text, validate=text.startswith("<"))
    except Exception as error:  # pysdmx raises whatever its parsers raise
        raise InputError(
            f"not a valid structure message of SDMX ({type(error).__name__})", file=file, remedy=remedy
        ) from None
    return list(message.structures or ())


def _data_structure(file: Path, artefacts: list[Any], followed: str) -> Any:
    """The data structure that is named, or the only one."""
    flows = {_reference(each): each for each in artefacts if type(each).__name__ == "Dataflow"}
    structures = {
        _reference(each): each for each in artefacts if type(each).__name__ == "DataStructureDefinition"
    }
    flow = flows.get(followed)
    if flow is not None and flow.structure is not None:
        if not isinstance(flow.structure, str):
            return flow.structure
        followed = flow.structure.rpartition("=")[2]
    for flow in flows.values():  # JSON has the structure inside
        if flow.structure is not None and not isinstance(flow.structure, str):
            structures.setdefault(_reference(flow.structure), flow.structure)
    if followed in structures:
        return structures[followed]
    if len(structures) == 1 and not flows.keys() - {followed}:
        return next(iter(structures.values()))
    if not structures:
        raise InputError("there is no data structure", file=file, remedy="Give the message that has it.")
    raise InputError(
        "it does not have the structure that the data follow",
        file=file,
        remedy=f"It has: {name_some([*flows, *structures])}.",
    )


def _reference(artefact: Any) -> str:
    return f"{_agency(artefact)}:{artefact.id}({artefact.version})"


def _agency(artefact: Any) -> str:
    return str(getattr(artefact.agency, "id", artefact.agency))


def _enumeration(component: Any, artefacts: list[Any]) -> Any:
    """The code list or hierarchy of a component, or None."""
    if component.local_codes is not None:
        return component.local_codes
    concept = getattr(component.concept, "codes", None)
    if concept is not None:
        return concept
    wanted = (component.local_enum_ref or "").rpartition("=")[2]
    lists = [each for each in artefacts if type(each).__name__ in ("Codelist", "Hierarchy")]
    return next((each for each in lists if _reference(each) == wanted), None)


def _all_codes(given: Any) -> Iterator[str]:
    """The codes of a code list or of a hierarchy."""
    if type(given).__name__ == "Hierarchy":
        return map(_code, _walk(given))
    return (str(code.id) for code in given.codes)


def _named(given: Any) -> Iterator[tuple[str, str]]:
    """Codes and their names, where these say more."""
    for node in _walk(given) if type(given).__name__ == "Hierarchy" else given.codes:
        code, name = _code(node), str(getattr(node, "name", None) or "").strip()
        if name and name != code:
            yield code, name


def _code(node: Any) -> str:
    """The code at a place of a hierarchy; the place may have a name of its own."""
    return str((node.urn or "").rpartition(").")[2] or node.id)


def _walk(hierarchy: Any) -> Iterator[Any]:
    """Every code of a hierarchy where it stands."""
    waiting = list(hierarchy.codes)
    while waiting:
        code = waiting.pop()
        yield code
        waiting += code.codes


# -- how codes are arranged --------------------------------------------------------------------------------


def _of_hierarchies(file: Path, dimension: str, given: Any, artefacts: list[Any]) -> list[Forest]:
    """The hierarchies of a dimension: its own, those linked with it, else those of its code list alone."""
    if type(given).__name__ == "Hierarchy":
        return [_forest_of_nested(file, given)]
    hierarchies = {_reference(each): each for each in artefacts if type(each).__name__ == "Hierarchy"}
    linked = [each for each in artefacts if type(each).__name__ == "HierarchyAssociation"]
    own = [_linked(each, hierarchies) for each in linked if _component(each) == dimension]
    if not own:
        others = {id(_linked(each, hierarchies)) for each in linked}
        known = set(_all_codes(given))
        own = [
            each for each in hierarchies.values() if id(each) not in others and set(_all_codes(each)) <= known
        ]
    return [_forest_of_nested(file, each) for each in own if each is not None]


def _component(association: Any) -> str:
    return str(association.component_ref or "").rpartition(".")[2]


def _linked(association: Any, hierarchies: Mapping[str, Any]) -> Any:
    given = association.hierarchy
    return hierarchies.get(given.rpartition("=")[2]) if isinstance(given, str) else given


def _forest_of_nested(file: Path, hierarchy: Any) -> Forest:
    found: dict[str, tuple[str, ...]] = {TOP: tuple(map(_code, hierarchy.codes))}
    for node in _walk(hierarchy):
        code, below = _code(node), tuple(map(_code, node.codes))
        if below and found.setdefault(code, below) != below:
            raise InputError(
                f"the hierarchy {hierarchy.id!r} has the code {code!r} twice, with different parts",
                file=file,
                remedy="Give each arrangement a hierarchy of its own.",
            )
    return found


def _forest_of_parents(file: Path, codes: tuple[str, ...], parents: Mapping[str, str]) -> Forest:
    found: dict[str, list[str]] = {TOP: []}
    known = set(codes)
    for code in codes:
        parent = parents.get(code, TOP)
        if parent and parent not in known:
            raise InputError(
                f"the parent {parent!r} of the code {code!r} is not in its code list",
                file=file,
                remedy="Add it, or leave the parent out.",
            )
        found.setdefault(parent, []).append(code)
    return {parent: tuple(children) for parent, children in found.items()}


def _parents_in_json(text: str) -> dict[str, dict[str, str]]:
    """The parent of each code, by code list."""
    lists = json.loads(text).get("data", {}).get("codelists", [])
    return {
        f"{each.get('agencyID')}:{each.get('id')}({each.get('version', '1.0')})": {
            code["id"]: code["parent"] for code in each.get("codes", []) if code.get("parent")
        }
        for each in lists
    }


def _parents_in_xml(text: str) -> dict[str, dict[str, str]]:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    root = etree.fromstring(text.encode(), parser)
    found: dict[str, dict[str, str]] = {}
    for each in root.iter("{*}Codelist"):
        own = found.setdefault(f"{each.get('agencyID')}:{each.get('id')}({each.get('version', '1.0')})", {})
        for code in each.iterfind("{*}Code"):
            for parent in code.iterfind("{*}Parent"):
                named = parent.find("{*}Ref")
                own[code.get("id")] = (parent.text or "").strip() if named is None else named.get("id")
    return found


def _tree(forest: Forest, found: set[str], total: str | None, words: Collection[str]) -> Hierarchy:
    """The codes that occur, each below the next one above it that occurs."""
    order, waiting = [], [TOP]
    seen: set[str] = set()
    while waiting:
        code = waiting.pop()
        if code in seen:
            raise InputError(
                f"the code {code!r} stands twice in a hierarchy", remedy="Give each its own hierarchy."
            )
        seen.add(code)
        order.append(code)
        waiting += forest.get(code, ())
    children: dict[str, tuple[str, ...]] = {}
    for code in reversed(order):  # parts before their total
        below = [(part,) if part in found else children.pop(part) for part in forest.get(code, ())]
        children[code] = tuple(chain.from_iterable(below))
    top = children.pop(TOP)
    root = total if total is not None else _root(forest, top, children, words)
    if root in top and len(top) > 1:
        children[root] = (*children[root], *(code for code in top if code != root))
    elif root not in top:
        children[root] = top
    return Hierarchy(root, {code: below for code, below in children.items() if below})


def _root(forest: Forest, top: tuple[str, ...], children: Mapping[str, Any], words: Collection[str]) -> str:
    """The code above all others, a word for the total, or one that is above all in the whole list."""
    if len(top) == 1 and children[top[0]]:
        return top[0]
    named = [code for code in top if code.casefold() in words]
    if len(named) == 1:
        return named[0]
    if len(forest[TOP]) == 1 and forest[TOP][0] not in top:
        return forest[TOP][0]
    return "Total"
