"""Derivatives of any Python function: dual numbers, the tape on which they write, and arrays of them.

A module imports from those before it, never from those after it, also not inside of a function:

    dual, lines, ufuncs, overload     dual numbers, the table's lines on them, numpy's functions, overloading
    loops, blocks, answers, tape      what is written, and what numpy is told to do with numbers on the tape
    arrays                            arrays of such numbers, and numpy's functions on them
    leaves, dualrev.tree              nested data, in and out
    linear, engine                    a function's derivative at a point, as a linear map
    copies, comparison, diagnosis, plain_run      what the function computes by itself, beside that
    arguments, transforms             gradients, Jacobians, products with Hessians
    ruled, custom, steps, primitive   what users say themselves: rules, loops in little memory, lines of the table

Above them are the compiler, and what users call: dualrev/derivatives.py, checkpointing.py, checking.py.
"""
