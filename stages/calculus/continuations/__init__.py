r"""Wang et al. 2019, "Shift/reset the penultimate backpropagator", as transformations of terms: Figs. 1, 3, 4, 9 to 11.

    terms, checking, evaluating      cells, shift and reset: Fig. 3
    partials                         partial derivatives as terms of the source language
    symbolic                         d/dx of expressions in A-normal form: Fig. 1
    forward, tagged                  forward AD: Fig. 4, and with tags, section 2.5
    shift_reset                      reverse AD by shift and reset: Fig. 9
    meta, cps                        the same in continuation-passing style: Figs. 10 and 11
    functional                       without cells: section 3.6
    wrapper, distinct                Transform; distinct names for distinct variables
    table                            all of them by name

Transform maps a program f : s -> t to (s, t) -> s, from an input and a cotangent of the output to a cotangent of the
input. With s = t = R and the cotangent 1.0, it is the paper's.
"""
