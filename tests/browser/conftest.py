"""One headless Chromium for all tests of pages: Debian's package, driven by playwright."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from helpers.browser import FLAGS, Opened
from helpers.visitor import Served, Visitor, serving

NONE = "there is no Chromium: install the package chromium to have pages tested in a browser"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of the session; tests skip where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip(NONE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """``opened(html, width=400, dark=True)`` opens a page without a network; closed after the test."""
    pages: list[Opened] = []

    def open_page(html: str | Path, *, width: int = 1400, height: int = 900, dark: bool = False) -> Opened:
        file = html if isinstance(html, Path) else tmp_path / f"page{len(pages)}.html"
        if not isinstance(html, Path):
            file.write_text(html, encoding="utf-8")
        pages.append(Opened.of(browser, file, width, height, dark))
        return pages[-1]

    yield open_page
    for one in pages:
        one.close()


@pytest.fixture(scope="session")
def served(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One service for all tests of its page."""
    with serving(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Callable[..., Visitor]]:
    """``visit("bert", width=400)``: a user at the page; closed after the test."""
    visitors: list[Visitor] = []

    def enter(user: str = "anna", *, width: int = 1400, dark: bool = False) -> Visitor:
        visitors.append(served.visit(browser, user, width=width, dark=dark))
        return visitors[-1]

    yield enter
    for one in visitors:
        one.close()
