"""Random tables are the same in every run; HYPOTHESIS_PROFILE=random draws new ones."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from helpers.command import Command

settings.register_profile("fixed", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """What tests write need not survive a loss of power."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Commands run in this very process."""
    return Command(capsys)
