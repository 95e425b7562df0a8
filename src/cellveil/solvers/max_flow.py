"""Maximum flows by Dinic's algorithm (SciPy)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


def max_flow(graph: csr_matrix, source: int, sink: int) -> tuple[int, csr_matrix]:
    """The value of a maximum flow, and what flows from node to node.

    Parameters
    ----------
    graph
        Whole capacities from node to node, in 32 bits.
    """
    from scipy.sparse.csgraph import maximum_flow

    result = maximum_flow(graph, source, sink)
    return int(result.flow_value), result.flow
