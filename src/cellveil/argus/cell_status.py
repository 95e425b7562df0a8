"""Statuses of cells as tau-ARGUS numbers them, and what they are in a problem and a pattern."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status

StatusNumbers = NDArray[np.int8]


class CellStatus(IntEnum):
    """What is known of a cell; the numbers stand in result files."""

    SAFE = 1
    SAFE_MANUAL = 2
    UNSAFE_RULE = 3
    UNSAFE_REQUEST = 4
    UNSAFE_FREQUENCY = 5
    UNSAFE_ZERO = 6
    UNSAFE_SINGLETON = 7
    UNSAFE_SINGLETON_MANUAL = 8
    UNSAFE_MANUAL = 9
    PROTECTED = 10
    SECONDARY = 11
    SECONDARY_MANUAL = 12
    EMPTY_NONSTRUCTURAL = 13
    EMPTY = 14

    @property
    def letter(self) -> str:
        """The letter in tables: S, U, P, M or E."""
        return "?SSUUUUUUUPMMEE"[self]

    @property
    def is_unsafe(self) -> bool:
        """Whether the cell itself needs protection."""
        return CellStatus.UNSAFE_RULE <= self <= CellStatus.UNSAFE_MANUAL

    @property
    def is_hidden(self) -> bool:
        """Whether the cell is suppressed."""
        return self.is_unsafe or self in (CellStatus.SECONDARY, CellStatus.SECONDARY_MANUAL)


REASONS = (
    ("request rule", CellStatus.UNSAFE_REQUEST),
    ("threshold rule", CellStatus.UNSAFE_FREQUENCY),
    ("zero rule", CellStatus.UNSAFE_ZERO),
    ("manual", CellStatus.UNSAFE_MANUAL),
)
"""Rules by the beginning of their name; every other one is a rule about concentration, which comes first."""


def numbers_of(problem: Problem) -> StatusNumbers:
    """The numbers that follow from a problem; where several rules fire, the first of their order names it."""
    table = problem.table
    numbers = np.full(table.num_cells, CellStatus.SAFE, dtype=np.int8)
    if table.contributors is not None:
        numbers[(table.values == 0) & (table.contributors == 0)] = CellStatus.EMPTY
    primary = problem.status == Status.PRIMARY
    numbers[problem.status == Status.SECONDARY] = CellStatus.SECONDARY
    numbers[primary] = CellStatus.UNSAFE_MANUAL
    found = [(_number_of(name), cells) for name, cells in problem.reasons.items()]
    for number, cells in sorted(found, key=lambda pair: -pair[0]):
        numbers[cells & primary] = number
    return numbers


def _number_of(reason: str) -> CellStatus:
    return next((number for name, number in REASONS if reason.startswith(name)), CellStatus.UNSAFE_RULE)


def after_suppression(numbers: StatusNumbers, pattern: Pattern | None) -> StatusNumbers:
    """The numbers with the secondary suppressions of a pattern, and without those it does not have."""
    if pattern is None:
        return numbers
    secondary = np.isin(numbers, (CellStatus.SECONDARY, CellStatus.SECONDARY_MANUAL))
    added = pattern.hidden & ((numbers < CellStatus.UNSAFE_RULE) | (numbers > CellStatus.UNSAFE_MANUAL))
    manual = np.isin(numbers, (CellStatus.SAFE_MANUAL, CellStatus.SECONDARY_MANUAL))
    changed = np.where(added, np.where(manual, CellStatus.SECONDARY_MANUAL, CellStatus.SECONDARY), numbers)
    opened = secondary & ~pattern.hidden
    return np.where(opened, np.where(manual, CellStatus.SAFE_MANUAL, CellStatus.SAFE), changed).astype(
        np.int8
    )
