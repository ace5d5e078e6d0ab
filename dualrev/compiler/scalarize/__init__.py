"""Scalarisation, from lowered core to expanded core: scalars, elements of arrays and calls are left to differentiate.

lower.py makes the parts, and says which construct goes to which. A part names in its constructor what it takes, and
knows nothing else:

    before anything is written         lists/, check_types, numpy/finfo
    what all take                      builder, with scalar_ops, arrays/indices
    of no other part                   tuples, discrete_exprs, arrays/deferred
    of deferred, and of those          arrays/fancy_indexing, arrays/layout, numpy/nondifferentiable, numpy/ufuncs,
                                       numpy/scalar_functions, numpy/reductions, random/draw_functions
    of one of these                    arrays/assign, arrays/getitem, numpy/library_calls, numpy/creation
    of assign                          numpy/concatenate
    what they make is expanded, too    arrays/elementwise, lists/growable, numpy/composed, numpy/in_place, calls
    the way of each function           numpy/dispatch

Other rooms import lists/dicts, lists/handles, lists/legalize, lists/struct_of_lists, lists/to_tuples, lower,
numpy/finfo, opaque/opaque_statements.
"""
