"""Derivatives of any Python function: dual numbers, the tape on which they write, and arrays of them.

A module imports from those before it, never from those after it, also not inside of a function:

    dual, lines, ufuncs, overload     dual numbers, the table's lines on them, numpy's functions, overloading
    loops, ids, flow, blocks, answers, tape       what is written, what flows through it, and what numpy is told
    arrays                            arrays of such numbers, and numpy's functions on them; complex numbers, which
                                      are pairs of real ones (complexes.py)
    leaves, dualrev.tree              nested data, in and out
    linear, engine                    a function's derivative at a point, as a linear map
    copies, comparison, diagnosis, plain_run      what the function computes by itself, beside that
    ruled, py_funcs                   numba functions on the tape
    arguments, transforms             gradients, Jacobians, products with Hessians
    survey                            all places at once that are refused, for dualrev.check
    custom, steps, primitive          what users say themselves: rules, loops in little memory, lines of the table

Above them are the compiler, and what users call: dualrev/derivatives.py, checkpointing.py, checking.py.

An operation on arrays goes one way down, and its derivative another one:

    x * y                arrays/operators.py    no protocol of numpy's, where both sides are ours
      elementwise        arrays/elementwise.py  the value, by numpy; terms: (ids of x, y kept), (ids of y, x kept)
      attach, Terms      arrays/record.py       the result's ids, a `Range` (ids.py) of a new node; a block on the tape

    pull                 engine.py, linear.py   the blocks, the last one first; rows of scalars between them by loops.py
      Terms.pull         blocks.py              take the node's cotangent, times the partials, add to the operands'
      take, add          flow.py                a cotangent array per node, taken over at the first contribution

Nothing is written out or copied before somebody needs it: ids are written out when a number is stored
(arrays/layers.py), kept values are copied when their array is written to (`before_change`), and a cotangent goes to a
buffer, element by element, when only parts of a node have been reached (`open`). Products with one matrix wait as their
factors until its cotangent is asked for, if those are smaller (`Products` in blocks.py).
"""
