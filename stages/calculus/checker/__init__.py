"""Type checkers: of ordinary terms, of linear bodies (Fig. 5), and of declarations."""
