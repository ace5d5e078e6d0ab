"""Frozen distributions: `norm(0.0, 1.0).logpdf(x)`, where the variable or the parameters are traced.

With plain parameters, the frozen distribution is an object of SciPy's own class, with methods that also take a traced
variable. With traced parameters, it is a `Frozen`.
"""

from __future__ import annotations

import sys
from typing import Any

from scipy import stats as _stats

from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import is_plain, without_duals

__all__ = ["Freezable", "Frozen"]

_METHODS = {"pdf", "logpdf", "pmf", "logpmf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf"}
_METHODS |= {"median", "mean", "var", "std", "entropy", "interval", "moment"}


class Freezable:
    """Distribution of dualrev.scipy.stats, by its name; attributes that it does not have are SciPy's."""

    def __init__(self, name: str) -> None:
        self._of_scipy: Any = getattr(_stats, name)
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the frozen distribution with these parameters."""
        parameters = {name: x for name, x in kwargs.items() if name != "seed"}
        if not is_plain(args, kwargs):
            return Frozen(self, args, parameters)
        args, kwargs, parameters = without_duals((args, kwargs, parameters))
        made = self._of_scipy(*args, **kwargs)
        for name in _METHODS.intersection({*vars(self), *vars(type(self))}):
            setattr(made, name, _Method(getattr(made, name), self, name, args, parameters))
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_of_scipy":  # a copy has no attributes at first
            raise AttributeError(name)
        return getattr(self._of_scipy, name)

    def __repr__(self) -> str:
        return f"<dualrev.scipy.stats.{self._name}>"

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance(norm, rv_continuous), as SciPy's functions of distributions ask
        return type(self._of_scipy)

    def __reduce__(self) -> Any:
        return _by_name, (self._name,)


def _by_name(name: str) -> Any:
    return getattr(sys.modules[__package__], name)


class _Method:
    """Method of a frozen distribution with plain parameters: SciPy's for a plain variable."""

    def __init__(self, original: Any, of: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._original, self._of, self._name, self._args, self._kwargs = original, of, name, args, kwargs
        self.__doc__ = original.__doc__

    def __call__(self, *x: Any, **options: Any) -> Any:
        if is_plain(x, options):
            x, options = without_duals((x, options))
            return self._original(*x, **options)
        return getattr(self._of, self._name)(*x, *self._args, **self._kwargs, **options)


class Frozen:
    """Frozen distribution with traced parameters."""

    def __init__(self, of: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._of, self._args, self._kwargs = of, args, kwargs

    def __repr__(self) -> str:
        return f"<{self._of!r} with parameters that are being differentiated>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        method = getattr(self._of, name)
        if name == "rvs":
            return lambda size=1, random_state=None: method(
                *self._args, **self._kwargs, size=size, random_state=random_state
            )
        if name not in _METHODS:
            raise UnsupportedError.call(
                f"{name} of a frozen distribution whose parameters are being differentiated",
                "its arguments and the parameters have another order",
                f"a call of {name} with the parameters as arguments",
            )
        return lambda *x, **kwargs: method(*x, *self._args, **self._kwargs, **kwargs)
