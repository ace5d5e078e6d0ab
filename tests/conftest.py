"""`make test` tries the same examples each time; `make campaign` looks for new ones."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("campaign", derandomize=False, print_blob=True)
settings.load_profile("repeatable")
