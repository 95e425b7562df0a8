"""Who attacks where nothing else is said, what a table says of its contributors, and the same in words.

Outsiders always attack. Where something is known of the contributors (`cellveil.tables.known_contributors`),
every single one of them attacks too, knowing its own part: the holdings where a rule looks at these, the
units otherwise. Readers of counts know that these are whole numbers. Attackers that are named come in
addition to these; an empty list of attackers takes the defaults away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellveil.attackers.attacker import Attacker, in_words, not_tested
from cellveil.attackers.prior_knowledge import LEVELS
from cellveil.problem import Problem
from cellveil.tables.known_contributors import (
    known_contributors,
    numbered_apart,
    of_records,
    recognises_everybody,
)

INTEGER = Attacker("integer")

MOST_COUNTS = 50_000
"""Cells of a table of counts up to which readers who know that these are whole numbers are tested."""

BY_DECISION = "by decision of the office"
ADJUSTED = "as adjusted tables are audited against outsiders only"
NOT_KNOWN = (
    "as the data do not say who contributes to which cell; name the column with the id of the contributor "
    "(contributor), or, of a ready-made table, the columns with the number of contributors of each cell "
    "(contributors) and with its largest contributions (top)"
)
NONE_ALONE = (
    "as the data say how many contributors a cell has, which is never one, but not what each of them has"
)
NOT_OF_VARIABLE = "as the contributions are those of a shadow variable, and no cell has one contributor"


@dataclass(frozen=True)
class AttackersTested:
    """Who attacks besides plain outsiders.

    Parameters
    ----------
    attackers
        The attackers, those by default last.
    why_no_insiders
        Why no contributors are among them, in words; empty where some are.
    if_time
        Those of the attackers that are tested only as far as there is time; what was not is told.
    """

    attackers: tuple[Attacker, ...] = ()
    why_no_insiders: str = ""
    if_time: tuple[Attacker, ...] = ()


def attackers_tested(
    problem: Problem,
    named: Sequence[Attacker] | None = None,
    *,
    defaults: bool = True,
    level: str | None = None,
) -> AttackersTested:
    """The attackers that are named, and those by default.

    Parameters
    ----------
    named
        None where nothing is said; an empty list takes the defaults away.
    defaults
        Whether those by default attack too.
    level
        Whether units or holdings attack by default; by default as the rules have it.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    >>> attackers_tested(problem).why_no_insiders[:40]
    'as the data do not say who contributes t'
    >>> attackers_tested(problem, []).why_no_insiders
    'by decision of the office'
    """
    given = tuple(named or ())
    if not defaults or (named is not None and not given):
        return AttackersTested(given, BY_DECISION if all(one.is_outsider for one in given) else "")
    why, found = "", []
    level = _level(problem) if level is None else level
    if known_contributors(problem.table, level) is None:
        why = _why_unknown(problem, level)
    else:
        found.append(Attacker("insider", level=level))
    if problem.table.is_of_counts and problem.table.num_cells <= MOST_COUNTS:
        found.append(INTEGER)
    further = [one for one in found if not any(_covers(other, one) for other in given)]
    insiders = [one for one in (*given, *further) if not one.is_outsider]
    if_time = tuple(one for one in further if one is INTEGER)
    return AttackersTested((*given, *further), "" if insiders else why, if_time)


def _covers(named: Attacker, default: Attacker) -> bool:
    """Whether a named attacker stands in the place of one by default."""
    return (named.kind, named.level) == (default.kind, default.level)


def _level(problem: Problem) -> str:
    """Holdings where the level of some cell comes from a rule on them, else units."""
    of_holdings = any(o.level == "holding" and marked.any() for o, marked in problem.origins.items())
    return "holding" if of_holdings and problem.table.holdings is not None else "unit"


def _why_unknown(problem: Problem, level: str) -> str:
    table = problem.table
    if (table.holdings if level == "holding" else table.units) is not None:
        return NOT_OF_VARIABLE
    return NOT_KNOWN if table.contributors is None else NONE_ALONE


# -- in words ------------------------------------------------------------------------------------------------


def attackers_in_words(problem: Problem, attackers: Sequence[Attacker]) -> str:
    """Against whom a verdict on these attackers holds, with what is known of the contributors."""
    told = [f"{in_words([one])}{_as_far_as(problem, one)}" for one in attackers]
    *first, last = dict.fromkeys(told) or ["nobody"]
    return f"{', '.join(first)} and {last}" if first else last


def _as_far_as(problem: Problem, attacker: Attacker) -> str:
    known = None if attacker.is_outsider else known_contributors(problem.table, attacker.level)
    if known is None or (attacker.needs_all_parts and not of_records(known)):
        return ""
    if known.only_single:
        return " who alone makes up a cell"
    if of_records(known):
        return " (each record counts as one contributor)"
    return (
        ""
        if recognises_everybody(problem.table, known)
        else " (as far as they can be told apart without ids)"
    )


def untested_in_words(problem: Problem, attackers: Sequence[Attacker]) -> str:
    """What a verdict on these attackers says nothing about, and what would have to be known for it."""
    left = [not_tested(attackers)]
    if problem.table.is_of_counts and not any(one.kind == "integer" for one in attackers):
        left.insert(0, "outsiders who know that counts are whole numbers")
    for level in dict.fromkeys(
        one.level for one in attackers if not (one.is_outsider or one.needs_all_parts)
    ):
        who, remedy = _missing(problem, level)
        if who:
            left.insert(0, f"{who} ({remedy})")
    return "; ".join(left)


def remedy_for_contributors(problem: Problem) -> str:
    """What the data should tell of the contributors who attack; empty where they tell enough."""
    return next((remedy for level in LEVELS if (remedy := _missing(problem, level)[1])), "")


def _missing(problem: Problem, level: str) -> tuple[str, str]:
    """Which contributors cannot be tested, and what the data should say; empty where nothing is missing."""
    known = known_contributors(problem.table, level)
    if known is not None and numbered_apart(known):
        who = "records that stand in several of the linked tables and are not recognised there"
        return who, "tabulate each with recognised_by, the columns that any of the tables uses"
    if known is None or recognises_everybody(problem.table, known):
        return "", ""
    if known.only_single:
        who = "contributors who share a cell with others, as their parts are not known"
        return who, "name the columns with the largest contributions of each cell: top"
    who = "contributors who stand in several cells and are not recognised there without ids"
    return who, "tabulate microdata with a column of contributor ids: contributor"
