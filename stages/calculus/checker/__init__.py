"""Type checkers for ordinary terms, linear bodies (Fig. 5), and declarations."""
