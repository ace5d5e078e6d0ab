"""Derivatives of any Python function: dual numbers, the tape on which they write, and arrays of them.

A module imports from those before it, never from those after it, also not inside of a function:

    numbers/            dual numbers, the table's lines on them, numpy's functions, overloading
    tape/               what is written (tape, ids, blocks), and what flows through it (cotangent_flow, row_kernels)
    arrays/             arrays of such numbers, and numpy's functions on them; complex/ has pairs of real ones
    leaves, dualrev.tree              nested data, in and out
    tape/linear, tape/engine          a function's derivative at a point, as a linear map
    tape/watched_tape, watched_linear the same under debug_nans, with the user's operations; engine imports them late
    copies, checking/                 what the function computes by itself, beside that
    numba_rules, py_func_globals      numba functions on the tape
    arguments, transforms             gradients, Jacobians, products with Hessians
    checking/survey                   all places at once that are refused, for dualrev.check
    custom, tape/steps, numbers/primitive         what users say themselves: rules, loops in little memory, primitives

Above them are the compiler, and what users call: dualrev/api/derivatives.py, checkpointing.py, missing_entries.py.

An operation on arrays goes one way down, and its derivative another one:

    x * y                arrays/memory/operators.py       no protocol of numpy's, where both sides are ours
      elementwise        arrays/elementwise.py            the value, by numpy; terms: (ids of x, y kept), ...
      attach, Terms      arrays/memory/record.py          the result's ids, a `Range` of a new node; a block on the tape

    pull                 tape/engine.py, linear.py        the blocks, the last one first; rows of scalars between them
      Terms.pull         tape/blocks.py                   the node's cotangent, times partials, goes to operands'
      take, add          tape/cotangent_flow.py           an array per node, taken over at the first contribution

Nothing is written out or copied before somebody needs it: ids are written out when a number is stored
(arrays/memory/id_layers.py), kept values are copied when their array is written to (`before_change`), and a cotangent
goes to a buffer, element by element, when only parts of a node have been reached (`open`). Products with one matrix
wait as their factors until its cotangent is asked for, if those are smaller (`Products` in blocks.py).
"""
