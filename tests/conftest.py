"""Random tables are the same in every run; HYPOTHESIS_PROFILE=random draws new ones."""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
