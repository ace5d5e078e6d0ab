"""Python's operators on arrays of dual numbers: numpy's functions, without its protocol where it would ask us."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dualrev.eager.numbers.numpy_hooks import ANSWERS
from dualrev.eager.tape.tape import Real

__all__ = ["Operators"]


class Operators(NDArrayOperatorsMixin):
    """The operators of a class whose `__array_ufunc__` asks ANSWERS."""

    __slots__ = ()

    def __neg__(self) -> Any:
        return ANSWERS.ufunc(np.negative, "__call__", (self,), {})


_OPERATORS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "pow": np.power}
_OURS = frozenset((float, int, np.float64, np.ndarray, Real))


def _operator(name: str, ufunc: Any) -> list[Callable[..., Any]]:
    """An operator and its reflection."""

    def method(self: Any, other: Any) -> Any:
        """Apply the ufunc to traced operands, and leave others to numpy's protocol."""
        if other.__class__ is self.__class__ or other.__class__ in _OURS:
            return ANSWERS.ufunc(ufunc, "__call__", (self, other), {})
        return by_protocol(self, other)

    def reflected(self: Any, other: Any) -> Any:
        """Apply the ufunc with the operands reversed."""
        if other.__class__ in _OURS:
            return ANSWERS.ufunc(ufunc, "__call__", (other, self), {})
        return reflected_by_protocol(self, other)

    by_protocol, reflected_by_protocol = (getattr(NDArrayOperatorsMixin, f"__{r}{name}__") for r in ("", "r"))
    return [method, reflected]


for _name, _ufunc in _OPERATORS.items():
    for _reflection, _made in zip(("", "r"), _operator(_name, _ufunc), strict=True):
        _made.__name__ = f"__{_reflection}{_name}__"
        setattr(Operators, _made.__name__, _made)
