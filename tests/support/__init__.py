"""What tests share: oracles, the form of a case, checks of one function, and the hashes of emitted text."""
