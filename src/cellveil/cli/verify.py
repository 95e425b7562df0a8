"""The command `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellveil.cli.options import AsJson, Instance, PatternFile, Quiet, ReportFile
from cellveil.cli.shell import check_targets, leave_with, say, write_json
from cellveil.errors import counted

if TYPE_CHECKING:
    from cellveil.certificate.verifier import AttackerProof
    from cellveil.tables.table import Table


def verify(
    instance: Instance,
    pattern: PatternFile,
    certificate: Annotated[Path, typer.Argument(metavar="CERT", help="The certificate of the pattern.")],
    report: ReportFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Check a certificate in exact arithmetic, without a solver, and say against whom it holds."""
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
        "against": proof.against,
        "assumes": problem.assumption,
        "attackers": [_figures(problem.table, one) for one in proof.proofs],
    }
    write_json(report, as_json, figures)
    for fault in proof.faults:
        say(quiet or as_json, f"Fault: {fault}.")
    verdict = "Valid" if proof.is_valid else "NOT VALID"
    say(quiet or as_json, f"{verdict}: {proof.met:,} of {counted(proof.demands, 'demand')} proven met.")
    assumed = f", assuming that {problem.assumption}" if problem.assumption else ""
    say(quiet or as_json, f"Shown to be protected against {proof.against}{assumed}.")
    for one in proof.proofs:
        if not one.is_complete:
            say(quiet or as_json, f"NOT shown against {one.attacker.words}: {_why(one)}.")
    leave_with(0 if proof.is_valid else 1)


def _why(one: AttackerProof) -> str:
    """Why the proof against an attacker is not complete."""
    return (
        one.reason
        or f"{int((~one.protected).sum()):,} of {counted(len(one.cells), 'cell')} not proven protected"
    )


def _figures(table: Table, one: AttackerProof) -> dict[str, Any]:
    """What was shown against one attacker."""
    return {
        "against": one.attacker.words,
        "shown": one.is_complete,
        "kind": one.attacker.kind,
        "level": None if one.attacker.is_outsider else one.attacker.level,
        "coalition": one.attacker.coalition,
        "p": one.attacker.p,
        "q": one.attacker.q if one.attacker.kind == "pq" else None,
        "exempt_cells": table.cell_names(one.attacker.exempt),
        "demands": one.demands,
        "certified_demands": one.met,
        "unsafe_cells": table.cell_names(one.cells[~one.protected]),
        "reason": one.reason,
    }
