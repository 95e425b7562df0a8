"""Every public verb with every plausible thing of a wrong kind: refused by name, with a remedy."""

import re
from pathlib import Path

import pandas as pd
import pytest

import cellveil as cv

PROBLEM = cv.two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
RECORDS = {"a": ["x", "y"], "v": [1, 2]}


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    """One thing of each kind that somebody may have at hand."""
    found, adjusted = cv.suppress(PROBLEM, "hypercube"), cv.adjust(PROBLEM, "start")
    return {
        "nothing": None,
        "path": tmp_path_factory.mktemp("kinds") / "file",
        "text": "text",
        "frame": pd.DataFrame(RECORDS),
        "dict": {},
        "number": 3,
        "list": [1, 2],
        "table": PROBLEM.table,
        "problem": PROBLEM,
        "suppression": found,
        "pattern": found.pattern,
        "audit": found.audit,
        "adjustment": adjusted,
        "certificate": found.certificate,
        "view": found.audit.view,
        "truth values": found.pattern.hidden,
        "values": adjusted.values,
    }


RIGHT = {
    "release": "audit",
    "tables": "table",
    "folder": "path",
    "method": "text",
    "records": "dict",
    "by": "list",
    "published": "pattern",
    "no rule": "nothing",
    "cell": "number",
}
"""What is given for a role, where it is not called as its kind."""

ALSO = {
    "published": {"suppression", "adjustment", "values", "audit"},
    "release": {"suppression", "adjustment"},
    "folder": {"text"},
    "cell": {"dict", "list"},
    "suppression": {"audit"},
    "maybe audit": {"nothing", "audit"},
}
"""Further kinds that a role may have."""

VERBS = {
    "verify": (cv.verify, ["problem", "pattern", "certificate"]),
    "audit": (cv.audit, ["problem", "published"]),
    "audit_insiders": (cv.audit_insiders, ["problem", "pattern"]),
    "audit_adjusted": (cv.audit_adjusted, ["problem", "values"]),
    "audit_published": (cv.audit_published, ["publication"]),
    "release": (cv.release, ["release", "folder"]),
    "suppress": (cv.suppress, ["problem", "method"]),
    "adjust": (cv.adjust, ["problem", "method"]),
    "build_report": (cv.build_report, ["problem", "suppression", "maybe audit"]),
    "explain": (cv.explain, ["view", "number"]),
    "explain_cell": (cv.explain_cell, ["problem", "pattern", "cell"]),
    "unpick": (cv.unpick, ["view"]),
    "exposure": (cv.exposure, ["problem"]),
    "candidates": (cv.candidates, ["problem"]),
    "make_problem": (cv.make_problem, ["table", "no rule"]),
    "find_primaries": (cv.find_primaries, ["table", "no rule"]),
    "Problem.of": (cv.Problem.of, ["table", "dict"]),
    "PublicView.of": (cv.PublicView.of, ["problem", "pattern"]),
    "Pattern.hiding": (cv.Pattern.hiding, ["problem", "truth values", "method"]),
    "link": (cv.link, ["tables"]),
    "write_pattern": (cv.write_pattern, ["problem", "pattern", "folder"]),
    "write_adjusted": (cv.write_adjusted, ["problem", "values", "folder"]),
    "write_instance": (cv.write_instance, ["problem", "folder"]),
    "write_certificate": (cv.write_certificate, ["certificate", "folder"]),
    "read_pattern": (cv.read_pattern, ["file", "problem"]),
    "read_adjusted": (cv.read_adjusted, ["file", "problem"]),
    "read_instance": (cv.read_instance, ["file"]),
    "read_certificate": (cv.read_certificate, ["file"]),
    "read_publication_folder": (cv.read_publication_folder, ["file"]),
    "read_publication": (cv.read_publication, ["file", "hierarchies"]),
    "read_table": (cv.read_table, ["file", "hierarchies"]),
    "read_problem": (cv.read_problem, ["file", "hierarchies"]),
    "read_job": (cv.read_job, ["file"]),
    "run_job": (cv.run_job, ["file"]),
    "table_from_cells": (cv.table_from_cells, ["dimensions", "codes", "numbers"]),
    "table_from_interior": (cv.table_from_interior, ["dimensions", "codes", "numbers"]),
    "Attacker": (cv.Attacker, ["kind"]),
}
REFUSED = [(verb, place, role) for verb, (_, roles) in VERBS.items() for place, role in enumerate(roles)]


@pytest.mark.parametrize(("verb", "place", "role"), REFUSED, ids=lambda value: str(value))
def test_wrong_kinds_are_refused_with_a_remedy(verb, place, role, things):
    call, roles = VERBS[verb]
    allowed = {RIGHT.get(role, role)} | ALSO.get(role, set())
    for kind in sorted(things.keys() - allowed):
        given = [things.get(RIGHT.get(each, each)) for each in roles]
        given[place] = things[kind]
        with pytest.raises(cv.InputError) as error:
            call(*given)
        message = str(error.value)
        assert re.search(r"\. \S", message), f"{kind}: no remedy in {message!r}"
        assert len(message) < 600 and "Traceback" not in message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda found: cv.verify(PROBLEM, found, found.certificate), r"type Suppression\. .*\.pattern"),
        (lambda found: cv.verify(PROBLEM, found.pattern, found), "the certificate is of type Suppression"),
        (lambda found: cv.build_report(PROBLEM, found.pattern, None), r"what suppress\(problem\) returns"),
        (lambda found: cv.write_pattern(PROBLEM, found, Path("p.csv")), r"Give its pattern: result\.pattern"),
        (lambda found: cv.release(found, {}), "the folder is of type dict"),
        (lambda found: cv.explain_cell(PROBLEM, found, 0), "the pattern is of type Suppression"),
    ],
)
def test_the_message_names_what_was_given_and_what_to_give(call, message, things):
    with pytest.raises(cv.InputError, match=message):
        call(things["suppression"])
