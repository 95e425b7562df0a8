"""Where no pattern is safe: irreducible infeasible sets, and the cheapest relaxation."""
