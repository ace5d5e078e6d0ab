"""SciPy whose functions take traced numbers and arrays: `from dualrev.scipy import stats`.

SciPy's elementwise functions (gammaln, ndtr, ...) can be differentiated as they are, since numpy asks their arguments.
Its other functions convert their arguments to plain arrays first, and raise ConversionError. `special`, `linalg`,
`signal`, `ndimage`, `spatial`, `stats`, `sparse`, `optimize`, `integrate` and `interpolate` here replace those of them
that have a derivative rule, with SciPy's names and parameters; every other name in them is SciPy's own. On plain
arguments SciPy's function runs.

>>> import dualrev as dr
>>> from dualrev.scipy import stats
>>> dr.grad(lambda mean: stats.norm.logpdf(1.0, mean, 2.0))(0.0)
0.25
"""

try:
    import scipy as _scipy  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "scipy":
        raise
    raise ModuleNotFoundError(
        "dualrev.scipy needs SciPy, which is not installed. Write pip install scipy", name="scipy"
    ) from None

from dualrev.scipy import integrate, interpolate, linalg, ndimage, optimize, signal, sparse, spatial, special, stats

__all__ = [
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]


def __dir__() -> list[str]:
    return __all__
