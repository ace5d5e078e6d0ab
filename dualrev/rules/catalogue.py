"""Which functions of numpy have a definition in library/, select elements, or make views: the table, without code.

A pattern has a letter for every parameter:

    v  a vector         m  a matrix        f  any array, which is passed on as a vector in C order
    e  any array, whose shape the result has; passed on likewise
    a  any array        x  a number        i  an int        _  nothing is given, or None
    c  a constant       =  a constant that equals the next entry of `fixed`

What stands after the arrow is passed to the definition: the arguments whose letter is none of `_` and `=`, then `more`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["DISCRETE", "MORE_PARAMETERS", "SELECTED", "VARIANTS", "Variant"]


@dataclass(frozen=True)
class Variant:
    """A definition in library/, for arguments of these kinds."""

    pattern: str
    name: str
    fixed: tuple[Any, ...] = ()
    more: tuple[Any, ...] = ()


#: Parameters, in numpy's order.
MORE_PARAMETERS: dict[str, tuple[str, ...]] = {
    **{f"np.{n}": ("a",) for n in ["cumprod", "nancumsum", "nancumprod", "median", "nanmedian", "ptp", "nansum"]},
    **{f"np.{n}": ("a",) for n in ["nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "sort", "unique"]},
    **{f"np.{n}": ("a", "q") for n in ["percentile", "quantile", "nanpercentile", "nanquantile"]},
    **{f"np.{n}": ("m",) for n in ["fliplr", "flipud", "flip"]},
    **{f"np.{n}": ("m", "k") for n in ["tril", "triu", "rot90"]},
    **{f"np.{n}": ("v", "k") for n in ["diag", "diagflat"]},
    **{f"np.{n}": ("start", "stop", "num") for n in ["logspace", "geomspace"]},
    **{f"np.{n}": ("arrays", "axis") for n in ["stack"]},
    **{f"np.{n}": ("tup",) for n in ["vstack", "hstack", "dstack", "column_stack"]},
    **{f"np.{n}": ("a", "v", "mode") for n in ["convolve", "correlate"]},
    **{f"np.{n}": ("a", "b") for n in ["cross", "kron", "vdot"]},
    **{f"np.linalg.{n}": ("a",) for n in ["inv", "det", "slogdet", "cholesky", "qr"]},
    "np.linalg.solve": ("a", "b"),
    "np.linalg.norm": ("x", "ord"),
    "np.interp": ("x", "xp", "fp"),
    "np.trapezoid": ("y", "x", "dx"),
    "np.average": ("a", "axis", "weights"),
    "np.cov": ("m", "y", "rowvar", "bias", "ddof"),
    "np.corrcoef": ("x", "y", "rowvar"),
    "np.bincount": ("x", "weights", "minlength"),
    "np.vander": ("x", "N", "increasing"),
    "np.ediff1d": ("ary",),
    "np.trace": ("a", "offset"),
    "np.sinc": ("x",),
    "np.nan_to_num": ("x", "copy", "nan", "posinf", "neginf"),
    "np.repeat": ("a", "repeats"),
    "np.roll": ("a", "shift"),
    "np.take": ("a", "indices"),
    "np.take_along_axis": ("arr", "indices", "axis"),
    "np.delete": ("arr", "obj"),
    "np.resize": ("a", "new_shape"),
    "np.extract": ("condition", "arr"),
    "np.partition": ("a", "kth"),
    "np.append": ("arr", "values", "axis"),
    "np.expand_dims": ("a", "axis"),
    "np.swapaxes": ("a", "axis1", "axis2"),
    "np.moveaxis": ("a", "source", "destination"),
    "np.broadcast_to": ("array", "shape"),
    "np.asfortranarray": ("a",),
    "np.fill_diagonal": ("a", "val", "wrap"),
    "np.searchsorted": ("a", "v", "side"),
    "np.argsort": ("a", "axis", "kind"),
}

VARIANTS: dict[str, list[Variant]] = {
    **{
        f"np.{n}": [Variant("f", n)]
        for n in [
            *["cumsum", "cumprod", "nancumsum", "nancumprod", "median", "nanmedian", "ptp", "nansum", "nanprod"],
            *["nanmax", "nanmin", "nanmean", "nanvar", "nanstd"],
        ]
    },
    **{
        f"np.{n}": [Variant("fx", n), Variant("fv", f"{n}s")]
        for n in ["percentile", "quantile", "nanpercentile", "nanquantile"]
    },
    **{f"np.{n}": [Variant("xx_", n, more=(50,)), Variant("xxi", n)] for n in ["logspace", "geomspace"]},
    **{
        f"np.{n}": [
            Variant("vv_", f"{n}_{usual}"),
            *(Variant("vv=", f"{n}_{mode}", (mode,)) for mode in ("full", "same", "valid")),
        ]
        for n, usual in [("convolve", "full"), ("correlate", "valid")]
    },
    "np.interp": [Variant("xvv", "interp"), Variant("evv", "interp_each")],
    "np.trapezoid": [
        Variant("v__", "trapezoid", more=(1.0,)),
        Variant("v_x", "trapezoid"),
        Variant("vv_", "trapezoid_at"),
    ],
    "np.average": [Variant("f__", "mean"), Variant("a_a", "average")],
    "np.cov": [
        Variant("m____", "cov", more=(False, 1)),
        Variant("m_=__", "cov", (True,), (False, 1)),
        Variant("m__=_", "cov", (True,), (True, 0)),
        Variant("vv___", "cov_of_two", more=(False, 1)),
        Variant("vv_=_", "cov_of_two", (True,), (True, 0)),
        Variant("vv__=", "cov_of_two", (0,), (False, 0)),
        Variant("m___=", "cov", (0,), (False, 0)),
    ],
    "np.corrcoef": [
        Variant("m__", "corrcoef"),
        Variant("m_=", "corrcoef", (True,)),
        Variant("vv_", "corrcoef_of_two"),
    ],
    "np.bincount": [Variant("vv_", "bincount", more=(0,)), Variant("vvi", "bincount")],
    "np.vander": [
        *(Variant("vi_", "vander", more=(False,)), Variant("vic", "vander")),
        *(Variant("v__", "vander_square", more=(False,)), Variant("v_c", "vander_square")),
    ],
    "np.trace": [Variant("m_", "trace", more=(0,)), Variant("mi", "trace")],
    "np.cross": [Variant("vv", "cross"), Variant("mm", "cross_each")],
    "np.kron": [Variant("mm", "kron"), Variant("vv", "kron_of_vectors")],
    "np.sinc": [Variant("x", "sinc"), Variant("e", "sinc_each")],
    "np.diff": [Variant("vi", "diff_of_order")],
    "np.nan_to_num": [Variant("e__", "nan_to_num", more=(0.0,)), Variant("e_x", "nan_to_num")],
    "np.linalg.inv": [Variant("m", "inv")],
    "np.linalg.det": [Variant("m", "det")],
    "np.linalg.slogdet": [Variant("m", "slogdet")],
    "np.linalg.cholesky": [Variant("m", "cholesky")],
    "np.linalg.qr": [Variant("m", "qr")],
    "np.linalg.solve": [Variant("mv", "solve"), Variant("mm", "solve_each")],
    "np.linalg.norm": [
        Variant("v_", "norm"),
        Variant("m_", "norm"),
        Variant("v=", "norm", (2,)),
        Variant("v=", "norm_1", (1,)),
        Variant("v=", "norm_inf", (math.inf,), (1,)),
        Variant("v=", "norm_inf", (-math.inf,), (-1,)),
        Variant("vc", "norm_of_order"),
        Variant("m=", "norm", ("fro",)),
        Variant("m=", "norm_columns", (1,), (1,)),
        Variant("m=", "norm_columns", (-1,), (-1,)),
        Variant("m=", "norm_rows", (math.inf,), (1,)),
        Variant("m=", "norm_rows", (-math.inf,), (-1,)),
    ],
}

#: Functions that give elements of an array: which argument that is, and the places as an expression of the array `x_`,
#: of an array `p_` of the same shape that counts its elements, and of the other arguments `a_`, `b_`. The last ones
#: leave out elements: they count from 1, and 0 stands for the number 0.
SELECTED: dict[str, tuple[int, str, bool]] = {
    "np.roll": (0, "np.roll(p_, a_)", False),
    "np.repeat": (0, "np.repeat(p_, a_)", False),
    "np.take": (0, "np.take(p_, a_)", False),
    "np.take_along_axis": (0, "np.take_along_axis(p_, a_, b_)", False),
    "np.delete": (0, "np.delete(p_, a_)", False),
    "np.resize": (0, "np.resize(p_, a_)", False),
    "np.extract": (1, "np.extract(a_, p_)", False),
    "np.sort": (0, "np.argsort(x_, kind='mergesort')", False),
    "np.partition": (0, "np.argpartition(x_, a_)", False),
    "np.unique": (0, "runtime.unique_places(x_)", False),
    "np.tril": (0, "np.tril(p_, a_)", True),
    "np.triu": (0, "np.triu(p_, a_)", True),
    "np.diag": (0, "np.diag(p_, a_)", True),
    "np.diagflat": (0, "np.diagflat(p_, a_)", True),
}

#: Functions that make numbers and new arrays of what they look at: never a view. What one of them computes stays as it
#: is written where it is made of ints and bools, or is not differentiated: an order, a place, a count, a comparison.
DISCRETE = frozenset(
    [
        *["argsort", "argpartition", "argwhere", "nonzero", "flatnonzero", "searchsorted", "digitize", "bincount"],
        *["array_equal", "allclose", "isclose", "logical_and", "logical_or", "logical_xor", "logical_not", "invert"],
        *["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "isin", "in1d", "gcd", "lcm"],
        *["sort", "unique", "union1d", "intersect1d", "setdiff1d", "setxor1d", "median", "repeat", "roll", "append"],
        *["delete", "hstack", "vstack", "column_stack", "stack", "take", "tri", "tril", "triu", "cumprod", "ptp"],
        *["isneginf", "isposinf", "isreal", "iscomplex", "signbit", "equal", "not_equal", "less", "less_equal"],
        *["greater", "greater_equal", "nanargmin", "nanargmax", "indices"],
        *["tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from"],
    ]
)
