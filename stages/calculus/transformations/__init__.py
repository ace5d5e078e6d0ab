"""The transformations: D1 to D4 (Figs. 6 to 12), sparse maps, lists of contributions, the tape, and forward mode."""
