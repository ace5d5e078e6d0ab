"""Derivatives at a point as matrices that are known by their products: of the tape, and of numba functions.

Rows and columns are the real scalars of the value and of the argument in the order of `dr.tree.ravel`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from dualrev.api.derivatives import compiled, grad
from dualrev.eager import transforms
from dualrev.eager.arguments import argument_numbers, choose
from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.copies import copied
from dualrev.eager.numbers.dual import DualNumber
from dualrev.errors import SparsityError
from dualrev.tree import Structure, flatten_leaves

__all__ = ["made"]


def made(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: int, order: int) -> Tape | Compiled:
    """The Jacobian (order 1) or the Hessian (order 2) of f there, by the argument of this number."""
    return (Compiled if isinstance(f, Dispatcher) else Tape)(f, args, kwargs, argnums, order)


class Tape:
    """The derivative of a function on the tape, which runs once."""

    weight = 1  # what a row takes, in columns
    known_zeros = True

    def __init__(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: int, order: int) -> None:
        function = f if order == 1 else grad(f, argnums)
        function, chosen = choose(function, argnums, args, kwargs)
        y, self._derivative, _ = transforms.linearize(function, chosen, False, None, (f, args, kwargs))
        if any(isinstance(leaf, (DualNumber, RealArray)) for leaf in flatten_leaves(y)[0]):
            raise SparsityError(
                "a sparse derivative was asked for where its arguments are being differentiated themselves",
                "SciPy's arrays hold plain numbers only",
                "dualrev.jacobian or dualrev.hvp there",
            )
        self._inputs, self._outputs = _Vectors(chosen), _Vectors(y)
        self.shape, self.columns = (self._outputs.size, self._inputs.size), self._inputs.size
        of: Any = self._inputs.dtype
        self.epsilon = float(np.finfo(of).eps)  # directions and gradients are rounded to it
        self.dtype = np.dtype(np.float64 if of.itemsize >= 8 else np.float32)  # SciPy's have no others

    def push(self, directions: np.ndarray) -> np.ndarray:
        """See patterns.py."""
        rows = [self._outputs.vector(self._derivative.push(*self._inputs.nested(t))) for t in directions]
        return np.array(rows, float).reshape(len(directions), self.shape[0])

    def pull(self, directions: np.ndarray) -> np.ndarray:
        """See patterns.py."""
        rows = [self._inputs.vector(self._derivative.pull(self._outputs.nested(ct))) for ct in directions]
        return np.array(rows, float).reshape(len(directions), self.shape[1])


class Compiled:
    """The derivative of a numba function by an array, which runs for several directions at once."""

    weight = 4

    def __init__(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: int, order: int) -> None:
        api = compiled()
        f = api.of_count(f, len(args))
        self._f, self._order = f, order
        self._args = api.bound(f, args, kwargs)
        (self._number,) = argument_numbers(argnums, len(self._args))
        x = self._args[self._number]
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            kind = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else f"of type {type(x).__name__}"
            raise SparsityError(
                f"argument {argnums} of the numba function {f.__name__!r} is {kind}",
                "a sparse derivative of a numba function is that by one array of floats",
                "a function of one array, or f.py_func, which takes the tape",
            )
        self._products = api.directional(f, "pushes" if order == 1 else "products", argnums)
        self.columns, self.dtype, self.epsilon = x.size, x.dtype, float(np.finfo(x.dtype).eps)
        self.known_zeros = order == 1  # a compiled Hessian may be NaN at a pole in every direction

    @functools.cached_property
    def shape(self) -> tuple[int, int]:
        """It takes a run of the function: what knows better does not ask."""
        if self._order == 2:
            return self.columns, self.columns
        return _Vectors(self._f(*copied(self._args))).size, self.columns

    def push(self, directions: np.ndarray) -> np.ndarray:
        """See patterns.py."""
        blocks: Sequence[np.ndarray] = self._products(*copied(self._args), np.ascontiguousarray(directions))
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)

    def pull(self, directions: np.ndarray) -> np.ndarray:
        """See patterns.py."""
        if self._order == 2:  # it is symmetric
            return self.push(directions)
        y, derivative = compiled().linearize(self._f, copied(self._args), [self._number])
        outputs = _Vectors(y)
        rows = [np.ravel(derivative.pull(outputs.nested(ct))[0]) for ct in directions]
        return np.array(rows, float).reshape(len(directions), self.columns)


class _Vectors:
    """Nested data as vectors, and back."""

    def __init__(self, x: Any) -> None:
        leaves, self._structure = flatten_leaves(x)
        self._shapes = [np.shape(leaf) for leaf in leaves]
        self._sizes = [math.prod(shape) for shape in self._shapes]
        self.size = sum(self._sizes)
        self.dtype = np.result_type(*(getattr(leaf, "dtype", float) for leaf in leaves)) if leaves else np.dtype(float)

    def nested(self, vector: np.ndarray) -> Any:
        """Data with these numbers."""
        pieces = np.split(vector, np.cumsum(self._sizes)[:-1])
        leaves = [
            piece.reshape(shape) if shape else piece.item() for piece, shape in zip(pieces, self._shapes, strict=True)
        ]
        structure: Structure = self._structure
        return structure.cotangent_leaves(leaves)

    def vector(self, x: Any) -> np.ndarray:
        """The numbers of such data."""
        leaves = [np.ravel(leaf) for leaf in flatten_leaves(x)[0]]
        return np.concatenate(leaves) if len(leaves) > 1 else np.asarray(leaves[0], float)
