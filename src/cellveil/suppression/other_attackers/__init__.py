"""Protection against attackers besides the outsider: insiders, prior knowledge, whole numbers."""
