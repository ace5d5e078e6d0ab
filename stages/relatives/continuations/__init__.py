"""Wang et al. 2019 and ad-delcont: reverse mode by continuations, with and without shift and reset."""
