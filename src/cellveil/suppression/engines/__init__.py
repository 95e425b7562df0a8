"""What suppression methods are made of: one demand, joint witnesses, cubes, flows, local search."""
