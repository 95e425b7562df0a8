"""SDMX: observations and structures in and out; hidden cells all look alike."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.formats.aggregated import CellColumns, TableWishes, read_aggregated
from cellveil.formats.columns import read_columns
from cellveil.formats.release_folder import read_release
from cellveil.formats.sdmx_csv import observations, structure_of
from cellveil.formats.sdmx_structure import read_structure
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.progress import NoteTaker
from cellveil.public_view import PublicView
from cellveil.publishing import Publication, write_release
from cellveil.publishing.imprint import Imprint
from cellveil.publishing.sdmx_files import check_sdmx_names, write_observations, write_structure
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.table import Table
from helpers.examples import examples

WORDS = ("total", "_t")


def published(table: Table, hidden: Any, title: str = "", labels: Any = None) -> Publication:
    problem = Problem.of(table, {})
    pattern = Pattern.hiding(problem, np.asarray(hidden, dtype=bool), "by hand")
    return Publication.of(table, PublicView.of(problem, pattern), imprint=Imprint(title), labels=labels)


def table_of(trees: dict[str, Hierarchy], values: list[int], decimals: int = 0) -> Table:
    """A table with a value for every combination of leaves, in turn."""
    dimensions = [Dimension.of(name, tree) for name, tree in trees.items()]
    grid = np.indices([len(tree.leaves) for tree in trees.values()]).reshape(len(trees), -1)
    codes = {
        name: [tree.leaves[k] for k in places]
        for (name, tree), places in zip(trees.items(), grid, strict=True)
    }
    amounts = [values[k % len(values)] / 10**decimals for k in range(grid.shape[1])]
    return table_from_interior(dimensions, codes, amounts, decimals=decimals)


def by_name(table: Table) -> dict[str, int]:
    return {table.cell_name(cell): int(value) for cell, value in enumerate(table.values)}


@st.composite
def tables(draw: st.DrawFn) -> Table:
    trees = {}
    for name in draw(st.sampled_from([("region",), ("region", "size-2")])):
        nested: dict[str, list[str]] = {}
        for branch in range(draw(st.integers(2, 3))):
            nested[f"{name[0]}_{branch}"] = [
                f"{branch}{leaf}" for leaf in range(draw(st.sampled_from([0, 1, 2, 3])))
            ]
        trees[name] = Hierarchy.from_dict({draw(st.sampled_from(["Total", "_T", "EU27"])): nested})
    return table_of(
        trees, draw(st.lists(st.integers(1, 999), min_size=1, max_size=9)), draw(st.integers(0, 2))
    )


# -- round trips ---------------------------------------------------------------------------------------------


@given(tables())
@examples(10, of=25)
def test_a_table_comes_back_from_its_files(tmp_path_factory: Any, table: Table) -> None:
    folder = tmp_path_factory.mktemp("sdmx")
    publication = published(table, np.zeros(table.num_cells), title="Turnover & more")
    write_observations(publication, folder / "t.csv")
    write_structure(publication, folder / "t.xml")
    names = [dimension.name for dimension in table.dimensions]
    taker = NoteTaker(None)
    columns = observations(read_columns(folder / "t.csv"), "OBS_VALUE", names, {}, taker)
    structure = read_structure(folder / "t.xml", structure_of(columns))
    assert structure.dimensions == tuple(names)
    assert (structure.measures, structure.attributes) == (("OBS_VALUE",), ("OBS_STATUS", "CONF_STATUS"))
    trees = {name: structure.trees(name, columns.codes(name).tolist(), None, WORDS) for name in names}
    assert [trees[d.name] for d in table.dimensions] == [list(d.hierarchies) for d in table.dimensions]
    dimensions = {name: Dimension.of(name, *found) for name, found in trees.items()}
    again, _ = read_aggregated(columns, dimensions, CellColumns("OBS_VALUE"), TableWishes(), taker)
    more = 10 ** (table.decimals - again.decimals)
    assert {name: value * more for name, value in by_name(again).items()} == by_name(table)


@given(tables(), st.data())
@settings(max_examples=25, deadline=None)
def test_hidden_cells_look_alike(tmp_path_factory: Any, table: Table, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("sdmx")
    cells = table.num_cells
    hidden = np.array(data.draw(st.lists(st.booleans(), min_size=cells, max_size=cells)))
    publication = published(table, hidden)
    write_observations(publication, folder / "t.csv")
    with (folder / "t.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    _, cell_of_row = publication.rows
    texts = publication.value_texts()
    for row, cell in zip(rows, cell_of_row.tolist(), strict=True):
        found = (row["OBS_VALUE"], row["OBS_STATUS"], row["CONF_STATUS"])
        assert found == (("", "Q", "N") if hidden[cell] else (texts[cell], "A", "F"))


def test_the_structure_does_not_depend_on_what_is_hidden(tmp_path: Path) -> None:
    table = table_of({"region": Hierarchy.flat(["N", "S", "W"])}, [3, 4, 5])
    for name, hidden in (("a", [0, 0, 0, 0]), ("b", [0, 1, 1, 0])):
        write_structure(published(table, hidden), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_labels_are_names_of_codes(tmp_path: Path) -> None:
    from pysdmx.io import read_sdmx

    table = table_of({"region": Hierarchy.flat(["N", "S"])}, [3, 4])
    label = 'Nord & <Ost> "x" – é'
    write_structure(published(table, [0, 0, 0], labels={"region": {"N": label}}), tmp_path / "t.xml")
    message = read_sdmx(tmp_path / "t.xml")
    codes = next(
        each for each in message.structures or () if each.id.endswith("_region") and each.id[0] == "C"
    )
    assert [code.name for code in codes.items] == ["Total", label, "S"]  # type: ignore[union-attr]


@pytest.mark.parametrize("code", ["250+", "food & drink", "Größe", "@sum", "a b"])
def test_codes_that_sdmx_cannot_carry_are_refused(code: str) -> None:
    table = table_of({"region": Hierarchy.flat(["N", code])}, [3, 4])
    with pytest.raises(InputError, match="cannot be a code in SDMX"):
        check_sdmx_names(published(table, [0, 0, 0]).tables)


@pytest.mark.parametrize("name", ["size class", "1st", "Obs_Value", "größe"])
def test_names_that_sdmx_cannot_carry_are_refused(name: str) -> None:
    table = table_of({name: Hierarchy.flat(["N", "S"])}, [3, 4])
    with pytest.raises(InputError, match="cannot be called so in SDMX"):
        check_sdmx_names(published(table, [0, 0, 0]).tables)


# -- structures of others ------------------------------------------------------------------------------------

COMPONENTS_21 = """\
<str:DataStructure id="D" agencyID="O" version="1.0"><com:Name xml:lang="en">d</com:Name>
<str:DataStructureComponents>
<str:DimensionList id="DimensionDescriptor"><str:Dimension id="AREA" position="1">
<str:ConceptIdentity><Ref id="AREA" maintainableParentID="CS" maintainableParentVersion="1.0"
 agencyID="O" package="conceptscheme" class="Concept"/></str:ConceptIdentity>
