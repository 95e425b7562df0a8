"""Malformed files: each names file, line and what to do, and shows no value.

The data hold the recognisable value 987654; no message may show it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cellveil.argus.apriori import apply_apriori, read_hst
from cellveil.argus.code_labels import read_labels
from cellveil.argus.formulas import dimension_of_formulas
from cellveil.argus.hrc import read_hrc
from cellveil.argus.metadata import DataKind
from cellveil.argus.r_hierarchies import read_json, read_levels
from cellveil.argus.rda import read_rda
from cellveil.argus.recoding import read_recoding
from cellveil.argus.records_file import read_records
from cellveil.argus.tab import read_tab
from cellveil.argus.table_spec import TableSpec
from cellveil.errors import InputError

SECRET = "987654"

MICRO = """<SEPARATOR> ";"
R 3 "99"
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "r.hrc"
  <HIERLEADSTRING> "@"
S 2
  <RECODEABLE>
V 8 "999999"
  <NUMERIC>
W 3
  <WEIGHT>
"""
HRC = "N\n@n1\n@n2\nS\n@s1\n@s2\n"
RECORDS = "n1;1;987654;1\nn2;1;5;1\ns1;2;7;1\n"

TABLE = """<SEPARATOR> ";"
R
  <RECODEABLE>
  <TOTCODE> "T"
V
  <NUMERIC>
N
  <FREQUENCY>
M1
  <MAXSCORE>
M2
  <MAXSCORE>
S
  <STATUS>
L
  <NUMERIC> <LOWERPL>
U
  <NUMERIC> <UPPERPL>
C
  <NUMERIC> <COST>
