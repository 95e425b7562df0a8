"""Take the pictures of README.md and of the docs with Chromium: the demo, its report, and the service.

python benchmarks/screenshots.py [--demo FOLDER] [--only report|page]

With the results of a demo that was run before, if named. Pictures of the same pages, narrow, dark and
printed, are put into the folder of the demo, to look at.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "img"
REPORT, PUBLIC = "internal/report.html", "public/index.html"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@dataclass(frozen=True)
class Picture:
    """A page at some size, scrolled to a place, perhaps after a click."""

    page: str
    width: int
    height: int
    place: str = "body"
    click: str = ""


PICTURES = {
    "report.png": Picture(REPORT, 1200, 900),
    "report-table.png": Picture(REPORT, 1200, 820, "#views", "#views td.u"),
    "report-heat.png": Picture(REPORT, 1200, 700, "#views", "#views .switches > .button"),
    "report-attack.png": Picture(REPORT, 1200, 760, "#attack"),
    "report-primaries.png": Picture(REPORT, 1200, 560, "#primaries"),
    "report-loss.png": Picture(REPORT, 1200, 760, "#loss"),
    "public.png": Picture(PUBLIC, 1200, 760),
    "public-narrow.png": Picture(PUBLIC, 400, 760),
}


def demo(out: Path) -> None:
    subprocess.run([sys.executable, "-m", "cellveil", "demo", "--quiet", "--out", str(out)], check=True)


def take(browser: Any, folder: Path) -> None:
    """All pictures, and the pages narrow and printed."""
    for name, wanted in PICTURES.items():
        page = browser.new_page(viewport={"width": wanted.width, "height": wanted.height})
        page.goto((folder / wanted.page).resolve().as_uri())
        page.evaluate("(place) => document.querySelector(place).scrollIntoView()", wanted.place)
        if wanted.click:
            page.locator(wanted.click).first.click()
        page.screenshot(path=IMAGES / name)
        page.close()
    for name in (REPORT, PUBLIC):
        page = browser.new_page(viewport={"width": 400, "height": 900})
        page.goto((folder / name).resolve().as_uri())
        stem = Path(name).stem
        page.screenshot(path=folder / f"{stem}-narrow.png", full_page=True)
        page.pdf(path=folder / f"{stem}.pdf", prefer_css_page_size=True, print_background=True)
        page.close()


PAGE_PICTURES = (
    *("page-data.png", "page-table-step.png", "page-rules.png", "page-run.png", "page-running.png"),
    *("page-verdict.png", "page-table.png", "page-jobs.png", "page-beside.png", "page-narrow.png"),
)
"""Of the service's page, in the order of the flow."""


@contextmanager
def service(state: Path) -> Iterator[str]:
    """The address of a service on loopback."""
    command = [sys.executable, "-m", "cellveil", "serve", "--port", "0", "--state", str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class PageTour:
    """The flow of the page on built-in data, with a picture of each view."""

    def __init__(self, page: Any, folder: Path) -> None:
        self.page, self.folder = page, folder
        page.set_default_timeout(300_000)

    def take(self, name: str, height: int = 900) -> None:
        """A picture for the docs; the same view narrow and dark, to look at."""
        self.page.set_viewport_size({"width": 1280, "height": height})
        self.page.wait_for_timeout(400)
        self.page.screenshot(path=IMAGES / name)
        for kind, width in (("narrow", 400), ("dark", 1280)):
            self.page.emulate_media(color_scheme="dark" if kind == "dark" else "light")
            self.page.set_viewport_size({"width": width, "height": height})
            self.page.wait_for_timeout(200)
            self.page.screenshot(
                path=self.folder / f"{Path(name).stem}-{kind}.png", full_page=kind == "narrow"
            )
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": 1280, "height": height})

    def fill_in(self) -> None:
        """The four steps."""
        page = self.page
        page.locator(".drop").wait_for()
        self.take("page-data.png", 820)
        page.get_by_role("button", name="Use Invented firms, few").click()
        page.locator(".check .figure").wait_for()
        self.take("page-table-step.png")
        page.get_by_role("link", name="Continue: Rules").click()
        page.locator(".rule").first.wait_for()
        page.locator(".check .figure").wait_for()
        self.take("page-rules.png", 760)
        page.get_by_role("link", name="Continue: Protection").click()
        page.get_by_label("Method", exact=True).wait_for()
        page.locator(".check .figure").wait_for()
        self.take("page-run.png", 1020)

    def run(self, method: str, picture: str = "") -> None:
        """A job, with a picture while it is under way."""
        page = self.page
        page.get_by_label("Method", exact=True).select_option(method)
        page.get_by_label("Name of the job").fill(f"Turnover, {method}")
        page.get_by_role("button", name="Run the job").click()
        if picture:
            known = page.locator(".progress .tile b", has_text="%").first
            known.or_(page.locator(".verdict")).first.wait_for()
            page.locator(".search svg, .verdict").first.wait_for()
            page.wait_for_timeout(2000)
            self.take(picture, 760)
        page.locator(".verdict").wait_for()

    def go(self) -> None:
        """All pictures."""
        page = self.page
        self.fill_in()
        self.run("auto", "page-running.png")
        self.take("page-verdict.png", 820)
        page.get_by_role("tab", name="Table", exact=True).click()
        page.locator(".view:visible td.u").first.click()
        page.get_by_text("If it were published").wait_for()
        self.take("page-table.png", 960)
        page.set_viewport_size({"width": 400, "height": 860})
        page.keyboard.press("Escape")
        page.locator(".view:visible .frame").scroll_into_view_if_needed()
        page.screenshot(path=IMAGES / "page-narrow.png")
        page.get_by_role("button", name="Run again with changes").click()
        self.run("hypercube")
        page.get_by_label("Side by side with …").select_option(index=1)
        page.locator(".beside .view td").first.wait_for()
        self.take("page-beside.png", 960)
        page.get_by_role("link", name="Jobs", exact=True).click()
        page.locator(".jobs").wait_for()
        self.take("page-jobs.png", 420)


def take_page(browser: Any, folder: Path) -> None:
    """All pictures of the service's page."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / "state", ignore_errors=True)
    with service(folder / "state") as address:
        page = browser.new_page(locale="en-GB")
        page.goto(address)
        PageTour(page, folder).go()
        page.close()


def main(folder: Path | None, only: str) -> None:
    from playwright.sync_api import sync_playwright

    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        sys.exit("No Chromium was found; install chromium and try again.")
    if folder is None:
        folder = ROOT / "cellveil-demo"
        if only != "page":
            demo(folder)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        if only != "page":
            take(browser, folder)
        if only != "report":
            take_page(browser, folder / "page")
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--demo", type=Path, help="the output folder of a demo")
    parser.add_argument("--only", choices=["report", "page"], default="", help="some of the pictures")
    arguments = parser.parse_args()
    main(arguments.demo, arguments.only)
