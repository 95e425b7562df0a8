"""One audit decides: its words, who was asked, and that nobody else computes a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cellveil as cv
from cellveil.attackers.attacker import Attacker
from cellveil.datasets import two_way
from cellveil.judge.published import audit_published
from cellveil.judge.published_table import PublishedTable
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from helpers.contributions import with_contributions

CELLS = {(0, 0): [20], (0, 1): [30], (0, 2): [5, 4], (1, 0): [7, 7, 8], (1, 1): [9, 9, 9], (1, 2): [6, 6]}


@pytest.fixture
def firms() -> Problem:
    """Two primary cells with one firm each, in one row."""
    return with_contributions(two_way([[20, 30, 9], [22, 27, 12]], {(0, 0): 3, (0, 1): 3}), CELLS)


def hiding(problem: Problem, *keys: tuple[str, str]) -> Pattern:
    hidden = problem.hidden_at_start.copy()
    hidden[[problem.table.cell(*key) for key in keys]] = True
    return Pattern.hiding(problem, hidden, "by hand")


SQUARE = (("r1", "c0"), ("r1", "c1"))


def test_a_verdict_says_against_whom_and_who_was_not_asked(firms: Problem) -> None:
    pattern = hiding(firms, *SQUARE)
    alone = cv.audit(firms, pattern, attackers="outsider")
    assert alone.verdict.startswith("Safe against outsiders: every one of the 2 primary cells")
    assert alone.not_asked == "contributors who know their own part, alone or together"
    both = cv.audit(firms, pattern, attackers=[Attacker(), Attacker("insider")])
    assert not both.is_safe and "not shown protected against every single contributor" in both.verdict
    found = cv.suppress(firms, attackers=[Attacker("insider"), Attacker("integer")])
    assert found.audit.against == (
        "outsiders, every single contributor and outsiders who know that values are whole numbers"
    )
    assert found.audit.not_asked == "several contributors together"


FIRMS = {
    "region": ["N", "N", "S", "S", "N", "S"],
    "branch": ["a", "b", "a", "b", "b", "a"],
    "size": ["s", "s", "l", "l", "l", "s"],
    "sales": [50, 60, 70, 80, 90, 40],
    "weight": [1, 2, 1, 2, 1, 2],
}


def linked_problem(*pairs: tuple[str, str], **options: Any) -> Problem:
    tables = [cv.tabulate(pd.DataFrame(FIRMS), list(pair), "sales", **options) for pair in pairs]
    return cv.find_primaries(cv.link(tables), cv.Threshold(2)).problem


def test_the_verdict_on_linked_tables_says_what_they_do_not_tell() -> None:
    """What `link` notes, in the verdict of `suppress` and of `audit`."""
    problem = linked_problem(("region", "branch"), ("region", "size"), ("branch", "size"), contributor=None)
    found = cv.suppress(problem)
    assert "tables 1 (sales: region × branch) and 2 (sales: region × size), 1 (" in found.audit.not_asked
    assert found.audit.not_asked.count("treated as independent") == 1
    whole = found.audit.view.hidden
    again = cv.audit(problem, Pattern.hiding(problem, whole, "by hand"))
    assert again.not_asked == found.audit.not_asked
    assert "independent" not in cv.suppress(linked_problem(("region", "branch"))).audit.not_asked


@pytest.mark.parametrize("weight", [None, "weight"])
def test_records_that_are_tabulated_apart_are_named(weight: str | None) -> None:
    """Without columns that all tables recognise records by, they count as others in each."""
    pairs, columns = (
        (("region", "branch"), ("region", "size")),
        ["region", "branch", "size", "sales", "weight"],
    )
    apart = linked_problem(*pairs, weight=weight)
    said = "records that stand in several of the linked tables and are not recognised there (tabulate each"
    assert said in cv.suppress(apart).audit.not_asked
    known = apart.table.units
    assert known is not None and len(known.names) > len(FIRMS["sales"])
    together = linked_problem(*pairs, weight=weight, recognised_by=columns)
    assert "not recognised there" not in cv.suppress(together).audit.not_asked
    assert "not recognised there" not in cv.suppress(linked_problem(pairs[0])).audit.not_asked


@pytest.mark.parametrize(
    ("attacker", "words"),
    [
        (Attacker(), "outsiders"),
        (Attacker(prior=50), "outsiders who know every value to within 50 %"),
        (Attacker("integer", prior=5), "that values are whole numbers and every value to within 5 %"),
        (Attacker("insider", level="holding"), "every single holding"),
        (Attacker("insider", coalition=3), "any three contributors together"),
        (Attacker("pq", p=15, q=80), "knowing the others to within 80 % (p = 15 %)"),
    ],
)
def test_attackers_in_words(attacker: Attacker, words: str) -> None:
    assert words in attacker.words


def test_a_release_needs_outsiders_asked_and_everybody_kept_off(firms: Problem, tmp_path: Path) -> None:
    safe = cv.suppress(firms, attackers=[Attacker("insider")]).audit
    insiders_only = cv.audit(firms, safe.pattern, attackers=[Attacker("insider")])
    assert (
        insiders_only.is_safe and insiders_only.objections and insiders_only.not_asked.startswith("outsiders")
    )
    with pytest.raises(cv.NotSafeError, match="did not ask what outsiders can work out"):
        cv.release(insiders_only, tmp_path / "out")
    open_to_insiders = cv.audit(firms, hiding(firms, *SQUARE), attackers=[Attacker(), Attacker("insider")])
    with pytest.raises(cv.NotSafeError, match="every single contributor"):
        cv.release(open_to_insiders, tmp_path / "out")
    assert not list(tmp_path.iterdir())
    done = cv.release(safe, tmp_path / "out", formats=["csv"])
    assert done.safe_against == "outsiders and every single contributor"


def test_an_adjusted_table_goes_through_the_same_gate(tmp_path: Path) -> None:
    problem = two_way([[20, 50, 30], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3, (1, 1): 2})
    found = cv.adjust(problem)
    assert found.audit.is_safe and "know the method, the levels" in found.audit.verdict
    done = cv.release(found.audit, tmp_path / "out", formats=["csv"])
    assert done.num_hidden == 0 and not done.objections
    with pytest.raises(cv.NotSafeError, match="inside their levels"):
        cv.release(cv.audit(problem, problem.table.values), tmp_path / "out")
    with pytest.raises(cv.InputError, match="cannot be audited against every single contributor"):
        cv.audit(problem, found, attackers=[Attacker("insider")])
    with pytest.raises(cv.InputError, match="no certificate"):
        _ = found.audit.certificate


def test_no_attacker_is_no_audit(firms: Problem) -> None:
    with pytest.raises(cv.InputError, match="no attacker is named"):
        cv.audit(firms, hiding(firms), attackers=[])
    pattern = hiding(firms, *SQUARE)
    empty = cv.Audit(firms, cv.PublicView.of(firms, pattern), pattern=pattern)
    assert not empty.is_safe and "nobody was asked" in empty.verdict


def test_a_published_primary_is_named_whatever_the_attacks_say(firms: Problem) -> None:
    nothing = Pattern(np.zeros_like(firms.status), "nothing")
    verdict = cv.audit(firms, nothing)
    assert not verdict.is_safe and "2 primary cells are not hidden" in verdict.objections[0]
    assert set(verdict.unsafe_cells) == set(firms.primaries)


def test_a_report_solves_nothing(firms: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unsafe pattern has explanations; they were found by the audit, not while rendering."""
    pattern = Pattern.hiding(firms, firms.hidden_at_start, "primaries only")
    found, verdict = cv.suppress(firms), cv.audit(firms, pattern)
    assert verdict.explanations

    def solved(*_: object, **__: object) -> None:
        raise AssertionError("a report solves no program")

    monkeypatch.setattr("cellveil.solvers.lp.LiveLP.__init__", solved)
    monkeypatch.setattr("cellveil.attack.explain.Explainer.explain", solved)
    report = cv.build_report(firms, _with(found, pattern, verdict), verdict)
    (told, *_), *_ = verdict.explanations.values()
    assert told in report.to_html()
    assert not report.to_dict()["safe"] and report.summary()


