"""Log-density for nutpie's sampler: `nutpie.sample(model(log_density, n, data))`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from nutpie.compiled_pyfunc import from_pyfunc

from dualrev.api import derivatives
from dualrev.errors import BridgeError
from dualrev.interop.jacobian_products import result_error

__all__ = ["model"]


def __dir__() -> list[str]:
    return __all__


def model(log_density: Callable[..., Any], n: int, *data: Any, name: str = "x", start: Any = None) -> Any:
    """Model of n unbounded real parameters, for `nutpie.sample`.

    Args:
        log_density: Function of an array of n doubles, and of data: a numba function or a Python function. It returns a
            number.
        n: Number of parameters.
        *data: Constants.
        name: Name of the array in the trace.
        start: Start of the chains: a function of a seed that returns an array. None: nutpie draws it. No slope may be 0
            there: nutpie takes the first scales of its steps from the slopes.

    Returns:
        A model like the one that `nutpie.compile_pymc_model` returns.

    Raises:
        BridgeError: The log-density is not a number, or a slope at start(0) is 0. Without a start, sampling raises.

    docs/interop.md has an example.
    """
    both = derivatives.value_and_grad(log_density)
    if start is not None:
        label, first = getattr(log_density, "__name__", "the log density"), np.asarray(start(0), np.float64)
        if found := np.shape(log_density(first, *data)):
            raise result_error(label, found, ())
        if len(zeros := np.flatnonzero(both(first, *data)[1] == 0.0)):
            why = f"the slope of {label!r} by {name}[{zeros[0]}] is 0 there, and nutpie takes no such point"
            raise BridgeError("the start of the chains", why, "another start, a little beside it")

    def made() -> Callable[..., Any]:
        """Return the function of a chain."""

        def value_and_slope(x: Any, **shared: Any) -> Any:
            """Return the log-density and its gradient."""
            value, slope = both(x, *data)
            return float(value), np.asarray(slope, np.float64)

        return value_and_slope

    def expanded(*seeds_and_chain: Any) -> Callable[..., Any]:
        """Return the function that makes a row of the trace."""
        return lambda x, **shared: {name: np.array(x)}

    return from_pyfunc(n, made, expanded, [np.dtype("float64")], [(n,)], [name], make_initial_point_fn=start)