<str:LocalRepresentation><str:Enumeration><Ref id="CL" agencyID="O" version="1.0" package="codelist"
 class="Codelist"/></str:Enumeration></str:LocalRepresentation></str:Dimension></str:DimensionList>
<str:MeasureList id="MeasureDescriptor"><str:PrimaryMeasure id="OBS_VALUE">
<str:ConceptIdentity><Ref id="OBS_VALUE" maintainableParentID="CS" maintainableParentVersion="1.0"
 agencyID="O" package="conceptscheme" class="Concept"/></str:ConceptIdentity></str:PrimaryMeasure>
</str:MeasureList>
</str:DataStructureComponents></str:DataStructure>"""

MESSAGE_21 = """\
<?xml version="1.0" encoding="UTF-8"?>
<mes:Structure xmlns:mes="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message"
 xmlns:str="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure"
 xmlns:com="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common">
<mes:Header><mes:ID>x</mes:ID><mes:Test>false</mes:Test><mes:Prepared>2026-01-01T00:00:00</mes:Prepared>
<mes:Sender id="O"/></mes:Header>
<mes:Structures><str:Codelists><str:Codelist id="CL" agencyID="O" version="1.0">
<com:Name xml:lang="en">areas</com:Name>{codes}</str:Codelist></str:Codelists>
<str:Concepts><str:ConceptScheme id="CS" agencyID="O" version="1.0"><com:Name xml:lang="en">c</com:Name>
<str:Concept id="AREA"><com:Name xml:lang="en">area</com:Name></str:Concept>
<str:Concept id="OBS_VALUE"><com:Name xml:lang="en">value</com:Name></str:Concept>
</str:ConceptScheme></str:Concepts>
<str:DataStructures>{components}</str:DataStructures></mes:Structures></mes:Structure>"""

PARENTS = {"EU": None, "DE": "EU", "DE1": "DE", "DE2": "DE", "FR": "EU", "FR1": "FR", "FR2": "FR"}


def message_21(parents: dict[str, str | None]) -> str:
    below = {code: f'<str:Parent><Ref id="{p}"/></str:Parent>' if p else "" for code, p in parents.items()}
    codes = "".join(
        f'<str:Code id="{code}"><com:Name xml:lang="en">{code}</com:Name>{text}</str:Code>'
        for code, text in below.items()
    )
    return MESSAGE_21.format(codes=codes, components=COMPONENTS_21)


def message_json(parents: dict[str, str | None], hierarchy: dict[str, Any] | None = None) -> str:
    codes = [{"id": c, "name": c} | ({"parent": p} if p else {}) for c, p in parents.items()]
    own = {"agencyID": "O", "version": "1.0", "name": "x"}
    base = "urn:sdmx:org.sdmx.infomodel."

    def nested(code: str, below: Any) -> dict[str, Any]:
        found = {"id": code, "code": f"{base}codelist.Code=O:CL(1.0).{code}"}
        return found | {"hierarchicalCodes": [nested(*each) for each in below.items()]}

    def component(name: str, more: dict[str, Any]) -> dict[str, Any]:
        return {"id": name, "conceptIdentity": f"{base}conceptscheme.Concept=O:CS(1.0).{name}"} | more

    coded = {"localRepresentation": {"enumeration": f"{base}codelist.Codelist=O:CL(1.0)"}}
    text = {"localRepresentation": {"format": {"dataType": "Double"}}}
    schema = "https://raw.githubusercontent.com/sdmx-twg/sdmx-json/develop/structure-message/tools/schemas/"
    data: dict[str, Any] = {
        "codelists": [own | {"id": "CL", "codes": codes}],
        "conceptSchemes": [
            own | {"id": "CS", "concepts": [{"id": name, "name": name} for name in ("AREA", "OBS_VALUE")]}
        ],
        "dataStructures": [
            own
            | {
                "id": "D",
                "dataStructureComponents": {
                    "dimensionList": {"id": "DimensionDescriptor", "dimensions": [component("AREA", coded)]},
                    "measureList": {"id": "MeasureDescriptor", "measures": [component("OBS_VALUE", text)]},
                },
            }
        ],
    }
    if hierarchy:
        tops = [nested(*each) for each in hierarchy.items()]
        data["hierarchies"] = [own | {"id": "H", "hasFormalLevels": False, "hierarchicalCodes": tops}]
    meta = {
        "schema": f"{schema}2.0.0/sdmx-json-structure-schema.json",
        "id": "x",
        "test": False,
        "prepared": "2026-01-01T00:00:00Z",
        "sender": {"id": "O"},
    }
    return json.dumps({"meta": meta, "data": data})


def trees_in(folder: Path, text: str, found: list[str], total: str | None = None) -> list[Hierarchy]:
    file = folder / ("s.json" if text.startswith("{") else "s.xml")
    file.write_text(text, encoding="utf-8")
    return read_structure(file, "O:D(1.0)").trees("AREA", found, total, WORDS)


@pytest.mark.parametrize("message", [message_21, message_json])
def test_parents_in_a_code_list_are_a_hierarchy(tmp_path: Path, message: Any) -> None:
    (tree,) = trees_in(tmp_path, message(PARENTS), list(PARENTS))
    assert tree == Hierarchy.from_dict({"EU": {"DE": ["DE1", "DE2"], "FR": ["FR1", "FR2"]}})


@pytest.mark.parametrize("message", [message_21, message_json])
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["EU", "DE", "FR"], {"EU": ["DE", "FR"]}),
        (["EU", "DE1", "DE2", "FR"], {"EU": ["DE1", "DE2", "FR"]}),
        (["DE", "DE1", "DE2", "FR"], {"EU": {"DE": ["DE1", "DE2"], "FR": []}}),
        (["DE", "DE1", "DE2"], {"DE": ["DE1", "DE2"]}),
    ],
)
def test_only_codes_that_occur_are_kept(tmp_path: Path, message: Any, found: Any, expected: Any) -> None:
    (tree,) = trees_in(tmp_path, message(PARENTS), found)
    assert tree == Hierarchy.from_dict(expected)


@pytest.mark.parametrize(
    ("codes", "total", "expected"),
    [
        (["_T", "A", "B"], None, {"_T": ["A", "B"]}),
        (["A", "B", "X"], "X", {"X": ["A", "B"]}),
        (["A", "B"], None, {"Total": ["A", "B"]}),
        (["A", "B"], "All", {"All": ["A", "B"]}),
    ],
)
def test_the_total_of_a_flat_code_list(tmp_path: Path, codes: list[str], total: Any, expected: Any) -> None:
    (tree,) = trees_in(tmp_path, message_21(dict.fromkeys(codes)), codes, total)
    assert tree == Hierarchy.from_dict(expected)


def test_hierarchies_come_before_parents(tmp_path: Path) -> None:
    flat = dict.fromkeys(PARENTS)
    nested: dict[str, Any] = {"EU": {"DE": {"DE1": {}, "DE2": {}}, "FR": {"FR1": {}, "FR2": {}}}}
    (tree,) = trees_in(tmp_path, message_json(flat, nested), list(PARENTS))
    assert tree == Hierarchy.from_dict({"EU": {"DE": ["DE1", "DE2"], "FR": ["FR1", "FR2"]}})


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("region,value\nN,1\n", "not a structure message"),
        ("<a/>", "not a valid structure message"),
        ("{}", "not a valid structure message"),
        (message_21(PARENTS)[:-40], "not a valid structure message"),
        (message_21(PARENTS).replace("str:Code ", "str:Kode "), "not a valid structure message"),
        ('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "defines no entities"),
        (message_21(PARENTS).replace(COMPONENTS_21, ""), "no data structure|not a valid"),
        (message_21(PARENTS | {"FR": "XX"}), "'XX' of the code 'FR' is not in its code list"),
        (message_json(PARENTS | {"FR": "XX"}), "'XX' of the code 'FR' is not in its code list"),
        (
            message_json(dict.fromkeys(PARENTS), {"EU": {"DE": {"DE1": {}}, "FR": {"DE": {"DE2": {}}}}}),
            "twice",
        ),
    ],
)
def test_malformed_structures_are_refused(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        trees_in(tmp_path, text, list(PARENTS))
    assert caught.value.file is not None and caught.value.remedy


def test_places_of_a_hierarchy_may_have_names_of_their_own(tmp_path: Path) -> None:
    tree = Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": []}})
    write_structure(published(table_of({"AREA": tree}, [3, 4, 5]), [0] * 5, title="t"), tmp_path / "t.xml")
    text = (tmp_path / "t.xml").read_text("utf-8").replace('HierarchicalCode id="N', 'HierarchicalCode id="X')
    (tmp_path / "t.xml").write_text(text, encoding="utf-8")
    structure = read_structure(tmp_path / "t.xml", "CELLVEIL:T(1.0.0)")
    assert structure.trees("AREA", tree.codes, None, WORDS) == [tree]


def test_pysdmx_reads_what_is_written(tmp_path: Path) -> None:
    from pysdmx.io import get_datasets

    publication = published(table_of({"region": Hierarchy.flat(["N", "S"])}, [3, 4]), [0, 1, 0], title="t")
    write_observations(publication, tmp_path / "t.csv")
    write_structure(publication, tmp_path / "t.xml")
    (found,) = get_datasets(tmp_path / "t.csv", tmp_path / "t.xml")
    assert found.structure.context == "dataflow" and found.structure.id == "T"
    assert found.data["region"].tolist() == ["Total", "N", "S"]
    assert found.data["CONF_STATUS"].tolist() == ["F", "N", "F"]


def test_long_chains_of_parents(tmp_path: Path) -> None:
    codes = [f"C{number}" for number in range(3000)]
    chain = dict(zip(codes, [None, *codes], strict=False))
    found = [codes[0], *codes[-2:]]
    (tree,) = trees_in(tmp_path, message_json(chain | {"D": codes[-3]}), [*found, "D"])
    assert tree == Hierarchy.from_dict({"C0": {"C2998": ["C2999"], "D": []}})


def test_parents_in_a_circle(tmp_path: Path) -> None:
    (tree,) = trees_in(tmp_path, message_21({"EU": None, "DE": "EU", "A": "B", "B": "A"}), ["EU", "DE"])
    assert tree == Hierarchy.from_dict({"EU": ["DE"]})


def test_an_audit_of_a_release_leaves_its_sdmx_files_alone(tmp_path: Path) -> None:
    table = table_of({"region": Hierarchy.flat(["N", "S", "W"])}, [3, 4, 5])
    for formats in (["sdmx", "csv"], ["sdmx"]):
        write_release(published(table, [0, 1, 1, 0]), tmp_path / "-".join(formats), formats)
    assert int(read_release(tmp_path / "sdmx-csv", {}).suppressed.sum()) == 2
    with pytest.raises(InputError, match="no CSV file to read"):
        read_release(tmp_path / "sdmx", {})


def test_the_only_structure_serves_data_that_name_their_dataflow(tmp_path: Path) -> None:
    text = message_21(PARENTS).replace('id="D" agencyID', 'id="E" agencyID')
    assert trees_in(tmp_path, text, list(PARENTS))
