"""What an audit says of a view together with all else that readers know."""

from __future__ import annotations

from typing import Any, Protocol


class Beside(Protocol):
    """The verdict on a view beside earlier releases and all tables of the same records."""

    @property
    def findings(self) -> tuple[str, ...]:
        """What speaks against the view, in words."""

    @property
    def beside(self) -> str:
        """The earlier releases, as they follow the attackers of a verdict; "" where there are none."""

    @property
    def against(self) -> str:
        """Against whom the verdict holds, in words."""

    @property
    def not_tested(self) -> str:
        """What could not be tested, in words; "" where there is nothing."""

    def lines(self) -> list[str]:
        """What was compared, assumed and found, for people."""

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON."""
