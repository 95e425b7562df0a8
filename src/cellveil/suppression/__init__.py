"""Suppression methods: one module each, one contract, all audited the same way."""

from cellveil.suppression.draft import Draft
from cellveil.suppression.result import Suppression
from cellveil.suppression.suppressing import METHODS, suppress

__all__ = ["METHODS", "Draft", "Suppression", "suppress"]
