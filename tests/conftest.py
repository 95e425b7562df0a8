"""Random tables are the same in every run; HYPOTHESIS_PROFILE=random draws new ones."""

import os

import pytest
from hypothesis import settings

from helpers.command import Command

settings.register_profile("fixed", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Commands run in this very process."""
    return Command(capsys)
