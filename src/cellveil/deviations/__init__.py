"""Deviations y with M y = 0, exactly: demands, witnesses, the ledger, ties, networks, cubes, programs."""
