"""The open comparison: every suppression method of cellveil, and peers that are found, on the same tables.

Each run has a process of its own, with limits; what comes out is a pattern, which is judged by the
independent audit, and on small tables by a second opinion that shares nothing with it. Nobody's own word
counts for cost or safety. `python -m experiments.comparison --help` lists what there is to do.
"""
