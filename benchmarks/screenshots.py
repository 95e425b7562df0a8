"""Take the pictures of README.md and of the docs with Chromium: the demo's report and its public page.

python benchmarks/screenshots.py [--demo FOLDER]     with the results of a demo that was run before, if named

Pictures of the same pages, narrow and printed, are put into the folder of the demo, to look at.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
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


def main(folder: Path | None) -> None:
    from playwright.sync_api import sync_playwright

    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    if program is None:
        sys.exit("No Chromium was found; install chromium and try again.")
    if folder is None:
        folder = ROOT / "cellveil-demo"
        demo(folder)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        take(browser, folder)
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--demo", type=Path, help="the output folder of a demo")
    main(parser.parse_args().demo)
