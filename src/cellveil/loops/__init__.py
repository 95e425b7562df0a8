"""Compiled loops: what is too slow in NumPy, in C.

One subject has two files: `ledger.c` with the loops, `ledger.py` with what Python needs of them, the records
whose arrays are handed over and the functions that can be called. `all.c` joins the sources, `build` compiles
them into one library, `library` loads it when a loop is first called. `docs/contributing/loops.md` says how
to add one.
"""
