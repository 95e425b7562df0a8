"""What an audit says of a view that others lay beside former releases."""

from __future__ import annotations

from typing import Any, Protocol


class Beside(Protocol):
    """The verdict on a view beside former releases."""

    @property
    def findings(self) -> tuple[str, ...]:
        """What speaks against the view, in words."""

    @property
    def words(self) -> str:
        """The former releases in words."""

    @property
    def against(self) -> str:
        """Against whom the verdict holds, in words; "" where there is none."""

    @property
    def not_asked(self) -> str:
        """Whom it says nothing about, in words."""

    def lines(self) -> list[str]:
        """What was assumed and found, for people."""

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON."""
