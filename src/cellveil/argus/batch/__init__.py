"""Batch files of tau-ARGUS (.arb): tables specified, protected, audited and written, line by line."""
