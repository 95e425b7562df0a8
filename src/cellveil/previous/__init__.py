"""Earlier releases of the same or overlapping records, and what they tell together with a new one.

Comes in: a problem, the folders of earlier releases, and what the records of today say of any cell. Goes out:
one joint problem over all of them. Read `releases` first (what an earlier release says), then `joint`.
"""
