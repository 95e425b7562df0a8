"""Made-up data: random tables of any shape, and business microdata for the demo."""

from cellveil.datasets.business import BusinessData, business
from cellveil.datasets.random_tables import random_table, two_way
from cellveil.datasets.three_way import cube

__all__ = ["BusinessData", "business", "cube", "random_table", "two_way"]
