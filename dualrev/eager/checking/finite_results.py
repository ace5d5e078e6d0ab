"""Results of compiled derivatives under `debug_nans`: where one is not finite, the tape finds the operation.

    y = finite_result(call, derivative.py_func, args, kwargs, what)     the result of the call, if it is finite; else
                                                                        the same derivative is taken by the tape

Compiled code knows no lines of the user's. The Python function of a compiled derivative is the same derivative on the
tape, which runs the Python functions of the numba functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from traceback import walk_tb
from typing import Any

import numpy as np

from dualrev.diagnostics.nonfinite import Operation, cure_of
from dualrev.diagnostics.user_lines import is_of_user
from dualrev.eager.copies import copied
from dualrev.errors import NonFiniteError
from dualrev.tree import flatten_leaves

__all__ = ["finite_result"]


def finite_result(
    call: Callable[..., Any],
    again: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    f: Any,
    copy: Callable[[Any], Any] = copied,
) -> Any:
    """The result of a compiled call; `again` computes the same on the tape, for a copy of the positional arguments.

    NonFiniteError: the result is NaN or infinite, and an operation of the function f has made it so; or the arguments
    are finite, and no operation was found.
    """
    given = copy(args)  # the call may write to them
    result = call(*args, **kwargs)
    found = _nonfinite(result)
    if not found:
        return result
    try:
        again(*copied(given), **kwargs)
        why = "The tape, which runs the Python function, found no operation that makes it so"
    except NonFiniteError as error:
        raise error.with_traceback(None) from None
    except (ArithmeticError, ValueError) as error:
        raise _error_of(error, f, found) from None
    except Exception as error:
        said = str(error).partition("\n")[0].removesuffix(".")
        why = f"The line is not known, because the tape cannot run the function: {type(error).__name__}: {said}"
    if _nonfinite((given, kwargs)):  # arguments that are not finite explain it
        return result
    raise NonFiniteError.unknown(f, found, why)


def _nonfinite(data: Any) -> str:
    """The first number of nested data that is not finite, in words; "" if all are finite."""
    if data.__class__ is float and math.isfinite(data):  # as most derivatives of numbers: faster
        return ""
    leaves = flatten_leaves(data)[0]
    for k, x in enumerate(leaves):
        finite = np.isfinite(x)
        if not finite.all():
            index = tuple(map(int, np.argwhere(~finite)[0]))
            number = np.asarray(x)[index]
            which = f"number or array {k} of the results" if len(leaves) > 1 else "the result"
            at = f" at index {index[0] if len(index) == 1 else index}" if index else ""
            return f"{which} is {'NaN' if np.isnan(number) else float(number)}{at}"
    return ""


def _error_of(error: Exception, f: Any, found: str) -> NonFiniteError:
    """Return the error for a derivative that is not finite in compiled code, where Python raises an error."""
    users = [(frame, line) for frame, line in walk_tb(error.__traceback__) if is_of_user(frame.f_code.co_filename)]
    said = f"raises {type(error).__name__} in Python: {error}"
    if not users:
        return NonFiniteError.unknown(f, found, f"The tape, which runs the Python function, {said}")
    frame, line = users[-1]
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame is not frame:
        traceback = traceback.tb_next
    instruction = frame.f_lasti if traceback is None else traceback.tb_lasti
    operation = Operation(frame.f_code, instruction, line)
    return NonFiniteError(operation.place, f"{operation.quoted()} {said}; {found}", cure_of(operation))
