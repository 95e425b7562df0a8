"""Random numbers for the loops: a word of 64 bits, never 0, that each draw stirs (Marsaglia's xorshift)."""

from __future__ import annotations

import numpy as np

from cellveil.jit.compiled import inner


@inner
def stirred(word: np.uint64) -> np.uint64:
    """The next word; its upper bits are the best."""
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    return word
