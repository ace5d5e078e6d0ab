"""Support for tests: oracles, cases, checks of one function, and the hashes of emitted text."""
