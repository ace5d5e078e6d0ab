"""Calls of every function of numpy that the tape knows, as text, for arrays without elements and of one element.

In a line, `{a}` stands for every axis in turn, and `{k}` for keepdims; x and y are arrays. `problems` compares the
function under differentiation with the plain one, and its derivatives with differences.

Not here is what numpy itself gets wrong without elements: an axis of () of a median, quantiles at an array of places
with two axes, `gradient` with distances of one point, `polyder` of a matrix twice.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

import dualrev as dr
from dualrev.rules.scipy import NAMES as SCIPY

__all__ = ["ONE", "PAIRS", "SHAPES", "SPECIAL", "TWO", "WRITES", "calls", "function", "numbers", "problems"]

#: A clear error in place of a derivative, and errors that mean the same.
REFUSED = (dr.UnsupportedError, dr.ConversionError)
AS_GOOD = {np.linalg.LinAlgError: (ValueError,)}

SHAPES = [(0,), (1,), (0, 3), (3, 0), (1, 1), (0, 0), (0, 1), (1, 0), (1, 3), (3, 1), (2, 0, 3)]
PAIRS = [
    *((s, s) for s in SHAPES),
    *((s, (1,)) for s in SHAPES[1:]),
    *(((n, 0), (0, m)) for n in (0, 1, 3) for m in (0, 1, 2)),
    *(((0, n), (n, m)) for n in (0, 1, 3) for m in (0, 1, 2)),
    *[((3, 0), (0,)), ((0,), (0, 3)), ((3,), (3, 0)), ((0, 3), (3,)), ((1, 1), (1,)), ((0, 0), (0,)), ((), (0,))],
    *[((0,), ()), ((0,), (3,)), ((3,), (0,)), ((0, 3), (1, 3)), ((2, 0, 3), (3, 1)), ((2, 0, 3), (3,)), ((1,), ())],
    *[((2, 2), (2, 0)), ((1, 1), (1, 0)), ((2, 3, 0), (2, 0, 4)), ((0, 3, 3), (0, 3)), ((0, 3, 3), (3,))],
]


def numbers(shape: tuple[int, ...], start: float = 0.31) -> Any:
    """Numbers from 0.3 on, no two the same, in no order; a float where there are no axes."""
    k = np.arange(int(np.prod(shape, dtype=int)))
    made = start + 0.37 * k - 0.09 * (k % 3) ** 2
    return made.reshape(shape) if shape else float(made[0])


def calls(line: str) -> Iterator[str]:
    """The calls of a line, with every axis and both keepdims."""
    axes = ("", ", axis=None", ", axis=0", ", axis=1", ", axis=-1") if "{a}" in line else ("",)
    kept = ("", ", keepdims=True") if "{k}" in line else ("",)
    for a, k in itertools.product(axes, kept):
        yield line.replace("{a}", a).replace("{k}", k)


def _each(names: str, *calls: str) -> list[str]:
    return [f"np.{name}{call}" for name in names.split() for call in calls]


def _of(names: str, call: str) -> list[str]:
    return [f"x.{name}{call}" for name in names.split()]


#: Of one array.
ONE = [
    # elements
    *_each(
        "absolute arccos arcsin arctan arctanh arcsinh cbrt ceil conjugate conj cos cosh deg2rad degrees exp exp2",
        "(x)",
    ),
    *_each(
        "expm1 fabs floor log log10 log1p log2 negative positive rad2deg radians reciprocal rint sign sin sinh", "(x)"
    ),
    *_each("sqrt square tan tanh trunc fix sinc nan_to_num real imag real_if_close i0", "(x)"),
    *_each("astype", "(x, float)"),
    *_each("ldexp", "(x, 2)"),
    *_each("modf frexp", "(x)[0]", "(x)"),
    *_each("arccosh", "(x + 1.0)"),
    *_each("copy around round sort_complex", "(x)"),
    "np.round(x, 2)",
    "np.clip(x, 0.4, 0.8)",
    # reductions
    *_each("sum prod mean var std max min amax amin ptp median average", "(x{a}{k})"),
    *_each("nansum nanprod nanmean nanvar nanstd nanmax nanmin nanmedian", "(x{a}{k})"),
    *_each("sum prod max min amax amin nansum nanprod nanmax nanmin", "(x{a}{k}, initial=0.5)"),
    *_each("sum prod mean var std", "(x{a}{k}, where=dr.value(x) > 0.4)"),
    *_each("max min", "(x{a}{k}, where=dr.value(x) > 0.4, initial=0.2)"),
    *_each("sum prod mean var std max min nanmean nanstd", "(x, axis=(0, 1))", "(x, axis=())"),
    *_each("var std nanvar nanstd", "(x{a}{k}, ddof=1)", "(x{a}, ddof=0.5)"),
    *_each("cumsum cumprod nancumsum nancumprod", "(x{a})"),
    *_each("cumulative_sum cumulative_prod", "(x{a})", "(x{a}, include_initial=True)"),
    *_each("quantile nanquantile", "(x, 0.3{a}{k})", "(x, 0.0)", "(x, 1.0)"),
    *_each("percentile nanpercentile", "(x, 30.0{a}{k})", "(x, 0.0)", "(x, 100.0)"),
    *_each("quantile percentile", "(x, np.array([0.2, 0.7]){a}{k})", "(x, np.zeros(0){a}{k})"),
    # products
    *_each("trace diagonal linalg.trace linalg.diagonal", "(x)", "(x, offset=1)", "(x, offset=-1)"),
    *_each("einsum", *(f"('{s}', x)" for s in ("i->", "ij->", "ij->i", "ij->ji", "ii", "ii->i", "...->...", "ij->j"))),
    # linear algebra
    *_each("linalg.cholesky linalg.det linalg.inv linalg.slogdet linalg.eigvalsh linalg.eigh", "(x)", "(x + 0.0)"),
    *_each("linalg.eig linalg.eigvals linalg.svdvals linalg.pinv linalg.qr linalg.cond", "(x)"),
    *_each("linalg.qr", "(x, 'r')", "(x, 'complete')"),
    *_each("linalg.svd", "(x, full_matrices=False)", "(x, compute_uv=False)"),
    *_each("linalg.cond", *(f"(x, {p})" for p in ("1", "-1", "2", "-2", "np.inf", "'fro'"))),
    *_each(
        "linalg.norm", "(x{a}{k})", *(f"(x, {p}{{a}}{{k}})" for p in ("0", "1", "2", "3", "-1", "np.inf", "-np.inf"))
    ),
    *_each("linalg.norm", *(f"(x, {p})" for p in ("'fro'", "'nuc'", "-2")), "(x, axis=(0, 1))", "(x, 2, axis=(0, 1))"),
    *_each("linalg.vector_norm", "(x{a}{k})", "(x{a}, ord=1)", "(x{a}, ord=np.inf)", "(x{a}, ord=3)"),
    *_each("linalg.matrix_norm", *(f"(x{{k}}, ord={p})" for p in ("'fro'", "'nuc'", "1", "2", "-1", "-2", "np.inf"))),
    *_each("linalg.matrix_power", *(f"(x, {n})" for n in (0, 1, 2, 3, -1))),
    *_each("linalg.multi_dot", "([x, x.T])", "([x, x.T, x])"),
    *_each("linalg.tensorinv", "(x, ind=1)"),
    *_each("linalg.matrix_rank", "(x)"),
    # numerics
    *_each("apply_along_axis", *(f"({f}, {a}, x)" for f in ("np.sum", "np.cumsum", "np.sort") for a in (0, 1, -1))),
    *_each("apply_over_axes", "(np.sum, x, 0)", "(np.sum, x, [0, 1])"),
    *_each("corrcoef cov", "(x)", "(x, rowvar=False)"),
    *_each("cov", "(x, bias=True)", "(x, ddof=0)", "(x, rowvar=False, ddof=0)"),
    *_each("diff", "(x{a})", "(x, 2)", "(x, 0)", "(x, axis=0, prepend=1.0)", "(x, axis=0, append=0.0, prepend=0.5)"),
    *_each("ediff1d", "(x)", "(x, to_end=1.0)", "(x, to_begin=x)"),
    *_each("gradient", "(x)", "(x, axis=0)", "(x, axis=-1)", "(x, 0.5)"),
    *_each("histogram", "(x)", "(x, bins=3, weights=x)", "(dr.value(x), bins=3, range=(0.0, 1.0), weights=x)"),
    *_each("meshgrid", "(x)", "(x, x)", "(x, x, indexing='ij')"),
    *_each("poly", "(x)"),
    *_each("polyder polyint", "(x)", "(x, 1)"),
    *_each("roots", "(x)"),
    *_each("polydiv", "(x, np.ones(2))"),
    *_each("trapezoid", "(x)", "(x, axis=0)", "(x, dx=0.5)"),
    *_each("unwrap", "(x)", "(x, axis=0)"),
    *_each("vander", "(x)", "(x, 3)", "(x, 0)", "(x, 2, True)"),
    *_each("interp", "(x, np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 0.0]))"),
    *_each("linspace logspace", "(x, 2.0, 3)", "(x, 2.0, 1)", "(x, 2.0, 0)", "(x, 2.0, 4, axis=-1)"),
    *_each("linspace", "(x, 2.0, 3, endpoint=False)", "(x, 2.0, 1, endpoint=False)"),
    *_each("geomspace", "(x, 2.0, 3)", "(x, 2.0, 1)", "(x, 2.0, 0)"),
    # Fourier transforms
    *_each("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft", "(x)", "(x, axis=0)", "(x, n=3)", "(x, n=1)"),
    *_each("fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2", "(x)", "(x, s=(2, 3))"),
    *_each("fft.fftn fft.ifftn fft.rfftn fft.irfftn", "(x)", "(x, axes=(0,))"),
    *_each("fft.fftshift fft.ifftshift", "(x)", "(x, axes=0)"),
    # moving
    *_each("array_split split", *(f"(x, {s})" for s in ("1", "2", "[0]", "[1]", "[]", "3, axis=-1"))),
    *_each("hsplit vsplit dsplit", *(f"(x, {s})" for s in ("1", "[0]", "[1]"))),
    *_each("atleast_1d atleast_2d atleast_3d ravel transpose squeeze flip fliplr flipud rot90 matrix_transpose", "(x)"),
    *_each("linalg.matrix_transpose column_stack dstack hstack vstack block", "(x)"),
    *_each("zeros_like ones_like empty_like", "(x) * 0.0 + x"),
    *_each("full_like", "(x, 2.0)", "(x, np.sum(x))"),
    *_each(
        "broadcast_to", *(f"(x, {s})" for s in ("(0,)", "(0, 3)", "(3, 0)", "(0, 1)", "(2, 0, 3)", "(3, 1)", "(4, 3)"))
    ),
    *_each(
        "reshape",
        *(f"(x, {s})" for s in ("-1", "(0, 3)", "(3, 0)", "(0,)", "(0, -1)", "(1, -1)", "()", "(0, 5)", "(1, 1)")),
    ),
    *_each("resize", *(f"(x, {s})" for s in ("0", "3", "(0, 3)", "(2, 2)"))),
    *_each("flip", "(x{a})"),
    *_each("squeeze", "(x, 0)", "(x, -1)"),
    *_each("expand_dims", "(x, 0)", "(x, -1)", "(x, (0, 2))"),
    *_each("swapaxes moveaxis", "(x, 0, -1)", "(x, 0, 1)"),
    *_each("rollaxis", "(x, 0)", "(x, 1)"),
    *_each("compress", "([], x)", "([True], x{a})", "(np.zeros(0, bool), x, axis=0)"),
    *_each("extract", "(dr.value(x) > 0.4, x)", "(dr.value(x) > 9.0, x)"),
    *_each("choose", "(np.zeros(0, int), [x, x])", "(np.zeros(x.shape, int), [x, 2.0 * x])"),
    *_each(
        "concatenate",
        *(
            f"({s}{{a}})"
            for s in ("[x]", "[x, x]", "[x, np.zeros(0)]", "[np.ones((1, 0)), x]", "[x, np.zeros((0, 3))]")
        ),
    ),
    *_each("stack", *(f"({s}, {a})" for s in ("[x]", "[x, x]") for a in (0, 1, -1))),
    *_each("hstack vstack dstack column_stack", "([x])", "([x, x])", "([x, np.zeros(0)])"),
    *_each("block", "([x, x])", "([[x, x], [x, x]])"),
    *_each("append", *(f"(x, {v}{{a}})" for v in ("x", "1.0", "[]", "np.zeros((0, 3))", "np.zeros((1, 0))"))),
    *_each("delete", *(f"(x, {k}{{a}})" for k in ("0", "[]", "np.zeros(0, int)", "slice(0, 0)", "[0]", "slice(None)"))),
    *_each(
        "insert",
        *(f"(x, {k}, {v}{{a}})" for k, v in (("0", "1.0"), ("[]", "[]"), ("[0]", "2.0"), ("0", "x"), ("[0, 0]", "x"))),
    ),
    *_each("diag diagflat tril triu", "(x)", "(x, 1)", "(x, -1)", "(x, 2)"),
    *_each(
        "pad",
        "(x, 1)",
        "(x, 0)",
        "(x, (0, 2))",
        "(x, 1, 'edge')",
        "(x, 1, 'reflect')",
        "(x, 1, 'wrap')",
        "(x, 1, 'symmetric')",
    ),
    *_each("pad", "(x, 1, 'mean')", "(x, 1, 'maximum')", "(x, 1, 'linear_ramp')", "(x, 0, 'edge')"),
    *_each("partition", "(x, 0)", "(x, 0{a})", "(x, -1)"),
    *_each(
        "piecewise", "(x, [dr.value(x) > 0.4], [lambda u: u * u, 0.0])", "(x, [dr.value(x) > 9.0], [2.0, lambda u: u])"
    ),
    *_each("repeat", *(f"(x, {n}{{a}})" for n in ("0", "1", "2", "[]", "[2]", "[0, 1, 2]"))),
    *_each("tile", *(f"(x, {n})" for n in ("0", "1", "2", "(0, 2)", "(2, 0)", "()", "(2, 1, 1)"))),
    *_each("roll", "(x, 1{a})", "(x, 0)", "(x, -2)", "(x, (1, 1), axis=(0, 1))"),
    *_each("select", "([dr.value(x) > 0.4], [x])", "([dr.value(x) > 0.4, dr.value(x) > 0.1], [x, x * x], 2.0)"),
    *_each("sort", "(x{a})", "(x, kind='stable')"),
    *_each(
        "take",
        *(f"(x, {i}{{a}})" for i in ("0", "[]", "np.zeros(0, int)", "[0]", "[0, 0]", "[[0]]", "np.zeros((0, 2), int)")),
    ),
    *_each("take", "(x, [1], mode='wrap')", "(x, [1], mode='clip')", "(x, 0, axis=0, mode='clip')"),
    *_each(
        "take_along_axis",
        *(
            f"(x, {i}, {a})"
            for i in ("np.argsort(x, axis=-1)", "np.zeros(x.shape, int)", "np.zeros((0,) * x.ndim, int)")
            for a in (0, -1, None)
        ),
    ),
    *_each("trim_zeros", "(x)", "(x * 0.0)"),
    *_each("unique", "(x)", "(x, return_inverse=True)", "(x, return_counts=True)", "(x, axis=0)"),
    *_each("union1d", "(x, x)", "(x, [])"),
    *_each("unstack", "(x)", "(x, axis=-1)"),
    *_each("where", "(dr.value(x) > 0.4, x, 0.0)", "(dr.value(x) > 9.0, 1.0, x)", "(True, x, 1.0)", "(False, x, 1.0)"),
    *_each("lib.stride_tricks.sliding_window_view", "(x, 1)", "(x, 2)", "(x, 1, axis=0)", "(x, x.shape)", "(x, 0)"),
    *_each("size shape ndim", "(x)"),
    # what looks at values
    *_each("all any argmax argmin argsort count_nonzero nanargmax nanargmin", "(x{a})"),
    *_each(
        "argwhere flatnonzero nonzero isfinite isinf isnan isneginf isposinf isreal iscomplex signbit spacing angle",
        "(x)",
    ),
    *_each("iscomplexobj isrealobj array2string array_repr array_str common_type min_scalar_type logical_not", "(x)"),
    *_each("argpartition", "(x, 0)", "(x, 0{a})"),
    *_each("digitize", "(x, np.array([0.0, 0.5]))", "(x, np.zeros(0))"),
    *_each("searchsorted", "(np.sort(x), 0.4)", "(np.array([0.0, 1.0]), x)", "(np.zeros(0), x)", "(np.sort(x), [])"),
    *_each("diag_indices_from tril_indices_from triu_indices_from", "(x)"),
    *_each("lexsort", "((x,))", "((x, x))", "((x, x), axis=0)"),
    *_each(
        "bincount",
        "(np.zeros(x.shape, int), x)",
        "(np.zeros(x.shape, int), x, minlength=2)",
        "(np.zeros(0, int), np.zeros(0)) + np.sum(x)",
    ),
    *_each("can_cast", "(x.dtype, float)"),
    *_each("einsum_path", "('ij->i', x)"),
    # indices
    *(
        f"x[{k}]"
        for k in (
            "0",
            "-1",
            ":",
            "::-1",
            "0:0",
            "1:",
            "...",
            "None",
            "..., 0",
            ":, 0",
            ":, None",
            "[]",
            "[0]",
            "np.zeros(0, int)",
            "()",
        )
    ),
    *(
        f"x[{k}]"
        for k in (
            "dr.value(x) > 0.4",
            "dr.value(x) > 9.0",
            "np.zeros(x.shape, bool)",
            "np.zeros((0, 2), int)",
            "5:2",
            "0:0, 0:0",
            "[], []",
            "True",
            "False",
        )
    ),
    # methods
    *_of("T mT real imag size shape ndim dtype nbytes itemsize flat[:] flat[0]", ""),
    *_of("sum prod mean var std max min cumsum cumprod argmax argmin argsort all any copy flatten ravel", "()"),
    *_of("round squeeze transpose tolist item nonzero trace diagonal conj conjugate", "()"),
    *_of("sum prod mean var std max min all any", "(axis=0, keepdims=True)"),
    *_of("sum prod mean var std max min cumsum cumprod argmax argmin argsort all any", "(-1)"),
    *("x.astype(float)", "x.astype(int)", "x.clip(0.4, 0.8)", "x.dot(x)", "x.dot(x.T)", "x.repeat(2)", "x.repeat(0)"),
    *(
        "x.reshape(-1)",
        "x.reshape(0, 4)",
        "x.reshape((1, 1))",
        "x.reshape(3, -1)",
        "x.swapaxes(0, 1)",
        "x.take([])",
        "x.take([0])",
        "x.compress([])",
    ),
    *(
        "len(x)",
        "list(x)",
        "[u for u in x]",
        "sum(x)",
        "max(x)",
        "min(x)",
        "sorted(x)",
        "[*zip(x, x)]",
        "bool(x)",
        "float(x)",
        "x.item(0)",
        "x.searchsorted(0.4)",
    ),
    # ufuncs
    *(
        f"np.{u}.{m}(x{{a}})"
        for u in ("add", "multiply", "maximum", "minimum", "subtract", "logaddexp", "hypot")
        for m in ("reduce", "accumulate")
    ),
    *(f"np.{u}.reduce(x{{a}}{{k}}, initial=0.5)" for u in ("add", "multiply", "maximum")),
    *(f"np.{u}.reduceat(x, {i}{{a}})" for u in ("add", "multiply", "maximum") for i in ("[0]", "[]", "[0, 0]")),
    *(
        "x @ x.T",
        "x.T @ x",
        "x @ x",
        "x + x[:0]",
        "x ** 2",
        "x ** 0.5",
        "-x",
        "abs(x)",
        "x % 0.3",
        "x // 0.3",
        "2.0 / x",
        "divmod(x, 0.3)",
        "x == x",
        "x < 0.4",
    ),
]

#: Of two arrays.
TWO = [
    *_each(
        "add arctan2 copysign divide divmod fmax fmin fmod floor_divide float_power heaviside hypot logaddexp", "(x, y)"
    ),
    *_each("logaddexp2 maximum minimum multiply nextafter power remainder subtract true_divide mod", "(x, y)"),
    *_each(
        "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor isclose", "(x, y)"
    ),
    *_each("allclose array_equal array_equiv isin may_share_memory shares_memory result_type", "(x, y)"),
    *_each("matmul matvec vecmat vecdot dot inner outer vdot kron cross tensordot", "(x, y)"),
    *_each("linalg.matmul linalg.outer linalg.vecdot linalg.cross linalg.tensordot linalg.multi_dot", "(x, y)"),
    *_each("tensordot", *(f"(x, y, {n})" for n in ("0", "1", "2", "([0], [0])", "([-1], [0])"))),
    *_each(
        "einsum",
        *(
            f"('{s}', x, y)"
            for s in ("i,i", "i,j", "i,i->i", "ij,jk", "ij,ij", "ij,jk->ki", "ij,j", "...j,j->...", "ij,ij->j")
        ),
    ),
    *_each("linalg.solve linalg.lstsq linalg.tensorsolve", "(x, y)"),
    *_each("convolve correlate", *(f"(x, y{m})" for m in ("", ", 'full'", ", 'same'", ", 'valid'"))),
    *_each("corrcoef cov", "(x, y)", "(x, y, rowvar=False)"),
    *_each("interp", "(x, np.arange(1.0 * np.size(y)), y)", "(0.3, x, y)", "(x, x, y)"),
    *_each("polyadd polymul polysub polyval", "(x, y)"),
    *_each("polyfit", "(x, y, 0)", "(x, y, 1)"),
    *_each("trapezoid", "(x, y)", "(x, y, axis=0)"),
    *_each("average", "(x, weights=y)", "(x, axis=0, weights=y)", "(x, weights=y, returned=True)"),
    *_each("append", "(x, y{a})"),
    *_each("concatenate", "([x, y]{a})", "([y, x, y], axis=0)"),
    *_each("stack hstack vstack dstack column_stack block", "([x, y])"),
    *_each("broadcast_arrays meshgrid", "(x, y)"),
    *_each("union1d", "(x, y)"),
    *_each("where", "(dr.value(x) > 0.4, x, y)"),
    *_each("clip", "(x, y, 0.9)", "(x, None, y)"),
    *_each("select", "([dr.value(x) > 0.4], [x + y], y)"),
    *_each("linspace geomspace", "(x, y, 3)", "(x, y, 0)", "(x, y, 1)"),
    *_each("bincount", "(np.zeros(np.shape(y), int), x)"),
    *_each("add.outer multiply.outer", "(x, y)"),
    *_each("full_like", "(x, y)"),
    *_each("insert", "(x, 0, y{a})"),
    *_each("diff", "(x, append=y)", "(x, axis=0, prepend=y)"),
    *_each("ediff1d", "(x, to_end=y)"),
    *_each("searchsorted", "(np.sort(y), x)"),
    *_each("digitize", "(x, np.sort(y))"),
    *_each("quantile", "(x, np.ravel(y) / 9.0)", "(x, np.ravel(y) / 9.0, axis=0)"),
    *_each("histogram", "(x, bins=2, weights=y)"),
    *("x + y", "x - y", "x * y", "x / y", "x ** y", "x @ y", "x // y", "x % y", "x == y", "x < y"),
]

#: Writing to an array; the value is the array.
WRITES = [
    *(
        f"z[{k}] = {v}"
        for k in ("()", "...", ":", "0:0", "0", "[]", "..., 0", "dr.value(x) > 0.4", "np.zeros(0, int)")
        for v in ("x", "1.0", "y", "x[:0]", "y[:0]", "[]")
    ),
    *(f"z {op}= {v}" for op in ("+", "*", "/", "**") for v in ("x", "y", "2.0")),
    *_each("fill_diagonal", "(z, y)", "(z, 2.0)"),
    *_each("copyto", "(z, x)", "(z, y)", "(z, y, where=dr.value(x) > 0.4)"),
    *_each("place putmask", "(z, dr.value(x) > 0.4, y)", "(z, dr.value(x) > 9.0, y)"),
    *_each("put", "(z, [], y)", "(z, [0], y)", "(z, [], [])", "(z, np.zeros(0, int), 1.0)"),
    *_each(
        "put_along_axis",
        "(z, np.zeros(x.shape, int), y, 0)",
        "(z, np.zeros(x.shape, int), x, -1)",
        "(z, np.zeros((0,) * x.ndim, int), x, 0)",
    ),
    *_each("add.at subtract.at multiply.at", "(z, [], [])", "(z, [0], y)", "(z, np.zeros(0, int), y)"),
    *("z.fill(2.0)", "z.sort()", "z.sort(0)", "z.partition(0)", "z.flat[:] = x.ravel()", "z.flat[:0] = []"),
    *(f"np.{u}(x, y, out=z)" for u in ("add", "multiply", "maximum", "matmul")),
    *(f"np.{u}(x, out=z)" for u in ("exp", "cumsum")),
]

#: Of SciPy's elementwise functions that have a line, by how many arguments are arrays.
SPECIAL = [f"scipy.special.{name}" for name in SCIPY]


def function(call: str, writes: bool = False) -> Any:
    """The function of x and y that makes the call, and returns a float beside its result; or writes to a copy of x."""
    names = {"np": np, "dr": dr, "scipy": scipy}
    body = f"    z = x * 1.0\n    {call}\n    return [z, np.sum(x)]" if writes else f"    return [{call}, np.sum(x)]"
    exec(f"def f(x, y=None):\n{body}", names)
    return names["f"]


def _outcome(f: Callable[[], Any]) -> tuple[Any, Exception | None, set[str]]:
    """The value or the exception, and the kinds of the warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            value, error = f(), None
        except Exception as e:
            value, error = None, e
    return value, error, {w.category.__name__ for w in found}


