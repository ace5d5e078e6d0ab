"""Functions that make arrays, move, choose or join their elements, and write to them."""

from __future__ import annotations

from dualrev.rules.functions.entry import Definition, Function, Selection, rows

__all__ = ["ARRAYS"]

_VIEW = ("view", "view", "view")  # of an array that is contiguous in C order, in Fortran's order, in none
_COPY = ("copy", "copy", "copy")

# fmt: off
ARRAYS = (
    # those that make one
    *rows("zeros ones empty", "shape dtype", core="alloc", makes=True),
    *rows("zeros_like ones_like", "a dtype", "moving", core="alloc", makes=True),
    Function("np.empty_like", "prototype dtype", "moving", core="alloc", makes=True),
    Function("np.eye", "N M k dtype", core="alloc", makes=True),
    Function("np.identity", "n dtype", core="alloc", makes=True),
    Function("np.tri", core="alloc", makes=True, written=True),
    Function("np.full", "shape fill_value dtype", core="full", makes=True),
    Function("np.full_like", "a fill_value dtype", "moving", core="full", makes=True),
    Function("np.arange", "start stop step dtype", core="range", makes=True),
    Function("np.kaiser", "M beta", core="kaiser", makes=True),
    *rows("bartlett blackman hamming hanning", "M", core="alloc", makes=True),
    Function("np.array", core="array"),

    # the same elements: a view or a copy
    Function("np.asarray", core="same_elements", shares=_VIEW, makes=True),
    Function("np.ascontiguousarray", core="same_elements", shares=("view", "copy", "either")),
    Function("np.asfortranarray", "a", core="same_elements", shares=("copy", "view", "either")),
    Function("np.copy", "a", "moving", core="same_elements", shares=_COPY, method=True),
    Function("np.ravel", "a", "moving", core="same_elements", shares=("view", "copy", "copy"), method=True),
    Function("np.reshape", "a shape", "moving", core="same_elements", shares=_VIEW, method=True),  # never of layout A
    Function("np.transpose", "a axes", "moving", core="same_elements", shares=_VIEW, method=True),
    Function("np.expand_dims", "a axis", "moving", core="same_elements", shares=_VIEW),
    Function("np.swapaxes", "a axis1 axis2", "moving", core="same_elements", shares=_VIEW),
    Function("np.moveaxis", "a source destination", "moving", core="same_elements", shares=_VIEW),
    *rows("flip fliplr flipud", "m", "moving", core="same_elements", shares=_VIEW),
    Function("np.rot90", "m k", "moving", core="same_elements", shares=_VIEW),
    *rows("atleast_1d atleast_2d atleast_3d", "", "moving", core="same_elements", shares=_VIEW),
    Function("np.broadcast_to", "array shape", "moving", core="same_elements", shares=_VIEW),
    *rows("split array_split", "ary indices_or_sections axis", "moving", core="split", shares=_VIEW),
    *rows("vsplit hsplit dsplit", "ary indices_or_sections", "moving", core="split", shares=_VIEW),
    Function("np.broadcast_arrays", "args", "moving", core="broadcast_arrays", shares=_VIEW),
    Function("astype", shares=_COPY),  # methods of arrays that no function of the same name stands for
    Function("flatten", shares=_COPY),

    Function("np.real", "val", "moving", core="real", scalar="itself"),
    Function("np.imag", "val", "moving", core="imag", scalar="zero"),
    Function("np.lib.stride_tricks.sliding_window_view", "x window_shape", "moving", core="sliding"),
    Function("np.lib.stride_tricks.as_strided", "x shape strides", core="strided"),

    # elements at places
    Function("np.roll", "a shift", "moving", selection=Selection("np.roll(p_, a_)"), written=True),
    Function("np.repeat", "a repeats", "moving", selection=Selection("np.repeat(p_, a_)"), written=True, method=True),
    Function("np.take", "a indices", "moving", selection=Selection("np.take(p_, a_)"), written=True, method=True),
    Function("np.take_along_axis", "arr indices axis", "moving", selection=Selection("np.take_along_axis(p_, a_, b_)")),
    Function("np.delete", "arr obj", "moving", selection=Selection("np.delete(p_, a_)"), written=True),
    Function("np.resize", "a new_shape", "moving", selection=Selection("np.resize(p_, a_)", zero=True, view=True)),
    Function("np.extract", "condition arr", "moving", selection=Selection("np.extract(a_, p_)", argument=1, ndim=1)),
    Function("np.sort", "a", "moving", selection=Selection("np.argsort(x_, kind='mergesort')", ndim=1), written=True),
    Function("np.partition", "a kth", "moving", selection=Selection("np.argpartition(x_, a_)", ndim=1)),
    Function("np.trim_zeros", "filt", "moving", core="trimmed", shares=_VIEW,
             selection=Selection("p_[len(p_) - len(np.trim_zeros(x_, 'f')) : len(np.trim_zeros(x_, 'b'))]", ndim=1)),
    Function("np.union1d", "ar1 ar2", "moving", definitions=(Definition("ff", "union1d"),), written=True),
    Function("np.unique", "a", "moving", selection=Selection("runtime.unique_places(x_)", ndim=1), written=True),
    Function("np.tril", "m k", "moving", selection=Selection("np.tril(p_, a_)", zero=True), written=True),
    Function("np.triu", "m k", "moving", selection=Selection("np.triu(p_, a_)", zero=True), written=True),
    Function("np.diag", "v k", "moving", selection=Selection("np.diag(p_, a_)", zero=True)),
    Function("np.diagflat", "v k", "moving", selection=Selection("np.diagflat(p_, a_)", zero=True)),
    Function("np.where", "condition x y", "moving", written=True),  # the compiler knows it as arithmetic
    Function("np.clip", "a a_min a_max", "moving", core="clip", method=True),
    *rows("round around", "a decimals", "moving", core="steps", scalar="round"),

    # joined
    Function("np.concatenate", "arrays axis", "moving", core="concatenate", makes=True),
    Function("np.stack", "arrays axis", "moving", core="stack", written=True),
    *rows("vstack hstack column_stack", "tup", "moving", core="stacked", written=True),
    Function("np.dstack", "tup", "moving", core="stacked"),
    Function("np.append", "arr values axis", "places", core="append", written=True),

    # written to
    Function("np.fill_diagonal", "a val wrap", "places", core="fill_diagonal"),
    *rows("copyto insert place put put_along_axis putmask", "", "places"),

    # of the tape alone
    *rows("astype block choose compress", "",
          "moving"),
    *rows("diagonal fix matrix_transpose pad piecewise real_if_close rollaxis select", "",
          "moving"),
    *rows("squeeze tile unstack linalg.diagonal linalg.matrix_transpose", "", "moving"),

    # shapes
    *rows("shape ndim", "a", "values", core="shape"),
    Function("np.size", "a", "moving", core="shape"),
)
# fmt: on
