"""`scipy.spatial.distance`: cdist, pdist, squareform, and the functions of two vectors.

The value is SciPy's own. At points that coincide, distances have a tip or a kink: the derivative there is 0, a
subgradient, so that the diagonal of cdist(x, x) has no NaN. Where differences tie for the largest one, chebyshev shares
the derivative equally. Every other name, and every other metric, is SciPy's own.

>>> import dualrev as dr
>>> dr.grad(lambda x: sqeuclidean(x, [0.0, 0.0]))([3.0, 4.0])
[6.0, 8.0]
>>> dr.grad(lambda x: euclidean(x, [0.0, 0.0]))([0.0, 0.0])
[0.0, 0.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import distance as _distance

from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import instead_of, valued

_NAMES = (
    *("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean", "jensenshannon"),
    *("mahalanobis", "minkowski", "seuclidean", "sqeuclidean"),
)
__all__ = ["cdist", "pdist", "squareform", *_NAMES]

_ALIASES = {"manhattan": "cityblock", "chebychev": "chebyshev", "euclid": "euclidean", "sqeuclid": "sqeuclidean"}


def __getattr__(name: str) -> Any:
    return getattr(_distance, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_distance)})


def _root(x: Any) -> Any:
    """The square root, with the derivative 0 at 0."""
    positive = plain(x) > 0.0
    return np.where(positive, np.sqrt(np.where(positive, x, 1.0)), 0.0)


def _size(d: Any) -> Any:
    """The absolute value, with the derivative 0 at 0."""
    return d * np.sign(plain(d))


def _power(d: Any, p: Any) -> Any:
    nonzero = plain(d) != 0.0
    return np.where(nonzero, np.where(nonzero, _size(d), 1.0) ** p, 0.0)


def _sum(x: Any, w: Any) -> Any:
    return np.sum(x if w is None else w * x, axis=-1)


def _minkowski(u: Any, v: Any, p: Any = 2.0, w: Any = None) -> Any:
    if np.isposinf(plain(p)):
        return _chebyshev(u, v, None if w is None else np.where(plain(w) != 0.0, 1.0, 0.0))
    total = _sum(_power(u - v, p), w)
    positive = plain(total) > 0.0
    return np.where(positive, np.where(positive, total, 1.0) ** (1.0 / p), 0.0)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    sizes = _size(u - v)
    return np.max(sizes if w is None else np.where(plain(w) > 0.0, sizes, 0.0), axis=-1)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    below = np.abs(u) + np.abs(v)
    apart = plain(below) > 0.0
    return _sum(np.where(apart, _size(u - v) / np.where(apart, below, 1.0), 0.0), w)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return np.divide(_sum(_size(u - v), w), _sum(_size(u + v), w))  # NaN for 0 / 0, as SciPy


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    return 1.0 - np.divide(_sum(u * v, w), np.sqrt(_sum(u * u, w) * _sum(v * v, w)))  # NaN for 0 / 0, as SciPy


def _correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    if centered:
        whole = u.shape[-1] if w is None else np.sum(w)
        u, v = u - (_sum(u, w) / whole)[..., None], v - (_sum(v, w) / whole)[..., None]
    return _cosine(u, v, w)


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:  # noqa: N803 - SciPy's name
    d = u - v
    return _root(np.sum((d @ real_array(VI)) * d, axis=-1))


def _seuclidean(u: Any, v: Any, V: Any) -> Any:  # noqa: N803 - SciPy's name
    d = u - v
    return _root(np.sum(d * d / real_array(V), axis=-1))


def _jensenshannon(p: Any, q: Any, base: Any = None, *, axis: int = 0, keepdims: bool = False) -> Any:
    p = p / np.sum(p, axis=axis, keepdims=True)
    q = q / np.sum(q, axis=axis, keepdims=True)
    m = 0.5 * (p + q)

    def entropy(p: Any) -> Any:
        positive = plain(p) > 0.0
        ratio = np.where(positive, p, 1.0) / np.where(positive, m, 1.0)
        return np.sum(np.where(positive, p * np.log(ratio), 0.0), axis=axis, keepdims=keepdims)

    made = 0.5 * (entropy(p) + entropy(q))
    return _root(made if base is None else made / np.log(base))


#: The metrics as functions of vectors along the last axis.
_METRICS: dict[str, Callable[..., Any]] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": lambda u, v, w=None: _sum(_size(u - v), w),
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": lambda u, v, w=None: _root(_sum((u - v) ** 2, w)),
    "jensenshannon": lambda u, v, base=None: _jensenshannon(u, v, base, axis=-1),
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
    "sqeuclidean": lambda u, v, w=None: _sum((u - v) ** 2, w),
}


def _of_two(name: str) -> Callable[..., Any]:
    metric, names = _METRICS[name], {"jensenshannon": ("p", "q")}.get(name, ("u", "v"))
    metric = _jensenshannon if name == "jensenshannon" else metric

    @valued(getattr(_distance, name))
    def function(*args: Any, **kwargs: Any) -> Any:
        """Distance of two vectors."""
        given = dict(zip(names, args, strict=False))
        u, v = (real_array(given[key] if key in given else kwargs.pop(key)) for key in names)
        kwargs = {key: None if x is None else x if isinstance(x, bool) else real_array(x) for key, x in kwargs.items()}
        return metric(u, v, *[None if x is None else x for x in args[2:]], **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Distance of two vectors: scipy.spatial.distance.{name}, differentiated by all its arguments."
    return function


for _name in _NAMES:
    globals()[_name] = _of_two(_name)


def _metric(metric: Any, name: str) -> tuple[str, Callable[..., Any]]:
    """Return the name of a metric, and its function."""
    known = getattr(metric, "__name__", "") if callable(metric) else str(metric).lower()
    found = _ALIASES.get(known, known)
    if found not in _METRICS:
        raise UnsupportedError(
            f"scipy.spatial.distance.{name} with the metric {known!r}",
            f"it with one of {', '.join(_METRICS)}, or the metric with numpy's functions",
        )
    return found, _METRICS[found]


def _options(name: str, points: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a metric; SciPy computes variances of all points, where they are not given."""
    kwargs = {
        key: x if x is None or isinstance(x, bool) else real_array(x) for key, x in kwargs.items() if key != "out"
    }
    together = np.concatenate(points) if len(points) > 1 else points[0]
    if name == "seuclidean" and kwargs.get("V") is None:
        kwargs["V"] = np.var(together, axis=0, ddof=1)
    if name == "mahalanobis" and kwargs.get("VI") is None:
        kwargs["VI"] = np.linalg.inv(np.atleast_2d(np.cov(together.T))).T
    return {key: x for key, x in kwargs.items() if x is not None}


