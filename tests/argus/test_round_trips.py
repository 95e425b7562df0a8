"""Whatever is written is read back the same: metadata, hierarchies, labels, recodings, a-priori files."""

import json
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cellveil.argus.apriori import NUM_NUMBERS, Action, AprioriLine, read_hst, write_hst
from cellveil.argus.code_labels import read_labels, write_labels
from cellveil.argus.code_trees import CodeTree, IndentedCode
from cellveil.argus.formulas import dimension_of_formulas, formula_text, parse_formula
from cellveil.argus.hrc import read_hrc, write_hrc
from cellveil.argus.lexer import fields_of, quoted, tokens_of
from cellveil.argus.metadata import ArgusVariable, DataKind, Metadata, VariableRole
from cellveil.argus.r_hierarchies import (
    hierarchy_of_frame,
    levels_of_hierarchy,
    read_json,
    read_levels,
    write_json,
    write_levels,
)
from cellveil.argus.rda import read_rda, write_rda
from cellveil.argus.recoding import CodeRange, JoinedCodes, Recoding, read_recoding, write_recoding
from cellveil.argus.source_text import decode, read_source, split_lines
from cellveil.errors import InputError
from cellveil.tables.hierarchy import Hierarchy

LETTERS = "abzABZ019_.-+é€ß/:,;@<>()|# "
codes = st.text(LETTERS, min_size=1, max_size=6).filter(lambda code: code.strip())
tidy_codes = codes.map(str.strip).filter(lambda code: not code.startswith(("//", "@")))
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,7}", fullmatch=True)


quick = settings(deadline=None, max_examples=50)


