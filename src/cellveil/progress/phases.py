"""The phases of a run in plain words; the stages of a search are steps within one of them."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    """A part of a run that a person knows: in words, and in one word where there is little room."""

    INVENT = ("inventing firms", "data")
    READ = ("reading the data", "data")
    RULES = ("applying the rules", "rules")
    SEARCH = ("looking for a pattern", "search")
    OTHERS = ("keeping off contributors and others", "attackers")
    AUDIT = ("attacking the pattern", "audit")
    ADJUST = ("adjusting the table", "adjust")
    COMPARE = ("comparing with other methods", "compare")
    JOBS = ("running the jobs", "jobs")
    WRITE = ("writing the results", "write")
    FEASIBLE = ("looking for cells that nothing protects", "check")
    ADVISE = ("measuring what would help", "advice")

    @property
    def words(self) -> str:
        """What is done."""
        return self.value[0]

    @property
    def word(self) -> str:
        """The same, short."""
        return self.value[1]
