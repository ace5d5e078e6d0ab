"""The default engine: a function's derivative as a linear map, from one run that writes a tape.

    linearize f primals = let (y, tape) = D[f] (Interleave primals) in (y, the tape as a linear map)

The map goes both ways: `pull` takes cotangents of y to cotangents of the primals (reverse mode), `push` takes tangents
of the primals to tangents of y (forward mode). Either can be called any number of times, and runs f no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.diagnostics import nans
from dualrev.eager.arrays.memory.layout import in_its_layout
from dualrev.eager.arrays.memory.record import ids_of, of_new
from dualrev.eager.arrays.memory.storage import (
    RealArray,
    innermost,
    own,
    strip,
)
from dualrev.eager.tables.meeting import prepare
from dualrev.eager.tape.ids import in_copy, saved
from dualrev.eager.tape.linear import FewRows, Linear, linear_map
from dualrev.eager.tape.tape import Real, Tape, real
from dualrev.errors import ArgumentError, OutputError, TangentError
from dualrev.tree import flatten_leaves

__all__ = ["Linearized", "linearize", "vjp"]


class Linearized:
    """The derivative of a function at a point."""

    __slots__ = ("__weakref__", "_inputs", "_linear", "_output", "_outputs", "_structure")

    def __init__(
        self, linear: Linear | FewRows, inputs: list[Any], structure: Any, outputs: list[Any], output: Any
    ) -> None:
        self._linear, self._inputs, self._outputs = linear, inputs, outputs
        self._structure, self._output = structure, output

    def pull(self, ct: Any) -> tuple[Any, ...]:
        """A cotangent for every primal, from a cotangent of the value."""
        cts = self._output.read_leaves(ct)
        if self._output.has_complex:
            cts = self._output.conjugated(cts)
        found = self._linear.pull(self._outputs, cts, self._inputs)
        if self._structure.has_complex:
            found = self._structure.conjugated(found)
        return self._structure.cotangent_leaves(found, copy=False)

    def push(self, *tangents: Any) -> Any:
        """A tangent of the value, from a tangent for every primal."""
        leaves = self._structure.read_leaves(tangents, TangentError)
        found = self._linear.push(self._inputs, leaves, self._outputs)
        parts = self._output.leaf_parts()
        found = [part.zero() if i is None else t for i, t, part in zip(self._outputs, found, parts, strict=True)]
        return self._output.of_value().cotangent_leaves(found, copy=False)


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Linearized]:
    """The value of f, and its derivative there. ArgumentError, OutputError: there is no real scalar in or out."""
    leaves, structure = flatten_leaves(primals)
    if not leaves:
        raise ArgumentError(primals)
    prepare()
    with _watched_tape() if nans.active and nans.debugging() else Tape() as run:
        inputs, duals = [], []
        for leaf in leaves:
            ids, dual = _interleave(run, leaf)
            inputs.append(ids)
            duals.append(dual)
        made = f(*structure.rebuild_leaves(duals))
        leaves, output = flatten_leaves(made)
        if not leaves:
            raise OutputError(made)
        outputs, values = [], []
        for leaf in leaves:
            ids, value = _deinterleave(run, leaf)
            outputs.append(ids)
            values.append(value)
        y = output.rebuild_leaves(values)
        linear = linear_map(run, (*inputs, *outputs)) if run.__class__ is Tape else _watched(run, outputs, values)
    return y, Linearized(linear, inputs, structure, outputs, output)


def _watched_tape() -> Tape:
    """A tape that knows the operation of each row and block, under `debug_nans`."""
    from dualrev.eager.tape.watched_tape import WatchedTape  # few programs need it

    return WatchedTape()


def _watched(run: Any, outputs: list[Any], values: list[Any]) -> Linear:
    """The linear map of such a tape. NonFiniteError: an operation has made one of these values NaN or infinite."""
    from dualrev.eager.tape.watched_linear import WatchedLinear

    linear = WatchedLinear(run)
    linear.check(outputs, values)
    return linear


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of f, and its pullback: what every engine has."""
    y, linearized = linearize(f, *primals)
    return y, linearized.pull


def _interleave(run: Tape, leaf: Any) -> tuple[Any, Any]:
    """A leaf of the primals: its ids, and what stands for it in the function."""
    if leaf.__class__ is float or not isinstance(leaf, (np.ndarray, RealArray)):
        i = run.fresh()
        return i, real(run, leaf, i)
    if not isinstance(leaf, RealArray):
        x = in_its_layout(leaf)
        ids, layer = of_new(run.allocate(leaf.size), x)
        return ids, RealArray(x, {run: layer}, True)
    innermost([leaf])  # is it left over from a call that has ended?
    given, outer = leaf.x, leaf.layers()
    x = in_its_layout(given)
    ids, layer = of_new(run.allocate(leaf.size), x)
    return ids, RealArray(x, {**{other: in_copy(i, "K", given, x) for other, i in outer.items()}, run: layer}, True)


def _deinterleave(run: Tape, leaf: Any) -> tuple[Any, Any]:
    """A leaf of the value: its ids, None for a constant, and what it is outside of the run: an array of its own."""
    if isinstance(leaf, Real) and leaf.run is run:
        return leaf.i, leaf.x
    innermost([leaf])  # is it left over from a call that has ended?
    if not isinstance(leaf, RealArray):
        return None, strip(leaf, run)
    ids = ids_of(leaf, run)
    return None if ids is None else saved(ids), own(strip(leaf, run))
