"""The suppression methods, one module each; `METHODS` is their table."""
