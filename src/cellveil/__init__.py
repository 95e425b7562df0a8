"""Protect published statistical tables: find what discloses, hide as little as possible, and show it is safe.

>>> import cellveil as cv
>>> problem = cv.two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
>>> result = cv.suppress(problem)
>>> result.outcome, cv.audit(problem, result.pattern).is_safe
('optimal', True)

Importing the package loads no solver and no data library; each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

_MODULE_OF = {
    "AdjustedAudit": "judge.adjusted",
    "Adjustment": "adjustment",
    "AdjustmentError": "errors",
    "AllOf": "rules",
    "AnyOf": "rules",
    "Attacker": "attackers.attacker",
    "Audit": "judge",
    "CellveilError": "errors",
    "Certificate": "certificate",
    "Contributions": "tables.contributions",
    "Dimension": "tables.dimension",
    "Dominance": "rules",
    "Exempt": "rules",
    "Explanation": "attack.derivation",
    "Exposure": "judge.exposure",
    "FirstOf": "rules",
    "Hierarchy": "tables.hierarchy",
    "InfeasibleError": "errors",
    "InputError": "errors",
    "InsiderReport": "judge.insider",
    "Job": "job",
    "JobResult": "job",
    "Limits": "adjustment",
    "METHODS": "suppression",
    "Manual": "rules",
    "MissingExtraError": "errors",
    "NotSafeError": "errors",
    "OutsiderReport": "judge.outsider",
    "PPercent": "rules",
    "Pattern": "pattern",
    "PriorPosterior": "rules",
    "Problem": "problem",
    "Progress": "progress",
    "PublicView": "public_view",
    "PublishedAudit": "judge.published",
    "PublishedTable": "judge.published_table",
    "Release": "publishing",
    "Report": "report",
    "Request": "rules",
    "SolverError": "errors",
    "Status": "problem",
    "Suppression": "suppression",
    "Table": "tables.table",
    "Threshold": "rules",
    "Verdict": "judge",
    "Verification": "certificate",
    "ZeroRule": "rules",
    "adjust": "adjustment",
    "audit": "judge",
    "audit_adjusted": "judge.adjusted",
    "audit_insiders": "judge.insider",
    "audit_published": "judge.published",
    "build_report": "report",
    "business": "datasets",
    "candidates": "judge.exposure",
    "explain": "attack.explain",
    "exposure": "judge.exposure",
    "find_primaries": "rules.apply",
    "link": "tables.link",
    "make_problem": "rules.apply",
    "random_table": "datasets",
    "read_adjusted": "formats.adjusted_file",
    "read_certificate": "certificate",
    "read_instance": "formats.instance",
    "read_job": "job",
    "read_pattern": "formats.pattern_file",
    "read_problem": "formats.ready_made",
    "read_publication": "formats.published_file",
    "read_publication_folder": "formats.published_file",
    "read_table": "formats.ready_made",
    "release": "publishing",
    "run_job": "job",
    "suppress": "suppression",
    "table_from_cells": "tables.build",
    "table_from_interior": "tables.build",
    "tabulate": "microdata.tabulate",
    "two_way": "datasets",
    "unpick": "attack.bound_propagation",
    "verify": "certificate",
    "write_adjusted": "formats.adjusted_file",
    "write_certificate": "certificate",
    "write_instance": "formats.instance",
    "write_pattern": "formats.pattern_file",
}
"""The public names and the modules they live in."""

__all__ = [*sorted(_MODULE_OF), "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        try:
            return version("cellveil")
        except PackageNotFoundError:
            return "unknown"
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'cellveil' has no attribute {name!r}")
    return getattr(import_module(f"cellveil.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from cellveil.adjustment import Adjustment as Adjustment
    from cellveil.adjustment import Limits as Limits
    from cellveil.adjustment import adjust as adjust
    from cellveil.attack.bound_propagation import unpick as unpick
    from cellveil.attack.derivation import Explanation as Explanation
    from cellveil.attack.explain import explain as explain
    from cellveil.attackers.attacker import Attacker as Attacker
    from cellveil.certificate import Certificate as Certificate
    from cellveil.certificate import Verification as Verification
    from cellveil.certificate import read_certificate as read_certificate
    from cellveil.certificate import verify as verify
    from cellveil.certificate import write_certificate as write_certificate
    from cellveil.datasets import business as business
    from cellveil.datasets import random_table as random_table
    from cellveil.datasets import two_way as two_way
    from cellveil.errors import AdjustmentError as AdjustmentError
    from cellveil.errors import CellveilError as CellveilError
    from cellveil.errors import InfeasibleError as InfeasibleError
    from cellveil.errors import InputError as InputError
    from cellveil.errors import MissingExtraError as MissingExtraError
    from cellveil.errors import NotSafeError as NotSafeError
    from cellveil.errors import SolverError as SolverError
    from cellveil.formats.adjusted_file import read_adjusted as read_adjusted
    from cellveil.formats.adjusted_file import write_adjusted as write_adjusted
    from cellveil.formats.instance import read_instance as read_instance
    from cellveil.formats.instance import write_instance as write_instance
    from cellveil.formats.pattern_file import read_pattern as read_pattern
    from cellveil.formats.pattern_file import write_pattern as write_pattern
    from cellveil.formats.published_file import read_publication as read_publication
    from cellveil.formats.published_file import read_publication_folder as read_publication_folder
    from cellveil.formats.ready_made import read_problem as read_problem
    from cellveil.formats.ready_made import read_table as read_table
    from cellveil.job import Job as Job
    from cellveil.job import JobResult as JobResult
    from cellveil.job import read_job as read_job
    from cellveil.job import run_job as run_job
    from cellveil.judge import Audit as Audit
    from cellveil.judge import Verdict as Verdict
    from cellveil.judge import audit as audit
    from cellveil.judge.adjusted import AdjustedAudit as AdjustedAudit
    from cellveil.judge.adjusted import audit_adjusted as audit_adjusted
    from cellveil.judge.exposure import Exposure as Exposure
    from cellveil.judge.exposure import candidates as candidates
    from cellveil.judge.exposure import exposure as exposure
    from cellveil.judge.insider import InsiderReport as InsiderReport
    from cellveil.judge.insider import audit_insiders as audit_insiders
    from cellveil.judge.outsider import OutsiderReport as OutsiderReport
    from cellveil.judge.published import PublishedAudit as PublishedAudit
    from cellveil.judge.published import audit_published as audit_published
    from cellveil.judge.published_table import PublishedTable as PublishedTable
    from cellveil.microdata.tabulate import tabulate as tabulate
    from cellveil.pattern import Pattern as Pattern
    from cellveil.problem import Problem as Problem
    from cellveil.problem import Status as Status
    from cellveil.progress import Progress as Progress
    from cellveil.public_view import PublicView as PublicView
    from cellveil.publishing import Release as Release
    from cellveil.publishing import release as release
    from cellveil.report import Report as Report
    from cellveil.report import build_report as build_report
    from cellveil.rules import AllOf as AllOf
    from cellveil.rules import AnyOf as AnyOf
    from cellveil.rules import Dominance as Dominance
    from cellveil.rules import Exempt as Exempt
    from cellveil.rules import FirstOf as FirstOf
    from cellveil.rules import Manual as Manual
    from cellveil.rules import PPercent as PPercent
    from cellveil.rules import PriorPosterior as PriorPosterior
    from cellveil.rules import Request as Request
    from cellveil.rules import Threshold as Threshold
    from cellveil.rules import ZeroRule as ZeroRule
    from cellveil.rules.apply import find_primaries as find_primaries
    from cellveil.rules.apply import make_problem as make_problem
    from cellveil.suppression import METHODS as METHODS
    from cellveil.suppression import Suppression as Suppression
    from cellveil.suppression import suppress as suppress
    from cellveil.tables.build import table_from_cells as table_from_cells
    from cellveil.tables.build import table_from_interior as table_from_interior
    from cellveil.tables.contributions import Contributions as Contributions
    from cellveil.tables.dimension import Dimension as Dimension
    from cellveil.tables.hierarchy import Hierarchy as Hierarchy
    from cellveil.tables.link import link as link
    from cellveil.tables.table import Table as Table
