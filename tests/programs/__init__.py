"""The programs that tests differentiate: written by hand, as people write them, and made at random."""
