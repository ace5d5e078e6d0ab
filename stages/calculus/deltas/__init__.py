"""Krawiec et al. 2022, "Provably correct, asymptotically efficient, higher-order reverse-mode automatic
differentiation", as transformations of terms: Figs. 5 to 11 and 16, sections 5.3.3, 8.3 and 8.6.

    terms, checking, evaluating      pure, do and sequence: Figs. 1 and 11
    deltas, back                     the common part of the transformations; functions from D[t] back to t
    vectorised                       Figs. 5 and 6, whole tangents
    unshared                         Figs. 7 and 8, which lose sharing
    monadic                          Figs. 9 to 11, the monadic translation, and section 8.3
    arrays                           section 5.3.3: the same with mutable state as the monad
    columns                          section 8.3: a pair of vectors for Vector R
    triple, second                   section 8.6: triple numbers, forward and reverse
    tower                            section 8.6: derivatives of all orders
    separate, fusing, straight       sections 8.1 and 8.7: libraries that are compiled once, and fused functions
    products                         Figs. 1 and 16: the dot product at each type
    relation, world                  section 7: Fig. 13's logical relation, which checks Theorem 8
    table                            all of them by name

Forward AD, Figs. 3 and 4, is `forward`. What a Delta means, section 7, is stages/relatives/deltas/meaning.py. Vectors
belong to the source language: stages/calculus/language/vectors.py.
"""
