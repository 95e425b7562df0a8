"""Lower bounds: what every safe pattern costs at least."""
