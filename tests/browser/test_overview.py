"""The overview of a programme in a real browser: wide, narrow, dark and printed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cellveil.errors import InfeasibleError, InputError
from cellveil.report.programme_overview import JobEnding, Overview, OverviewLine
from helpers.browser import Opened

ODD = "<b>&\"'</b> a title that is longer than anybody would want it to be, =SUM(A1:A9)"
LONG = "turnover_by_industry_region_and_size_class_revised_after_the_second_review_of_the_survey.toml"


def line(name: str, title: str, state: JobEnding, code: int, verdict: str, **more: object) -> OverviewLine:
    return OverviewLine(name, title, state, code, verdict, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def page() -> str:
    against = "outsiders and contributors who know their own part, also beside the releases of 2029"
    safe = {"against": against, "cells": 1_234_567, "published": 87.25, "cost": "12.3 million"}
    safe |= {"gap": 12.5, "seconds": 1234.5}
    infeasible = OverviewLine.failed(
        "march.toml", "March", InfeasibleError(["(A, N)"], ["(B, N)"], way_out="Recode."), "../march/r.html"
    )
    lines = (
        line("jan.toml", "January", JobEnding.SAFE, 0, "Safe", report="../a/r.html", public="../a", **safe),
        line(LONG, ODD, JobEnding.SAFE, 0, "Safe", report="../b/r.html", public="../b", **safe),
        line("february.toml", "February", JobEnding.NOT_SAFE, 1, "NOT SAFE: 3 cells", cells=90, published=0.0,
             report="../c/r.html", seconds=0.4),
        infeasible,
        OverviewLine.failed("april.toml", "April", InputError("the disk is full", remedy="Free space.")),
        OverviewLine.interrupted("may.toml", ""),
    )  # fmt: skip
    return Overview(lines, "2030-01-31 12:00 UTC", 4321.0).to_html()


def test_it_fits_and_everybody_can_use_it(opened: Callable[..., Opened], page: str) -> None:
    for width in (400, 800, 1400):
        seen = opened(page, width=width)
        assert seen.sticking_out() == [], width
        assert seen.findings_in_both() == [] and seen.errors == [], width


def test_every_job_has_its_line_and_its_links(opened: Callable[..., Opened], page: str) -> None:
    seen = opened(page)
    rows = seen.page.locator(".programme tbody tr")
    assert rows.count() == 6
    texts = rows.all_inner_texts()
    assert "INFEASIBLE" in texts[3] and "FAILED" in texts[4] and "interrupted" in texts[5]
    assert seen.page.get_by_role("link", name="report on January").get_attribute("href") == "../a/r.html"
    assert seen.page.get_by_role("link", name="public files").count() == 2
    seen.page.get_by_role("link", name="why April released nothing").click()
    assert seen.page.locator("dt:target").inner_text() == "April (april.toml)"
    reasons = seen.page.locator(".reasons").inner_text()
    assert "Free space." in reasons and "January" not in reasons


def test_narrow_lines_name_their_figures(opened: Callable[..., Opened], page: str) -> None:
    seen = opened(page, width=400)
    first = seen.page.locator(".programme tbody tr").first
    named = first.evaluate(
        "(row) => [...row.querySelectorAll('td')].map((e) => getComputedStyle(e, '::before').content)"
    )
    assert any("Published" in text for text in named) and any("Gap" in text for text in named)
    assert "–" not in seen.page.locator(".programme tbody tr").last.inner_text()  # nothing to say


def test_it_prints(opened: Callable[..., Opened], page: str) -> None:
    printed = opened(page).printed()
    assert printed.faults() == []
    assert "Internal – not for publication" in printed.text
