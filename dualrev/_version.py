"""The version, in a file of its own so that the build can read it without importing the library."""

__version__ = "0.1.0"
