"""Distributions of one variable: SciPy's methods for traced variables and parameters.

The value is SciPy's own. The derivative comes from a formula of the standardized variable z = (x - loc) / scale and the
shapes: one of formulas.py, or the method that SciPy's distribution has for it (_logpdf, _cdf, ...), if that can be
traced. The rest follows:

    sf(z) = 1 - cdf(z)
    logcdf(z) = log(cdf(z))
    z = ppf(q) solves cdf(z) = q: by the implicit function theorem
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats as _stats

from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.eager.arrays.special_composed import with_value
from dualrev.errors import DualrevError, UnsupportedError
from dualrev.scipy.calls import instead_of, order
from dualrev.scipy.stats.formulas import UNTRACED, Formulas
from dualrev.scipy.stats.frozen import Freezable

__all__ = ["Distribution"]

_OF_Z = ("cdf", "sf", "logcdf", "logsf")
_MOMENTS = ("mean", "var", "std")


class Distribution(Freezable):
    """Distribution of SciPy whose methods take traced numbers.

    Args:
        name: Name of the distribution in scipy.stats.
        formulas: Functions of the standardized variable and the shapes, where SciPy's own cannot be traced: "log", the
            log-density, "cdf", "logcdf" and "logsf"; and functions of the shapes: "moments", which returns the mean and
            the variance, and "entropy".

    Its methods are pdf and logpdf, or pmf and logpmf, and cdf, sf, logcdf, logsf, ppf, isf, median, mean, var, std and
    entropy. They take SciPy's arguments, which broadcast. UnsupportedError if there is no formula that can be traced.
    The quantiles of a discrete distribution are piecewise constant: their derivative is 0. Other attributes are
    SciPy's.

    >>> from dualrev.scipy import stats
    >>> float(stats.expon.cdf(0.0))
    0.0
    """

    def __init__(self, name: str, formulas: Formulas) -> None:
        super().__init__(name)
        self._formulas = formulas
        self._shapes: list[str] = (self._of_scipy.shapes or "").replace(",", " ").split()
        self._discrete = isinstance(self._of_scipy, _stats.rv_discrete)
        self._density = "pmf" if self._discrete else "pdf"
        for method in set(self._methods()) - {*UNTRACED.get(name, ())}:
            setattr(self, method, self._function(method))

    def interval(self, confidence: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return the ends of an interval around the median that has this probability."""
        return self.ppf((1.0 - confidence) / 2.0, *args, **kwargs), self.ppf((1.0 + confidence) / 2.0, *args, **kwargs)

    def _methods(self) -> Iterator[str]:
        """The methods for which there is a formula, though SciPy's may refuse traced numbers."""
        has_log = "log" in self._formulas or self._own(f"_{self._density}") or self._own(f"_log{self._density}")
        has_cdf = "cdf" in self._formulas or self._own("_cdf") or self._own("_sf")
        if has_log:
            yield from (self._density, f"log{self._density}")
        if has_cdf:
            yield from _OF_Z
        if has_cdf and (has_log or self._discrete):
            yield from ("ppf", "isf", "median")
        if "moments" in self._formulas or self._own("_stats"):
            yield from _MOMENTS
        if "entropy" in self._formulas or self._own("_entropy"):
            yield "entropy"

    def _own(self, name: str) -> Any:
        """SciPy's function of this distribution; None if it is the one of all distributions."""
        base = _stats.rv_discrete if self._discrete else _stats.rv_continuous
        found = getattr(type(self._of_scipy), name, None)
        return None if found is getattr(base, name, None) else getattr(self._of_scipy, name)

    def _function(self, name: str) -> Callable[..., Any]:
        original = getattr(self._of_scipy, name)
        of_variable = name not in (*_MOMENTS, "entropy", "median")
        variable = "q" if name in ("ppf", "isf") else "k" if self._discrete else "x"

        @instead_of(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            """Return SciPy's value, with the derivative of the formula."""
            first = np.asarray(0.5)
            if of_variable:
                args = (kwargs.pop(variable), *args) if variable in kwargs else args
                if not args:
                    raise TypeError(f"{self._of_scipy.name}.{name} has no value for its parameter {variable}")
                first, args = real_array(args[0]), args[1:]
            shapes, loc, scale = self._parameters(args, kwargs)
            places = [*shapes, loc] if self._discrete else [*shapes, loc, scale]
            value = original(*([plain(first)] if of_variable else []), *map(plain, places))
            return self._traced(name, value, first, shapes, loc, scale)

        method.__name__ = name
        return method

    def _traced(self, name: str, value: Any, *args: Any) -> Any:
        """Give SciPy's value the derivative of the formula; its methods raise anything that is not for arrays."""
        with np.errstate(all="ignore"):  # what is left out in the end may lie outside of a domain
            try:
                made = real_array(np.broadcast_to(self._compute(name, *args), np.shape(value)))
                if name in _MOMENTS:  # an infinite one is constant
                    made = real_array(np.where(np.isfinite(value), made, 0.0))
            except (DualrevError, TypeError, ValueError, IndexError, AttributeError) as error:
                raise self._refused(name) from error
            if np.any(np.isnan(value)):
                x, shapes, loc, scale = args
                made = real_array(np.where(np.isnan(value), np.nan * sum(shapes, x + loc + scale), made))
            return with_value(made[()], value)

    def _refused(self, name: str) -> UnsupportedError:
        return UnsupportedError.call(
            f"scipy.stats.{self._of_scipy.name}.{name} of numbers that are being differentiated",
            "SciPy's formula cannot be traced, and dualrev has none",
            "dualrev.value(...) for an argument that is a constant, or a formula with functions of scipy.special",
        )

    def _parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any, Any]:
        """Return the shapes, loc and scale of a call."""
        names = [*self._shapes, "loc", *([] if self._discrete else ["scale"])]
        if len(args) > len(names) or kwargs.keys() - set(names[len(args) :]):
            raise TypeError(f"{self._of_scipy.name} takes the parameters {', '.join(names)}")
        given = {"loc": 0.0, "scale": 1.0, **dict(zip(names, args, strict=False)), **kwargs}
        if missing := [name for name in self._shapes if name not in given]:
            raise TypeError(f"{self._of_scipy.name} has no value for its parameter {missing[0]}")
        return [real_array(given[name]) for name in self._shapes], real_array(given["loc"]), real_array(given["scale"])

    def _compute(self, name: str, x: Any, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return what has the derivative, and SciPy's value up to a constant."""
        if name in _MOMENTS or name == "entropy":
            return self._of_parameters(name, shapes, loc, scale)
        if name in ("ppf", "isf", "median"):
            return 0.0 * plain(x) if self._discrete else self._quantile(name, x, shapes) * scale + loc
        values = [plain(shape) for shape in shapes]
        z = (x - loc) / scale
        allowed = (plain(scale) > 0.0) & np.asarray(self._of_scipy._argcheck(*values), bool)
        own = "cdf" not in self._formulas and self._own("_sf" if name.endswith("sf") else "_cdf")
        if self._discrete and name in _OF_Z and not own:  # SciPy's own function may round, or not
            z = np.floor(z)
        inside = np.asarray(self._of_scipy._support_mask(plain(z), *values), bool) & allowed
        if self._discrete and name not in _OF_Z:
            inside &= plain(z) == np.floor(plain(z))
        z = np.where(inside, z, _inner(*self._of_scipy._get_support(*values)))  # no NaN from there
        made = self._at(name, z, shapes)
        if name in ("pdf", "logpdf"):
            made = made / scale if name == "pdf" else made - np.log(scale)
        return np.where(inside, made, 0.0)

    def _at(self, name: str, z: Any, shapes: list[Any]) -> Any:
        """Return the function of the standardized variable, inside of the support."""
        if name in (self._density, f"log{self._density}"):
            return self._log_density(z, shapes) if name.startswith("log") else self._of_density(z, shapes)
        upper, log = name.endswith("sf"), name.startswith("log")
        if name in self._formulas:
            return self._formulas[name](z, *shapes)
        own = self._own(f"_{name}")
        if log and own and "cdf" not in self._formulas:
            return own(z, *shapes)
        p = -self._cdf(z, shapes, True) if upper else self._cdf(z, shapes)
        if not log:
            return p
        known = getattr(self._of_scipy, name.removeprefix("log"))(plain(z), *map(plain, shapes))
        p = with_value(real_array(np.broadcast_to(p, known.shape)), known)
        return np.where(known > 0.0, np.log(np.where(known > 0.0, p, 1.0)), -np.inf)

    def _log_density(self, z: Any, shapes: list[Any]) -> Any:
        tries = []
        if "log" in self._formulas:
            tries.append(self._formulas["log"])
        elif own := self._own(f"_log{self._density}"):
            tries.append(own)
        if own := self._own(f"_{self._density}"):
            tries.append(lambda *args: np.log(own(*args)))
        return _first(tries, z, *shapes)

    def _of_density(self, z: Any, shapes: list[Any]) -> Any:
        own = self._own(f"_{self._density}")
        tries = [own] if own and "log" not in self._formulas else []
        return _first([*tries, self._of_log_density], z, *shapes)

    def _of_log_density(self, z: Any, *shapes: Any) -> Any:
        """Return exp(log-density), of SciPy's value: a formula may lack a constant term."""
        known = getattr(self._of_scipy, f"log{self._density}")(plain(z), *map(plain, shapes))
        made = real_array(np.broadcast_to(self._log_density(z, [*shapes]), np.shape(known)))
        return np.exp(with_value(made, known))

    def _cdf(self, z: Any, shapes: list[Any], upper: bool = False) -> Any:
        """Return the distribution function, up to a constant; by its complement, if there is one to be preferred."""
        if "cdf" in self._formulas:
            return self._formulas["cdf"](z, *shapes)
        tries = [own for own in (self._own("_cdf"),) if own]
        if own := self._own("_sf"):
            tries.insert(0 if upper else 1, lambda *args: -own(*args))
        return _first(tries, z, *shapes)

    def _quantile(self, name: str, q: Any, shapes: list[Any]) -> Any:
        """Return z with cdf(z) = q by steps of Newton's method from the solution: each has one more derivative.

        The steps have the value 0. As many are taken as derivative calls are nested.
        """
        values = [plain(shape) for shape in shapes]
        start = np.asarray((self._of_scipy.isf if name == "isf" else self._of_scipy.ppf)(plain(q), *values))
        q = np.broadcast_to(q, start.shape)
        inside = (plain(q) > 0.0) & (plain(q) < 1.0) & np.isfinite(start)
        known_ends = self._of_scipy._get_support(*values)
        ends = known_ends if inside.all() else self._of_scipy._get_support(*shapes)
        at_end = np.where((plain(q) == 0.0) != (name == "isf"), *ends)
        z = known = np.where(inside, start, _inner(*known_ends))
        slope = np.where(inside, self._of_scipy.pdf(known, *values), 1.0)
        target = with_value(real_array(-q if name == "isf" else q), np.zeros(start.shape))
        for _ in range(order(q, *shapes)):
            p = real_array(np.broadcast_to(self._cdf(z, shapes), start.shape))
            z = z - (with_value(p, np.zeros(start.shape)) - target) / slope
        return np.where(inside, z, at_end)

    def _of_parameters(self, name: str, shapes: list[Any], loc: Any, scale: Any) -> Any:
        """Return a moment or the entropy."""
        f = self._formulas
        if name == "entropy":
            made = f["entropy"](*shapes) if "entropy" in f else self._of_scipy._entropy(*shapes)
            return made if self._discrete else made + np.log(scale)
        mean, variance = f["moments"](*shapes) if "moments" in f else self._of_scipy._stats(*shapes)[:2]
        if name == "mean":
            return mean * scale + loc
        return variance * scale * scale if name == "var" else np.sqrt(variance) * scale


def _inner(low: Any, high: Any) -> Any:
    """Return a point inside of each support."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    below, above = np.isfinite(low), np.isfinite(high)
    middle = 0.5 * (np.where(below, low, 0.0) + np.where(above, high, 0.0))
    return np.where(below & above, middle, np.where(below, low + 1.0, np.where(above, high - 1.0, 0.5)))


def _first(tries: list[Callable[..., Any]], *args: Any) -> Any:
    """Return the result of the first function that can be traced."""
    for f in tries[:-1]:
        try:
            return f(*args)
        except DualrevError:
            continue
    return tries[-1](*args)
