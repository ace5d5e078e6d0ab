"""What a function writes into its arguments, as its value: `outputs` of vjp, jvp and the Jacobians."""

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

Outputs = int | Sequence[int]


def writing(f: Callable[..., Any], outputs: Outputs | None, has_aux: bool = False) -> Callable[..., Any]:
    """A function whose value is what the arguments of these numbers hold when f has returned; f, if there are none.

    The value is that argument for an int, and a tuple for several. What f returns is left out. Raises OutputNumberError
    (a ValueError) if `outputs` does not name different arguments that f can write to, and TypeError with has_aux.

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
    """A Python function whose value is what some of its arguments hold at the end."""

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
    """An array of floats as one that can hold numbers that are being differentiated."""
    return dnp.array(x) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def check_outputs(outputs: Outputs, args: Sequence[Any]) -> Outputs:
    """`outputs`, counted from 0; OutputNumberError for an argument that cannot be written to."""
    numbers = output_numbers(outputs, len(args))
    for k in numbers:
        if not hasattr(args[k], "__setitem__") and not isinstance(args[k], tuple):  # there may be arrays in a tuple
            raise OutputNumberError.of_value(k, args[k])
    return tuple(numbers) if isinstance(outputs, Sequence) else numbers[0]


def output_numbers(outputs: Outputs, count: int) -> list[int]:
    """The numbers of the arguments that `outputs` names, of so many; OutputNumberError if it does not name any."""
    try:
        return argument_numbers(outputs, count)
    except ValueError:
        raise OutputNumberError(outputs, count) from None