def _leaves(v: Any) -> list[Any]:
    return [leaf for u in v for leaf in _leaves(u)] if isinstance(v, (tuple, list)) else [v]


def _shown(v: Any) -> Any:
    """Structure, shapes and dtypes; a number of Python's is numpy's."""
    if isinstance(v, (tuple, list)):
        return [_shown(u) for u in v]
    return repr(v) if isinstance(v, (str, type, np.dtype, slice)) else (np.shape(v), np.asarray(v).dtype.name)


def _same(u: Any, v: Any) -> bool:
    if _shown(u) != _shown(v):
        return False
    pairs = zip(_leaves(u), _leaves(v), strict=True)
    return all(
        bool(np.array_equal(a, b)) if _exact(a) else np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
        for a, b in pairs
    )


def _exact(v: Any) -> bool:
    return np.asarray(v).dtype.kind not in "fc"


def problems(f: Any, args: tuple[Any, ...]) -> list[str]:
    """List the problems of f under differentiation at these arguments."""
    plain, error, warned = _outcome(lambda: f(*args))
    found = []
    tangents = tuple(np.ones_like(a) if np.ndim(a) else 1.0 for a in args)
    for name, run in (("vjp", lambda: dr.vjp(f, *args)[0]), ("jvp", lambda: dr.jvp(f, args, tangents)[0])):
        value, raised, new = _outcome(run)
        if isinstance(raised, REFUSED):
            return []
        if error is not None:
            if not isinstance(raised, (type(error), *(AS_GOOD.get(type(error), ())))):
                found.append(f"{name}: {raised!r} or {_shown(value)} for {error!r}")
        elif raised is not None or not _same(value, plain) or new - warned:
            found.append(f"{name}: {raised!r} or {value} for {plain}, {new - warned}")
    return found if found or error is not None else _of_derivatives(f, args, plain)


