"""From lowered core to expanded core: what is left to differentiate are scalars, elements of arrays, and calls.

lower.py makes the parts, and says which construct goes to which. A part names in its constructor what it takes, and
knows nothing else:

    before anything is written         lists, admitted
    what all take                      writing, with functions in kinds, scalars, indices
    of no other part                   tuples, conditions, lazy
    of lazy, and of those              gathering, layouts, inactive, numbers, reductions, drawings, ufuncs
    of one of these                    assignments, items, definitions, making
    of assignments                     joining
    what they make is expanded, too    elementwise, growing, composed, in_place, calls
    the way of each function           functions
    afterwards, on the whole           simplify
"""
