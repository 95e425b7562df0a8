"""Suppression methods: one module each, one contract, all audited the same way."""

from cellveil.suppression.outcome import Draft, Suppression
from cellveil.suppression.run import METHODS, suppress

__all__ = ["METHODS", "Draft", "Suppression", "suppress"]
