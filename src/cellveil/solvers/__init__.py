"""The only modules that talk to an optimiser."""
