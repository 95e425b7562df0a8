"""Compiled loops over NumPy arrays: no objects, no files, no decisions. Loaded where they are used."""
