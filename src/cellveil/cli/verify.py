"""The command `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cellveil.cli.options import AsJson, Instance, PatternFile, Quiet, ReportFile
from cellveil.cli.shell import check_targets, leave_with, say, write_json


def verify(
    instance: Instance,
    pattern: PatternFile,
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="The certificate of the pattern.")],
    report: ReportFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Check a certificate in exact arithmetic, without a solver."""
    from cellveil.certificate import read_certificate
    from cellveil.certificate import verify as check
    from cellveil.formats.instance import read_instance
    from cellveil.formats.pattern_file import read_pattern

    check_targets(instance, report)
    problem = read_instance(instance)
    proof = check(problem, read_pattern(pattern, problem), read_certificate(certificate))
    unsafe = problem.table.cell_names(proof.cells[~proof.protected])
    figures = {
        "valid": proof.is_valid,
        "faults": list(proof.faults),
        "demands": proof.demands,
        "certified_demands": proof.met,
        "unsafe_cells": unsafe,
    }
    write_json(report, as_json, figures)
    for fault in proof.faults:
        say(quiet or as_json, f"Fault: {fault}.")
    verdict = "Valid" if proof.is_valid else "NOT VALID"
    say(quiet or as_json, f"{verdict}: {proof.met} of {proof.demands} demands are proven met.")
    leave_with(0 if proof.is_valid else 1)
