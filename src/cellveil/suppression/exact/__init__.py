"""Branch and cut for the cheapest safe pattern: parts, separation, cut pool, primal heuristics."""