def _with(found: cv.Suppression, pattern: Pattern, verdict: cv.Audit) -> cv.Suppression:
    from dataclasses import replace

    return replace(found, pattern=pattern, audit=verdict, outcome="not_safe", reason="by hand")


def test_the_seed_reaches_the_defence_against_others(monkeypatch: pytest.MonkeyPatch, firms: Problem) -> None:
    from cellveil.suppression.other_attackers import outsider_shield

    seeds = []
    original = outsider_shield.OutsiderShield.__init__

    def noted(self: object, *given: object, **options: object) -> None:
        seeds.append(options.get("seed"))
        original(self, *given, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(outsider_shield.OutsiderShield, "__init__", noted)
    cv.suppress(firms, attackers=[Attacker("insider")], seed=7)
    assert seeds and set(seeds) == {7}


def test_an_outsider_without_a_checked_certificate_is_not_kept_off() -> None:
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    judged = cv.audit(problem, cv.suppress(problem).pattern)
    (verdict,) = judged.verdicts
    assert verdict.is_safe
    unproven = replace(verdict, verification=None)
    assert not unproven.is_safe and unproven.objections(judged.view)


@pytest.mark.parametrize("shown", [0, 1])
def test_all_cells_that_are_not_safe_are_counted(shown: int) -> None:
    """Six are named, whether they are published or only not shown protected; the others are counted."""
    every = {(row, column): 3 for row in range(4) for column in range(5)}
    problem = two_way([[20, 30, 9, 50, 40]] * 4, every)
    status = np.zeros_like(problem.status)
    status[problem.primaries[:shown]] = Status.PRIMARY
    bare, unsafe = cv.audit(problem, Pattern(status, "by hand")).findings
    assert bare.startswith(f"{20 - shown} primary cells are not hidden: ")
    assert bare.endswith(f" and {14 - shown} more")
    assert unsafe.startswith("20 cells were not shown protected") and " and 14 more" in unsafe


EVERY_KIND = (Attacker(), Attacker("insider"), Attacker("integer"), Attacker("pq", p=10), Attacker(prior=90))


@pytest.mark.parametrize("coalition", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_cells_that_everybody_computes_are_published_again(seed: int, coalition: int) -> None:
    shape = [(5, 6), (4, 4, 3), (7, 5)][seed % 3]
    options = {"contributions": True, "contributors": 6, "unit": 500, "hierarchical": [0] if seed % 2 else []}
    problem = cv.random_table(shape, seed=seed, **options)
    attackers = [Attacker("insider", coalition=coalition), *EVERY_KIND[2:]]
    found = cv.suppress(problem, attackers=attackers)
    assert found.is_safe
    rng, hidden = np.random.default_rng(seed), found.pattern.hidden.copy()
    hidden[rng.permutation(np.flatnonzero(~hidden & (problem.status == Status.SAFE)))[:3]] = True
    pattern = Pattern.hiding(problem, hidden, "three too many")
    audit = cv.audit(problem, pattern, attackers=[Attacker(), *attackers], exact=False)
    assert audit.is_safe, "more suppressed cells help nobody"
    smaller = audit.without_unused()
    assert smaller.pattern is not None and not (smaller.pattern.hidden & ~hidden).any()
    again = cv.audit(problem, smaller.pattern, attackers=audit.attackers)
    assert smaller.is_safe and again.is_safe and smaller.view.content_hash == again.view.content_hash
    assert [verdict.is_proven for verdict in smaller.verdicts] == [v.is_proven for v in audit.verdicts]
    seen = audit_published(PublishedTable.of(problem.table, smaller.pattern.hidden, problem.lb, problem.ub))
    assert not (seen.width == 0).any(), "no suppressed cell can be computed"
