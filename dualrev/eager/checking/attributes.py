"""Attributes of other libraries' arrays that numbers and arrays under differentiation do not have: what to write."""

from __future__ import annotations

import numpy as np

from dualrev.diagnostics.keywords import in_place_of
from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.numbers.dual import DualNumber

__all__ = ["explain"]

_CONSTANT = "dr.stop_gradient(x), which is x as a constant"
_DERIVATIVE = "return the number from a function f; its gradient is dr.grad(f)(x)"
_ARGUMENTS = "leave it out: the arguments of f that argnums names are differentiated, as in dr.grad(f, argnums=0)"
_PLACE = "leave it out: numbers are in the memory of the CPU, in double precision"

#: What other libraries have, and what to write here in its place.
_ELSEWHERE = {
    "apply_": "np.vectorize(f)(x), or numpy's functions of x",
    "at": "x = x.copy(), then x[i] = y, or x[i] += y: assignments are differentiated",
    "backward": _DERIVATIVE,
    "block_until_ready": "leave it out: results are ready",
    "clone": "x.copy()",
    "cpu": _PLACE,
    "cuda": _PLACE,
    "detach": _CONSTANT,
    "device": _PLACE,
    "double": "leave it out: numbers are in double precision",
    "expand": "np.broadcast_to(x, shape)",
    "grad": _DERIVATIVE,
    "iloc": "x[i]",
    "loc": "x[i]",
    "numpy": "dr.value(x), a plain array: its derivative is lost",
    "permute": "x.transpose(axes)",
    "primal": "dr.value(x)",
    "requires_grad": _ARGUMENTS,
    "requires_grad_": _ARGUMENTS,
    "to": _PLACE,
    "to_numpy": "x: numpy's functions take it; dr.value(x) is a plain array",
    "unsqueeze": "np.expand_dims(x, axis)",
    "value": "dr.value(x)",
    "values": "x: numpy's functions take it",
}


def explain(error: AttributeError) -> None:
    """Say what to write for an attribute that a number or an array under differentiation does not have."""
    x, name = error.obj, error.name
    if not isinstance(x, (RealArray, DualNumber)) or not isinstance(name, str) or len(error.args) != 1:
        return
    instead = _ELSEWHERE.get(name)
    if instead is None and callable(getattr(np, name, None)) and not name.startswith("_"):
        instead = f"np.{name}(x)"
    said = str(error).rstrip(".")
    if instead is not None and instead not in said:
        error.args = (in_place_of(said, instead),)
