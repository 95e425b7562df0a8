"""The gate: one audit of what would be published, against every attacker named, decides whether it may be.

Every other part reads its `Audit`: `release` writes nothing without one that has no objection, and the
report, the jobs and the command line show its verdict and have none of their own.
"""

from cellveil.judge.auditing import Audit, audit
from cellveil.judge.verdict import Verdict

__all__ = ["Audit", "Verdict", "audit"]
