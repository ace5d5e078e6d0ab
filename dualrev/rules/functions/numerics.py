"""Reductions, products, linear algebra, statistics, interpolation: most have a definition in rules/library/."""

from __future__ import annotations

import math
from typing import Any

from dualrev.rules.functions.entry import LARGEST, Definition, Function, rows

__all__ = ["NUMERICS"]


def _vectors(names: str, **others: Any) -> list[Function]:
    """Reductions of all elements, by the definition of the same name."""
    return [
        Function(f"np.{name}", "a", "reductions", definitions=(Definition("f", name),), **others)
        for name in names.split()
    ]


def _quantile(name: str) -> Function:
    both = (Definition("fx", name), Definition("fv", f"{name}s"))
    return Function(f"np.{name}", "a q", "reductions", definitions=both)


def _overlaps(name: str, usual: str) -> Function:
    """np.convolve and np.correlate."""
    modes = (Definition("vv=", f"{name}_{mode}", (mode,)) for mode in ("full", "same", "valid"))
    return Function(f"np.{name}", "a v mode", "numerics", definitions=(Definition("vv_", f"{name}_{usual}"), *modes))


def _steps(name: str) -> Function:
    """np.logspace and np.geomspace."""
    both = (Definition("xx_", name, more=(50,)), Definition("xxi", name))
    return Function(f"np.{name}", "start stop num", "numerics", definitions=both)


