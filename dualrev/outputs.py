"""Functions that write their results into arguments, as functions that return them: `outputs` of `vjp` and `jvp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev import numpy as dnp
from dualrev.eager.arguments import argument_numbers
from dualrev.eager.py_func_globals import as_python
from dualrev.errors import OutputNumberError
from dualrev.transformed import Wrapper

__all__ = ["Outputs", "Writing", "check_outputs", "output_numbers", "writing"]


def __dir__() -> list[str]:
    return __all__


Outputs = int | Sequence[int]


def writing(f: Callable[..., Any], outputs: Outputs | None, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function whose value is what the arguments named by `outputs` hold when f has returned.

    Args:
        f: Function that writes into its arguments. What it returns is ignored.
        outputs: Number of an argument, from 0: the value is that argument. Or a tuple of numbers: the value is a tuple.
            None returns f unchanged.
        has_aux: Must be False where outputs is given.

    Raises:
        OutputNumberError: `outputs` does not name different arguments that f can write to (a ValueError).
        TypeError: has_aux is True.

    >>> def double(x, y):
    ...     y[:] = [2.0 * u for u in x]
    >>> writing(double, 1)([1.0, 2.0], [0.0, 0.0])
    [2.0, 4.0]
    """
    if outputs is None:
        return f
    if has_aux:
        raise TypeError("has_aux speaks of what f returns, and outputs leaves that out: take one of the two")
    return Writing(f, outputs)


class Writing(Wrapper):
    """Python function whose value is what some of its arguments hold at the end."""

    made_by = "outputs.writing"

    def __init__(self, f: Callable[..., Any], outputs: Outputs) -> None:
        super().__init__(f)
        self._outputs = outputs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 - see `writing`
        numbers = check_outputs(self._outputs, args)
        whole = [_storable(x) for x in args]
        as_python(self._f)(*whole, **kwargs)
        return whole[numbers] if isinstance(numbers, int) else tuple(whole[k] for k in numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        return Writing, (self._f, self._outputs)


def _storable(x: Any) -> Any:
    """Return an array of floats as one that can hold traced numbers, and anything else unchanged."""
    return dnp.array(x) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def check_outputs(outputs: Outputs, args: Sequence[Any]) -> Outputs:
    """Return `outputs` counted from 0; OutputNumberError for an argument that cannot be written to."""
    numbers = output_numbers(outputs, len(args))
    for k in numbers:
        if not hasattr(args[k], "__setitem__") and not isinstance(args[k], tuple):  # there may be arrays in a tuple
            raise OutputNumberError.of_value(k, args[k])
    return tuple(numbers) if isinstance(outputs, Sequence) else numbers[0]


def output_numbers(outputs: Outputs, count: int) -> list[int]:
    """Return the argument numbers that `outputs` names, as a list; OutputNumberError unless they are in 0..count-1."""
    try:
        return argument_numbers(outputs, count)
    except ValueError:
        raise OutputNumberError(outputs, count) from None
