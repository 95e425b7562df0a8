"""Controlled tabular adjustment: the whole table is published, sensitive cells moved beyond their levels."""

from cellveil.adjustment.adjusting import METHODS, adjust
from cellveil.adjustment.model import OBJECTIVES, Limits
from cellveil.adjustment.outcome import Adjustment
from cellveil.adjustment.start_rules import STARTS

__all__ = ["METHODS", "OBJECTIVES", "STARTS", "Adjustment", "Limits", "adjust"]