# fmt: off
NUMERICS = (
    # sums, extremes, order statistics
    Function("np.sum", "a axis dtype", "reductions", core="sum", scalar="itself", method=True),
    *rows("mean prod", "a", "reductions", core="sum", scalar="itself", method=True),
    *rows("min max", "a", "reductions", core="extreme", scalar="itself", method=True),
    *rows("amin amax", "a", "reductions", core="extreme", scalar="itself"),
    *rows("var std", "a", "reductions", core="spread", scalar="nothing", method=True),
    Function("np.cumsum", "a axis dtype", "reductions", definitions=(Definition("f", "cumsum"),), method=True),
    *_vectors("cumprod", written=True, method=True),
    *_vectors("median", written=True),
    *_vectors("ptp", written=True, scalar="nothing"),
    *_vectors("nancumsum nancumprod nanmedian nansum nanprod nanmean nanvar nanstd"),
    *_vectors("nanmax nanmin", scalar="itself"),
    *map(_quantile, ("percentile", "quantile", "nanpercentile", "nanquantile")),
    Function("np.average", "a axis weights", "reductions",
             definitions=(Definition("f__", "mean"), Definition("a_a", "average"))),
    *rows("cumulative_prod cumulative_sum", "", "reductions"),

    # products
    Function("np.dot", "a b", "products", core="dot", method=True),
    Function("np.vdot", "a b", "products", core="dot"),
    Function("np.outer", "a b", "products", core="outer"),
    Function("np.cross", "a b", "products",
             definitions=(Definition("vv", "cross"), Definition("mm", "cross_each"),
                          Definition("mv", "cross_with_vector"), Definition("vm", "cross_of_vector"))),
    Function("np.kron", "a b", "products", definitions=(Definition("mm", "kron"), Definition("vv", "kron_of_vectors"))),
    Function("np.trace", "a offset", "products",
             definitions=(Definition("m_", "trace", more=(0,)), Definition("mi", "trace"))),
    *rows("einsum inner tensordot", "", "products"),

    # linear algebra
    *(Function(f"np.linalg.{name}", "a", "linalg", definitions=(Definition("m", name),))
      for name in ("inv", "det", "slogdet", "cholesky", "eig", "eigvals", "eigh", "eigvalsh", "qr")),
    Function("np.linalg.svd", "a full_matrices", "linalg", definitions=(
        Definition("m_", "svd_of_full"), Definition("m=", "svd_of_full", (True,)), Definition("m=", "svd", (False,)))),
    Function("np.linalg.pinv", "a rcond", "linalg",
             definitions=(Definition("m_", "pinv", more=(1e-15,)), Definition("mx", "pinv"))),
    Function("np.linalg.lstsq", "a b rcond", "linalg", definitions=(
        Definition("mv_", "lstsq", more=(-1.0,)), Definition("mvx", "lstsq"),
        Definition("mm_", "lstsq_each", more=(-1.0,)), Definition("mmx", "lstsq_each"))),
    Function("np.linalg.matrix_power", "a n", "linalg", definitions=(Definition("mi", "matrix_power"),)),
    Function("np.linalg.cond", "x p", "linalg", definitions=(
        Definition("m_", "cond"),
        Definition("m=", "cond", (2,)),
        Definition("m=", "cond_least", (-2,)),
        Definition("m=", "cond_columns", (1,), (1,)),
        Definition("m=", "cond_columns", (-1,), (-1,)),
        Definition("m=", "cond_rows", (math.inf,), (1,)),
        Definition("m=", "cond_rows", (-math.inf,), (-1,)),
    )),
    Function("np.linalg.solve", "a b", "linalg",
             definitions=(Definition("mv", "solve"), Definition("mm", "solve_each"))),
    Function("np.linalg.norm", "x ord", "linalg", definitions=(
        Definition("v_", "norm"),
        Definition("m_", "norm"),
        Definition("v=", "norm", (2,)),
        Definition("v=", "norm_1", (1,)),
        Definition("v=", "norm_inf", (math.inf,), (1,)),
        Definition("v=", "norm_inf", (-math.inf,), (-1,)),
        Definition("vc", "norm_of_order"),
        Definition("m=", "norm", ("fro",)),
        Definition("m=", "norm_columns", (1,), (1,)),
        Definition("m=", "norm_columns", (-1,), (-1,)),
        Definition("m=", "norm_rows", (math.inf,), (1,)),
        Definition("m=", "norm_rows", (-math.inf,), (-1,)),
        Definition("m=", "norm_spectral", (2,)),
        Definition("m=", "norm_least", (-2,)),
    )),
    *rows("histogram", "", "numerics"),
    *rows("linalg.cross linalg.matmul linalg.matrix_norm linalg.multi_dot linalg.outer linalg.svdvals", "", "linalg"),
    *rows("linalg.tensorinv linalg.tensorsolve", "", "linalg"),
    *rows("linalg.tensordot linalg.trace linalg.vecdot linalg.vector_norm", "", "linalg"),

    # differences, interpolation, statistics
    Function("np.linspace", "start stop num", "numerics", core="range", makes=True),
    *map(_steps, ("logspace", "geomspace")),
    Function("np.diff", "a n", "numerics", core="diff", definitions=(Definition("vi", "diff_of_order"),)),
    Function("np.ediff1d", "ary", "numerics", core="diff"),
    Function("np.trapezoid", "y x dx", "numerics", definitions=(
        Definition("v__", "trapezoid", more=(1.0,)),
        Definition("v_x", "trapezoid"),
        Definition("vv_", "trapezoid_at"),
    )),
    Function("np.interp", "x xp fp", "numerics",
             definitions=(Definition("xvv", "interp"), Definition("evv", "interp_each"))),
    Function("np.sinc", "x", "numerics", definitions=(Definition("x", "sinc"), Definition("e", "sinc_each"))),
    Function("np.nan_to_num", "x copy nan posinf neginf", "numerics",
             definitions=(Definition("e__", "nan_to_num", more=(0.0, LARGEST)),
                          Definition("e_x", "nan_to_num", more=(LARGEST,)),
                          Definition("x__", "nan_to_num_of_number", more=(0.0, LARGEST)),
                          Definition("x_x", "nan_to_num_of_number", more=(LARGEST,)))),
    Function("np.cov", "m y rowvar bias ddof", "numerics", definitions=(
        Definition("m____", "cov", more=(False, 1)),
        Definition("m_=__", "cov", (True,), (False, 1)),
        Definition("m__=_", "cov", (True,), (True, 0)),
        Definition("vv___", "cov_of_two", more=(False, 1)),
        Definition("vv_=_", "cov_of_two", (True,), (True, 0)),
        Definition("vv__=", "cov_of_two", (0,), (False, 0)),
        Definition("m___=", "cov", (0,), (False, 0)),
    )),
    Function("np.corrcoef", "x y rowvar", "numerics", definitions=(
        Definition("m__", "corrcoef"), Definition("m_=", "corrcoef", (True,)), Definition("vv_", "corrcoef_of_two"))),
    Function("np.bincount", "x weights minlength", "numerics", written=True,
             definitions=(Definition("vv_", "bincount", more=(0,)), Definition("vvi", "bincount"))),
    Function("np.vander", "x N increasing", "numerics", definitions=(
        Definition("vi_", "vander", more=(False,)), Definition("vic", "vander"),
        Definition("v__", "vander_square", more=(False,)), Definition("v_c", "vander_square"))),
    _overlaps("convolve", "full"),
    _overlaps("correlate", "valid"),
    *rows("apply_along_axis apply_over_axes gradient meshgrid poly polyadd polyder polyfit", "", "numerics"),
    *rows("polydiv polyint polymul polysub polyval roots unwrap", "", "numerics"),

    # of the tape alone: Fourier transforms
    *rows("fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft fft.fft2 fft.ifft2 fft.fftn", "", "fourier"),
    *rows("fft.ifftn fft.rfft2 fft.irfft2 fft.rfftn fft.irfftn fft.fftshift fft.ifftshift", "", "fourier"),
)
# fmt: on
