"""How many cases a dear test goes through: a few of every kind in each run, all in `make test-slow`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings


def examples(few: int, *, of: int, **more: Any) -> settings:
    """Settings of a property: `few` fixed examples, and as many as `of` says where these are random."""
    return settings(max_examples=few if settings.default.derandomize else of, deadline=None, **more)


def few_of(cases: Iterable[Any], few: int) -> list[Any]:
    """Parameters of which the first `few` are for every run, and the others slow."""
    every = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [
        pytest.param(*case, marks=() if place < few else pytest.mark.slow) for place, case in enumerate(every)
    ]
