"""Karczmarczuk 1998 to 2001, as Pearlmutter and Siskind 2008, section 6, and Krawiec et al. 2022, section 8.6, tell it.

deferred.py     numbers with a vector of deferred perturbations, R~: right gradients, by forward AD's graph
towers.py       lazy towers: a number with all of its derivatives
"""
