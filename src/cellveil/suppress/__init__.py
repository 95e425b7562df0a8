"""Suppression methods: one module each, one contract, all audited the same way."""

from cellveil.suppress.outcome import Draft, Suppression
from cellveil.suppress.run import METHODS, suppress

__all__ = ["METHODS", "Draft", "Suppression", "suppress"]
