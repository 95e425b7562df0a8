"""Protect published statistical tables, and prove it."""
