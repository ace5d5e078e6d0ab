"""Calls of every function of numpy that the compiler knows, as text, for arrays without elements and of one element.

In a text, x and y are arrays; what stands before a semicolon comes first. What numba has no types for, and what is
refused, is left out by the test that goes through them.
"""

from __future__ import annotations

__all__ = ["OF_ONE", "OF_TWO", "SHAPES", "SHAPES_OF_TWO"]


def _each(names: str, *calls: str) -> list[str]:
    return [f"np.{name}{call}" for name in names.split() for call in calls]


_NUMBERS = _each(
    "absolute arccos arcsin arctan arctanh arcsinh cbrt ceil cos cosh deg2rad degrees exp exp2 expm1 fabs floor log "
    "log10 log1p log2 negative positive rad2deg radians reciprocal rint sign sin sinh sqrt square tan tanh trunc",
    "(x)",
)
_INTS = "np.zeros(0, np.int64)"

#: Of one array, of one axis or more.
OF_ONE = [
    *(" + ".join(_NUMBERS[k : k + 6]) for k in range(0, len(_NUMBERS), 6)),
    *("np.arccosh(x + 1.0)", "np.sinc(x)", "np.nan_to_num(x)", "np.real(x)", "np.imag(x) + x", "np.conj(x)", "x ** 2"),
    *("x ** 0.5", "-x", "abs(x)", "x % 0.3", "x // 0.3", "2.0 / x", "x.astype(np.float64)", "np.angle(x) + x"),
    # reductions
    *_each("sum prod mean var std max min amax amin ptp median average cumsum cumprod", "(x)"),
    *_each("nansum nanprod nanmean nanvar nanstd nanmax nanmin nanmedian nancumsum nancumprod", "(x)"),
    *(
        f"x.{name}()"
        for name in ["sum", "prod", "mean", "var", "std", "max", "min", "cumsum", "cumprod", "copy", "flatten", "ravel"]
    ),
    *(
        f"np.{name}(x) * np.sum(x)"
        for name in ["argmax", "argmin", "nanargmax", "nanargmin", "count_nonzero", "linalg.matrix_rank"]
    ),
    *("np.all(x > 0.1) * np.sum(x)", "np.any(x > 0.1) * np.sum(x)", "sum(x)", "max(x)", "min(x)", "len(x) * np.sum(x)"),
    *(
        f"np.{name}(x, axis={k})"
        for name in ["sum", "mean", "cumsum", "trapezoid", "average", "sort", "max", "prod"]
        for k in (0, 1, -1)
    ),
    *_each("quantile nanquantile", "(x, 0.3)", "(x, 0.0)", "(x, 1.0)", "(x, np.array([0.2, 0.7]))", "(x, np.zeros(0))"),
    *_each("percentile nanpercentile", "(x, 30.0)", "(x, 100.0)", "(x, np.array([20.0, 70.0]))", "(x, np.zeros(0))"),
    # moving
    *_each("copy ravel sort round around unique trim_zeros ediff1d diff fliplr flipud flip transpose asarray", "(x)"),
    *_each("atleast_1d atleast_2d atleast_3d ascontiguousarray asfortranarray rot90", "(x)"),
    *(f"x[{k}]" for k in ("::-1", "1:", ":0", "5:", "None", ":, None", "x > 0.4", "x > 9.0", _INTS, ":, :0", ":, 1:")),
    *(f"x.reshape({s})" for s in ("-1", "(x.size, 1)", "(0, 4)", "(1, 1)", "x.shape")),
    *_each("reshape", "(x, (1, -1))"),
    *_each("repeat", "(x, 2)", "(x, 0)", "(x, np.ones(x.size, np.int64))"),
    *_each("roll", "(x, 1)", "(x, 0)", "(x, -2)"),
    *_each("take", f"(x, {_INTS})", "(x, 0)"),
    *(f"np.take_along_axis(x, np.zeros(x.shape, np.int64), {k})" for k in (0, 1, -1)),
    *_each("delete", "(x, 0)", f"(x, {_INTS})", "(x, np.array([0]))"),
    *_each("resize", "(x, 3)", "(x, 0)"),
    *_each("extract", "(x > 0.4, x)", "(x > 9.0, x)"),
    *_each("partition", "(x, 0)", "(x, -1)"),
    *_each("append", "(x, x)", "(x, 1.0)", "(x, np.zeros(0))", "(x, x, 0)", "(x, x, 1)", "(x, x, -1)"),
    *_each("concatenate", "((x, x))", "((x, x[:0]))", "((x[:0], x[:0]))", "((x,))", "((x, x), 1)", "((x, x), -1)"),
    *_each("stack", "((x, x))", "((x, x), 1)", "((x, x), -1)"),
    *_each("hstack vstack dstack column_stack", "((x, x))", "((x, np.zeros(0)))"),
    *_each("tril triu diag diagflat", "(x)", "(x, 1)", "(x, -2)"),
    *_each("clip", "(x, 0.4, 0.8)", "(x, None, 0.8)"),
    *_each("where", "(x > 0.4, x, 0.0)", "(x > 0.4, x, 2.0 * x)", "(x > 9.0, x, x * x)"),
    *("np.zeros_like(x) + x", "np.ones_like(x) * x", "np.full_like(x, 2.0) * x", "np.full(x.shape, np.sum(x))"),
    *_each("expand_dims", "(x, 0)", "(x, -1)"),
    *_each("broadcast_to", "(x, (2,) + x.shape)", "(x, (0, 1))", "(x, (3, 1))", "(x, (0, 0))"),
    *("np.broadcast_arrays(x, x)[1]", "np.array_split(x, 2)[1]", "np.array_split(x, 3)[2]", "np.split(x, 1)[0]"),
    *("np.hsplit(x, 1)[0]", "np.vsplit(x, 1)[0]", "np.swapaxes(x, 0, -1)", "np.moveaxis(x, 0, -1)", "np.union1d(x, x)"),
    *_each("select", "([x > 0.4], [x])", "([x > 0.4, x > 0.1], [x, x * x], 2.0)"),
    *(f"np.lib.stride_tricks.sliding_window_view(x, {n})" for n in (1, 2)),
    # products, linear algebra
    *(
        "np.dot(x, x)",
        "x @ x",
        "np.vdot(x, x)",
        "np.outer(x, x)",
        "np.kron(x, x)",
        "np.cross(x, x)",
        "x @ x.T",
        "x.T @ x",
    ),
    *("np.trace(x)", "np.trace(x, 1)", "np.cov(x)", "np.corrcoef(x)", "x @ np.zeros((x.shape[1], 0))"),
    *("np.zeros((0, x.shape[0])) @ x", "x @ np.ones(x.shape[1])", "np.dot(x, np.ones((x.shape[1], 2)))"),
    *_each("linalg.cholesky linalg.det linalg.inv linalg.eigvalsh linalg.pinv linalg.cond linalg.norm", "(x)"),
    *(
        "np.linalg.slogdet(x)[1]",
        "np.linalg.eigh(x)[0]",
        "np.linalg.qr(x)[0]",
        "np.linalg.qr(x)[1]",
        "np.linalg.svd(x)[1]",
    ),
    *("np.linalg.svd(x, False)[0]", "np.linalg.svd(x, False)[2]", "np.linalg.solve(x, x)", "np.linalg.lstsq(x, x)[0]"),
    *(f"np.linalg.cond(x, {p})" for p in ("1", "-1", "2", "-2", "np.inf", "-np.inf")),
    *(
        f"np.linalg.norm(x, {p})"
        for p in ["0", "1", "2", "3", "-1", "-2", "1.5", "np.inf", "-np.inf", "'fro'", "'nuc'"]
    ),
    *(f"np.linalg.matrix_power(x, {n})" for n in (0, 1, 2, 3, -1)),
    # numerics
    *("np.diff(x, 2)", "np.diff(x, 0)", "np.interp(0.4, x, x)", "np.interp(x, x, x)", "np.trapezoid(x)"),
    *("np.trapezoid(x, dx=0.5)", "np.trapezoid(x, x)", "np.average(x, weights=x)", "np.array([np.sum(x), 1.0])"),
    *(f"np.{name}(np.sum(x) + 0.5, 2.0, {n})" for name in ("linspace", "logspace", "geomspace") for n in (3, 1, 0)),
    *_each("vander", "(x)", "(x, 3)", "(x, 0)", "(x, 2, True)"),
    *_each("bincount", "(np.zeros(x.size, np.int64), x)", "(np.zeros(x.size, np.int64), x, 2)"),
    *_each("convolve correlate", "(x, x)", "(x, np.ones(2))", "(x, np.zeros(0))", "(x, x, 'same')", "(x, x, 'valid')"),
    *(
        f"np.{call} * x"
        for call in ("searchsorted(np.sort(x), 0.4)", "digitize(x, np.zeros(0))", "argsort(x)", "isin(x, x)")
    ),
    *("np.nonzero(x)[0] * x", "np.flatnonzero(x) * np.sum(x)", "np.histogram(x)[0] * np.sum(x)"),
    # writing
    *(f"z = x * 1.0; z{how}; z" for how in ("[:] = 2.0 * x", " += x", "[:0] = x[:0] * 2.0", "[x > 0.4] = 2.0")),
    *(f"z = x * 1.0; z{how}; z" for how in ("[1:] = x[:-1]", ".fill(np.sum(x))", ".sort()")),
    *(
        "z = x * 1.0; np.fill_diagonal(z, np.sum(x)); z",
        "z = x * 1.0; np.exp(x, z); z",
        "z = np.zeros(x.shape); z[...] = x; z",
    ),
]

