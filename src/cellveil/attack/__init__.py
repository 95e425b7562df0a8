"""Attacks on a public view: bound propagation, feasibility intervals, derivations."""
