"""numpy.polynomial on the tape: its functions of series of Chebyshev, Legendre, Hermite, Laguerre, and of powers.

They make plain arrays of their arguments, but compute with arrays of objects just as well. So traced arrays go in as
objects, and arrays of objects that come out are traced arrays again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import held, values
from dualrev.eager.arrays.memory.storage import RealArray, adopt, holds_duals, plain, to_objects
from dualrev.eager.tape.tape import Tape
from dualrev.errors import UnsupportedError

__all__ = ["Series", "refuse_columns"]

_BY_LINALG = {
    "fit": "np.linalg.lstsq(v, y, rcond=None)[0], where v is the matrix of the function of the same name with `vander`",
    "roots": "np.roots(p[::-1]), where p has the coefficients of the powers, as chebyshev.cheb2poly returns them",
}


class Series:
    """A module of numpy.polynomial, or the package, whose functions take traced arrays.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> series = Series(np.polynomial)
    >>> dr.grad(lambda c: series.chebyshev.chebval(0.5, c))(np.ones(3))
    array([ 1. ,  0.5, -0.5])
    """

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __repr__(self) -> str:
        return f"<{self._module.__name__} for traced arrays>"

    def __dir__(self) -> list[str]:
        return dir(self._module)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, ModuleType) and found.__name__.startswith("numpy.polynomial."):
            return Series(found)
        return _of_objects(found) if callable(found) and not isinstance(found, type) else found


def _of_objects(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of numpy.polynomial for traced arrays, and for plain ones."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        """Call numpy's function; with arrays of objects, if an argument is traced."""
        given = [*args, *kwargs.values()]
        if any(map(holds_duals, given)):
            ending = next(
                (x for x in _BY_LINALG if f.__name__.endswith(x) and not f.__name__.endswith("fromroots")), ""
            )
            if ending:
                raise UnsupportedError(f"numpy.polynomial's {f.__name__}", _BY_LINALG[ending])
            if f.__name__.endswith("weight"):  # an elementwise function, which takes traced arrays
                return f(*args, **kwargs)
            made, expected = _called(f, _as_objects, args, kwargs), _called(f, _values_of, args, kwargs)
            return tuple(map(_adopted, made, expected)) if isinstance(made, tuple) else _adopted(made, expected)
        made = _called(f, _plain, args, kwargs)
        return tuple(map(held, made)) if isinstance(made, tuple) else held(made)

    return call


def _called(f: Any, make: Callable[[Any], Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Call f with what `make` makes of each argument; numpy would ask a traced number about some functions."""
    f = getattr(f, "_implementation", f)
    return f(*map(make, args), **{name: make(x) for name, x in kwargs.items()})


_VALUES = {"chebval", "hermeval", "hermval", "lagval", "legval", "polyval", "polyvalfromroots"}


def refuse_columns(frame: FrameType) -> None:
    """Refuse an operation of numpy's chebval and the like on traced points and several columns of coefficients.

    numpy gives a row for each column if the points are one of its own arrays, and broadcasts otherwise.
    """
    name = frame.f_code.co_name
    if name not in _VALUES or not frame.f_globals.get("__name__", "").startswith("numpy.polynomial."):
        return
    if not frame.f_locals.get("tensor") or np.ndim(frame.f_locals["x"]) == 0:
        return
    what = f"numpy.polynomial's {name} with several columns of coefficients"
    instead = "`from dualrev import numpy as np`, and call it as np.polynomial." + frame.f_globals["__name__"][17:]
    raise UnsupportedError(what, f"{instead}.{name}", "numpy broadcasts the points, if they are no array of its own")


def _plain(x: Any) -> Any:
    """Return the plain array of a RealArray, and anything else unchanged."""
    return plain(x) if isinstance(x, RealArray) else x


def _values_of(x: Any) -> Any:
    """Return a number, an array or nested lists without derivatives."""
    return type(x)(map(_values_of, x)) if type(x) in (list, tuple) else values(x)


def _as_objects(x: Any) -> Any:
    """Return an array, or a list of plain numbers, as an array of objects, and anything else unchanged."""
    if isinstance(x, (list, tuple)) and all(isinstance(u, (int, float)) for u in x):
        x = np.array(x)
    if isinstance(x, RealArray):
        return np.asarray(to_objects(x))
    return x.astype(object) if isinstance(x, np.ndarray) and x.dtype.kind in "iuf" else x


def _adopted(x: Any, expected: Any) -> Any:
    """Return the traced array of an array of objects, with numpy's values: for floats, it adds in another order."""
    if not isinstance(x, np.ndarray) or x.dtype != object:
        return held(x)
    made = adopt(x)
    if all(isinstance(run, Tape) for run in made.layers()):  # a stage of the paper keeps the values in its numbers
        made.x[...] = expected
    return made
