"""A page in a real browser: what it logs, whether it fits, whether all can use it, how it prints."""

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pypdfium2
from playwright.sync_api import Browser, Page, expect

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)

STICKING_OUT = """() => [...document.querySelectorAll("body *")]
  .filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .filter((e) => !e.closest("[data-scrolls], .scroll")).slice(0, 5)
  .map((e) => `${e.tagName}.${e.className} ${e.textContent.slice(0, 40)}`)"""

BENT = """() => [...document.querySelectorAll("svg rect")]
  .flatMap((e) => ["x", "y", "width", "height"]
    .map((name) => [name, e.getAttribute(name) ?? "0", getComputedStyle(e)[name]])
    .filter(([, meant, drawn]) => Math.abs(parseFloat(meant) - (parseFloat(drawn) || 0)) > 0.01)
    .map(([name, meant, drawn]) => `${e.getAttribute("class")}: ${name} ${meant} drawn as ${drawn}`))"""
"""Bars that a style sheet makes longer or shorter than the drawing says."""

PATIENCE = 1_200_000
"""Milliseconds after which what a page does not show is a fault, on a machine busy with other tests."""

expect.set_options(timeout=PATIENCE)

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points."""


@dataclass
class Opened:
    """A page, and the errors it has logged so far."""

    page: Page
    errors: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, browser: Browser, file: Path, width: int, height: int, dark: bool) -> "Opened":
        """A page of a file, without a network."""
        return cls.at(browser, file.as_uri(), width, height, dark, offline=True)

    @classmethod
    def at(
        cls, browser: Browser, address: str, width: int, height: int, dark: bool, offline: bool = False
    ) -> "Opened":
        """The page of an address, for a reader of English."""
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            locale="en-GB",
            offline=offline,
        )
        made = cls(context.new_page())
        made.page.set_default_timeout(PATIENCE)
        made.page.on("console", lambda message: made._told(message.type, message.text))
        made.page.on("pageerror", lambda error: made.errors.append(str(error)))
        made.page.goto(address)
        return made

    def _told(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.errors.append(text)

    def close(self) -> None:
        self.page.context.close()

    def sticking_out(self) -> list[str]:
        """What makes the page scroll sideways; empty where it does not."""
        width, shown = self.page.evaluate(
            "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        return [f"{width} px in {shown} px", *self.page.evaluate(STICKING_OUT)] if width > shown else []

    def bent(self) -> list[str]:
        """Bars of drawings that are not as long as they are meant to be."""
        return list(self.page.evaluate(BENT))

    def findings(self, *rules: str) -> list[str]:
        """Serious findings of axe-core, by these rules or by all: rule, what it says, first places."""
        if not self.page.evaluate("() => 'axe' in window"):
            self.page.evaluate(_axe())
        found = self.page.evaluate(
            "(only) => axe.run(document, {resultTypes: ['violations'], elementRef: false, ...only})",
            {"runOnly": list(rules)} if rules else {},
        )
        return [
            f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]

    def findings_in_both(self) -> list[str]:
        """The same in light, and of contrast in dark, which is all that differs."""
        found = []
        for scheme, rules in (("dark", ["color-contrast"]), ("light", [])):
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found += [f"{scheme}: {one}" for one in self.findings(*rules)]
        return found

    def printed(self) -> "Printed":
        """The page as it prints on A4."""
        self.page.emulate_media(media="print")
        words = re.findall(r"\w+", self.page.evaluate("() => document.body.innerText"))
        self.page.emulate_media(media="null")
        return Printed(self.page.pdf(format="A4", prefer_css_page_size=True, print_background=True), words)


@cache
def _axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


class Printed:
    """A PDF: its text, the boxes of its letters, and the words that ought to stand in it."""

    def __init__(self, pdf: bytes, words: list[str]) -> None:
        self.document = pypdfium2.PdfDocument(pdf)
        self.words = words

    @property
    def text(self) -> str:
        return "\n".join(page.get_textpage().get_text_range() for page in self.document)

    def faults(self) -> list[str]:
        """Text over other text, text beyond the edge of its page, words cut off: each once."""
        shown = "".join(self.text.split()).lower()
        found = {f"cut off: {word}": None for word in self.words if word.lower() not in shown}
        for number, page in enumerate(self.document, 1):
            width, height = page.get_size()
            text = page.get_textpage()
            whole = "".join(_letter(text, place) for place in range(text.count_chars()))
            letters = [(place, text.get_charbox(place)) for place, sign in enumerate(whole) if sign.strip()]
            for place, (left, low, right, high) in letters:
                if left < 0 or low < 0 or right > width or high > height:
                    found[f"page {number}: beyond the edge: {_around(whole, place)}"] = None
            for one, other in _overlaps(letters):
                found[f"page {number}: {_around(whole, one)} over {_around(whole, other)}"] = None
        return list(found)


def _letter(text: Any, place: int) -> str:
    return chr(pypdfium2.raw.FPDFText_GetUnicode(text, place)) or " "


def _around(text: str, place: int) -> str:
    """The line of text around a letter."""
    return text[text.rfind("\n", 0, place) + 1 :].splitlines()[0].strip()[:60]


def _overlaps(letters: list[tuple[int, Box]]) -> list[tuple[int, int]]:
    """Pairs of letters of which one is covered by half or more."""
    found = []
    ordered = sorted(letters, key=lambda entry: entry[1][0])
    for number, (place, box) in enumerate(ordered):
        for other, next_box in ordered[number + 1 :]:
            if next_box[0] >= box[2]:
                break
            wide = min(box[2], next_box[2]) - next_box[0]
            high = min(box[3], next_box[3]) - max(box[1], next_box[1])
            if wide > 0 and high > 0 and 2 * wide * high > min(_area(box), _area(next_box)):
                found.append((place, other))
    return found


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