#: Of two arrays.
OF_TWO = [
    *_each("add arctan2 copysign divide fmod floor_divide float_power hypot logaddexp maximum minimum", "(x, y)"),
    *_each("multiply power remainder subtract", "(x, y)"),
    *(f"x {op} y" for op in ["+", "-", "*", "/", "**", "//", "%", "@"]),
    *(
        "np.where(x > y, x, y)",
        "np.clip(x, y, 0.9)",
        "np.select([x > 0.4], [x + y], y)",
        "np.broadcast_arrays(x, y)[0] * y",
    ),
    *("z = x * 1.0; z += y; z", "z = x * 1.0; z[:] = y; z", "z = x * 1.0; np.add(x, y, z); z"),
    *_each("dot vdot outer kron cross linalg.solve cov corrcoef trapezoid union1d", "(x, y)"),
    *("np.linalg.lstsq(x, y)[0]", "np.cov(x, y, ddof=0)", "np.average(x, weights=y)", "np.interp(0.3, x, y)"),
    *_each("interp", "(x, np.arange(1.0 * y.size), y)", "(x, x, y)", "(x, y, y)"),
    *_each("convolve correlate", "(x, y)", "(x, y, 'same')", "(x, y, 'valid')", "(x, y, 'full')"),
    *_each("append", "(x, y)", "(x, y, 0)", "(x, y, -1)"),
    *_each("concatenate", "((x, y))", "((y, x, y), 0)", "((x, y), -1)"),
    *_each("stack hstack vstack dstack column_stack", "((x, y))"),
    *("np.bincount(np.zeros(y.size, np.int64), x)", "np.quantile(x, y / 9.0)", "np.percentile(x, y)"),
    *(
        "np.take(x, np.zeros(y.shape, np.int64)) * np.sum(y)",
        "np.extract(x > 0.4, y)",
        "np.searchsorted(np.sort(y), x) * x",
    ),
    *("np.linspace(np.sum(x), np.sum(y), 3)", "np.linspace(np.sum(x), np.sum(y), 0)"),
]

SHAPES = {
    1: [(0,), (1,)],
    2: [(1, 1), (0, 0), (0, 3), (3, 0), (1, 3), (3, 1)],
    3: [(2, 0, 3), (1, 1, 1), (0, 2, 1)],
}
_FEW = [(0,), (1,), (2,), (3,)]
SHAPES_OF_TWO = {
    (1, 1): [(s, t) for s in _FEW for t in _FEW],
    (2, 2): [(s, t) for s in SHAPES[2] for t in SHAPES[2]],
    (2, 1): [(s, t) for s in SHAPES[2] for t in _FEW],
    (1, 2): [(s, t) for s in _FEW for t in SHAPES[2]],
}