def back(write, read, name="file.txt"):
    """Write a file and read it again."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return read(path)


# -- text ----------------------------------------------------------------------------------------------------

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "utf-32")
ENDS = ("\n", "\r\n", "\r", "\r\r\n")


@quick
@given(
    st.lists(st.text('abcXYZ 0189;"é', min_size=1), min_size=1),
    st.sampled_from(ENCODINGS),
    st.lists(st.sampled_from(ENDS), min_size=1),
    st.sampled_from(["", "\n", "\r\n", "\x1a", "\r\n\x1a", "\x1a\x1a"]),
)
def test_lines_are_the_same_in_every_encoding_and_with_every_line_end(lines, encoding, ends, last):
    assume(any(line.strip() for line in lines))
    parts = [line + ends[number % len(ends)] for number, line in enumerate(lines[:-1])]
    text = "".join([*parts, lines[-1], last])
    if encoding == "cp1252":
        assume("é" in text)  # else it is UTF-8 as well
    if encoding in ("utf-16-le", "utf-16-be"):  # no mark: told by the zeros of Western text
        assume(sum(character < "\x80" for character in text) > len(text) * 0.6)
    found, _ = decode(text.encode(encoding))
    assert split_lines(found) == lines


def test_an_encoding_that_is_said_is_taken(tmp_path):
    path = tmp_path / "x.hrc"
    path.write_bytes("Lodž\n".encode("cp1250"))
    assert read_source(path, "cp1250").lines == ("Lodž",)
    assert read_source(path).encoding in ("cp1252", "latin-1")


@quick
@given(st.lists(st.text(LETTERS), min_size=1), st.sampled_from(";,|\t"))
def test_quoted_fields_keep_blanks_and_separators(texts, separator):
    assert fields_of(separator.join(map(quoted, texts)), separator) == texts


@quick
@given(st.lists(st.text(LETTERS), min_size=1))
def test_quoted_tokens_keep_everything(texts):
    assert [token.text for token in tokens_of(" ".join(map(quoted, texts)))] == texts


# -- metadata ------------------------------------------------------------------------------------------------

R = VariableRole


@st.composite
def variables(draw, kind: DataKind, free: bool, roles) -> ArgusVariable:
    name = draw(names)
    fields = {"name": name, "roles": frozenset(roles)}
    if kind is DataKind.MICRODATA:
        fields["length"] = draw(st.integers(6, 12))
        if not free:
            fields["start"] = draw(st.integers(1, 90))
    if R.SPANNING in roles:
        total = fields["total_code"] = draw(codes)
        absent = codes.filter(lambda code: code.strip() != total.strip())
        fields["missing"] = tuple(draw(st.lists(absent, max_size=2, unique_by=str.strip)))
        fields["code_list"] = draw(st.none() | st.just("labels of it.cdl"))
        fields["distance"] = tuple(draw(st.lists(st.integers(0, 9), max_size=5)))
        tree = draw(st.sampled_from(["", "file", "digits"]))
        if tree == "file":
            fields |= {"hierarchy_file": "a\\tree.hrc", "lead": draw(st.sampled_from(["@", ".", "ab"]))}
        elif tree == "digits":
            widths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
            fields["levels"] = (*widths, 0)
            if "length" in fields:
                fields["length"] = sum(widths)
                fields["missing"] = tuple(m for m in fields["missing"] if len(m.strip()) <= sum(widths))
    elif R.REQUEST in roles:
        fields["request_codes"] = tuple(draw(st.lists(codes, min_size=1, max_size=2)))
    elif R.RECORD_KEY in roles:
        fields["further"] = (("<PFILE>", ("p table.txt",)),)
    else:
        fields["decimals"] = draw(st.integers(0, 9))
    fields["truncable"] = draw(st.booleans())
    return ArgusVariable(**fields)


@st.composite
def metadata(draw) -> Metadata:
    kind = draw(st.sampled_from(DataKind))
    if kind is DataKind.MICRODATA:
        further = [{R.RESPONSE}, {R.WEIGHT}, {R.HOLDING}, {R.REQUEST}, {R.RECORD_KEY}, set()]
        head = {"separator": draw(st.sampled_from([None, ";", ",", "|"]))}
    else:
        single = (R.SHADOW, R.COST, R.LOWER_LEVEL, R.UPPER_LEVEL, R.FREQUENCY, R.STATUS)
        further = [{R.TOP}, {R.TOP}, *({role} for role in single)]
        head = {"separator": draw(st.sampled_from(";,|")), "safe": "OK", "unsafe": "U u", "protected": "Z"}
    chosen = [{R.SPANNING}, {R.RESPONSE}, *draw(st.permutations(further))[: draw(st.integers(0, 6))]]
    chosen += [{R.SPANNING, R.RESPONSE}] if kind is DataKind.MICRODATA and draw(st.booleans()) else []
    made = [draw(variables(kind, head["separator"] is not None, roles)) for roles in chosen]
    assume(len({variable.name.casefold() for variable in made}) == len(made))
    return Metadata(kind, tuple(made), **head)


@quick
@given(metadata())
def test_metadata(given_metadata):
    assert back(lambda p: write_rda(given_metadata, p), lambda p: read_rda(p, given_metadata.kind)) == (
        given_metadata
    )


# -- hierarchies ---------------------------------------------------------------------------------------------


@st.composite
def indented(draw, code=tidy_codes) -> list[IndentedCode]:
    nodes: list[IndentedCode] = []
    depth = 0
    for _ in range(draw(st.integers(1, 12))):
        depth = draw(st.integers(0, depth))
        nodes.append(IndentedCode(depth, draw(code)))
        depth += 1
    return nodes


@quick
@given(indented(st.sampled_from(["A", "B", "C1", " 2", "2"])), st.sampled_from(["@", ".", "=>"]))
def test_indented_hierarchies_with_equal_codes(nodes, lead):
    try:
        tree = CodeTree.of_nodes(nodes, "All", ("99",))
    except InputError as error:
        assert "below the same code" in error.what  # the one thing that cannot be told apart
        return
    again = back(
        lambda p: write_hrc(tree, p, lead=lead),
        lambda p: read_hrc(p, lead=lead, total="All", missing=("99",)),
    )
    assert (again.hierarchy, dict(again.written)) == (tree.hierarchy, dict(tree.written))
    names = tree.hierarchy.codes
    assert len(set(names)) == len(names) == len(nodes) + 2
    assert [tree.code_of(name) for name in names[1:-1]] == [node.code for node in nodes]


@quick
@given(indented())
def test_indented_hierarchies_of_any_codes(nodes):
    try:
        tree = CodeTree.of_nodes(nodes, "the total")
    except InputError:
        return
    again = back(lambda p: write_hrc(tree, p), read_total)
    assert again.hierarchy == tree.hierarchy


def read_total(path):
    return read_hrc(path, total="the total")


def test_one_cell_under_two_names_is_not_ambiguous():
    tree = CodeTree.of_nodes([IndentedCode(0, "A"), IndentedCode(1, "A"), IndentedCode(0, "B")])
    assert tree.hierarchy.codes == ("Total", "A", "A/A", "B")
    assert tree.places("A") == ("A",) and tree.dimension("x").codes == ("Total", "A", "B")
    assert tree.notes == ("1 code in several places of the hierarchy, named by the path: A/A",)


def test_a_code_that_is_its_parents_and_a_siblings_is_told_apart_by_its_path():
    lines = [(0, "45"), (1, "45"), (1, "46"), (0, "47"), (1, "46")]
    tree = CodeTree.of_nodes([IndentedCode(*line) for line in lines])
    assert tree.hierarchy.codes == ("Total", "Total/45", "45/45", "45/46", "47", "47/46")
    assert tree.places("45") == ("Total/45", "45/45") and tree.places("46") == ("45/46", "47/46")
    assert tree.places("45/45") == ("45/45",) and tree.places("Total/45") == ("Total/45",)


trees = st.recursive(
    st.lists(tidy_codes, min_size=1, max_size=3),
    lambda below: st.dictionaries(tidy_codes, below, min_size=1, max_size=3),
    max_leaves=8,
)


@st.composite
def hierarchies(draw) -> Hierarchy:
    try:
        return Hierarchy.from_dict({"All": draw(trees)})
    except InputError:
        assume(False)
        raise


@quick
@given(hierarchies())
def test_hierarchies_of_sdctable(hierarchy):
    assert back(lambda p: write_levels(hierarchy, p), read_levels) == hierarchy
    levels, labels = levels_of_hierarchy(hierarchy)
    assert hierarchy_of_frame(pd.DataFrame({"level": levels, "name": labels})) == hierarchy


@quick
@given(hierarchies())
def test_hierarchies_of_sdchierarchies(hierarchy):
    assume("#" not in hierarchy.codes)
    assert back(lambda p: write_json(hierarchy, p), lambda p: read_json(p, total="All")) == hierarchy
    levels, labels = levels_of_hierarchy(hierarchy)
    text = json.dumps({"codes": {"orig": labels, "level": [len(level) for level in levels]}, "dims": []})
    assert back(lambda p: p.write_text(text, encoding="utf-8"), read_json) == hierarchy


def test_levels_with_a_header(tmp_path):
    (tmp_path / "h.csv").write_text("levels;codes\n@;Total\n@@;A\n@@@;a1\n@@;B\n")
    assert read_levels(tmp_path / "h.csv").codes == ("Total", "A", "a1", "B")


@quick
@given(tidy_codes, st.lists(tidy_codes, min_size=1, max_size=4, unique=True))
def test_formulas(total, parts):
    assume(total not in parts and not any("`" in code for code in (total, *parts)))
    assert parse_formula(formula_text(total, parts)) == (total, tuple(parts))


def test_formulas_make_overlapping_hierarchies():
    geo = dimension_of_formulas("geo", ["EU = A + B", "West = B + C", "Rest ~ All - EU"], total="World")
    assert geo.codes[geo.total] == "World"
    assert {geo.codes[code] for code in geo.is_parent.nonzero()[0]} == {"World", "EU", "West", "All"}


# -- labels, recodings, a-priori -----------------------------------------------------------------------------


@quick
@given(
    st.dictionaries(
        tidy_codes.filter(lambda code: "," not in code), st.text(LETTERS).map(str.strip), min_size=1
    )
)
def test_labels(labels):
    assert back(lambda p: write_labels(labels, p), read_labels) == labels


ends = st.none() | codes


@st.composite
def recodings(draw) -> Recoding:
    if draw(st.booleans()):
        folded = st.lists(tidy_codes.filter(lambda c: not c.startswith("<")), min_size=1, unique_by=str.strip)
        return Recoding(folded=tuple(draw(folded)))
    ranges = st.builds(CodeRange, ends, ends).filter(lambda one: (one.low, one.high) != (None, None))
    joined = st.builds(JoinedCodes, codes, st.lists(ranges, min_size=1, max_size=3).map(tuple))
    missing = tuple(draw(st.lists(codes, max_size=2)))
    return Recoding(
        tuple(draw(st.lists(joined, min_size=1, max_size=4))),
        (),
        missing,
        draw(st.none() | st.just("x y.cdl")),
    )


@quick
@given(recodings())
def test_recodings(recoding):
    assert back(lambda p: write_recoding(recoding, p), read_recoding) == recoding


amounts = st.decimals(0, 10**6, places=3).map(lambda number: Decimal(f"{number:f}"))


@st.composite
def apriori_lines(draw) -> AprioriLine:
    action = draw(st.sampled_from(Action))
    numbers = tuple(draw(amounts) for _ in range(NUM_NUMBERS.get(action, 0)))
    return AprioriLine((draw(codes), draw(codes)), action, numbers)


@quick
@given(st.lists(apriori_lines(), min_size=1), st.sampled_from("\x7f!~"))
def test_apriori_lines(lines, separator):
    again = back(
        lambda p: write_hst(lines, p, separator=separator), lambda p: read_hst(p, 2, separator=separator)
    )
    assert list(again.lines) == lines


def test_what_cannot_be_carried_is_refused(tmp_path):
    tree = CodeTree.flat(["@a"])
    with pytest.raises(InputError, match="begins with the lead string"):
        write_hrc(tree, tmp_path / "x.hrc")
    with pytest.raises(InputError, match="holds the separator"):
        write_hst([AprioriLine(("a;b",), Action.SAFE)], tmp_path / "x.hst")
    with pytest.raises(InputError, match="double quote"):
        write_hst([AprioriLine(('a"b',), Action.SAFE)], tmp_path / "x.hst")
    with pytest.raises(InputError, match="holds a comma"):
        write_labels({"a,b": "x"}, tmp_path / "x.cdl")
    with pytest.raises(InputError, match="stands for the total"):
        write_json(Hierarchy.flat(["#"]), tmp_path / "x.json")
    assert list(tmp_path.iterdir()) == []
