"""The version, and what it was tested with, in a file of its own so that the build can read it without the library."""

__version__ = "0.1.0"

#: The newest minor version of numba that the tests ran with: a newer one gives a warning. docs/versions.md lists it.
NEWEST_NUMBA = "0.68"