@valued(_distance.cdist)
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:  # noqa: N803
    """Distances of each of the points XA, of shape (m, n), and each of XB, of shape (k, n): an array of shape (m, k).

    >>> cdist([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[5., 1.]])
    """
    if out is not None:
        raise UnsupportedError("scipy.spatial.distance.cdist with out=", "it without, and assign its result")
    name, f = _metric(metric, "cdist")
    a, b = real_array(XA), real_array(XB)
    return f(a[:, None], b[None], **_options(name, [a, b], kwargs))


@valued(_distance.pdist)
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:  # noqa: N803
    """Distances of all pairs of the points X, of shape (m, n): a vector of m (m - 1) / 2.

    >>> pdist([[0.0, 0.0], [3.0, 4.0], [0.0, 4.0]])
    array([5., 4., 3.])
    """
    if out is not None:
        raise UnsupportedError("scipy.spatial.distance.pdist with out=", "it without, and assign its result")
    name, f = _metric(metric, "pdist")
    x = real_array(X)
    first, second = np.triu_indices(len(x), 1)
    return f(x[first], x[second], **_options(name, [x], kwargs))


@instead_of(_distance.squareform)
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:  # noqa: N803
    """Symmetric matrix of a vector of distances, or the vector of such a matrix.

    >>> squareform([1.0, 2.0, 3.0])
    array([[0., 1., 2.],
           [1., 0., 3.],
           [2., 3., 0.]])
    """
    x = real_array(X)
    places = _distance.squareform(np.arange(1.0, x.size + 1.0) if x.ndim == 1 else plain(x), force, checks)
    if x.ndim == 1:
        return np.concatenate([np.zeros(1), x])[np.asarray(places).astype(int)]
    return x[np.triu_indices(len(x), 1)]
