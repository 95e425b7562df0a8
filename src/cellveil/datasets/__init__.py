"""Made-up data: random tables of any shape, and business microdata for the demo."""

from cellveil.datasets.business import BusinessData, business
from cellveil.datasets.random_tables import random_table, two_way

__all__ = ["BusinessData", "business", "random_table", "two_way"]
