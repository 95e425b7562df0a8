"""How a long computation tells where it is: observers, the phases of a run, and one line for people."""

from cellveil.progress.observer import NoteTaker, Progress, Relay, StageClock
from cellveil.progress.phases import Phase

__all__ = ["NoteTaker", "Phase", "Progress", "Relay", "StageClock"]
