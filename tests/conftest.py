"""`make test` tries the same examples each time; `make campaign` looks for new ones."""

import pytest
from hypothesis import settings

collect_ignore = ["package"]  # programs of users, which test_package.py runs

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("campaign", derandomize=False, print_blob=True)
settings.load_profile("repeatable")


@pytest.fixture
def checked(monkeypatch):
    """Every derivative compares its value with that of the function."""
    monkeypatch.setenv("DUALREV_CHECK", "1")
