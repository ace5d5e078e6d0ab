"""SciPy, except that its functions take numbers and arrays under differentiation: `from dualrev.scipy import stats`.

SciPy's elementwise functions (gammaln, ndtr, ...) do so as they are, since numpy asks what they are called with. Its
other functions make plain arrays of their arguments first, and nobody is asked. `special`, `linalg`, `signal`,
`stats`, `sparse`, `optimize` and `integrate` here have those of them that derivatives are known of, under SciPy's
names; everything else in them is SciPy's own.

>>> import dualrev as dr
>>> from dualrev.scipy import stats
>>> dr.grad(lambda mean: stats.norm.logpdf(1.0, mean, 2.0))(0.0)
0.25
"""

from dualrev.scipy import integrate, linalg, optimize, signal, sparse, special, stats

__all__ = ["integrate", "linalg", "optimize", "signal", "sparse", "special", "stats"]


def __dir__() -> list[str]:
    return __all__
