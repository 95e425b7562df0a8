"""Who attacks, knowing what: outsiders with prior knowledge, contributors with their own parts, (p, q)."""
