"""A log density for nutpie's sampler: `nutpie.sample(model(log_density, n, data))`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from nutpie.compiled_pyfunc import from_pyfunc

from dualrev import derivatives
from dualrev.interop.products import result_error

__all__ = ["model"]


def model(log_density: Callable[..., Any], n: int, *data: Any, name: str = "x", start: Any = None) -> Any:
    """A model of n unbounded numbers, for `nutpie.sample`.

    Args:
        log_density: A numba function, or any other, of an array of n doubles, and of data. It gives a number.
        n: How many there are.
        data: Constants.
        name: What the trace calls the array.
        start: Where the chains begin: a function of a seed, which gives an array. nutpie draws without it.

    Returns:
        What `nutpie.compile_pymc_model` gives of a PyMC model.

    Raises:
        BridgeError: where the log density is no number. Without a start, sampling says so.
    """
    both = derivatives.value_and_grad(log_density)
    if start is not None and (found := np.shape(log_density(np.asarray(start(0), np.float64), *data))):
        raise result_error(getattr(log_density, "__name__", "the log density"), found, ())

    def made() -> Callable[..., Any]:
        def value_and_slope(x: Any, **shared: Any) -> Any:
            value, slope = both(x, *data)
            return float(value), np.asarray(slope, np.float64)

        return value_and_slope

    def expanded(*seeds_and_chain: Any) -> Callable[..., Any]:
        return lambda x, **shared: {name: np.array(x)}

    return from_pyfunc(n, made, expanded, [np.dtype("float64")], [(n,)], [name], make_initial_point_fn=start)
