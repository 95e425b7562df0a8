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
    "AdjustedAudit": "adjusted_audit",
    "Adjustment": "adjustment",
    "AdjustmentError": "errors",
    "AllOf": "sensitivity",
    "AnyOf": "sensitivity",
    "Attacker": "attacker",
    "Audit": "gate",
    "CellveilError": "errors",
    "Certificate": "proof",
    "Contributions": "tables.contributions",
    "Dimension": "tables.hierarchy",
    "Dominance": "sensitivity",
    "Exempt": "sensitivity",
    "Explanation": "attack.explain",
    "Exposure": "exposed",
    "FirstOf": "sensitivity",
    "Hierarchy": "tables.hierarchy",
    "InfeasibleError": "errors",
    "InputError": "errors",
    "InsiderReport": "insider_audit",
    "Job": "job",
    "JobResult": "job",
    "Limits": "adjustment",
    "METHODS": "suppression",
    "Manual": "sensitivity",
    "MissingExtraError": "errors",
    "NotSafeError": "errors",
    "OutsiderReport": "auditing",
    "PPercent": "sensitivity",
    "Pattern": "view",
    "PriorPosterior": "sensitivity",
    "Problem": "problem",
    "Progress": "progress",
    "PublicView": "view",
    "PublishedAudit": "published",
    "PublishedTable": "published",
    "Release": "publishing",
    "Report": "report",
    "Request": "sensitivity",
    "SolverError": "errors",
    "Status": "problem",
    "Suppression": "suppression",
    "Table": "tables.table",
    "Threshold": "sensitivity",
    "Verdict": "gate",
    "Verification": "proof",
    "ZeroRule": "sensitivity",
    "adjust": "adjustment",
    "audit": "gate",
    "audit_adjusted": "adjusted_audit",
    "audit_insiders": "insider_audit",
    "audit_published": "published",
    "build_report": "report",
    "business": "datasets",
    "candidates": "exposed",
    "explain": "attack.explain",
    "exposure": "exposed",
    "find_primaries": "primary",
    "link": "tables.link",
    "make_problem": "primary",
    "random_table": "datasets",
    "read_adjusted": "formats.adjusted",
    "read_certificate": "proof",
    "read_instance": "formats.instance",
    "read_job": "job",
    "read_pattern": "formats.pattern",
    "read_problem": "formats.frames",
    "read_publication": "formats.published",
    "read_publication_folder": "formats.published",
    "read_table": "formats.frames",
    "release": "publishing",
    "run_job": "job",
    "suppress": "suppression",
    "table_from_cells": "tables.build",
    "table_from_interior": "tables.build",
    "tabulate": "tables.tabulate",
    "two_way": "datasets",
    "unpick": "attack.unpick",
    "verify": "proof",
    "write_adjusted": "formats.adjusted",
    "write_certificate": "proof",
    "write_instance": "formats.instance",
    "write_pattern": "formats.pattern",
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
    from cellveil.adjusted_audit import AdjustedAudit as AdjustedAudit
    from cellveil.adjusted_audit import audit_adjusted as audit_adjusted
    from cellveil.adjustment import Adjustment as Adjustment
    from cellveil.adjustment import Limits as Limits
    from cellveil.adjustment import adjust as adjust
    from cellveil.attack.explain import Explanation as Explanation
    from cellveil.attack.explain import explain as explain
    from cellveil.attack.unpick import unpick as unpick
    from cellveil.attacker import Attacker as Attacker
    from cellveil.auditing import OutsiderReport as OutsiderReport
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
    from cellveil.exposed import Exposure as Exposure
    from cellveil.exposed import candidates as candidates
    from cellveil.exposed import exposure as exposure
    from cellveil.formats.adjusted import read_adjusted as read_adjusted
    from cellveil.formats.adjusted import write_adjusted as write_adjusted
    from cellveil.formats.frames import read_problem as read_problem
    from cellveil.formats.frames import read_table as read_table
    from cellveil.formats.instance import read_instance as read_instance
    from cellveil.formats.instance import write_instance as write_instance
    from cellveil.formats.pattern import read_pattern as read_pattern
    from cellveil.formats.pattern import write_pattern as write_pattern
    from cellveil.formats.published import read_publication as read_publication
    from cellveil.formats.published import read_publication_folder as read_publication_folder
    from cellveil.gate import Audit as Audit
    from cellveil.gate import Verdict as Verdict
    from cellveil.gate import audit as audit
    from cellveil.insider_audit import InsiderReport as InsiderReport
    from cellveil.insider_audit import audit_insiders as audit_insiders
    from cellveil.job import Job as Job
    from cellveil.job import JobResult as JobResult
    from cellveil.job import read_job as read_job
    from cellveil.job import run_job as run_job
    from cellveil.primary import find_primaries as find_primaries
    from cellveil.primary import make_problem as make_problem
    from cellveil.problem import Problem as Problem
    from cellveil.problem import Status as Status
    from cellveil.progress import Progress as Progress
    from cellveil.proof import Certificate as Certificate
    from cellveil.proof import Verification as Verification
    from cellveil.proof import read_certificate as read_certificate
    from cellveil.proof import verify as verify
    from cellveil.proof import write_certificate as write_certificate
    from cellveil.published import PublishedAudit as PublishedAudit
    from cellveil.published import PublishedTable as PublishedTable
    from cellveil.published import audit_published as audit_published
    from cellveil.publishing import Release as Release
    from cellveil.publishing import release as release
    from cellveil.report import Report as Report
    from cellveil.report import build_report as build_report
    from cellveil.sensitivity import AllOf as AllOf
    from cellveil.sensitivity import AnyOf as AnyOf
    from cellveil.sensitivity import Dominance as Dominance
    from cellveil.sensitivity import Exempt as Exempt
    from cellveil.sensitivity import FirstOf as FirstOf
    from cellveil.sensitivity import Manual as Manual
    from cellveil.sensitivity import PPercent as PPercent
    from cellveil.sensitivity import PriorPosterior as PriorPosterior
    from cellveil.sensitivity import Request as Request
    from cellveil.sensitivity import Threshold as Threshold
    from cellveil.sensitivity import ZeroRule as ZeroRule
    from cellveil.suppression import METHODS as METHODS
    from cellveil.suppression import Suppression as Suppression
    from cellveil.suppression import suppress as suppress
    from cellveil.tables.build import table_from_cells as table_from_cells
    from cellveil.tables.build import table_from_interior as table_from_interior
    from cellveil.tables.contributions import Contributions as Contributions
    from cellveil.tables.hierarchy import Dimension as Dimension
    from cellveil.tables.hierarchy import Hierarchy as Hierarchy
    from cellveil.tables.link import link as link
    from cellveil.tables.table import Table as Table
    from cellveil.tables.tabulate import tabulate as tabulate
    from cellveil.view import Pattern as Pattern
    from cellveil.view import PublicView as PublicView
