"""Random tables are the same in every run; HYPOTHESIS_PROFILE=random draws new ones."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from helpers.command import Command

for name, fixed in (("fixed", True), ("random", False)):  # however loaded the machine is
    settings.register_profile(
        name, derandomize=fixed, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
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
