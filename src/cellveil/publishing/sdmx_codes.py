"""Observation and confidentiality status of published cells by the standard code lists of SDMX.

CL_OBS_STATUS tells what kind of a value an observation has, CL_CONF_STATUS whether it may be published. The
latter has codes for primary confidentiality (C, and A, G, M, O, T by cause) and for secondary (D, S). Public
files use none of these: every hidden cell is N, not for publication, whatever it was hidden for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

OBS_VALUE, OBS_STATUS, CONF_STATUS = "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"

OBS_STATUS_NAMES: Mapping[str, str] = {"A": "Normal value", "Q": "Missing value; suppressed"}
"""The codes of CL_OBS_STATUS in public files: published, hidden."""

CONF_STATUS_NAMES: Mapping[str, str] = {
    "F": "Free (free for publication)",
    "N": "Not for publication, restricted for internal use only",
}
"""The codes of CL_CONF_STATUS in public files: published, hidden."""

PUBLISHED, HIDDEN = ("A", "F"), ("Q", "N")
"""Observation and confidentiality status of the cells of public files."""

INTERNAL: Mapping[str, tuple[str, str]] = {"primary": ("A", "C"), "secondary": ("A", "D")}
"""The same of hidden cells in internal files, which have their values."""

CANNOT_EXIST = "M"
"""Observation status of a missing value whose data cannot exist."""

CONF_MEANINGS: Mapping[str, str] = {
    **dict.fromkeys(("A", "C", "G", "M", "N", "O", "T", "X"), "u"),
    **dict.fromkeys(("D", "S"), "m"),
    "F": "s",
}
"""What CL_CONF_STATUS means for a table to be protected; E, an embargo, has no meaning of its own.

N does not say why a cell is not for publication, so it counts as unsafe: such cells are protected.
"""

COMPONENT_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
"""What a dimension, attribute or measure may be called."""

CODE_ID = re.compile(r"[A-Za-z0-9_@$-]+")
"""What a code may be."""
