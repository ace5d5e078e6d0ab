"""Wang et al. 2019 and its kin: reverse mode by continuations, with and without shift and reset."""
