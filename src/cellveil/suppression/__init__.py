"""Suppression methods: one module each, one contract, all audited the same way."""

from cellveil.suppression.draft import Draft
from cellveil.suppression.methods import METHODS
from cellveil.suppression.result import Suppression
from cellveil.suppression.suppressing import suppress

__all__ = ["METHODS", "Draft", "Suppression", "suppress"]
