"""The languages: types, terms and values of source (Fig. 4) and targets (Fig. 5, sections 4 to 7, Fig. 11)."""
