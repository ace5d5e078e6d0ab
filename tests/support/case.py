"""Cases of compiled gradients: a numba function, as people write it, and arguments for it.

The functions stand at the top of modules and are decorated by `njit`; the oracle runs them in plain Python (twin.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from support.later import taken
from support.oracle import flat

__all__ = ["CASES", "RAISES", "Case", "case", "fresh", "raises"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Case:
    """A numba function with arguments. What is False or None here is said by the case, with a reason beside it."""

    name: str  # the file and the function, with a number from the second case of a function on
    function: Any
    primals: tuple[Any, ...]
    argnums: tuple[int, ...]  # all arguments that hold real scalars, unless the case says otherwise
    smooth: bool = True  # False at kinks: the eager tape is the only reference
    forward: bool = False  # whether jvp is compared as well: every sixth function, for the time it takes to compile
    each: bool = False  # whether every row of the result is looked at alone
    error: type[Exception] | None = None
    differs: str = ""  # why the compiled gradient is another one than the tape's

    def arguments(self) -> tuple[Any, ...]:
        """The arguments, arrays as new copies with the same memory layout."""
        return fresh(self.primals)


#: All cases, in the order in which their files are imported.
CASES: list[Case] = []

#: Functions that raise, after they have changed an argument, mostly.
RAISES: list[Case] = []


def case(
    *primals: Any, argnums: tuple[int, ...] | None = None, name: str = "", later: bool = False, **options: Any
) -> Callable[[F], F]:
    """A decorator that appends the function with these arguments to `CASES`; a function may have several cases.

    What only a later numba takes is left out where the installed one refuses it (later.py).
    """
    enter = _enter(CASES, primals, argnums, name, options)
    return (lambda function: enter(function) if taken(function, primals) else function) if later else enter


def raises(error: type[Exception], *primals: Any) -> Callable[[F], F]:
    """A decorator that appends the function, which raises the error for these arguments, to `RAISES`."""
    return _enter(RAISES, primals, None, "", {"error": error})


def _enter(
    table: list[Case], primals: tuple[Any, ...], argnums: tuple[int, ...] | None, name: str, options: dict[str, Any]
) -> Callable[[F], F]:
    def enter(function: F) -> F:
        full = f"{function.__module__.rpartition('_')[2]}.{name or function.__name__}"
        earlier = sum(entry.function is function for entry in table)
        numbers = tuple(k for k, x in enumerate(primals) if holds_reals(x)) if argnums is None else argnums
        sixth = len({id(entry.function) for entry in table}) % 6 == 0
        settings = {"forward": sixth and not earlier, **options}
        table.append(Case(f"{full}-{earlier + 1}" if earlier else full, function, primals, numbers, **settings))
        return function

    return enter


def holds_reals(x: Any) -> bool:
    """Whether there is something to differentiate by: a float, or a float array, of size 0 too."""
    if isinstance(x, tuple):
        return any(map(holds_reals, x))
    return x.dtype.kind == "f" if isinstance(x, np.ndarray) else bool(flat(x))


def fresh(x: Any) -> Any:
    """A copy, in which arrays have memory of their own and numba's layout of the original: C, F or any strides."""
    if isinstance(x, tuple):
        return x._make(map(fresh, x)) if hasattr(x, "_make") else tuple(map(fresh, x))
    if not isinstance(x, np.ndarray):
        return x
    if x.flags.c_contiguous or x.flags.f_contiguous:
        return x.copy("C" if x.flags.c_contiguous else "F")
    room = np.full((*x.shape[:-1], 2 * x.shape[-1]), 99.0).astype(x.dtype)
    room[..., ::2] = x
    return room[..., ::2]
