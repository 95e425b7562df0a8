"""A service of its own process, and people who use its page in a browser."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Locator, expect

from helpers.browser import PATIENCE, Opened
from helpers.started_service import list_of_users, started_service, unhurried


@dataclass(frozen=True)
class Served:
    """A running service: its address, and the token of each user."""

    address: str
    tokens: dict[str, str]

    def visit(
        self, browser: Browser, user: str = "anna", *, width: int = 1400, dark: bool = False
    ) -> "Visitor":
        """Open the page as a user does: by the address with the token."""
        address = f"{self.address}#token={self.tokens[user]}"
        visitor = Visitor(Opened.at(browser, address, width, 900, dark))
        expect(visitor.page.get_by_role("heading", name="Which data?")).to_be_visible(timeout=PATIENCE)
        return visitor


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Run a service with two users; ended at the end."""
    users = folder / "users.txt"
    tokens = list_of_users(users, "anna", "bert")
    with started_service("--state", str(folder / "state"), "--users", str(users), *unhurried()) as address:
        yield Served(address, tokens)


class Visitor:
    """Somebody at the page; every step waits for what it leads to."""

    def __init__(self, opened: Opened) -> None:
        self.opened, self.page = opened, opened.page

    def close(self) -> None:
        self.opened.close()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def heading(self, name: str) -> Locator:
        return self.page.get_by_role("heading", name=name)

    def sees(self, place: Locator, text: str | re.Pattern[str] | None = None) -> None:
        """Wait until it is there, and says so."""
        expect(place).to_be_visible(timeout=PATIENCE)
        if text is not None:
            expect(place).to_contain_text(text)

    def brings(self, name: str, text: str) -> None:
        """Choose a file of one's own."""
        file = {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
        self.page.locator("#file").set_input_files(file)  # type: ignore[arg-type]

    def goes_on(self, step: str, heading: str) -> None:
        self.page.get_by_role("link", name=f"Continue: {step}").click()
        self.sees(self.heading(heading))

    def runs(self, *, method: str = "hypercube", limit: str | None = None) -> None:
        """Set method and limit in the last step, and start."""
        self.page.get_by_label("Method", exact=True).select_option(method)
        if limit is not None:
            self.page.get_by_label("Time limit").fill(limit)
        self.button("Run the job").click()
        self.page.wait_for_url("**/#/jobs/*")

    def waits_for_verdict(self, patience: float = PATIENCE) -> None:
        expect(self.page.locator(".verdict")).to_be_visible(timeout=patience)

    def opens(self, tab: str) -> None:
        self.page.get_by_role("tab", name=tab, exact=True).click()
        expect(self.page.get_by_role("tab", name=tab, exact=True)).to_have_attribute("aria-selected", "true")

    def suits_all(self) -> None:
        """Look at the view in light and dark, and at 400 px: nothing is found, sticks out or is bent."""
        assert self.opened.findings_in_both() == []
        size = self.page.viewport_size
        assert size is not None
        self.page.set_viewport_size({"width": 400, "height": 800})
        assert self.opened.sticking_out() == [] == self.opened.bent()
        self.page.set_viewport_size(size)

    def tabs_to(self, name: str) -> None:
        """Press Tab until the element of this name has the focus."""
        for _ in range(120):
            self.page.keyboard.press("Tab")
            if self.page.evaluate(FOCUSED) == name:
                return
        raise AssertionError(f"no way to {name!r} by keys")


FOCUSED = """() => {
  const place = document.activeElement;
  return place.getAttribute("aria-label") || (place.labels?.[0] ?? place).textContent.trim();
}"""