"""
CELLS = "T;987659;5;987654;5;S;;;\na;987654;2;987654;0;U;9;9;\nb;5;3;4;1;S;;;7\n"
HST = "a;u\na;pl;5;5\nb;c;3\n"


def lay(folder: Path, **files: str | bytes) -> None:
    good = {"m_rda": MICRO, "r_hrc": HRC, "d_asc": RECORDS, "t_rda": TABLE, "t_tab": CELLS, "a_hst": HST}
    for name, text in (good | files).items():
        data = text if isinstance(text, bytes) else text.encode()
        (folder / name.replace("_", ".")).write_bytes(data)


SPEC = TableSpec(("R", "S"), "V")


def microdata(folder: Path, spec: TableSpec = SPEC, **options: Any) -> Any:
    metadata = read_rda(folder / "m.rda", DataKind.MICRODATA)
    return read_records(folder / "d.asc", metadata).table(spec, **options)


def table(folder: Path, **options: Any) -> Any:
    return read_tab(folder / "t.tab", read_rda(folder / "t.rda", DataKind.TABLE)).read(**options)


def apriori(folder: Path) -> Any:
    return apply_apriori(table(folder), read_hst(folder / "a.hst", 1, separator=";"))


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


def hierarchy(folder: Path) -> Any:
    return read_hrc(folder / "r.hrc", missing=("99",))


Reader = Callable[[Path], Any]

CORPUS: dict[str, tuple[Reader, dict[str, str | bytes], str]] = {
    # -- metadata
    "empty": (
        microdata,
        {"m_rda": ""},
        "m.rda: the file is empty. Write the data into it, or name another file.",
    ),
    "zero byte": (
        microdata,
        {"m_rda": MICRO.encode() + b"\nX 1\x00\x01 2"},
        "m.rda, line 14: a zero byte stands within the text. "
        "Is this a text file? If so, remove the character.",
    ),
    "Ctrl-Z within": (
        table,
        {"t_tab": "T;1;1;1;0;S;;;\n\x1aa;1;1;1;0;S;;;\n"},
        "t.tab, line 2: an end-of-file mark (Ctrl-Z) stands within the text. "
        "Is this a text file? If so, remove the character.",
    ),
    "unknown keyword": (
        microdata,
        {"m_rda": changed(MICRO, "<NUMERIC>", "<NUMERC>")},
        "m.rda, line 10: unknown keyword <NUMERC>. Did you mean '<NUMERIC>'?",
    ),
    "keyword before any variable": (
        microdata,
        {"m_rda": changed(MICRO, 'R 3 "99"\n', "")},
        "m.rda, line 2: <RECODEABLE> stands before any variable. Write the name of the variable above it.",
    ),
    "separator below a variable": (
        microdata,
        {"m_rda": 'R 1 3\n<RECODEABLE>\n<SEPARATOR> ";"\n'},
        "m.rda, line 3: <SEPARATOR> stands below a variable. Put it into the first line.",
    ),
    "separator of two characters": (
        table,
        {"t_rda": changed(TABLE, '";"', '"::"')},
        't.rda, line 1: the separator is not one character. Write <SEPARATOR> ";".',
    ),
    "separator without argument": (
        table,
        {"t_rda": changed(TABLE, ' ";"', "")},
        "t.rda, line 1: <SEPARATOR> needs one argument, not 0. Write it in quotes.",
    ),
    "quote not closed": (
        table,
        {"t_rda": changed(TABLE, '"T"', '"T')},
        "t.rda, line 4: a double quote is not closed. Close it.",
    ),
    "variable twice": (
        microdata,
        {"m_rda": changed(MICRO, "S 2", "r 2")},
        "m.rda, line 7: the variable 'r' is already in line 2. Give each variable its own name.",
    ),
    "no length": (
        microdata,
        {"m_rda": changed(MICRO, "S 2", "S")},
        "m.rda, line 7: variable 'S' has no length. "
        "In fixed columns write: name, first column, length, missing "
        "codes; with <SEPARATOR> in line 1: name, length, missing codes.",
    ),
    "length that is no number": (
        microdata,
        {"m_rda": changed(MICRO, "S 2", "S two")},
        "m.rda, line 7: the length of variable 'S' is not a whole number. "
        "In fixed columns write: name, first "
        "column, length, missing codes; with <SEPARATOR> in line 1: name, length, missing codes.",
    ),
    "missing code too long": (
        microdata,
        {"m_rda": changed(MICRO, '"99"', '"99999"')},
        "m.rda, line 2: variable 'R': a missing code is longer than the variable. "
        "Correct the code or the length.",
    ),
    "three missing codes": (
        microdata,
        {"m_rda": changed(MICRO, '"99"', "97 98 99")},
        "m.rda, line 2: variable 'R': it has 3 missing codes. At most 2 are possible.",
    ),
    "missing code is the total": (
        table,
        {"t_rda": changed(TABLE, "R\n", 'R "T"\n')},
        "t.rda, line 2: variable 'R': a missing code is given twice, or is the code of the total. "
        "Use another code.",
    ),
    "hierarchical without hierarchy": (
        microdata,
        {"m_rda": changed(MICRO, '  <HIERCODELIST> "r.hrc"\n', "")},
        "m.rda, line 2: variable 'R' is <HIERARCHICAL>, but has no hierarchy. "
        "Add <HIERCODELIST> with a file, or <HIERLEVELS>.",
    ),
    "levels that do not sum to the length": (
        microdata,
        {"m_rda": changed(MICRO, "S 2\n", "S 2\n <HIERLEVELS> 1 2\n")},
        "m.rda, line 7: variable 'S': the widths in <HIERLEVELS> do not sum to its length. "
        "Correct the widths or the length.",
    ),
    "levels that are no numbers": (
        microdata,
        {"m_rda": changed(MICRO, "S 2\n", "S 2\n <HIERLEVELS> 1 x\n")},
        "m.rda, line 8: <HIERLEVELS> is not a whole number. Write a whole number.",
    ),
    "two hierarchies": (
        microdata,
        {"m_rda": changed(MICRO, "<HIERARCHICAL>", "<HIERLEVELS> 1 2")},
        "m.rda, line 2: variable 'R': it has both <HIERLEVELS> and <HIERCODELIST>. Keep one of the two.",
    ),
    "no spanning variable": (
        microdata,
        {"m_rda": '<SEPARATOR> ";"\nV 8\n<NUMERIC>\n'},
        "m.rda: no variable is spanning. Write <RECODEABLE> below the variables that span the table.",
    ),
    "two statuses": (
        table,
        {"t_rda": TABLE + "S2\n<STATUS>\n"},
        "t.rda: two variables are <STATUS>. A table has one of them at most.",
    ),
    "neither response nor frequency": (
        table,
        {"t_rda": '<SEPARATOR> ";"\nR\n<RECODEABLE>\nS\n<STATUS>\n'},
        "t.rda: there is no response and no frequency. Write <NUMERIC> below the values.",
    ),
    "statuses marked alike": (
        table,
        {"t_rda": changed(TABLE, '";"', '";"\n<SAFE> "u"')},
        "t.rda: two of <SAFE>, <UNSAFE> and <PROTECT> are the same. Use three different codes.",
    ),
    "request without codes": (
        microdata,
        {"m_rda": MICRO + "Q 1\n <REQUEST>\n"},
        "m.rda, line 13: variable 'Q': <REQUEST> needs one or two codes. "
        "Write the codes of those who asked for protection.",
    ),
    "records of SPSS": (
        microdata,
        {"m_rda": "<SPSS>\nR 1 3\n"},
        "m.rda, line 1: the records are in an SPSS file, which is not read here. "
        "Export them as text, and describe that file.",
    ),
    "too many decimals": (
        microdata,
        {"m_rda": changed(MICRO, "<NUMERIC>", "<NUMERIC>\n<DECIMALS> 16")},
        "m.rda, line 9: variable 'V': <DECIMALS> is not in 0 to 15. Give those that values have.",
    ),
    # -- hierarchies and labels
    "hierarchy that is not there": (
        microdata,
        {"m_rda": changed(MICRO, "r.hrc", "C:\\data\\other.hrc")},
        "other.hrc: the file does not exist. Check the path.",
    ),
    "indented too far": (
        microdata,
        {"r_hrc": "N\n@@n1\n"},
        "r.hrc, line 2: the code is indented 2 times, but the code above only 0. "
        "Indent by at most one level more than the line above.",
    ),
    "indented first line": (
        microdata,
        {"r_hrc": "@N\n"},
        "r.hrc, line 1: the code is indented 1 times, but there is no code above it. "
        "Indent by at most one level more than the line above.",
    ),
    "line of lead strings only": (
        microdata,
        {"r_hrc": "N\n@\n@n1\n"},
        "r.hrc, line 2: a line without a code. Write the code.",
    ),
    "twice below one code": (
        microdata,
        {"r_hrc": "N\n@n1\n@n2\n@n1\n"},
        "r.hrc, line 4: the code is already in line 2, below the same code. Remove one of the two.",
    ),
    "total in the hierarchy": (
        microdata,
        {"r_hrc": "Total\n@n1\n"},
        "r.hrc, line 1: the code is that of the total. The total is not written: remove it.",
    ),
    "missing code in the hierarchy": (
        hierarchy,
        {"r_hrc": HRC + "99\n"},
        "r.hrc, line 7: a code of the hierarchy is the code for “missing”. "
        "Remove it from the hierarchy: it gets a place below the total.",
    ),
    "label without a comma": (
        lambda folder: read_labels(folder / "r.hrc"),
        {"r_hrc": "N,North\nS South\n"},
        "r.hrc, line 2: the line is not a code, a comma and a label. Write code,label.",
    ),
    "two labels": (
        lambda folder: read_labels(folder / "r.hrc"),
        {"r_hrc": "N,North\nN,Nord\n"},
        "r.hrc, line 2: the code has two labels. Keep one of them.",
    ),
    "levels of @ that jump": (
        lambda folder: read_levels(folder / "r.hrc"),
        {"r_hrc": "@;Total\n@@@;a\n"},
        "r.hrc, line 2: the level does not follow from the one above. "
        "The first line is the total, with one @; go down one level at a time.",
    ),
    "levels of something else": (
        lambda folder: read_levels(folder / "r.hrc"),
        {"r_hrc": "@;Total\n#;a\n"},
        "r.hrc, line 2: the level is not made of @. Write @, @@, …",
    ),
    "broken JSON": (
        lambda folder: read_json(folder / "r.hrc"),
        {"r_hrc": '[{"id": "a",\n "parent": '},
        "r.hrc, line 2: the text is not JSON. Write the hierarchy again.",
    ),
    "JSON of something else": (
        lambda folder: read_json(folder / "r.hrc"),
        {"r_hrc": '[{"name": "a"}]'},
        "r.hrc: the JSON is no hierarchy. Write a list of entries with id and parent, "
        "or an object with codes, orig and level.",
    ),
    "formula without parts": (
        lambda folder: dimension_of_formulas("geo", ["EU = A + B", "West ="]),
        {},
        "line 2: the formula is not “code = code + code”. Write for example EU = A + B.",
    ),
    "formula of plus and minus": (
        lambda folder: dimension_of_formulas("geo", ["EU = A + B - C"]),
        {},
        "line 1: the formula has several codes with a plus and one with a minus. "
        "Write it as a sum: the code that is the whole = its parts.",
    ),
    # -- recodings
    "recoding without a colon": (
        lambda folder: read_recoding(folder / "r.hrc"),
        {"r_hrc": "low : 1, 2\nhigh 3-4\n"},
        "r.hrc, line 2: the line is not “new : old, old-old”. Write the new code and a colon first.",
    ),
    "recoding without old codes": (
        lambda folder: read_recoding(folder / "r.hrc"),
        {"r_hrc": "low :\n"},
        "r.hrc, line 1: no old codes follow the colon. Write the codes that become the new one.",
    ),
    "recoding with two hyphens": (
        lambda folder: read_recoding(folder / "r.hrc"),
        {"r_hrc": "low : 1-2-3\n"},
        "r.hrc, line 1: something else than a comma stands between two ranges. "
        "Separate ranges by commas; put codes with blanks, hyphens or colons into double quotes.",
    ),
    "recoding of two new codes": (
        lambda folder: microdata(folder, recodings={"S": read_recoding(folder / "s.grc")}),
        {"s_grc": "x: 1-2\ny: 2\n"},
        "s.grc, line 2: a code of 'S' falls into 'x' and 'y'. Let each code become one code.",
    ),
    "recoding of the wrong kind": (
        lambda folder: microdata(folder, recodings={"S": read_recoding(folder / "s.grc")}),
        {"s_grc": "<TREERECODE>\n1\n"},
        "s.grc: the recoding does not fit variable 'S'. "
        "It is not hierarchical: use lines “new : old, old-old”.",
    ),
    "folding of an unknown code": (
        lambda folder: microdata(folder, recodings={"R": read_recoding(folder / "s.grc")}),
        {"s_grc": "<TREERECODE>\nX\n"},
        "s.grc: the code 'X' is not in the hierarchy. Correct it, or write its path.",
    ),
    "nothing to fold": (
        lambda folder: read_recoding(folder / "r.hrc"),
        {"r_hrc": "<TREERECODE>\n"},
        "r.hrc, line 1: no code follows <TREERECODE>. Write the codes to be folded, one in a line.",
    ),
    "unknown keyword in a recoding": (
        lambda folder: read_recoding(folder / "r.hrc"),
        {"r_hrc": "a : 1\n<MISING> 9\n"},
        "r.hrc, line 2: unknown keyword <MISING>. Known: <MISSING>, <CODELIST>, <TREERECODE> in line 1.",
    ),
    # -- records
    "too few fields": (
        microdata,
        {"d_asc": "n1;1;987654;1\nn2;1;5\n"},
        "d.asc, line 2: the line has 3 fields, the metadata 4 variables. "
        "Complete the line; fields are separated by ';'.",
    ),
    "short line in fixed columns": (
        microdata,
        {
            "m_rda": "R 1 2\n<RECODEABLE>\nS 4 1\n<RECODEABLE>\nV 6 9\n<NUMERIC>\n",
            "d_asc": "n1 1 987654\nn2\n",
        },
        "d.asc, line 2: the line ends before variable 'V' begins, in column 6. "
        "Complete the line, or correct the columns in the metadata.",
    ),
    "unknown code": (
        microdata,
        {"d_asc": RECORDS + "\nx9;1;3;1\n"},
        "d.asc, line 5: unknown code in dimension 'R'. "
        "Add it to the hierarchy, correct it, or name the right column.",
    ),
    "total as the code of a record": (
        microdata,
        {"d_asc": RECORDS + "N;1;3;1\n"},
        "d.asc, line 4: code 'N' of dimension 'R' is both a total and the code of a record. "
        "Give the record a code of the lowest level, for example one for “not further specified”.",
    ),
    "record without a code": (
        microdata,
        {"d_asc": RECORDS + ";1;3;1\n"},
        "d.asc, line 4: the code of dimension 'R' is missing. Give every record a code.",
    ),
    "text for a number": (
        microdata,
        {"d_asc": RECORDS + "n1;1;many;1\n"},
        "d.asc, line 4: the amount in column 'V' is not a number. "
        "Use digits with a decimal point, no thousands separator.",
    ),
    "number that is missing": (
        microdata,
        {"d_asc": RECORDS + "n1;1;999999;1\n"},
        "d.asc, line 4: the number of 'V' is the code for “missing” (1 such records). "
        "Give the number, leave the records out, or take the code out of the metadata.",
    ),
    "negative weight": (
        lambda folder: microdata(folder, weighted=True),
        {"d_asc": RECORDS + "n1;1;3;-1\n"},
        "d.asc, line 4: the weight in column 'W' is missing or not a number of at least 0. Give a weight.",
    ),
    "weights that are not there": (
        lambda folder: microdata(folder, weighted=True),
        {"m_rda": changed(MICRO, "<WEIGHT>", "<NUMERIC>")},
        "m.rda: weights are asked for, and no variable holds them. "
        "Write <WEIGHT> below the variable of the weights.",
    ),
    "table of an unknown variable": (
        lambda folder: microdata(folder, TableSpec(("R", "Size"), "V")),
        {},
        "m.rda: there is no variable 'Size'. Known: R, S, V, W.",
    ),
    "table spanned by a number": (
        lambda folder: microdata(folder, TableSpec(("R", "V"), "V")),
        {},
        "m.rda: variable 'V' does not span tables. Write <RECODEABLE> below it, or name another variable.",
    ),
    "response without numbers": (
        lambda folder: microdata(folder, TableSpec(("R",), "S")),
        {},
        "m.rda: variable 'S' holds no numbers. Write <NUMERIC> below it, or name another variable.",
    ),
    # -- cells
    "fields of a table": (
        table,
        {"t_tab": changed(CELLS, ";7\n", "\n")},
        "t.tab, line 3: the line has 8 fields, the metadata 9 variables. "
        "Fields are separated by ';'; check <SEPARATOR> and a decimal comma.",
    ),
    "unknown status": (
        table,
        {"t_tab": changed(CELLS, "S;;;7", "X;;;7")},
        "t.tab, line 3, cell (b): the status is unknown. "
        "Known: E, M, P, S, U; others are set by <SAFE>, <UNSAFE> "
        "and <PROTECT> in the metadata.",
    ),
    "contributors without a value": (
        table,
        {"t_tab": CELLS + "c;-;2;;;S;;;\n"},
        "t.tab, line 4, cell (c): the cell has contributors, but no value. Give the value.",
    ),
    "value without contributors": (
        table,
        {"t_tab": changed(CELLS, "b;5;3", "b;5;0")},
        "t.tab, line 3, cell (b): the cell has a value, but no contributors. "
        "Correct the number of contributors.",
    ),
    "value of an empty cell": (
        table,
        {"t_tab": changed(CELLS, "4;1;S", "4;1;E")},
        "t.tab, line 3, cell (b): the cell has a value, but its status is empty. Give it a status.",
    ),
    "contributions in the wrong order": (
        table,
        {"t_tab": changed(CELLS, "3;4;1", "3;1;4")},
        "t.tab, line 3, cell (b): a contribution is larger than the one before it. "
        "The largest one comes first, in the order of the variables with <MAXSCORE>.",
    ),
    "contributions above the value": (
        table,
        {"t_tab": changed(CELLS, "3;4;1", "3;4;3")},
        "t.tab, line 3, cell (b): the largest contributions sum to more than the whole. "
        "Correct them, or the value.",
    ),
    "negative level": (
        table,
        {"t_tab": changed(CELLS, "U;9;9", "U;-9;9")},
        "t.tab, line 2, cell (a): a protection level is negative. "
        "Levels are distances from the value: give them without a sign.",
    ),
    "negative cost": (
        table,
        {"t_tab": changed(CELLS, "S;;;7", "S;;;-7")},
        "t.tab, line 3, cell (b): the cost is negative. Give a cost of 0 or more.",
    ),
    "cell twice": (
        table,
        {"t_tab": CELLS + "b;5;3;4;1;S;;;7\n"},
        "t.tab, line 4, cell (b): the cell occurs twice. "
        "Remove one of the lines, or tabulate the data first.",
    ),
    "table that does not add up": (
        table,
        {"t_tab": changed(CELLS, "b;5;3;4;1", "b;6;3;4;1")},
        "t.tab, line 1, cell (T): the table does not add up: (T) = (a) + (b) is off. "
        "Correct the values, or let the totals be computed anew from the parts.",
    ),
    "thousands mark": (
        table,
        {"t_tab": changed(CELLS, "T;987659", "T;987.659,0")},
        "t.tab, line 1, cell (T): the V is not a number. "
        "Use digits with a decimal point, no thousands separator.",
    ),
    "status that is not there": (
        table,
        {"t_rda": changed(TABLE, "  <STATUS>\n", "")},
        "t.rda: the table has no status. Add a variable with <STATUS>, or apply a rule to the table.",
    ),
    # -- a-priori
    "wrong separator": (
        apriori,
        {"a_hst": "a,u\n"},
        "a.hst, line 1: the line does not have the separator ';'. Say the right separator.",
    ),
    "unknown action": (
        apriori,
        {"a_hst": "a;u\na;x\n"},
        "a.hst, line 2: field 2 is no action. "
        "Use S, U, P, M, C or PL; check that the line has a code for each dimension.",
    ),
    "levels without numbers": (
        apriori,
        {"a_hst": "a;pl;5\n"},
        "a.hst, line 1: PL needs 2 numbers, and 1 follow. Correct the line.",
    ),
    "bounds by hand": (
        apriori,
        {"a_hst": "a;ab;5;7\n"},
        "a.hst, line 1: bounds cannot be set in this file. Give protection levels (PL), or remove the line.",
    ),
    "negative cost by hand": (
        apriori,
        {"a_hst": "a;c;-5\n"},
        "a.hst, line 1: a number is negative. Costs and levels are 0 or more.",
    ),
    "cost that is no number": (
        apriori,
        {"a_hst": "a;c;x\n"},
        "a.hst, line 1: a number is not a number. Use digits with a decimal point, no thousands separator.",
    ),
    "unknown cell": (
        apriori,
        {"a_hst": "a;u\nq;u\n"},
        "a.hst, line 2: the code of 'R' is unknown. Correct it; the path of a code says which one is meant.",
    ),
    "levels of a safe cell": (
        apriori,
        {"a_hst": "b;pl;1;1\n"},
        "a.hst, line 1, cell (b): PL is not possible for a cell of status S. "
        "Levels are set for unsafe cells, P and M for safe ones, U not for protected ones.",
    ),
    "levels of 0": (
        apriori,
        {"a_hst": "a;pl;0;0\n"},
        "a.hst, line 1: both levels are 0, so nothing would protect the cell. Give one above 0, or use S.",
    ),
    "protecting an unsafe cell": (
        apriori,
        {"a_hst": "a;p\n"},
        "a.hst, line 1, cell (a): P is not possible for a cell of status U. "
        "Levels are set for unsafe cells, P and M for safe ones, U not for protected ones.",
    ),
}


def test_the_good_files_are_good(tmp_path: Path) -> None:
    lay(tmp_path)
    assert microdata(tmp_path).num_cells and table(tmp_path).problem.table.num_cells == 3
    assert sum(apriori(tmp_path).counts.values()) == 3


def test_the_corpus_is_large() -> None:
    assert len(CORPUS) >= 60


@pytest.mark.parametrize("name", CORPUS)
def test_message(name: str, tmp_path: Path) -> None:
    read, files, message = CORPUS[name]
    lay(tmp_path, **files)
    with pytest.raises(InputError) as caught:
        read(tmp_path)
    assert str(caught.value).replace(f"{tmp_path}/", "") == message
    assert SECRET not in str(caught.value) and SECRET not in repr(caught.value)
    assert caught.value.remedy


# -- any damage ----------------------------------------------------------------------------------------------

GOOD: dict[str, tuple[str, str, Reader]] = {
    "rda of records": ("m_rda", MICRO, microdata),
    "rda of a table": ("t_rda", TABLE, table),
    "hrc": ("r_hrc", HRC, hierarchy),
    "records": ("d_asc", RECORDS, microdata),
    "cells": ("t_tab", CELLS, table),
    "a-priori": ("a_hst", HST, apriori),
    "flat recoding": ("s_grc", 'x: 1-2, "3"\n<MISSING> 9\n', lambda folder: read_recoding(folder / "s.grc")),
    "tree recoding": ("s_grc", "<TREERECODE>\nN\nS\n", lambda folder: read_recoding(folder / "s.grc")),
    "labels": ("s_cdl", "N,North\nS,South\n", lambda folder: read_labels(folder / "s.cdl")),
    "levels of @": ("s_csv", "@;Total\n@@;a\n@@@;b\n", lambda folder: read_levels(folder / "s.csv")),
    "JSON": ("s_json", '[{"id": "a", "parent": "#"}]', lambda folder: read_json(folder / "s.json")),
}
PIECES = [
    "",
    "\n",
    ";",
    '"',
    "-",
    "<",
    ">",
    "@",
    " ",
    "\t",
    "\x00",
    "\x1a",
    "é",
    "\ud7ff",
    "0",
    "x",
    "1e400",
    ",",
    "-1",
]


@pytest.mark.parametrize("name", GOOD)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damage_ends_in_a_message_without_values(name: str, tmp_path: Path, data: st.DataObject) -> None:
    file, text, read = GOOD[name]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 4)))
        text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:]
    lay(tmp_path, **{file: text})
    try:
        read(tmp_path)
    except InputError as error:
        assert SECRET not in str(error) and error.remedy
