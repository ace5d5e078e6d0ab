"""Functions whose value has no derivative: orders, places, counts, comparisons, and what is made of ints."""

from __future__ import annotations

from dualrev.rules.functions.entry import Function, rows

__all__ = ["VALUES"]

# fmt: off
VALUES = (
    # of both engines
    *rows("argmin argmax any all", "a", "values", written=True),
    Function("np.argsort", "a axis kind", "values", written=True, method=True),
    Function("np.searchsorted", "a v side", "values", written=True, method=True),
    *rows("argpartition nonzero", "", "values", written=True, method=True),
    *rows("argwhere flatnonzero digitize count_nonzero nanargmin nanargmax isin array_equal allclose isclose", "",
          "values", written=True),
    *rows("isnan isinf isfinite", "", "values", written=True, pure=True),
    *rows("isneginf isposinf isreal iscomplex isrealobj iscomplexobj signbit", "", "values", written=True),
    *rows("equal not_equal less less_equal greater greater_equal", "", "values", written=True),
    *rows("logical_and logical_or logical_xor logical_not", "", "values", written=True),
    *rows("tril_indices_from triu_indices_from linalg.matrix_rank", "", "values", written=True),

    Function("np.angle", "z deg", "values", core="steps", scalar="round"),
    Function("np.spacing", "x", "values", core="steps", scalar="round"),

    # of ints, or without arguments that are differentiated: the tape does not see them
    *rows("bitwise_and bitwise_or bitwise_xor left_shift right_shift invert gcd lcm", written=True),
    *rows("broadcast_shapes", written=True),
    *rows("isscalar", written=True, pure=True),
    *rows("indices tril_indices triu_indices dtype", written=True),
    *rows("in1d intersect1d setdiff1d setxor1d", written=True),

    # of the tape alone
    *rows("array2string array_equiv array_repr array_str can_cast common_type diag_indices_from einsum_path", "",
          "values"),
    *rows("lexsort may_share_memory min_scalar_type result_type", "",
          "values"),
    *rows("shares_memory", "", "values"),
)
# fmt: on
