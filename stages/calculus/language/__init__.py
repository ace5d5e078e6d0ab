"""The languages: types, terms and values of the source (Fig. 4) and the targets (Fig. 5, sections 4 to 7, Fig. 11)."""