def _of_derivatives(f: Any, args: tuple[Any, ...], plain: Any) -> list[str]:
    def floats(*given: Any) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = _leaves(f(*given))
        return [leaf for leaf, known in zip(made, _leaves(plain), strict=True) if not _exact(known)]

    def total(*given: Any) -> Any:
        return sum((np.sum(np.abs(u)) for u in floats(*given)), 0.0)

    found = []
    for k, x in enumerate(args):
        jacobians = []
        for transform in (dr.jacrev, dr.jacfwd):
            made, raised, _ = _outcome(lambda transform=transform, k=k: transform(floats, argnums=k)(*args))
            if isinstance(raised, REFUSED):
                return found
            if raised is not None:
                return [f"{transform.__name__}: {raised!r}"]
            jacobians.append(made)
        differences = _differences(floats, args, k)
        for y, back, forth, by in zip(floats(*args), *jacobians, differences, strict=True):
            if not np.shape(y) + np.shape(x) == np.shape(back) == np.shape(forth):
                found.append(f"by argument {k}: {np.shape(back)} and {np.shape(forth)}")
            elif not np.allclose(back, forth, rtol=1e-8, atol=1e-9, equal_nan=True):
                found.append(f"by argument {k}: {back} and {forth}")
            elif not np.allclose(np.where(np.isfinite(by), back, 0.0), np.where(np.isfinite(by), by, 0.0), atol=2e-5):
                found.append(f"by argument {k}: {back}, differences {by}")
    for transform, power in ((dr.grad, 1), (dr.hessian, 2)):
        made, raised, _ = _outcome(lambda transform=transform: transform(total)(*args))
        if not isinstance(raised, REFUSED) and np.shape(made) != np.shape(args[0]) * power:
            found.append(f"{transform.__name__}: {raised!r} or {made!r}")
    return found


def _differences(f: Any, args: tuple[Any, ...], k: int) -> list[Any]:
    """The Jacobians of all results by argument k; NaN where the function has no value nearby."""
    x, step = np.asarray(args[k], dtype=float), 1e-6
    made = [np.full((*np.shape(y), x.size), np.nan, dtype=np.result_type(y, float)) for y in f(*args)]
    for i in range(x.size):
        shift = np.where(np.arange(x.size) == i, step, 0.0).reshape(x.shape)
        ends = [_outcome(lambda s=s, shift=shift: f(*args[:k], x + s * shift, *args[k + 1 :]))[0] for s in (1, -1)]
        if None not in ends:
            for y, high, low in zip(made, *ends, strict=True):
                if np.shape(high) == np.shape(low) == y.shape[:-1]:
                    y[..., i] = (np.asarray(high) - np.asarray(low)) / (2.0 * step)
    return [y.reshape((*y.shape[:-1], *x.shape)) for y in made]
