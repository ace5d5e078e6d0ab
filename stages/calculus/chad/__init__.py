"""Combinatory homomorphic automatic differentiation (CHAD) as transformations of terms.

Vákár and Smeding 2022, "CHAD: Combinatory Homomorphic Automatic Differentiation" (TOPLAS); Smeding and Vákár 2024,
"Efficient CHAD" (POPL).

    images       the types of primals and cotangents, D[t]1 and D[t]2
    parts        what the rules share
    rules        the rules for data: variables, operations, pairs, let, sums and data types
    functions    the rules for functions, calls and recursion
    chad         one linear function per term, from its cotangent to that of its environment, a tuple
    efficient    the environment's cotangent is accumulated in an array; zeros are sparse
    boundary     dense cotangents of data, in which Wrap speaks, and sparse ones
    table        both by name
"""
